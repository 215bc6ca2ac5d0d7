// What the overview reads of a service.

import type { CognitiveHealth, CycleStats, KvHealth, SlotStatistics, SystemInfo } from '@loci/sdk/daemon.ts'
import { queryOptions } from '@tanstack/react-query'
import type { Api } from '../../api/api.ts'
import { everyMs, factsKey, wordsKey } from '../../api/cache.ts'
import type { ServiceInView } from '../../frame/service.tsx'

const CYCLES = 5
const MEMORIES = 5
const LEFT = 5
const EVERY_MS = 15_000
/** The store is asked by writing, reading and deleting a probe. */
const PROBE_MS = 60_000

export function detailQuery(api: Api, { service: { id, status } }: ServiceInView) {
  return queryOptions({
    queryKey: factsKey({ id, database: '' }, 'detail', status),
    queryFn: async ({ signal }) =>
      (await api.management.call('GET /api/v1/services/{id}', { path: { id }, signal })).body,
  })
}

export function cyclesQuery({ at, daemon }: ServiceInView) {
  return queryOptions({
    queryKey: wordsKey(at, 'cycles', 'newest'),
    refetchInterval: EVERY_MS,
    queryFn: async ({ signal }) =>
      (await daemon.call('GET /v1/cognitive/cycles', { query: { limit: CYCLES }, signal })).body.cycles,
  })
}

export function memoriesQuery({ at, daemon }: ServiceInView) {
  return queryOptions({
    queryKey: wordsKey(at, 'records', 'newest'),
    refetchInterval: EVERY_MS,
    queryFn: async ({ signal }) => {
      const query = { limit: MEMORIES, order: 'desc' as const }
      return (await daemon.call('GET /v1/memory/records', { query, signal })).body.records
    },
  })
}

export function leftQuery({ at, daemon }: ServiceInView) {
  return queryOptions({
    queryKey: wordsKey(at, 'evictions', 'newest'),
    refetchInterval: EVERY_MS,
    queryFn: async ({ signal }) =>
      (await daemon.call('GET /v1/working-memory/evictions', { query: { limit: LEFT }, signal })).body.evictions,
  })
}

/** Each part by itself: one that does not answer says nothing about the others. */
export function healthQueries({ at, daemon }: ServiceInView) {
  return {
    store: queryOptions<KvHealth>({
      queryKey: factsKey(at, 'health', 'store'),
      refetchInterval: everyMs(PROBE_MS),
      queryFn: async ({ signal }) => (await daemon.call('GET /v1/kv/health', { signal })).body,
    }),
    cycles: queryOptions<CognitiveHealth>({
      queryKey: factsKey(at, 'health', 'cycles'),
      refetchInterval: EVERY_MS,
      queryFn: async ({ signal }) => (await daemon.call('GET /v1/cognitive/health', { signal })).body,
    }),
    chain: queryOptions<CycleStats>({
      queryKey: factsKey(at, 'cycle stats'),
      refetchInterval: EVERY_MS,
      queryFn: async ({ signal }) => (await daemon.call('GET /v1/cognitive/stats', { signal })).body,
    }),
    mind: queryOptions<SlotStatistics>({
      queryKey: factsKey(at, 'stats'),
      refetchInterval: EVERY_MS,
      queryFn: async ({ signal }) => (await daemon.call('GET /v1/working-memory/stats', { signal })).body,
    }),
    daemon: queryOptions<SystemInfo>({
      queryKey: factsKey(at, 'system'),
      refetchInterval: everyMs(PROBE_MS),
      queryFn: async ({ signal }) => (await daemon.call('GET /v1/system/info', { signal })).body,
    }),
  }
}
