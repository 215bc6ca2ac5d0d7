// What was recalled, best first: each with its words, and with the parts of its score on one scale for all.

import { Link } from '@tanstack/react-router'
import { type ReactNode, type RefObject, useMemo } from 'react'
import { shortId, score as shown } from '../../format.ts'
import { useKeys } from '../../keys/keys.ts'
import { useRowKeys } from '../../keys/rows.ts'
import { raised } from '../../parts/explanation.ts'
import { Said } from '../../parts/said.tsx'
import { Ago } from '../../parts/time.tsx'
import { Sum } from '../../parts/why.tsx'
import { type Hit, leading } from './parts.ts'

/** Also of what came near: of that less is told. */
export type Shown = Pick<Hit, 'id' | 'content' | 'relevance' | 'explain'> & Partial<Hit>

interface HitsProps {
  list: RefObject<HTMLOListElement | null>
  hits: readonly Shown[]
  slug: string
  on: string | undefined
  onWhy(id: string): void
  /** Beneath the one whose reasons are shown, where there is no room beside. */
  why(hit: Shown): ReactNode
}

export function Hits({ list, hits, slug, on, onWhy, why }: HitsProps) {
  const scale = Math.max(1e-9, ...hits.map(({ explain }) => raised(explain?.parts ?? [])))
  useRowKeys(list)
  useKeys(
    useMemo(() => {
      const id = () => (document.activeElement?.closest('[data-hit]') as HTMLElement | null)?.dataset.hit
      return {
        w: () => onWhy(id() ?? hits[0]?.id ?? ''),
        y: () => void navigator.clipboard.writeText(id() ?? on ?? ''),
      }
    }, [hits, on, onWhy]),
  )
  return (
    <ol className="hits" ref={list}>
      {hits.map((hit, at) => (
        <li key={hit.id} data-hit={hit.id} className={hit.id === on ? 'on' : undefined}>
          <span className="rk tn">{at + 1}</span>
          <div>
            <p className={at === 0 ? 'first' : undefined}>
              <Said of={hit.content} />
            </p>
            <About hit={hit} slug={slug} />
          </div>
          <button type="button" className="sc" aria-pressed={hit.id === on} onClick={() => onWhy(hit.id)}>
            <span className="sr">Why </span>
            <span className="row">
              <Sum parts={hit.explain?.parts ?? []} scale={scale} />
              <b className="b6 tn">{shown(hit.score ?? hit.explain?.score)}</b>
            </span>
            <span className="xs mut">
              {leading(hit.explain?.parts ?? []).join(', ')} · relevance {shown(hit.relevance)}
            </span>
          </button>
          {hit.id === on && <div className="inline">{why(hit)}</div>}
        </li>
      ))}
    </ol>
  )
}

/** Who said it, when, in which conversation, and its name. */
function About({ hit, slug }: { hit: Partial<Hit> & { id: string }; slug: string }) {
  const { id, actor, occurredAt, createdAt, contextId, key, tags = [] } = hit
  return (
    <div className="row wrap sm mut about">
      {actor && <Said of={actor} line />}
      {createdAt && <Ago at={occurredAt ?? createdAt} />}
      {contextId && <Said of={contextId} line />}
      <Link to="/s/$slug/memory/$id" params={{ slug, id }} className="id" title={id} data-row>
        {shortId(id)}
      </Link>
      {key && <code className="tag">{key}</code>}
      {tags.map((tag) => (
        <span key={tag} className="tag">
          <Said of={tag} line />
        </span>
      ))}
    </div>
  )
}
