// Work that is due later is a row (loci.due: instance, database, kind, at), written in the transaction that makes it
// necessary. Every replica claims what is due; a claim moves the row 5 s ahead, so the rows of a killed worker come
// back by themselves and no process is the scheduler. The handler of the kind moves its row to the next time, or
// deletes it, in the transaction of its work.

import { setTimeout as pause } from 'node:timers/promises'
import type { Job, JobOutcome } from '@loci/chassis/jobs.ts'
import { enter, Work, workFor } from '@loci/meter/meter.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import { claimDue, type Due, listDueKinds, postponeDue } from './store.ts'

/** As in the check of loci.due. */
export const DUE_KINDS = [
  ...(['expiry', 'slots', 'records', 'projections', 'history', 'index'] as const),
  ...(['vectors', 'advice', 'cycle', 'config', 'erase'] as const),
]
type DueKind = (typeof DUE_KINDS)[number]

type DueHandler = (sql: Sql, due: Due) => Promise<unknown>
type DueHandlers = Partial<Record<DueKind, DueHandler>>

const DUE_MS = 1_000
const DUE_FAILED = 'upkeep of a database (expiry, index, history) failed; retrying. Requests are served meanwhile'
/** Then others have as much. A million entries that expire together take about a minute. */
const WORK_MS = 500
/** Few, so that replicas share what is due, and a claim is over before its 5 s are. */
const CLAIMED_MAX = 20

const BACK_OFF_MS = 5_000
const BACK_OFF_MS_MAX = 10 * 60_000
/** Databases whose failures are counted; beyond them counting begins again. */
const FAILING_MAX = 10_000

/**
 * For work whose failure is dear: a database where it fails again is due later each time, up to ten minutes. Counted by
 * each replica for itself, and no more after a success.
 */
export function backingOff(kind: DueKind, handle: DueHandler): DueHandler {
  const failures = new Map<string, number>()
  return async (sql, due) => {
    const name = `${due.instanceId}/${due.database}`
    try {
      await handle(sql, due)
      failures.delete(name)
    } catch (error) {
      const before = failures.get(name) ?? 0
      if (failures.size >= FAILING_MAX) failures.clear()
      failures.set(name, before + 1)
      const ms = Math.min(BACK_OFF_MS_MAX, BACK_OFF_MS * 2 ** before)
      // Where this fails too, the claim's 5 s hold; what is told is why the work failed.
      await postponeDue(sql, kind, due, ms).catch(() => {})
      throw error
    }
  }
}

/** Told what a piece of due work has used, in microseconds of processor time. */
type Pay = (kind: DueKind, instanceId: string, us: number) => void

/** `width`: so many of a kind side by side, for work that waits more than it computes. */
export function dueJobs(
  sql: Sql,
  handlers: DueHandlers,
  {
    name = 'due work',
    width = 1,
    failure = DUE_FAILED,
    isHeld = (): boolean => false,
    pay = undefined as Pay | undefined,
  } = {},
): Job[] {
  const run = async (signal: AbortSignal): Promise<JobOutcome> => {
    // In a restored database a cycle would learn again what was erased.
    if (isHeld()) return
    const startedAt = performance.now()
    if ((await workDue(sql, handlers, WORK_MS, width, pay)) === 'all') return
    // Half of the time is left to others. A wait of DUE_MS here left two thirds, and cycles were 2 s late.
    await pause(Math.min(DUE_MS, performance.now() - startedAt), undefined, { signal })
    return 'again'
  }
  // As long as others are left half of the time: where one database fails again and again, the rest is not to be late.
  return [{ name, everyMs: DUE_MS, backoff: { ms: WORK_MS, msMax: WORK_MS }, failure, run }]
}

/**
 * Runs while something is due and time is left. Each handler commits by itself, so others can write in between. `some`:
 * more may be due.
 */
export async function workDue(
  sql: Sql,
  handlers: DueHandlers,
  workMs: number,
  width = 1,
  pay?: Pay,
): Promise<'all' | 'some'> {
  const endsAt = performance.now() + workMs
  const kinds = Object.keys(handlers)
  // The one door for all due work: whoever made it necessary pays for it.
  const paid = async (kind: DueKind, instanceId: string, run: () => Promise<unknown>) => {
    const work = new Work(instanceId)
    try {
      await workFor(work, run)
    } finally {
      enter(undefined)
      work.hasEnded = true
      pay?.(kind, instanceId, work.totalUs)
    }
  }
  let failure: unknown
  let claimed: number
  do {
    claimed = 0
    // Mostly nothing is due: one question, not a claim of each kind, once a second on every replica.
    for (const kind of kinds.length > 1 ? await listDueKinds(sql, kinds) : kinds) {
      const handle = handlers[kind as DueKind] as DueHandler
      const rows = await claimDue(sql, kind, CLAIMED_MAX)
      claimed += rows.length
      const lane = async () => {
        for (let due = rows.shift(); due; due = rows.shift())
          // One database in trouble must not keep the others waiting; its row is due again in 5 s, or later
          // (backingOff).
          await paid(kind as DueKind, due.instanceId, () => handle(sql, due)).catch((error) => {
            failure ??= new Error(`due work '${kind}' failed`, { cause: error })
          })
      }
      await Promise.all(Array.from({ length: width }, lane))
    }
  } while (claimed > 0 && performance.now() < endsAt)
  if (failure) throw failure
  return claimed > 0 ? 'some' : 'all'
}
