// What programs of the organization call with: capabilities for the data of services, API keys for management, and the
// credentials of partners.

import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useApi } from '../../api/api.ts'
import { apiKeysQuery, partnersQuery, tokensQuery } from '../../api/credentials.ts'
import { servicesQuery } from '../../api/services.ts'
import { tenantsQuery } from '../../api/tenants.ts'
import { count } from '../../format.ts'
import { Head } from '../../parts/head.tsx'
import { Icon } from '../../parts/icon.tsx'
import { useMay } from '../../parts/right.tsx'
import { behind } from '../../parts/states.tsx'
import { useNow } from '../../parts/time.tsx'
import { Capabilities } from './capabilities.tsx'
import { Keys } from './keys.tsx'
import { Partners } from './partners.tsx'
import './tokens.css'
import { isOfConsole, isOver } from './tree.ts'

const route = getRouteApi('/o/tokens')
const ABOUT = {
  capabilities: 'capabilities for the data of services',
  keys: 'for management: services, tokens, members',
  partners: 'for who tells a service what happened elsewhere',
} as const
const MAKE = { capabilities: 'Mint a token', keys: 'New API key', partners: 'New credential' } as const

export function Page() {
  const api = useApi()
  const navigate = route.useNavigate()
  const { tab, tenant: chosen } = route.useSearch()
  const now = useNow(60_000)
  const tenants = useQuery(tenantsQuery(api))
  const tenant = tenants.data?.find(({ id }) => id === chosen) ?? tenants.data?.[0]
  const services = useQuery(servicesQuery(api))
  const tokens = useQuery(tokensQuery(api, tenant?.id))
  const keys = useQuery(apiKeysQuery(api))
  const partners = useQuery(
    partnersQuery(
      api,
      services.data?.map(({ id }) => id),
    ),
  )
  const mayMake = useMay(tab === 'partners' ? 'services:write' : 'tokens:write')
  const shown = tab ?? 'capabilities'
  const alive = tokens.data?.items.filter((token) => !isOver(token, now) && !isOfConsole(token)).length
  const tabs = [
    [undefined, 'Capabilities', alive],
    ['keys', 'API keys', keys.data?.items.length],
    ['partners', 'Partners', partners.data?.items.length],
  ] as const
  return (
    <>
      <Head title="Tokens" sub={ABOUT[shown]}>
        {tab === undefined && (tenants.data?.length ?? 0) > 1 && (
          <label className="row">
            <span className="mut">tenant</span>
            <select
              className="in of-tenant"
              value={tenant?.id}
              onChange={({ target }) => void navigate({ search: { tenant: target.value } })}
            >
              {tenants.data?.map(({ id, name }) => (
                <option key={id} value={id}>
                  {name}
                </option>
              ))}
            </select>
          </label>
        )}
        <nav className="seg" aria-label="Which">
          {tabs.map(([name, label, number]) => (
            <Link
              key={label}
              to="/o/tokens"
              search={{ tab: name, tenant: chosen }}
              activeProps={{}}
              activeOptions={{ exact: true, explicitUndefined: true }}
              aria-current={tab === name || undefined}
            >
              {label} {number === undefined ? '' : count(number)}
            </Link>
          ))}
        </nav>
        {mayMake && (
          <Link to="/o/tokens" search={{ tab, tenant: chosen, act: 'make' }} className="btn p">
            <Icon name="add" />
            {MAKE[shown]}
          </Link>
        )}
      </Head>
      {shown === 'capabilities' && <Capabilities tenants={tenants} tenant={tenant} tokens={tokens} />}
      {shown === 'keys' && <Keys keys={keys} />}
      {shown === 'partners' && <Partners partners={behind(services, partners)} />}
    </>
  )
}
