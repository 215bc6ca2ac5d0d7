// The organization today: its plan, what it used, and where somebody should look.

import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useApi } from '../../api/api.ts'
import { needsALook } from '../../api/reasons.ts'
import type { ServiceItem } from '../../api/services.ts'
import { tenantStatusQuery, tenantsQuery } from '../../api/tenants.ts'
import { todayQuery } from '../../api/usage.ts'
import { count, day } from '../../format.ts'
import { hasPage } from '../../pages.ts'
import { Card } from '../../parts/card.tsx'
import { CommandLine } from '../../parts/copy.tsx'
import { Loaded, Trouble } from '../../parts/states.tsx'

const NAMED_MAX = 4

export function Today({ services }: { services: ServiceItem[] }) {
  const api = useApi()
  const tenants = useQuery(tenantsQuery(api))
  const [tenant] = tenants.data ?? []
  const status = useQuery(tenantStatusQuery(api, tenant?.id))
  const { data: today } = useQuery(todayQuery(api, tenant?.id))
  const look = services.filter((one) => needsALook(one.status))
  return (
    <Card
      title={`${api.organization.name} today`}
      aside={hasPage('usage') ? <Link to="/o/usage">Usage and billing</Link> : undefined}
    >
      {tenants.error && <Trouble error={tenants.error} onRetry={() => void tenants.refetch()} />}
      <Loaded of={status} rows={3}>
        {(plan) => (
          <dl className="kv">
            <dt>Plan</dt>
            <dd>
              {plan.covered_plan}
              {plan.billing.current_period_end && `, covered until ${day(plan.billing.current_period_end)}`}
            </dd>
            <dt>Services</dt>
            <dd>
              {count(plan.limits.services.used)} of {count(plan.limits.services.limit)}
            </dd>
            <dt>Requests</dt>
            <dd>{count(today?.requests)} since midnight UTC</dd>
            <dt>Needs a look</dt>
            <dd>
              {look.length === 0 && 'nothing'}
              {look.slice(0, NAMED_MAX).map(({ id, slug, name }, at) => (
                <span key={id}>
                  {at > 0 && ', '}
                  <Link to="/s/$slug" params={{ slug }}>
                    {name}
                  </Link>
                </span>
              ))}
              {look.length > NAMED_MAX && ` and ${look.length - NAMED_MAX} more`}
            </dd>
            <dt>From a shell</dt>
            <dd>
              <CommandLine>loci services list</CommandLine>
            </dd>
          </dl>
        )}
      </Loaded>
    </Card>
  )
}
