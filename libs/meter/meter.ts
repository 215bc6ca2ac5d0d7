// Whose work the processor does. Every piece of work has a Work: a request, or one piece of due work. The thread is a
// baton: whoever takes it (`enter`) ends the slice of whoever had it. What happens between two slices, or begins
// outside of any work, is nobody's. Doors take the baton, where work comes back from a wait: the arrival of a request
// or of its body, an answer of PostgreSQL, a turn that was given to others, a worker's answer. No handler has one. A
// door that is missing loses a slice, and no more: the context (AsyncLocalStorage) still knows whose work it is.
//
// What PostgreSQL does is not measured but told by calls, bytes and rows. The time of statements was tried: on a loaded
// machine a small write was charged 39 units because its commit had waited.

import { AsyncLocalStorage } from 'node:async_hooks'
import { constants, PerformanceObserver } from 'node:perf_hooks'
import { type Clock, chooseClock } from './clock.ts'

/** Whoever charges somebody for a piece of work. */
interface Payer {
  /** Throws when whoever pays is in debt: asked after a wait for a turn, before the work goes on. */
  requireRoom(): void
  /** Something was taken back from what it used; it may have been settled long ago. */
  takeLess(): void
}

/** What one piece of work has used, in microseconds. */
export class Work {
  /** Of this process. */
  us = 0
  /** Of PostgreSQL, as far as it can be told from here. */
  storeUs = 0
  /** Who pays for what is done for it after it has ended. */
  account: string | undefined
  /** Whose work it is one of, where several accounts have a share together. */
  share: string | undefined = undefined
  hasEnded = false
  payer: Payer | undefined = undefined

  constructor(account?: string) {
    this.account = account
  }

  get totalUs(): number {
    return this.us + this.storeUs
  }
}

const CALL_US = 150
const SENT_BYTE_US = 0.05
const RECEIVED_BYTE_US = 0.006
const READ_ROW_US = 5
const WRITTEN_ROW_US = 30
const SCANNED_ROW_US = 7
const SHORT_US = 300
/** Then the clock is read all the same. */
const SHORTS_US_MAX = 10_000
/** V8's helpers may use as much again beside a slice. */
const HELPED_MAX = 2
/** What was read and parsed before anybody could say for whom. */
const BEFORE_US_MAX = 300
/** A byte that is moved between the kernel and this process. */
const MOVED_BYTE_US = 0.005
/** Whoever uses as much makes garbage of its own. */
const DEAR_US = 4_500

const context = new AsyncLocalStorage<Work>()
const clock: Clock = chooseClock()
let read = clock.whole
let since = read()
let running: Work | undefined
/** When its slice began, as performance.now() has it. */
let sliceFrom = 0
/** When the last reading was, and what short slices have used since the clock was read. */
let lapFrom = performance.now()
let shortUs = 0
let threads = 0
let isClosing = false
let meteredUs = 0
let nobodyUs = 0
let threadsUs = 0
let payLate: ((account: string, us: number) => void) | undefined

/** Whether it is measured by the slice, or estimated (clock.ts). */
export const isExactlyMetered: boolean = clock.isExact

/** The work that this code runs for. */
export const current = (): Work | undefined => context.getStore()

/**
 * From here on the thread works for `work`; undefined: for nobody. `bytes`: that were read or written for it just
 * before, by the loop itself and outside of any callback.
 */
export function enter(work: Work | undefined, bytes = 0): void {
  if (work === running) return
  const us = lap()
  if (running) give(running, us)
  else {
    const before = work ? Math.min(us, BEFORE_US_MAX + bytes * MOVED_BYTE_US) : 0
    if (work) give(work, before)
    nobodyUs += us - before
  }
  running = work
  if (!work) return
  sliceFrom = performance.now()
  if (isClosing) return
  isClosing = true
  // Before the thread sleeps: else whoever was last would pay for all that comes until the next door.
  setImmediate(closeSlice)
}

function closeSlice(): void {
  isClosing = false
  enter(undefined)
}

/** After a wait: the thread works again for whom the code was called. */
export function resume(): void {
  enter(context.getStore())
}

/** Brings what was used so far up to date. */
export function catchUp(): void {
  const us = lap()
  if (running) give(running, us)
  else nobodyUs += us
}

/** `run` and everything that it begins is done for `work`; undefined: for nobody. */
export function workFor<Result>(work: Work | undefined, run: () => Result): Result {
  enter(work)
  return work ? context.run(work, run) : outside(run)
}

/**
 * `run` and everything that it begins is done for nobody: what is begun for one and then shared by all, as a cache that
 * is filled or a loop that goes on, would carry the first one's name for ever.
 */
export function outside<Result>(run: () => Result): Result {
  return context.getStore() === undefined ? run() : context.exit(run)
}

/** One statement has been answered. `writes`: its rows were written and not only read. */
export function noteStatement(
  work: Work,
  { sent, received, rows, writes }: { sent: number; received: number; rows: number; writes: boolean },
): void {
  const rowsUs = rows * (writes ? WRITTEN_ROW_US : READ_ROW_US)
  work.storeUs += CALL_US + sent * SENT_BYTE_US + received * RECEIVED_BYTE_US + rowsUs
}

/** A statement has read so many rows to say little: nothing of what it answers tells how much that was. */
export function noteScanned(rows: number): void {
  const work = current()
  if (work) work.storeUs += rows * SCANNED_ROW_US
}

/** A thread of ours has begun to work, or ended: meanwhile this thread's own clock counts. */
export function beside(change: 1 | -1): void {
  catchUp()
  threads += change
  rebase()
}

/** A thread of ours has measured itself. Whoever asked may have been answered, or have given up, long ago. */
export function noteThread(work: Work | undefined, us: number): void {
  threadsUs += us
  if (!work) nobodyUs += us
  else {
    work.us += us
    meteredUs += us
    if (work.hasEnded && work.account !== undefined) payLate?.(work.account, us)
  }
}

/** What threads of ours have said that they used, so far. */
export const threadsTotalUs = (): number => threadsUs

/** Who charges an account for what was done after its work had ended. One for the process. */
export function onLate(pay: (account: string, us: number) => void): void {
  payLate = pay
}

/** In µs since the start: what was done for somebody, and for nobody. */
export function meterTotals(): { meteredUs: number; nobodyUs: number } {
  catchUp()
  return { meteredUs, nobodyUs }
}

function rebase(): void {
  read = threads > 0 ? clock.thread : clock.whole
  since = read()
  shortUs = 0
  lapFrom = performance.now()
}

// To read the clock takes 2.6 µs in a process of a dozen threads, a tenth of a small request when it is read for every
// slice (measured). A slice that is short by the wall was not interrupted, and the wall is as good; the clock is read
// for a longer one, which has waited, slept or worked.
function lap(): number {
  const now = performance.now()
  const wallUs = (now - lapFrom) * 1_000
  lapFrom = now
  if (wallUs < SHORT_US && shortUs < SHORTS_US_MAX) {
    shortUs += wallUs
    return wallUs
  }
  const at = read()
  const us = Math.max(0, at - since - shortUs)
  since = at
  shortUs = 0
  // What helpers did during the short ones is nobody's, and not of whoever comes next.
  const own = Math.min(us, wallUs * HELPED_MAX)
  nobodyUs += us - own
  return own
}

function give(work: Work, us: number): void {
  work.us += us
  meteredUs += us
  if (us >= LONG_US) noteLong(work, us)
}

// A major collection is of everybody's garbage and falls on whoever runs when it is due: from small work it is taken
// back. The observer hears of it later, so slices that are long enough to have had one in them are remembered for a
// while.

const LONG_US = 2_000
const LONG_MAX = 16
const long: { work: Work; us: number; from: number; to: number }[] = []

function noteLong(work: Work, us: number): void {
  const to = performance.now()
  long.push({ work, us, from: sliceFrom, to })
  sliceFrom = to
  if (long.length > LONG_MAX) long.shift()
}

function takeBack(startTime: number, us: number): void {
  const slice = long.find(({ from, to }) => from <= startTime && startTime <= to)
  if (!slice) return
  const less = Math.min(us, slice.us)
  if (slice.work.totalUs - less > DEAR_US) return
  slice.us -= less
  slice.work.us -= less
  meteredUs -= less
  nobodyUs += less
  slice.work.payer?.takeLess()
}

new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) {
    const { detail } = entry as unknown as { detail?: { kind?: number } }
    if (detail?.kind === constants.NODE_PERFORMANCE_GC_MAJOR) takeBack(entry.startTime, entry.duration * 1_000)
  }
}).observe({ entryTypes: ['gc'] })
