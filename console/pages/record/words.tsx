// What was said, large, and how long it is true.

import type { Record as Memory } from '@loci/sdk/daemon.ts'
import type { CSSProperties } from 'react'
import { span } from '../../format.ts'
import { Said } from '../../parts/said.tsx'
import { Moment } from '../../parts/time.tsx'
import { stateOf, validityOf } from './parts.ts'

export function Words({ record, now }: { record: Memory; now: number }) {
  const { content, actor, occurredAt, createdAt, key, kind, contextId } = record
  return (
    <section className="card" aria-label="Its words">
      <div className="b subject">
        <Said of={content} large />
        <div className="row wrap sm mut">
          {actor && <Said of={actor} line />}
          <Moment at={occurredAt ?? createdAt} />
          {contextId && <Said of={contextId} line />}
          {key && <code className="tag">{key}</code>}
          <span>
            kind <Said of={kind} line />
          </span>
        </div>
        <Validity record={record} now={now} />
      </div>
    </section>
  )
}

function Validity({ record, now }: { record: Memory; now: number }) {
  const { from, to, ms, share } = validityOf(record, now)
  const { state } = stateOf(record, now)
  const told = state === 'holds' ? `true for ${span(ms)} so far` : `was true for ${span(ms)}`
  return (
    <div className="validity">
      <div className="ends sm mut2">
        <Moment at={from} />
        <span>{told}</span>
        {to === null ? <span>now</span> : <Moment at={to} />}
      </div>
      <span className="meter" role="img" aria-label={told} style={{ '--part': `${share * 100}%` } as CSSProperties}>
        <i />
      </span>
    </div>
  )
}
