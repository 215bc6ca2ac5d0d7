// The services of the organization: what the list, the crumbs, the palette and every page of a service read.

import type { ListServicesResponse } from '@loci/sdk/management.ts'
import { queryOptions } from '@tanstack/react-query'
import type { Api } from './api.ts'
import { organizationKey } from './cache.ts'

export type ServiceItem = ListServicesResponse['services'][number]

const PAGE = 100
/** The largest plan has as many in one tenant. */
const SERVICES_MAX = 1_000
const SETTLED_MS = 15_000
const MOVING_MS = 2_000

export function servicesQuery(api: Api) {
  return queryOptions({
    queryKey: organizationKey(api, 'services'),
    queryFn: ({ signal }) => listServices(api, signal),
    // What is on its way somewhere is asked after more often, until events tell of it.
    refetchInterval: ({ state: { data, error } }) =>
      error || data?.some(({ status }) => isMoving(status)) ? MOVING_MS : SETTLED_MS,
  })
}

export function isMoving(status: string): boolean {
  return status === 'provisioning' || status === 'updating' || status === 'deleting'
}

async function listServices({ management }: Api, signal: AbortSignal): Promise<ServiceItem[]> {
  const services: ServiceItem[] = []
  for (let offset = 0; offset < SERVICES_MAX; offset += PAGE) {
    const { body } = await management.call('GET /api/v1/services', { query: { limit: PAGE, offset }, signal })
    services.push(...body.services)
    if (body.services.length < PAGE) break
  }
  return services
}
