// The databases of a service: one for each agent or person, each with what it holds.

import { queryOptions } from '@tanstack/react-query'
import type { Api } from './api.ts'
import { everyMs, factsKey } from './cache.ts'

/** Of more the first are listed. */
const LISTED = 100

export function databasesQuery(api: Api, serviceId: string) {
  return queryOptions({
    queryKey: factsKey({ id: serviceId, database: '' }, 'databases'),
    refetchInterval: everyMs(30_000),
    queryFn: async ({ signal }) =>
      (await api.daemon(serviceId).call('GET /v1/databases', { query: { limit: LISTED }, signal })).body.databases,
  })
}
