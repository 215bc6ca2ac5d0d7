// It does not know: why, and what came nearest, which the agent is not told.

import type { RecallRequest, RecallResult } from '@loci/sdk/daemon.ts'
import { useRef, useState } from 'react'
import { useService } from '../../frame/service.tsx'
import { Card } from '../../parts/card.tsx'
import { Icon } from '../../parts/icon.tsx'
import { FamilyLegend } from '../../parts/why.tsx'
import type { MemorySearch } from '../../search.ts'
import { useChange } from './ask.tsx'
import { Expected } from './expected.tsx'
import { Hits } from './hits.tsx'
import { Missing } from './missing.tsx'
import { Reasons, Relevance } from './why-panel.tsx'

interface AbstainedProps {
  search: MemorySearch
  answer: RecallResult
  request: RecallRequest
  onStore(): void
}

export function Abstained({ search, answer, request, onStore }: AbstainedProps) {
  const { service } = useService()
  const change = useChange()
  const list = useRef<HTMLOListElement>(null)
  const [isExpecting, setExpecting] = useState(false)
  const nearest = (answer.nearest ?? []).flatMap(({ content, explain = null, ...one }) =>
    content === undefined ? [] : [{ ...one, content, explain }],
  )
  const { best = 0, threshold = null } = answer.abstention ?? {}
  return (
    <>
      <Missing of={answer} />
      <section className="card" aria-label="It does not know">
        <div className="b unknown">
          <span className="wins" aria-hidden="true">
            {['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map((one) => (
              <i key={one} />
            ))}
          </span>
          <h2 className="mind">I don’t know.</h2>
          <p>
            <bdi>{answer.reason}</bdi>
          </p>
          <p className="mut sm">An agent that asks gets an empty answer and is told to say so, not to guess.</p>
          {threshold !== null && <Relevance of={best} from={threshold} isAnswer={false} />}
          <div className="row wrap">
            <button type="button" className="btn" onClick={onStore}>
              <Icon name="add" />
              Store the answer
            </button>
            <button
              type="button"
              className="btn"
              aria-expanded={isExpecting}
              onClick={() => setExpecting((open) => !open)}
            >
              Expected a record?
            </button>
            <button type="button" className="btn q" onClick={() => change({ anyway: 'yes' })}>
              Answer anyway
            </button>
          </div>
        </div>
      </section>
      {isExpecting && <Expected request={request} first={nearest[0]} />}
      {nearest.length > 0 && (
        <Card title="Came nearest, not told to the agent" aside={<FamilyLegend />} flush>
          <div className="nearest">
            <Hits
              list={list}
              hits={nearest}
              slug={service.slug}
              on={search.hit}
              onWhy={(hit) => change({ hit: hit === search.hit ? undefined : hit }, { replace: true })}
              why={(hit) => <Reasons hit={hit} />}
            />
          </div>
        </Card>
      )}
    </>
  )
}
