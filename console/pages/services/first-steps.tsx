// What a first visit does, one after the other. They are counted, so whoever did them elsewhere has done them.

import { useQueries, useQuery } from '@tanstack/react-query'
import { useApi } from '../../api/api.ts'
import { databasesQuery } from '../../api/databases.ts'
import type { ServiceItem } from '../../api/services.ts'
import { slotsQuery } from '../../api/slots.ts'
import { tenantsQuery } from '../../api/tenants.ts'
import { DEFAULT_DATABASE } from '../../frame/service.tsx'
import { Card } from '../../parts/card.tsx'
import { CommandLine } from '../../parts/copy.tsx'
import { Icon } from '../../parts/icon.tsx'
import { agentsQuery } from './queries.ts'
import { firstSteps } from './steps.ts'

/** The newest of them: who has more has done these steps long ago. */
const LOOKED_AT = 3

export function FirstSteps({ services }: { services: ServiceItem[] }) {
  const api = useApi()
  const { data: tenants } = useQuery(tenantsQuery(api))
  const { data: agents } = useQuery(agentsQuery(api, tenants?.[0]?.id))
  const serving = services.filter(({ status }) => status === 'active').slice(0, LOOKED_AT)
  const databases = useQueries({ queries: serving.map(({ id }) => databasesQuery(api, id)) })
  const slots = useQueries({
    queries: serving.map(({ id }) =>
      slotsQuery(
        { at: { id, database: DEFAULT_DATABASE }, daemon: api.daemon(id, DEFAULT_DATABASE) },
        { everyMs: 60_000 },
      ),
    ),
  })
  const steps = firstSteps({
    services: services.length,
    records: most(databases.map(({ data }) => data?.reduce((sum, one) => sum + one.records, 0))),
    held: most(slots.map(({ data }) => data?.count)),
    agents,
  })
  const next = steps.find(({ isDone }) => isDone === false)
  return (
    <Card title="First steps" aside="from real counts, not from clicks">
      <ol className="first">
        {steps.map((step) => (
          <li key={step.label} className="row wrap">
            {step.isDone ? (
              <span className="st ok">
                <Icon name="check" />
              </span>
            ) : (
              <span className="dot idle" />
            )}
            <span className={step.isDone ? 'mut2' : ''}>
              {step.label}
              <span className="sr">
                {step.isDone === undefined ? ', not known yet' : step.isDone ? ', done' : ', to do'}
              </span>
            </span>
            {step === next && (
              <>
                <span className="grow" />
                <CommandLine>{step.command}</CommandLine>
              </>
            )}
          </li>
        ))}
      </ol>
    </Card>
  )
}

function most(counts: (number | undefined)[]): number | undefined {
  const known = counts.filter((one) => one !== undefined)
  return known.length === 0 ? undefined : Math.max(...known)
}
