// Cycles of one instance that begin together are read for by one call: what a call costs is mostly its own.

import { createBatches } from '@loci/postgres/batches.ts'
import { sqlState } from '@loci/postgres/errors.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import type { Due } from '../../databases/store.ts'
import { type CycleState, readStates, type StateAsk } from './store.ts'

/** Observations of all that one call reads for, and such calls of an instance. */
const OBSERVATIONS_MAX = 16
const CALLS_MAX = 2
const TOO_LONG = '57014'

type Read = { state: CycleState } | { failure: unknown }

export type ReadState = (place: Due, ask: Omit<StateAsk, 'database'>) => Promise<CycleState>

export function createReads(pool: Pick<Pool, 'query' | 'afterCommit'>): ReadState {
  const reads = createBatches<StateAsk, Read>({
    run: readTogether,
    runningMax: CALLS_MAX,
    batchMax: OBSERVATIONS_MAX,
    sizeOf: ({ lookups }) => Math.max(1, lookups.length),
    groupOf: ({ database }) => database,
  })

  async function readTogether(instanceId: string, asks: StateAsk[]): Promise<Read[]> {
    try {
      return (await readStates(pool, instanceId, asks)).map((state) => ({ state }))
    } catch (error) {
      if (asks.length === 1 || sqlState(error) !== TOO_LONG) throw error
      // One database that takes too long must not fail the others: each by itself.
      return Promise.all(
        asks.map(async (ask): Promise<Read> => {
          const [state] = await readStates(pool, instanceId, [ask]).catch((failure) => [{ failure }])
          return state && 'failure' in state ? state : { state: state as CycleState }
        }),
      )
    }
  }

  return async ({ instanceId, database }, ask) => {
    const read = await reads.add(instanceId, { database, ...ask })
    if ('failure' in read) throw read.failure
    return read.state
  }
}
