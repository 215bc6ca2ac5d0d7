// Erasing a whole database, a bounded number of rows at a time: by the request that asked for it while it waits, else
// by the worker of whichever replica has claimed its due row, and before a restored cell serves.
//
//   begun      the head says so (erasing_since): nothing of it is read, a write is 409, the ledger has its number.
//   erased     rows go in batches; all of it is in the tables, so whoever comes next goes on, also after kill -9.
//   gone       the head leaves with the last rows. The next write to the name begins a new life, whose numbers are
//              behind the ledger's: a replay tells the two apart, and erases the first one alone.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from '@loci/postgres/pool.ts'
import { type Due, postponeDue } from '../../databases/store.ts'
import { eraseSome, replayDatabase } from './store.ts'

/** Far below the statement timeout, also when every row has a quarter of a megabyte. */
const ROWS_MAX = 500
const SLICE_MS = 1_000

/** True when it is gone; false when the time is over before. */
export async function eraseWithin(pool: Pool, place: Due, ms: number): Promise<boolean> {
  const endsAt = performance.now() + ms
  do if (await eraseSome(pool, place, ROWS_MAX)) return true
  while (performance.now() < endsAt)
  return false
}

/** For a row of the ledger, before the cell serves. False: what is there now was begun after that. */
export async function replayWhole(pool: Pool, place: Due, row: { seq: number; at: string }): Promise<boolean> {
  if (!(await replayDatabase(pool, place, row))) return false
  await eraseWithin(pool, place, Number.POSITIVE_INFINITY)
  return true
}

/** The handler of due work `erase`: a slice of it, pausing as long as each batch took, so that requests come first. */
export function erasingDue(pool: Pool): (due: Due) => Promise<void> {
  return async (due) => {
    const endsAt = performance.now() + SLICE_MS
    do {
      const startedAt = performance.now()
      if (await eraseSome(pool, due, ROWS_MAX)) return
      await sleep(performance.now() - startedAt)
    } while (performance.now() < endsAt)
    await postponeDue(pool, 'erase', due, 0)
  }
}
