// Erases instances that the feed says are deleted; runs in the replica with the lease.
//
//   deleted, purged_at null   refused like an unknown instance; its rows are erased in batches. Not reported yet.
//   the last batch was short  purged_at is set, the ledger gets a row, and both are sent with the next report.
//   created again meanwhile   the new instance waits in `awaiting` and starts, empty, when the old one is gone.
//
// All its state is in the tables, so the next holder of the lease continues where the last one stopped, also after kill
// -9. Never: rows of a live instance are erased (purge_some checks state, generation and fence under the lock that
// every writer shares); an instance is reported as deleted while a row of it is left.

import { setTimeout as sleep } from 'node:timers/promises'
import { createRepeats, createWakeup, type Job, type JobOutcome } from '@loci/chassis/jobs.ts'
import type { Log } from '@loci/chassis/log.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import { finishPurge, listPurges, type Purge, purgeSome } from './store.ts'

export interface PurgerOptions {
  pool: Pool
  log: Log
  fence: number
  /** Called after each erased instance. */
  onPurged(outcome: 'gone' | 'made again'): Promise<void>
}

export interface Purger {
  job: Job
  wake(): void
}

const BEAT_MS = 5_000
const INSTANCES_MAX = 100
/** Must stay far below the statement timeout, also when every row has a quarter of a megabyte. */
const BATCH_MAX = 500
/** Time spent on one instance before the next: a large one must not delay small ones. */
const SLICE_MS = 1_000
const ERASING_FAILED =
  'erasing an instance failed; tried again in 5 s. Its service shows deletion_unconfirmed after 15 minutes; error says why'
const BATCH_FAILED = 'erasing a batch of an instance failed; trying with fewer rows. error says why'

export function createPurger(options: PurgerOptions): Purger {
  const { pool, log, fence, onPurged } = options
  const wakeup = createWakeup()
  /** Of each instance whose erasure failed last. */
  const failing = new Map<string, (reason: string) => boolean>()
  /** Rows of the next batch, of each instance whose last one failed. */
  const limits = new Map<string, number>()

  function tellFailure(error: unknown, { instanceId }: Purge, message: string): void {
    const isNews = failing.get(instanceId) ?? createRepeats()
    failing.set(instanceId, isNews)
    if (isNews(`${message}: ${(error as Error).message}`))
      log.warn({ error, component: 'purge', service: instanceId }, message)
  }

  async function run(signal: AbortSignal): Promise<JobOutcome> {
    let isUnfinished = false
    for (const purge of await listPurges(pool, INSTANCES_MAX)) {
      if (signal.aborted) return undefined
      // One that fails must not block the others; it is retried in the next round.
      try {
        isUnfinished = (await purgeForSlice(purge, signal)) || isUnfinished
      } catch (error) {
        tellFailure(error, purge, ERASING_FAILED)
      }
    }
    return isUnfinished ? 'again' : undefined
  }

  /** True while something is left. */
  async function purgeForSlice(purge: Purge, signal: AbortSignal): Promise<boolean> {
    const endsAt = performance.now() + SLICE_MS
    while (!signal.aborted && performance.now() < endsAt) {
      const startedAt = performance.now()
      const limit = limits.get(purge.instanceId) ?? BATCH_MAX
      const removed = await purgeSome(pool, fence, purge, limit).catch((error) => {
        // A batch of one fails for another reason than its size.
        if (limit === 1) throw error
        tellFailure(error, purge, BATCH_FAILED)
        return 'failed' as const
      })
      // Kept for the next slice: a batch that times out takes longer than a whole slice.
      if (removed === 'failed') limits.set(purge.instanceId, Math.ceil(limit / 8))
      else if (removed === undefined || removed < limit) {
        const outcome = removed === undefined ? undefined : await finishPurge(pool, fence, purge)
        limits.delete(purge.instanceId)
        failing.delete(purge.instanceId)
        if (outcome) await onPurged(outcome)
        return false
      }
      // Pause as long as the batch took, so that requests come first.
      await sleep(performance.now() - startedAt, undefined, { signal }).catch(() => undefined)
    }
    return true
  }

  const failure = 'listing the instances to erase failed; retrying'
  return { job: { name: 'purge', atStart: true, everyMs: BEAT_MS, wakeup, failure, run }, wake: wakeup.wake }
}
