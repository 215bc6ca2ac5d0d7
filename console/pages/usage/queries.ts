// What the organization used, and what the payment provider said of it.

import type { BillingEventList, ListServicesResponse, Usage, UsageByService } from '@loci/sdk/management.ts'
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import type { Api } from '../../api/api.ts'
import { everyMs, organizationKey } from '../../api/cache.ts'
import { everyPage } from '../../api/every-page.ts'
import { lastMonths, type Range, rangeOf } from './series.ts'

export type BillingEvent = BillingEventList['events'][number]
type Service = ListServicesResponse['services'][number]

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000

export function tenantUsageQuery(api: Api, tenantId: string | undefined, range: Range) {
  return queryOptions({
    queryKey: organizationKey(api, 'usage', tenantId, range),
    enabled: tenantId !== undefined,
    refetchInterval: everyMs(MINUTE_MS),
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
  days: Step[]
  /** Of the busiest minute of the last hour. */
  perSecond: number
}

/** Limits of records, bytes and requests are of each service: so which of them is nearest to one. */
export function servicesUsageQuery(api: Api, services: readonly Service[] | undefined) {
  const ids = services?.map(({ id }) => id)
  return queryOptions({
    queryKey: organizationKey(api, 'usage of services', ids),
    enabled: services !== undefined,
    refetchInterval: everyMs(5 * MINUTE_MS),
    staleTime: MINUTE_MS,
    queryFn: async ({ signal }): Promise<ServiceUsage[]> => {
      const [days, minutes] = await Promise.all([
        listUsage(api, { step: 'day', ms: 14 * DAY_MS }, signal),
        listUsage(api, { step: 'minute', ms: 60 * MINUTE_MS }, signal),
      ])
      return (services ?? []).map((service) => {
        const requests = (minutes.get(service.id) ?? []).map((one) => one.requests)
        return { service, days: days.get(service.id) ?? [], perSecond: Math.max(0, ...requests) / 60 }
      })
    },
  })
}

type Step = UsageByService['services'][number]['usage'][number]

async function listUsage(
  { management }: Api,
  { step, ms }: { step: 'day' | 'minute'; ms: number },
  signal: AbortSignal,
): Promise<Map<string, Step[]>> {
  // One moment for all pages, so that they are of one range.
  const from = new Date(Date.now() - ms).toISOString()
  const { items } = await everyPage(async (cursor) => {
    const call = { query: { by: 'service' as const, step, from, cursor }, signal }
    const { body } = await management.call('GET /api/v1/usage', call)
    return { items: body.services, next: body.next_cursor }
  })
  return new Map(items.map(({ service_id, usage }) => [service_id, usage]))
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
