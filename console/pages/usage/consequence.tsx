// What a bill that is not paid does to the services of a tenant: in words, with the dates.

import type { ListServicesResponse, Tenant } from '@loci/sdk/management.ts'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useApi } from '../../api/api.ts'
import { tenantStatusQuery } from '../../api/tenants.ts'
import { Icon } from '../../parts/icon.tsx'
import { useNow } from '../../parts/time.tsx'
import { usePreferences } from '../../preferences.ts'
import { consequenceOf } from './words.ts'

interface ConsequenceProps {
  tenant: Tenant
  services: ListServicesResponse['services']
  /** Whether the page is about this tenant. */
  isShown: boolean
}

export function Consequence({ tenant, services, isShown }: ConsequenceProps) {
  const { zone } = usePreferences()
  const now = useNow(60_000)
  // Of a tenant that is well, nothing is asked for here.
  const isWell = tenant.status === 'active'
  const { data } = useQuery(tenantStatusQuery(useApi(), isWell && !isShown ? undefined : tenant.id))
  if (!data) return null
  const names = services.map(({ name }) => name)
  const told = consequenceOf(data, { tenant: tenant.name, services: names, now, zone })
  if (!told) return null
  return (
    <div className={`note ${told.tone}`} role="status">
      <Icon name="warning" />
      <div>
        <b className="b5">{told.title}</b> {told.text}{' '}
        {!isShown && (
          <Link to="/o/usage" search={{ tenant: tenant.id }}>
            Open {tenant.name}
          </Link>
        )}
      </div>
    </div>
  )
}
