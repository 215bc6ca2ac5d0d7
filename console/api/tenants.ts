// The tenants of the organization, and what the plan of one allows.

import { queryOptions } from '@tanstack/react-query'
import type { Api } from './api.ts'
import { organizationKey } from './cache.ts'

export function tenantsQuery(api: Api) {
  return queryOptions({
    queryKey: organizationKey(api, 'tenants'),
    queryFn: async ({ signal }) => {
      const { body } = await api.management.call('GET /api/v1/tenants', { query: { limit: 100 }, signal })
      return body.tenants.toSorted((one, other) => Number(other.is_default) - Number(one.is_default))
    },
  })
}

export function tenantStatusQuery(api: Api, id: string | undefined) {
  return queryOptions({
    queryKey: organizationKey(api, 'tenant status', id),
    enabled: id !== undefined,
    queryFn: async ({ signal }) =>
      (await api.management.call('GET /api/v1/tenants/{id}/status', { path: { id: id as string }, signal })).body,
  })
}
