// What the organization uses of its plan, what the bill does to its services and when, and what the payment provider
// said.

import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useApi } from '../../api/api.ts'
import { servicesQuery } from '../../api/services.ts'
import { tenantStatusQuery, tenantsQuery } from '../../api/tenants.ts'
import { Head } from '../../parts/head.tsx'
import { Loaded } from '../../parts/states.tsx'
import { Consequence } from './consequence.tsx'
import { Events } from './events.tsx'
import { Plan } from './plan.tsx'
import { Requests } from './requests.tsx'
import type { Range } from './series.ts'
import './usage.css'

const route = getRouteApi('/o/usage')
const RANGES: readonly (readonly [Range, string])[] = [
  ['24h', '24 h'],
  ['30d', '30 d'],
  ['12m', '12 m'],
]

export function Page() {
  const api = useApi()
  const navigate = route.useNavigate()
  const { tenant: chosen, range = '30d' } = route.useSearch()
  const tenants = useQuery(tenantsQuery(api))
  const services = useQuery(servicesQuery(api))
  const tenant = tenants.data?.find(({ id }) => id === chosen) ?? tenants.data?.[0]
  const status = useQuery(tenantStatusQuery(api, tenant?.id))
  const own = services.data?.filter(({ tenant_id }) => tenant_id === tenant?.id)
  return (
    <>
      <Head title="Usage and billing">
        {(tenants.data?.length ?? 0) > 1 && (
          <label className="row">
            <span className="mut">tenant</span>
            <select
              className="in of-tenant"
              value={tenant?.id}
              onChange={({ target }) =>
                void navigate({ search: (search) => ({ ...search, tenant: target.value }), replace: true })
              }
            >
              {tenants.data?.map(({ id, name }) => (
                <option key={id} value={id}>
                  {name}
                </option>
              ))}
            </select>
          </label>
        )}
        <nav className="seg" aria-label="How far back">
          {RANGES.map(([name, label]) => (
            <Link
              key={name}
              to="/o/usage"
              search={(search) => ({ ...search, range: name === '30d' ? undefined : name })}
              activeProps={{}}
              activeOptions={{ exact: true, explicitUndefined: true }}
              aria-current={name === range || undefined}
            >
              {label}
            </Link>
          ))}
        </nav>
      </Head>
      {tenants.data?.map((one) => (
        <Consequence
          key={one.id}
          tenant={one}
          services={services.data?.filter(({ tenant_id }) => tenant_id === one.id) ?? []}
          isShown={one.id === tenant?.id}
        />
      ))}
      {tenants.error && !tenants.data ? (
        <section className="card">
          <Loaded of={tenants}>{() => null}</Loaded>
        </section>
      ) : (
        <>
          <div className="grid billed">
            <Plan status={status} services={own} />
            <Requests tenantId={tenant?.id} range={range} />
          </div>
          <Events tenant={tenant} />
        </>
      )}
    </>
  )
}
