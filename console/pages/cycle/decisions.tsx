// The ledger, whole or those that came, stayed or left; one scale whichever is shown.

import type { Cycle, CycleDecision } from '@loci/sdk/daemon.ts'
import type { UseQueryResult } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import type { Records } from '../../api/records.ts'
import { count, shortId } from '../../format.ts'
import { useService } from '../../frame/service.tsx'
import { hasPage } from '../../pages.ts'
import { Icon } from '../../parts/icon.tsx'
import { countKinds } from '../../parts/ledger.ts'
import { BarLegend, Ledger } from '../../parts/ledger-table.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { FamilyLegend } from '../../parts/why.tsx'

const route = getRouteApi('/s/$slug/cycles/$id')

const KINDS = [
  ['came', 'Came'],
  ['stayed', 'Stayed'],
  ['left', 'Left'],
  ['other', 'Other'],
] as const

interface DecisionsProps {
  cycle: Cycle
  query: UseQueryResult<CycleDecision[] | null>
  records: Records
}

export function Decisions({ cycle: { threshold }, query, records }: DecisionsProps) {
  const { service } = useService()
  const { action } = route.useSearch()
  const all = query.data ?? []
  const kinds = countKinds(all)
  const linkTo = hasPage('record')
    ? (id: string) => (
        <p className="row sm">
          <span className="mut">Memory</span>
          <Link className="id" to="/s/$slug/memory/$id" params={{ slug: service.slug, id }} title={id}>
            {shortId(id)}
          </Link>
        </p>
      )
    : undefined
  return (
    <section className="card" aria-labelledby="decisions">
      <header className="ledger-head">
        <h2 id="decisions">Decisions</h2>
        {all.length > 0 && (
          <nav className="seg" aria-label="Which decisions">
            <Kind of={undefined} on={action}>
              All {count(all.length)}
            </Kind>
            {KINDS.filter(([kind]) => kinds[kind] > 0).map(([kind, word]) => (
              <Kind key={kind} of={kind} on={action}>
                {word} {count(kinds[kind])}
              </Kind>
            ))}
          </nav>
        )}
        {all.length > 0 && <FamilyLegend />}
        {threshold && all.length > 0 && (
          <span className="r">
            <BarLegend threshold={threshold} />
          </span>
        )}
      </header>
      <Loaded of={query} rows={8}>
        {(decisions) =>
          decisions === null ? (
            <p className="b note-like mut2">
              <Icon name="clock" /> What this cycle decided is no longer kept: decisions stay for as many days as your
              plan says. The cycle itself stays in the chain.
            </p>
          ) : decisions.length === 0 ? (
            <Empty title="Nothing was decided" command="loci cycles run --observe 'Ada asks for her parcel'">
              Nothing was held, and nothing that was heard or recalled fitted.
            </Empty>
          ) : (
            <Ledger
              decisions={decisions}
              threshold={threshold}
              records={records}
              kind={action}
              {...(linkTo ? { linkTo } : {})}
            />
          )
        }
      </Loaded>
    </section>
  )
}

type KindName = (typeof KINDS)[number][0] | undefined

function Kind({ of, on, children }: { of: KindName; on: KindName; children: React.ReactNode }) {
  return (
    <Link
      from="/s/$slug/cycles/$id"
      to="."
      search={(now) => ({ ...now, action: of })}
      replace
      activeProps={{}}
      aria-current={of === on ? 'page' : undefined}
    >
      {children}
    </Link>
  )
}
