// Bounds the work in progress. Without it every request is accepted, each gets slower, and at ten times the load nobody is
// answered in time (p99 15 s measured); shedding by event-loop delay let the queue of the database grow just the same.
//
// A slot is taken before any work and given back when the work has ended. Waiters queue in order, at most `queueMax` of
// them and at most `queueMs` long; whoever finds no room is told 503 OVERLOADED, and nothing was done.
//
// To refuse costs about as much as a small read. At ten times the load, refusing at once took the time of those who had a slot
// (goodput 8 to 24 % of capacity, measured). So only so many are refused per second and the others wait for their refusal, which
// costs nothing: on a connection that waits nothing new arrives. No more wait for it than memory has room for.

import { ApiError } from './api-error.ts'

export interface Limiter {
  /** Undefined when a slot was free (the usual case, no promise made), a promise when waiting. Throws or rejects OVERLOADED. */
  acquire(): Promise<void> | undefined
  release(): void
  readonly running: number
  readonly waiting: number
}

const REFUSALS_PER_SECOND = 500
const REFUSALS_AT_ONCE_MAX = 50
const REFUSALS_WAITING_MAX = 5_000
const PACE_MS = 20
/** With the longest wait for a slot it stays well below the 3.5 s within which everything is answered. */
const REFUSAL_MS_MAX = 2_500

interface Waiter {
  since: number
  resolve(): void
  reject(error: ApiError): void
}

export function createLimiter({
  runningMax,
  queueMax,
  queueMs,
}: {
  runningMax: number
  queueMax: number
  queueMs: number
}): Limiter {
  let running = 0
  const queue: Waiter[] = []
  let isTimed = false

  function overloaded(): ApiError {
    return new ApiError('OVERLOADED', 'The process has more work than it takes on. Nothing was done; try again.')
  }

  // One timer for the queue and not one per waiter: the oldest waits at its head.
  function expire(): void {
    isTimed = false
    const now = performance.now()
    while (queue[0] && now - queue[0].since >= queueMs) queue.shift()?.reject(overloaded())
    if (queue[0]) expireIn(Math.max(1, queueMs - (now - queue[0].since)))
  }

  function expireIn(ms: number): void {
    isTimed = true
    setTimeout(expire, ms).unref()
  }

  const refused: Pick<Waiter, 'since' | 'reject'>[] = []
  let allowance = REFUSALS_AT_ONCE_MAX
  let allowedAt = performance.now()
  let isPaced = false

  function mayRefuse(now: number): boolean {
    allowance = Math.min(REFUSALS_AT_ONCE_MAX, allowance + ((now - allowedAt) / 1_000) * REFUSALS_PER_SECOND)
    allowedAt = now
    if (allowance < 1) return false
    allowance -= 1
    return true
  }

  function pace(): void {
    isPaced = false
    const now = performance.now()
    // In the order of arrival, so that nobody is forgotten.
    while (refused[0] && (now - refused[0].since >= REFUSAL_MS_MAX || mayRefuse(now)))
      refused.shift()?.reject(overloaded())
    if (refused.length > 0) paceLater()
  }

  function paceLater(): void {
    isPaced = true
    setTimeout(pace, PACE_MS).unref()
  }

  function refuse(): Promise<void> {
    const since = performance.now()
    if (refused.length >= REFUSALS_WAITING_MAX || (refused.length === 0 && mayRefuse(since))) throw overloaded()
    return new Promise((_, reject) => {
      refused.push({ since, reject })
      if (!isPaced) paceLater()
    })
  }

  return {
    acquire() {
      if (running < runningMax) {
        running += 1
        return undefined
      }
      if (queue.length >= queueMax) return refuse()
      return new Promise((resolve, reject) => {
        queue.push({ since: performance.now(), resolve, reject })
        if (!isTimed) expireIn(queueMs)
      })
    },
    release() {
      const next = queue.shift()
      if (next) next.resolve()
      else running -= 1
    },
    get running() {
      return running
    },
    get waiting() {
      return queue.length
    },
  }
}
