// What the page of all cycles reads, and the one thing that it does: run one.

import type { Cycle, CycleRan, Cycles } from '@loci/sdk/daemon.ts'
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { factsKey, queries, wordsKey } from '../../api/cache.ts'
import type { ServiceInView } from '../../frame/service.tsx'
import type { CyclesSearch } from '../../search.ts'

const PAGE = 50
const EVERY_MS = 15_000
const HOUR_MS = 3_600_000

const SINCE = { '1h': HOUR_MS, '24h': 24 * HOUR_MS, '7d': 7 * 24 * HOUR_MS } as const

/** Newest first. The first page alone is asked for again by itself: who reads older ones is not moved. */
export function cyclesQuery({ at, daemon }: ServiceInView, since: CyclesSearch['since']) {
  return infiniteQueryOptions({
    queryKey: wordsKey(at, 'cycles', 'list', since),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }: Cycles) => nextCursor,
    refetchInterval: ({ state: { data, error } }) => ((data?.pages.length ?? 0) > 1 && !error ? false : EVERY_MS),
    queryFn: async ({ signal, pageParam: cursor }) => {
      const query = {
        limit: PAGE,
        ...(cursor ? { cursor } : {}),
        ...(since ? { since: new Date(Date.now() - SINCE[since]).toISOString() } : {}),
      }
      return (await daemon.call('GET /v1/cognitive/cycles', { query, signal })).body
    },
  })
}

export function loopQuery({ at, daemon }: ServiceInView) {
  return queryOptions({
    queryKey: factsKey(at, 'health', 'cycles'),
    refetchInterval: EVERY_MS,
    queryFn: async ({ signal }) => (await daemon.call('GET /v1/cognitive/health', { signal })).body,
  })
}

/** How often the loop runs one. Null: not by the clock; undefined: not told. */
export function intervalQuery({ at, daemon }: ServiceInView) {
  return queryOptions({
    queryKey: factsKey(at, 'cycle-settings'),
    queryFn: async ({ signal }) => (await daemon.call('GET /v1/cognitive/settings', { signal })).body,
  })
}

export interface ToRun {
  focus: string
  heard: string
  actor: string
  idempotencyKey: string
}

export async function runCycle({ daemon }: ServiceInView, { focus, heard, actor, idempotencyKey }: ToRun) {
  const observations = heard === '' ? [] : [{ content: heard, ...(actor === '' ? {} : { actor }) }]
  const body = { observations, ...(focus === '' ? {} : { focus }) }
  return (await daemon.call('POST /v1/cognitive/cycles', { body, idempotencyKey })).body
}

/** The answer to a repeat may be of one that is no longer kept, which has no number. */
export function isKept(ran: CycleRan): ran is Cycle {
  return 'seq' in ran
}

/** After a cycle all that a cycle changes is asked for again, events or not. */
export function cycleRan({ at }: Pick<ServiceInView, 'at'>): Promise<unknown> {
  const keys = [
    ...['cycles', 'slots', 'evictions', 'timeline'].map((what) => wordsKey(at, what)),
    ...['cycle-stats', 'slot-stats', 'health'].map((what) => factsKey(at, what)),
  ]
  return Promise.all(keys.map((queryKey) => queries.invalidateQueries({ queryKey })))
}
