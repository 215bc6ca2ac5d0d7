// The places of working memory, strongest first, each with its words and its light; and the focus of the last cycle.

import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { slotsQuery } from '../../api/slots.ts'
import { score } from '../../format.ts'
import { useService } from '../../frame/service.tsx'
import { hasPage } from '../../pages.ts'
import { Icon } from '../../parts/icon.tsx'
import { lampOf } from '../../parts/lamp.ts'
import { Said } from '../../parts/said.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { Ago } from '../../parts/time.tsx'
import { cyclesQuery } from './queries.ts'

/** Of more places the rest is told by number; working memory has them all. */
const PLACES_MAX = 12

export function InMind() {
  const view = useService()
  const slots = useQuery(slotsQuery(view))
  const { data: cycles } = useQuery(cyclesQuery(view))
  const focused = cycles?.find(({ focus }) => focus !== null)
  const { slug } = view.service
  return (
    <section className="card">
      <div className="b">
        <div className="row">
          <h2>In mind now</h2>
          {slots.data && (
            <span className="mut sm">
              {slots.data.count} of {slots.data.capacity} places
            </span>
          )}
          <span className="grow" />
          {hasPage('mind') ? (
            <Link to="/s/$slug/mind" params={{ slug }} className="why">
              Last hour <Icon name="next" />
            </Link>
          ) : (
            hasPage('working-memory') && (
              <Link to="/s/$slug/working-memory" params={{ slug }} className="why">
                All <Icon name="next" />
              </Link>
            )
          )}
        </div>
        <Loaded of={slots} rows={6}>
          {({ slots: held, capacity, damaged = [] }) => {
            if (held.length === 0)
              return (
                <Empty title="Nothing is in mind" command="loci cycles run">
                  A cycle brings in what was heard and what it reminds of.
                </Empty>
              )
            const shown = held.toSorted((one, other) => other.activation - one.activation).slice(0, PLACES_MAX)
            const free = Math.max(0, Math.min(PLACES_MAX, capacity) - shown.length)
            return (
              <ul className="places">
                {shown.map(({ key, value, activation, pinned }) => (
                  <li key={key} className="place" title={key}>
                    <i data-lamp={lampOf(activation)} />
                    <span className="two-lines">
                      <Said of={value} line />
                    </span>
                    <b className="tn">
                      {score(activation)}
                      {pinned && ' · pinned'}
                    </b>
                  </li>
                ))}
                {Array.from({ length: free }, (_, at) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: free places are alike
                  <li key={at} className="place free mut sm">
                    free
                  </li>
                ))}
                {damaged.map(({ ref }) => (
                  <li key={ref} className="place bad sm">
                    damaged <span className="id">{ref ?? 'without a name'}</span>
                  </li>
                ))}
              </ul>
            )
          }}
        </Loaded>
        {focused && (
          <div className="row sm focus">
            <span className="mut">Focus</span>
            <Said of={focused.focus} line />
            <span className="mut nowrap">
              <Ago at={focused.completedAt} />
            </span>
          </div>
        )}
      </div>
    </section>
  )
}
