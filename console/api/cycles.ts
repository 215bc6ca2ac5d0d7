// Cycles and what they decided. One that ran does not change, but for an erasure, which drops it (api/cache.ts).

import type { Client } from '@loci/sdk/client.ts'
import type { Cycle, CycleDecision, DaemonOperations } from '@loci/sdk/daemon.ts'
import { queryOptions } from '@tanstack/react-query'
import { factsKey, wordsKey } from './cache.ts'
import { problemOf } from './problem.ts'

export interface Place {
  at: { id: string; database: string }
  daemon: Client<DaemonOperations>
}

/** As many as one answer holds. */
const DECISIONS_PAGE = 1_000

/** Null: none ran yet. */
export function lastCycleQuery({ at, daemon }: Place) {
  return queryOptions({
    queryKey: wordsKey(at, 'cycles', 'last'),
    queryFn: async ({ signal }): Promise<Cycle | null> => {
      const { body } = await daemon.call('GET /v1/cognitive/cycles', { query: { limit: 1 }, signal })
      return body.cycles[0] ?? null
    },
  })
}

export function cycleStatsQuery({ at, daemon }: Place) {
  return queryOptions({
    queryKey: factsKey(at, 'cycle-stats'),
    queryFn: async ({ signal }) => (await daemon.call('GET /v1/cognitive/stats', { signal })).body,
  })
}

/** By its id or its number. */
export function cycleQuery({ at, daemon }: Place, id: string) {
  return queryOptions({
    queryKey: wordsKey(at, 'cycle', id),
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async ({ signal }) => (await daemon.call('GET /v1/cognitive/cycles/{id}', { path: { id }, signal })).body,
  })
}

/** Null: they are no longer kept, though the cycle is. */
export function decisionsQuery({ at, daemon }: Place, cycleId: string | undefined) {
  return queryOptions({
    queryKey: wordsKey(at, 'decisions', cycleId),
    enabled: cycleId !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async ({ signal }): Promise<CycleDecision[] | null> => {
      const decisions: CycleDecision[] = []
      let cursor: string | undefined
      do {
        const answer = await daemon
          .call('GET /v1/cognitive/cycles/{id}/decisions', {
            path: { id: cycleId as string },
            query: { limit: DECISIONS_PAGE, ...(cursor === undefined ? {} : { cursor }) },
            signal,
          })
          .catch((error) => {
            if (problemOf(error).kind === 'missing') return null
            throw error
          })
        if (!answer) return null
        decisions.push(...answer.body.decisions)
        cursor = answer.body.nextCursor ?? undefined
      } while (cursor !== undefined)
      return decisions
    },
  })
}
