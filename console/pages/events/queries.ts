// What stands beside the names in the tail: what cycles changed.

import { queryOptions } from '@tanstack/react-query'
import { wordsKey } from '../../api/cache.ts'
import type { ServiceInView } from '../../frame/service.tsx'

const CYCLES = 100

export type CycleCounts = ReadonlyMap<string, { admitted: number; evicted: number }>

/** By the id of the cycle, of the newest in the database in view. */
export function cycleCountsQuery({ at, daemon }: ServiceInView) {
  return queryOptions({
    queryKey: wordsKey(at, 'cycles', 'counts'),
    queryFn: async ({ signal }): Promise<CycleCounts> => {
      const { body } = await daemon.call('GET /v1/cognitive/cycles', { query: { limit: CYCLES }, signal })
      return new Map(body.cycles.map(({ id, decisions: { admitted, evicted } }) => [id, { admitted, evicted }]))
    },
  })
}
