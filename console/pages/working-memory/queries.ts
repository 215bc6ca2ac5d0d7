// What the page of the working memory reads and writes.

import type { EvictionList, SlotHistory } from '@loci/sdk/daemon.ts'
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { factsKey, queries, wordsKey } from '../../api/cache.ts'
import type { ServiceInView } from '../../frame/service.tsx'

const LEFT_PAGE = 20
const VERSIONS_PAGE = 20

export function slotStatsQuery({ at, daemon }: ServiceInView) {
  return queryOptions({
    queryKey: factsKey(at, 'slot-stats'),
    queryFn: async ({ signal }) => (await daemon.call('GET /v1/working-memory/stats', { signal })).body,
  })
}

/** The configuration in force. */
export function slotSettingsQuery({ at, daemon }: ServiceInView) {
  return queryOptions({
    queryKey: factsKey(at, 'slot-settings'),
    queryFn: async ({ signal }) => (await daemon.call('GET /v1/working-memory/settings', { signal })).body,
  })
}

/** Newest first, with what each of them said. */
export function leftQuery({ at, daemon }: ServiceInView) {
  return infiniteQueryOptions({
    queryKey: wordsKey(at, 'evictions'),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }: EvictionList) => nextCursor,
    queryFn: async ({ signal, pageParam: cursor }) => {
      const query = { content: 'true' as const, limit: LEFT_PAGE, ...(cursor ? { cursor } : {}) }
      return (await daemon.call('GET /v1/working-memory/evictions', { query, signal })).body
    },
  })
}

export function versionsQuery({ at, daemon }: ServiceInView, key: string) {
  return infiniteQueryOptions({
    queryKey: wordsKey(at, 'slots', key, 'versions'),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }: SlotHistory) => nextCursor,
    queryFn: async ({ signal, pageParam: cursor }) => {
      const query = { limit: VERSIONS_PAGE, ...(cursor ? { cursor } : {}) }
      return (await daemon.call('GET /v1/working-memory/slots/{key}/history', { path: { key }, query, signal })).body
    },
  })
}

/** After a write of this page: what it may have changed is asked for again at once, events or not. */
export function slotsChanged({ at }: Pick<ServiceInView, 'at'>): Promise<unknown> {
  return Promise.all(
    [wordsKey(at, 'slots'), wordsKey(at, 'evictions'), factsKey(at, 'slot-stats')].map((queryKey) =>
      queries.invalidateQueries({ queryKey }),
    ),
  )
}
