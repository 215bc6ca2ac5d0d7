// Requests and what is held, by minute, hour or day.

import type { Usage } from '@loci/sdk/management.ts'
import { queryOptions } from '@tanstack/react-query'
import type { Api } from './api.ts'
import { everyMs, factsKey, organizationKey } from './cache.ts'

export type Span = '1h' | '24h' | '7d'

const MINUTE_MS = 60_000
/** How far back, in what steps. */
const SPANS: Readonly<Record<Span, { step: 'minute' | 'hour'; stepMs: number; steps: number }>> = {
  '1h': { step: 'minute', stepMs: MINUTE_MS, steps: 60 },
  '24h': { step: 'hour', stepMs: 60 * MINUTE_MS, steps: 24 },
  '7d': { step: 'hour', stepMs: 60 * MINUTE_MS, steps: 168 },
}

export function usageQuery(api: Api, serviceId: string, of: Span, isEnabled = true) {
  return queryOptions({
    queryKey: factsKey({ id: serviceId, database: '' }, 'usage', of),
    enabled: isEnabled,
    refetchInterval: everyMs(MINUTE_MS),
    staleTime: 15_000,
    queryFn: async ({ signal }) => {
      const { step, stepMs, steps } = SPANS[of]
      const query = { step, from: new Date(Date.now() - stepMs * steps).toISOString() }
      const path = { id: serviceId }
      const { body } = await api.management.call('GET /api/v1/services/{id}/usage', { path, query, signal })
      return seriesOf(body, of)
    },
  })
}

/** Of all services of a tenant since midnight UTC. */
export function todayQuery(api: Api, tenantId: string | undefined) {
  return queryOptions({
    queryKey: organizationKey(api, 'usage today', tenantId),
    enabled: tenantId !== undefined,
    refetchInterval: everyMs(MINUTE_MS),
    queryFn: async ({ signal }) => {
      const from = `${new Date().toISOString().slice(0, 10)}T00:00:00Z`
      const call = { path: { id: tenantId as string }, query: { step: 'hour' as const, from }, signal }
      const { body } = await api.management.call('GET /api/v1/tenants/{id}/usage', call)
      return body.usage.reduce(
        (sum, { requests, records }) => ({
          requests: sum.requests + requests,
          records: Math.max(sum.records, records),
        }),
        { requests: 0, records: 0 },
      )
    },
  })
}

export interface Series {
  /** Of each step; a step without a report had no request. */
  requests: number[]
  writes: number[]
  /** The begin of each step. */
  times: number[]
  /** As last reported; undefined where nothing was reported yet. */
  records: number | undefined
  bytes: number | undefined
  isReported: boolean
}

export function seriesOf({ usage, to }: Pick<Usage, 'usage' | 'to'>, of: Span): Series {
  const { stepMs, steps } = SPANS[of]
  const last = Math.floor(Date.parse(to) / stepMs) * stepMs
  const times = Array.from({ length: steps }, (_, at) => last - (steps - 1 - at) * stepMs)
  const known = new Map(usage.map((one) => [Math.floor(Date.parse(one.at) / stepMs) * stepMs, one]))
  const latest = usage.at(-1)
  return {
    requests: times.map((at) => known.get(at)?.requests ?? 0),
    writes: times.map((at) => known.get(at)?.writes ?? 0),
    times,
    records: latest?.records,
    bytes: latest?.bytes,
    isReported: latest !== undefined,
  }
}

/** The last step that is over: the one that runs has not all its requests yet. */
export function lastWhole(values: readonly number[]): number | undefined {
  return values.at(-2)
}
