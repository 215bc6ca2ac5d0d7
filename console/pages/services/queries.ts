// What the list reads of each service that is in view, and what can be done to it.

import { queryOptions } from '@tanstack/react-query'
import type { Api } from '../../api/api.ts'
import { everyMs, factsKey, organizationKey } from '../../api/cache.ts'
import { isMoving, type ServiceItem } from '../../api/services.ts'

/** Its reason and region; asked where the status says that there is one. */
export function detailQuery(api: Api, { id, status }: ServiceItem) {
  return queryOptions({
    queryKey: factsKey({ id, database: '' }, 'detail', status),
    queryFn: async ({ signal }) =>
      (await api.management.call('GET /api/v1/services/{id}', { path: { id }, signal })).body,
    refetchInterval: everyMs(isMoving(status) ? 2_000 : 30_000),
  })
}

export function operationQuery(api: Api, id: string | null | undefined) {
  return queryOptions({
    queryKey: organizationKey(api, 'operation', id),
    enabled: typeof id === 'string',
    refetchInterval: 1_000,
    queryFn: async ({ signal }) =>
      (await api.management.call('GET /api/v1/operations/{id}', { path: { id: id as string }, signal })).body,
  })
}

/** Whether an agent has ever called with a credential of its own: a token or a client of OAuth that was used. */
export function agentsQuery(api: Api, tenantId: string | undefined) {
  return queryOptions({
    queryKey: organizationKey(api, 'agents', tenantId),
    enabled: tenantId !== undefined,
    refetchInterval: everyMs(30_000),
    queryFn: async ({ signal }) => {
      const path = { id: tenantId as string }
      const [tokens, grants] = await Promise.all([
        api.management.call('GET /api/v1/tenants/{id}/tokens', { path, query: { limit: 100 }, signal }),
        api.management.call('GET /api/v1/oauth-grants', { query: { limit: 100 }, signal }),
      ])
      const isUsed = ({ last_used_at }: { last_used_at: string | null }) => last_used_at !== null
      return [...tokens.body.tokens, ...grants.body.oauth_grants].filter(isUsed).length
    },
  })
}
