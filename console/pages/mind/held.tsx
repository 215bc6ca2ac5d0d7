// What was held at the moment, strongest first: under which focus, how strongly and by what, and what the cycle of then
// changed.

import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { decisionsQuery } from '../../api/cycles.ts'
import { clock, count, score, shortId, span } from '../../format.ts'
import { useService } from '../../frame/service.tsx'
import { hasPage } from '../../pages.ts'
import { decidedOf } from '../../parts/decided.ts'
import { Icon } from '../../parts/icon.tsx'
import { Lamp } from '../../parts/light.tsx'
import { Said } from '../../parts/said.tsx'
import { Sum } from '../../parts/why.tsx'
import { usePreferences } from '../../preferences.ts'
import { Words } from './bars.tsx'
import { cameOf } from './came.ts'
import { type Focus, scoreAt } from './moment.ts'
import type { CycleAt, Stay } from './timeline.ts'

interface HeldProps {
  moment: number
  held: readonly Stay[]
  capacity: number
  focus: Focus | undefined
  cycle: CycleAt | undefined
  item: string | undefined
  onItem(key: string | undefined): void
}

/** While a hand scrubs nothing is asked. */
const RESTS_MS = 200

export function Held({ moment, held, capacity, focus, cycle, item, onItem }: HeldProps) {
  const { zone } = usePreferences()
  const open = held.find(({ key }) => key === item) ?? held[0]
  const full = Math.max(9, ...held.map((stay) => scoreAt(stay, moment) ?? 0))
  return (
    <section className="card held-then" aria-label="What was held">
      <header>
        <h2 className="tn">Held at {clock(new Date(moment), zone)}</h2>
        <span className="r tn">
          {count(held.length)} of {count(capacity)}
        </span>
      </header>
      <div className="foc">
        <div className="xs mut">{focus ? `Focus, ${span(Math.max(0, moment - focus.from))} old` : 'No focus'}</div>
        {focus && <Said of={focus.text} line />}
      </div>
      {held.length === 0 && <p className="b mut">Nothing was in mind.</p>}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by the keyboard */}
      <ol className="now" tabIndex={0} aria-label="Held, strongest first">
        {held.map((stay) => (
          <li key={stay.id} className={stay === open ? 'open' : undefined}>
            <button
              type="button"
              aria-expanded={stay === open}
              onClick={() => onItem(stay === open ? undefined : stay.key)}
            >
              <span className="words">
                <Words stay={stay} />
              </span>
              <span className="row">
                <Lamp activation={scoreAt(stay, moment) ?? 0} full={full} />
                <b className="value tn">{score(scoreAt(stay, moment))}</b>
              </span>
            </button>
            {stay === open && <Parts stay={stay} cycle={cycle} moment={moment} />}
          </li>
        ))}
      </ol>
      {cycle ? <Changed cycle={cycle} /> : <p className="chg sm mut">No cycle ran before it, as far as is kept.</p>}
    </section>
  )
}

/** Of the cycle that judged it last; what was put since has been judged by none. */
function Parts({ stay, cycle, moment }: { stay: Stay; cycle: CycleAt | undefined; moment: number }) {
  const view = useService()
  const { zone } = usePreferences()
  const last = stay.light.findLast(({ at, seq }) => seq !== null && at <= moment)
  const judged = cycle && last?.seq === cycle.seq ? cycle.id : undefined
  const resting = useResting(judged)
  const decisions = useQuery(decisionsQuery(view, resting))
  const decision = decisions.data?.find(
    ({ action, subject }) => subject.key === stay.key && ['came', 'stayed'].includes(decidedOf(action).kind),
  )
  return (
    <div className="pb xs mut">
      {decision && resting === judged && judged !== undefined ? (
        <>
          <Sum parts={decision.parts} />
          <span className="pl">
            {decision.parts.map(({ name, contribution }) => (
              <span key={name}>
                {name} <b className="tn">{score(contribution, { signed: true })}</b>
              </span>
            ))}
          </span>
        </>
      ) : (
        judged !== undefined && <span className="sum" />
      )}
      <span>
        {cameOf(stay)} {clock(new Date(stay.from), zone)}
        {stay.recordId !== null && hasPage('record') && (
          <>
            {' · '}
            <Link
              to="/s/$slug/memory/$id"
              params={{ slug: view.service.slug, id: stay.recordId }}
              search={({ db }) => ({ db })}
            >
              its memory
            </Link>
          </>
        )}
      </span>
    </div>
  )
}

/** The value that it has had for a while. */
function useResting<Value>(value: Value): Value {
  const [resting, setResting] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setResting(value), RESTS_MS)
    return () => clearTimeout(timer)
  }, [value])
  return resting
}

function Changed({ cycle: { id, seq, counts, bar, trigger } }: { cycle: CycleAt }) {
  const { service } = useService()
  const { admitted, evicted } = counts
  return (
    <div className="chg">
      <div className="row">
        <h3>Cycle {count(seq)}</h3>
        <span className="id" title={id}>
          {shortId(id)}
        </span>
        {hasPage('cycle') && (
          <Link
            className="why"
            to="/s/$slug/cycles/$id"
            params={{ slug: service.slug, id: String(seq) }}
            search={({ db }) => ({ db })}
          >
            Decisions <Icon name="next" />
          </Link>
        )}
      </div>
      <p className="sm mut2" title={trigger}>
        {admitted + evicted === 0 ? (
          'Nothing came and nothing left'
        ) : (
          <>
            <b className="came">{count(admitted)} came</b>, <b className="left">{count(evicted)} left</b>
          </>
        )}
        {bar === null ? '.' : `: the focus asked for at least ${score(bar)}.`}
      </p>
    </div>
  )
}
