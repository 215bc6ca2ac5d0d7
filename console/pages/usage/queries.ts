// What the organization used, and what the payment provider said of it.

import type { BillingEventList, ListServicesResponse, Usage } from '@loci/sdk/management.ts'
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import type { Api } from '../../api/api.ts'
import { organizationKey } from '../../api/cache.ts'
import { lastMonths, type Range, rangeOf } from './series.ts'

export type BillingEvent = BillingEventList['events'][number]
type Service = ListServicesResponse['services'][number]

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
/** So many services are asked one by one; more than that is told. */
export const SERVICES_MAX = 40

export function tenantUsageQuery(api: Api, tenantId: string | undefined, range: Range) {
  return queryOptions({
    queryKey: organizationKey(api, 'usage', tenantId, range),
    enabled: tenantId !== undefined,
    refetchInterval: MINUTE_MS,
    queryFn: async ({ signal }): Promise<Usage> => {
      const { step, ms } = rangeOf(range)
      const from = range === '12m' ? lastMonths(Date.now(), 12)[0] : Date.now() - ms
      const query = { step, from: new Date(from ?? 0).toISOString() }
      const call = { path: { id: tenantId as string }, query, signal }
      return (await api.management.call('GET /api/v1/tenants/{id}/usage', call)).body
    },
  })
}

export interface ServiceUsage {
  service: Service
  /** By day, the last 14. */
  days: Usage['usage']
  /** Of the busiest minute of the last hour. */
  perSecond: number
}

/** Limits of records, bytes and requests are of each service: so which of them is nearest to one. */
export function servicesUsageQuery(api: Api, services: readonly Service[] | undefined) {
  const asked = (services ?? []).filter(({ status }) => status !== 'deleted').slice(0, SERVICES_MAX)
  return queryOptions({
    queryKey: organizationKey(
      api,
      'usage of services',
      asked.map(({ id }) => id),
    ),
    enabled: services !== undefined,
    refetchInterval: 5 * MINUTE_MS,
    staleTime: MINUTE_MS,
    queryFn: ({ signal }) => Promise.all(asked.map((service) => readService(api, service, signal))),
  })
}

async function readService({ management }: Api, service: Service, signal: AbortSignal): Promise<ServiceUsage> {
  const path = { id: service.id }
  const read = async (step: 'day' | 'minute', ms: number) => {
    const query = { step, from: new Date(Date.now() - ms).toISOString() }
    return (await management.call('GET /api/v1/services/{id}/usage', { path, query, signal })).body.usage
  }
  const [days, minutes] = await Promise.all([read('day', 14 * DAY_MS), read('minute', 60 * MINUTE_MS)])
  return { service, days, perSecond: Math.max(0, ...minutes.map(({ requests }) => requests)) / 60 }
}

export function billingEventsQuery(api: Api, tenantId: string | undefined, isEnabled: boolean) {
  return infiniteQueryOptions({
    queryKey: organizationKey(api, 'billing events', tenantId),
    enabled: isEnabled && tenantId !== undefined,
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam: cursor, signal }) => {
      const call = { path: { id: tenantId as string }, query: { limit: 50, cursor }, signal }
      return (await api.management.call('GET /api/v1/tenants/{id}/billing/events', call)).body
    },
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
  })
}

export function webhookQuery(api: Api) {
  return queryOptions({
    queryKey: organizationKey(api, 'billing webhook'),
    queryFn: async ({ signal }) => (await api.management.call('GET /api/webhooks/billing', { signal })).body,
  })
}
