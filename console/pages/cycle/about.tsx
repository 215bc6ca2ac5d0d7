// What the cycle was about, what it heard, and what it did to the working memory, in one line.

import type { Cycle, CycleDecision } from '@loci/sdk/daemon.ts'
import type { Records } from '../../api/records.ts'
import { Flow } from '../../parts/flow.tsx'
import { heardIn } from '../../parts/heard.ts'
import { Said } from '../../parts/said.tsx'

interface AboutProps {
  cycle: Cycle
  decisions: readonly CycleDecision[]
  records: Records
}

/** Of more the ledger has all. */
const SHOWN = 4

export function About({ cycle, decisions, records }: AboutProps) {
  const heard = heardIn(cycle, decisions, records.byId)
  const many = cycle.phases.find(({ name }) => name === 'perceive')?.in ?? 0
  const more = many - Math.min(SHOWN, heard.length)
  return (
    <section className="card" aria-label="What it was about">
      <div className="b cycle-about">
        <div>
          <div className="sm mut">Focus</div>
          {cycle.focus !== null ? (
            <Said of={cycle.focus} large />
          ) : cycle.redacted ? (
            <span className="redacted" role="img" aria-label="erased" />
          ) : (
            <p className="mut2">None: what was heard was what it went by.</p>
          )}
        </div>
        <div>
          <div className="sm mut">Heard</div>
          {many === 0 && <p className="mut2">Nothing</p>}
          <ul className="heard-list">
            {heard.slice(0, SHOWN).map(({ id, actor, content }) => (
              <li key={id}>
                {actor !== null && (
                  <>
                    <Said of={actor} line />
                    <span aria-hidden="true">:</span>
                  </>
                )}
                <Said of={content} line />
              </li>
            ))}
          </ul>
          {many > 0 && more > 0 && (
            <p className="sm mut">{heard.length === 0 ? `${many}, in the ledger below` : `and ${more} more`}</p>
          )}
        </div>
        <Flow of={cycle} />
      </div>
    </section>
  )
}
