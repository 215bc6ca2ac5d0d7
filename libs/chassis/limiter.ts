// Bounds the work in progress. Without it every request is accepted, each gets slower, and at ten times the load nobody is
// answered in time (p99 15 s measured); shedding by event-loop delay let the queue of the database grow just the same.
//
// A slot is taken before any work and given back when the work has ended. Waiters queue in order, at most `queueMax` of
// them and at most `queueMs` long; whoever finds no room is told 503 OVERLOADED at once, and nothing was done.

import { ApiError } from './api-error.ts'

export interface Limiter {
  /** Undefined when a slot was free (the usual case, no promise made), a promise when waiting. Throws or rejects OVERLOADED. */
  acquire(): Promise<void> | undefined
  release(): void
  readonly running: number
  readonly waiting: number
}

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

  return {
    acquire() {
      if (running < runningMax) {
        running += 1
        return undefined
      }
      if (queue.length >= queueMax) throw overloaded()
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
