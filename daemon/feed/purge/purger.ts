// What the feed says is deleted is erased here, by the holder of the lease (CONTRACT 8, P23).
//
//   deleted, purged_at null   requests are refused as for an unknown instance; rows go in batches. Nothing is reported of it.
//   the last batch was short  purged_at is set, the ledger has a row, and both go up with the next report.
//   named again meanwhile     the new life waits in `awaiting` and begins, empty, when the old one is gone.
//
// Everything that it knows is in the tables, so whoever takes over the lease goes on where the last one ended, also after kill -9.
// What can never happen: rows of an instance that lives are erased (purge_some looks at state, generation and fence under the lock that
// every writer shares), or an instance is told to be deleted while something of it is left.

import { setTimeout as sleep } from 'node:timers/promises'
import { createWakeup, type Job, type JobOutcome } from '@loci/chassis/jobs.ts'
import type { Log } from '@loci/chassis/log.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import { finishPurge, listPurges, type Purge, purgeSome } from './store.ts'

export interface PurgerOptions {
  pool: Pool
  log: Log
  fence: number
  /** After each instance that is gone. */
  onPurged(outcome: 'gone' | 'made again'): Promise<void>
}

export interface Purger {
  job: Job
  wake(): void
}

const BEAT_MS = 5_000
const INSTANCES_MAX = 100
/** Must stay far below what a statement may take, also when every row has a quarter of a megabyte. */
const BATCH_MAX = 500
/** Then the next one has its turn: a large instance must not keep small ones waiting. */
const TURN_MS = 1_000

export function createPurger(options: PurgerOptions): Purger {
  const { pool, log } = options
  const wakeup = createWakeup()

  async function run(signal: AbortSignal): Promise<JobOutcome> {
    let isUnfinished = false
    for (const purge of await listPurges(pool, INSTANCES_MAX)) {
      if (signal.aborted) return undefined
      // One in trouble must not keep the others from being erased; it has its turn again at the next beat.
      isUnfinished =
        (await takeTurn(options, purge, signal).catch((error) => {
          log.warn({ error, component: 'purge' }, 'erasing an instance failed; retrying')
          return false
        })) || isUnfinished
    }
    return isUnfinished ? 'again' : undefined
  }

  const failure = 'listing the instances to erase failed; retrying'
  return { job: { name: 'purge', atStart: true, everyMs: BEAT_MS, wakeup, failure, run }, wake: wakeup.wake }
}

/** True while something is left. */
async function takeTurn({ pool, fence, onPurged }: PurgerOptions, purge: Purge, signal: AbortSignal): Promise<boolean> {
  const endsAt = performance.now() + TURN_MS
  let limit = BATCH_MAX
  while (!signal.aborted && performance.now() < endsAt) {
    const startedAt = performance.now()
    const removed = await purgeSome(pool, fence, purge, limit).catch((error) => {
      // Too slow, perhaps: a batch of one that fails is no question of size.
      if (limit === 1) throw error
      return error as Error
    })
    if (removed === undefined) return false
    if (removed instanceof Error) limit = Math.ceil(limit / 8)
    else if (removed < limit) {
      const outcome = await finishPurge(pool, fence, purge)
      if (outcome) await onPurged(outcome)
      return false
    }
    // As long a rest as the batch took: requests of others come first.
    await sleep(performance.now() - startedAt, undefined, { signal }).catch(() => undefined)
  }
  return true
}
