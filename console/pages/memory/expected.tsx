// "Expected another one?": where a memory stands for this question, why, and which part it lacks beside the first.

import type { RecallRequest } from '@loci/sdk/daemon.ts'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { count, shortId, score as shown } from '../../format.ts'
import { useService } from '../../frame/service.tsx'
import { Card } from '../../parts/card.tsx'
import { Said } from '../../parts/said.tsx'
import { Loaded } from '../../parts/states.tsx'
import { Status } from '../../parts/status.tsx'
import type { Shown } from './hits.tsx'
import { isRecordId, lacks, type Named, ordinal, standingText } from './parts.ts'
import { meantQuery, namedQuery } from './queries.ts'

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
  const meant = useQuery(meantQuery(view, isId ? undefined : wanted))
  const id = isId ? wanted?.trim() : (meant.data ?? undefined)
  const named = useQuery(namedQuery(view, request, id))
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
      {wanted !== undefined && !isId && (
        <Loaded of={meant} rows={2}>
          {(found) => (found === null ? <p className="sm">Nothing is stored in these words.</p> : null)}
        </Loaded>
      )}
      {id !== undefined && (
        <Loaded of={named} rows={3}>
          {(one) => one && <Place of={one} first={first} slug={view.service.slug} />}
        </Loaded>
      )}
    </Card>
  )
}

function Place({ of, first, slug }: { of: Named; first: Shown | undefined; slug: string }) {
  const { id, standing, reason, rank, among, relevance, needs, score, content, explain } = of
  const missing = first && first.id !== id && explain ? lacks(explain.parts, first.explain?.parts ?? []) : []
  return (
    <div className="ranked" role="status">
      {content !== null && <Said of={content} />}
      <p className="row wrap sm">
        <Link to="/s/$slug/memory/$id" params={{ slug, id }} className="id" title={id}>
          {shortId(id)}
        </Link>
        {standing === 'result' ? (
          <Status tone="ok" icon="check">
            {standingText(of)}
          </Status>
        ) : (
          <Status tone="warn" icon="warning">
            {standingText(of)}
          </Status>
        )}
      </p>
      <p className="sm mut2">{reason}</p>
      {relevance !== null && (
        <dl className="kv sm">
          <dt>Stands</dt>
          <dd className="tn">{rank === null ? 'outside the order' : `${ordinal(rank)} of ${count(among)}`}</dd>
          <dt>Relevance</dt>
          <dd className="tn">
            {shown(relevance)} <span className="mut">of {shown(needs)} that it needs</span>
          </dd>
          <dt>Score</dt>
          <dd className="tn">{shown(score)}</dd>
        </dl>
      )}
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
