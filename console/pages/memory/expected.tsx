// "Expected another one?": where a memory stands for this question, and which part it lacks beside the first.

import type { RecallRequest } from '@loci/sdk/daemon.ts'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { count, shortId, score as shown } from '../../format.ts'
import { useService } from '../../frame/service.tsx'
import { Card } from '../../parts/card.tsx'
import { Said } from '../../parts/said.tsx'
import { Loaded } from '../../parts/states.tsx'
import type { Shown } from './hits.tsx'
import { ANSWERS_FROM, CANDIDATES_MAX, type Hit, isRecordId, lacks, ordinal } from './parts.ts'
import { candidatesQuery } from './queries.ts'

interface ExpectedProps {
  request: RecallRequest
  /** What it is compared with. */
  first: Shown | undefined
}

export function Expected({ request, first }: ExpectedProps) {
  const view = useService()
  const [text, setText] = useState('')
  const [wanted, setWanted] = useState<string>()
  const isId = wanted !== undefined && isRecordId(wanted)
  // Words are a question of their own: what they find best is the one that was meant.
  const named = useQuery(
    candidatesQuery(view, { query: wanted ?? '' }, { isEnabled: wanted !== undefined && !isId, limit: 1 }),
  )
  const id = isId ? wanted?.trim() : named.data?.results[0]?.id
  const candidates = useQuery(candidatesQuery(view, request, { isEnabled: id !== undefined }))
  const look = (event: FormEvent) => {
    event.preventDefault()
    setWanted(text.trim() || undefined)
  }
  return (
    <Card title="Expected another one?">
      <form className="field" onSubmit={look}>
        <input
          className="in"
          aria-label="The id of a memory, or its words"
          placeholder="Paste a record id or its words"
          autoComplete="off"
          value={text}
          onChange={({ target }) => setText(target.value)}
        />
        <span className="sm mut">See where it stands and which part it lacks.</span>
      </form>
      {wanted !== undefined && !isId && named.data?.results.length === 0 && (
        <p className="sm">Nothing is stored in these words.</p>
      )}
      {wanted !== undefined && !isId && named.data === undefined && (
        <Loaded of={named} rows={2}>
          {() => null}
        </Loaded>
      )}
      {id !== undefined && (
        <Loaded of={candidates} rows={3}>
          {({ results }) => <Ranked id={id} results={results} first={first} slug={view.service.slug} />}
        </Loaded>
      )}
    </Card>
  )
}

interface RankedProps {
  id: string
  results: readonly Hit[]
  first: Shown | undefined
  slug: string
}

function Ranked({ id, results, first, slug }: RankedProps) {
  const at = results.findIndex((hit) => hit.id === id)
  const hit = results[at]
  const link = (
    <Link to="/s/$slug/memory/$id" params={{ slug, id }} className="id" title={id}>
      {shortId(id)}
    </Link>
  )
  if (!hit)
    return (
      <p className="sm mut2" role="status">
        {link} is not among the {count(Math.min(CANDIDATES_MAX, results.length))} that have anything to do with this
        question: it shares no word with it, does not hold any more, or the filters leave it out.
      </p>
    )
  const missing = first && first.id !== id ? lacks(hit.explain?.parts ?? [], first.explain?.parts ?? []) : []
  return (
    <div className="ranked" role="status">
      <Said of={hit.content} />
      <p className="sm mut2">
        {link} stands {ordinal(at + 1)} of {count(results.length)}, with {shown(hit.score)} and relevance{' '}
        {shown(hit.relevance)}
        {hit.relevance < ANSWERS_FROM ? `: under ${shown(ANSWERS_FROM)} it is told only beside an answer.` : '.'}
      </p>
      {missing.length > 0 && (
        <table className="parts">
          <thead>
            <tr>
              <th>Beside the first</th>
              <th className="num">it has</th>
              <th className="num">the first</th>
              <th className="num">lacks</th>
            </tr>
          </thead>
          <tbody>
            {missing.map(({ name, own, other }) => (
              <tr key={name}>
                <td>{name}</td>
                <td className="num mut">{shown(own)}</td>
                <td className="num mut">{shown(other)}</td>
                <td className="num">{shown(own - other, { signed: true })}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </div>
  )
}
