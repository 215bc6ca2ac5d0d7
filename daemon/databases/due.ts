// Work that is due later is a row (loci.due: instance, database, kind, at), written in the transaction that makes it
// necessary. Every replica claims what is due; a claim moves the row 5 s ahead, so the rows of a killed worker come
// back by themselves and no process is the scheduler. The handler of the kind moves its row to the next time, or
// deletes it, in the transaction of its work.

import type { Job } from '@loci/chassis/jobs.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import { claimDue, type Due } from './store.ts'

/** As in the check of loci.due. */
type DueKind = 'expiry' | 'cycle' | 'forget' | 'index' | 'advice' | 'erase' | 'slots' | 'records'

type DueHandlers = Partial<Record<DueKind, (sql: Sql, due: Due) => Promise<unknown>>>

const DUE_MS = 1_000
/** Per DUE_MS; half of the time is left to others. A million entries that expire together take about a minute. */
const WORK_MS = 500
/** Few, so that replicas share what is due, and a claim is over before its 5 s are. */
const CLAIMED_MAX = 20

export function dueJobs(sql: Sql, handlers: DueHandlers): Job[] {
  return [{ name: 'due work', everyMs: DUE_MS, run: () => workDue(sql, handlers, WORK_MS) }]
}

/** Runs while something is due and time is left. Each handler commits by itself, so others can write in between. */
export async function workDue(sql: Sql, handlers: DueHandlers, workMs: number): Promise<void> {
  const endsAt = performance.now() + workMs
  let failure: unknown
  let claimed: number
  do {
    claimed = 0
    for (const [kind, handle] of Object.entries(handlers)) {
      for (const due of await claimDue(sql, kind, CLAIMED_MAX)) {
        claimed += 1
        // One database in trouble must not keep the others waiting; its row is due again in 5 s.
        await handle(sql, due).catch((error) => {
          failure ??= new Error(`due work '${kind}' failed`, { cause: error })
        })
      }
    }
  } while (claimed > 0 && performance.now() < endsAt)
  if (failure) throw failure
}
