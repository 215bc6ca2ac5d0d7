// The report on the rows of all domains. It answers also when a sub-service is switched off.

import { ApiError } from '@loci/chassis/api-error.ts'
import { type Route, route } from '@loci/chassis/route.ts'
import { kvConsistency, kvConsistencyQuery } from '@loci/contract/kv.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import type { CapabilityAccess } from '../../access/capability-access.ts'
import type { InstanceKeys } from '../instance-keys.ts'
import { type Mode, type Position, verifyInstance } from './consistency.ts'
import { openPosition, sealPosition } from './position.ts'
import type { Walker } from './walker.ts'

interface ConsistencyOptions {
  access: CapabilityAccess
  pool: Pool
  keys: InstanceKeys
  /** One for each domain, in the order in which they are walked. */
  walkers: Walker[]
}

/** In requests of the plan's rate: a walk reads up to 10,000 rows and takes up to a second of the database. */
const CONSISTENCY_COST = 50
const WALKS_MAX = 2

export function consistencyRoutes({ access, pool, keys, walkers }: ConsistencyOptions): Route[] {
  const walks = createWalks()
  return [
    route(
      {
        method: 'GET',
        path: '/v1/kv/consistency',
        access: access.capability('system:read', { cost: CONSISTENCY_COST }),
        tag: 'kv',
        summary: 'Verify the digests of entries and the counters of their databases.',
        details: '`full` goes on by cursor.',
        query: kvConsistencyQuery,
        refusesUnknownNames: true,
        answers: { 200: kvConsistency },
      },
      async ({ caller, query }) => {
        const from =
          query.cursor === undefined ? undefined : await positionOf(query.cursor, query.mode, caller.instance.id)
        const { report, next, rowsTotal } = await walks.run(caller.instance.id, () =>
          verifyInstance(pool, walkers, caller, query.mode, from),
        )
        const nextCursor = next ? sealPosition((await keys.of(caller.instance.id)).key, query.mode, next) : null
        return { ...report, coverage: { complete: nextCursor === null, nextCursor, rowsTotal } }
      },
    ),
  ]

  async function positionOf(cursor: string, mode: Mode, instanceId: string): Promise<Position> {
    const position = openPosition((await keys.of(instanceId)).key, mode, cursor)
    if (!position)
      throw new ApiError('VALIDATION_ERROR', 'The cursor is not valid, or belongs to another mode. Begin without one.')
    return position
  }
}

/**
 * One walk of an instance at a time and two of the replica: more would take the connections that reads and writes need.
 */
function createWalks() {
  const running = new Set<string>()
  return {
    async run<Result>(instanceId: string, walk: () => Promise<Result>): Promise<Result> {
      if (running.has(instanceId) || running.size >= WALKS_MAX)
        throw new ApiError(
          'OVERLOADED',
          running.has(instanceId)
            ? 'A consistency check of this instance is running. Wait for its answer.'
            : 'Other consistency checks are running. Nothing was done; try again.',
        )
      running.add(instanceId)
      try {
        return await walk()
      } finally {
        running.delete(instanceId)
      }
    },
  }
}
