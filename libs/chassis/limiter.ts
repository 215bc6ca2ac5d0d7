// Bounds the work in progress. Without it every request is accepted, each gets slower, and at ten times the load nobody
// is answered in time (p99 15 s measured); shedding by event-loop delay let the queue of the database grow just the
// same.
//
// A slot is taken before any work and given back when the work has ended, or while it waits for its body. Waiters queue
// in order, at most `queueMax` of them and at most `queueMs` long; whoever finds no room is told 503 OVERLOADED, and
// nothing was done.
//
//   anonymous   taken before access, when nobody knows yet who calls
//   assigned    counts for its caller (an instance, an organization), who never holds more than a quarter of all
//   crowded     the caller has its quarter: waits, without a slot, for one of its own to come back
//   returning   gave its slot back while its body arrived: served before those who wait for their first
//   suspects    come from an address that is over its failures, with a credential that is not known to be good: until
//               access has decided they all together hold a sixteenth of the slots. 900 connections with invented API
//               keys filled slots and queue, and half of everybody else's requests were refused (measured).
//   strangers   come to an open route: each address holds as many as all suspects
//
// To refuse costs about as much as a small read. At ten times the load, refusing at once took the time of those who had
// a slot (goodput 8 to 24 % of capacity, measured). So only so many are refused per second and the others wait for
// their refusal, which costs nothing: on a connection that waits nothing new arrives. No more wait for it than memory
// has room for. So do those who are over their rate (server.ts): 900 connections of one
// caller were told so 1,100 to 1,900 times a second, and others waited for half of a core (measured).

import { createLines, createShare } from '@loci/meter/share.ts'
import { ApiError } from './api-error.ts'

export interface Limiter {
  /**
   * Undefined when a slot was free (the usual case, no promise made), a promise when waiting. Throws or rejects
   * OVERLOADED. Where it is known before access for whom, it counts for that caller, or for SUSPECTS, from the start.
   */
  acquire(caller?: string): Promise<void> | undefined
  /**
   * The slot that is held counts for this caller from now on: undefined. Or the caller has its share already: then the
   * slot is given back, and the promise resolves with another one. When it throws OVERLOADED, the slot is still held.
   */
  assign(caller: string): Promise<void> | undefined
  /** A slot for a request that has given its own back, before those who have none yet. */
  resume(caller: string | undefined): Promise<void> | undefined
  release(caller?: string): void
  /** The refusal of a request that holds no slot any more: at once, or when it is its turn. */
  refuse(refusal: ApiError): Promise<void>
  /** Slots of their own for routes that must answer while all others are taken; undefined = these. */
  lane(name: string | undefined): Limiter
  readonly running: number
  readonly waiting: number
  /** How often a slot was taken again, since the start. */
  readonly resumed: number
}

interface LimiterOptions {
  runningMax: number
  queueMax: number
  queueMs: number
}

export const SUSPECTS = 'suspects'
const STRANGERS = 'strangers:'
/** What comes from one address to open routes: each has as few slots as all suspects together. */
export function strangersAt(network: string): string {
  return STRANGERS + network
}
/** The lines for a slot. */
const QUEUE = 'queue'
const RETURNING = 'returning'
/** Of all slots: what one instance or organization may hold. */
const SHARE = 4
/** Of a share: what all suspects may hold. Each asks the database, which has fewer connections than there are slots. */
const SUSPECTS_SHARE = 4
/** For admin, cell and webhook routes: short work of few callers. A cell's replicas share a quarter. */
const RESERVED = { runningMax: 8, queueMax: 128 }
const REFUSALS_PER_SECOND = 500
const REFUSALS_AT_ONCE_MAX = 50
const REFUSALS_WAITING_MAX = 5_000
const PACE_MS = 20
/** With the longest wait for a slot it stays well below the 3.5 s within which everything is answered. */
const REFUSAL_MS_MAX = 2_500

export function createLimiter(options: LimiterOptions): Limiter {
  const { runningMax, queueMax, queueMs } = options
  const shareMax = Math.max(1, Math.floor(runningMax / SHARE))
  const suspectsMax = Math.max(1, Math.floor(shareMax / SUSPECTS_SHARE))
  const crowdMax = Math.ceil(queueMax / SHARE)
  const lanes = new Map<string, Limiter>()
  const isFewSlots = (caller: string) => caller === SUSPECTS || caller.startsWith(STRANGERS)
  const shareOf = (caller: string) => (isFewSlots(caller) ? suspectsMax : shareMax)
  const bounds = { waitMs: queueMs, refusal: overloaded }
  const share = createShare({ ...bounds, each: shareOf })
  const lines = createLines(bounds)
  const pacer = createPacer()
  let running = 0
  let resumed = 0

  function waitInCrowd(caller: string): Promise<void> {
    return share.waitingOf(caller) >= crowdMax ? pacer.refuse(overloaded()) : share.wait(caller)
  }

  /** Hands a free slot to whoever is next and may have it. */
  function pass(): void {
    for (;;) {
      const next = lines.next(RETURNING) ?? lines.next(QUEUE)
      if (!next) {
        running -= 1
        return
      }
      const { account } = next
      if (account !== undefined && !share.hasRoom(account)) {
        share.push(account, next)
        continue
      }
      if (account !== undefined) share.hold(account)
      next.resolve()
      return
    }
  }

  const limiter: Limiter = {
    acquire(caller) {
      if (caller !== undefined && !share.hasRoom(caller)) return waitInCrowd(caller)
      if (running < runningMax) {
        running += 1
        if (caller !== undefined) share.hold(caller)
        return undefined
      }
      const queue = lines.of(QUEUE)
      // As many in the queue as may hold a slot: the others of them would stand where somebody else could.
      const isCrowded =
        caller !== undefined && queue.filter(({ account }) => account === caller).length >= shareOf(caller)
      if (isCrowded) return waitInCrowd(caller)
      return queue.length >= queueMax ? pacer.refuse(overloaded()) : lines.wait(QUEUE, caller)
    },
    assign(caller) {
      if (share.hasRoom(caller)) {
        share.hold(caller)
        return undefined
      }
      const waiting = waitInCrowd(caller)
      pass()
      return waiting
    },
    resume(caller) {
      resumed += 1
      if (caller !== undefined && !share.hasRoom(caller)) return waitInCrowd(caller)
      if (running >= runningMax) return lines.wait(RETURNING, caller)
      running += 1
      if (caller !== undefined) share.hold(caller)
      return undefined
    },
    release(caller) {
      // The slot goes with the place: to the next of its own, or to whoever is next.
      if (caller === undefined || !share.leave(caller)) pass()
    },
    refuse: pacer.refuse,
    lane(name) {
      if (name === undefined) return limiter
      const known = lanes.get(name) ?? createLimiter({ ...RESERVED, queueMs })
      lanes.set(name, known)
      return known
    },
    get running() {
      return running
    },
    get resumed() {
      return resumed
    },
    get waiting() {
      return share.waiting + lines.size
    },
  }
  return limiter
}

export function overloaded(): ApiError {
  return OVERLOADED
}

// One for all: thousands wait for theirs in a storm, and an error of its own keeps the stack of its making.
const OVERLOADED = new ApiError(
  'OVERLOADED',
  'The process is at its limit of concurrent requests. Nothing was done; try again.',
)

/** Refuses at a rate, in the order of arrival. */
function createPacer(): Pick<Limiter, 'refuse'> {
  const refused: { since: number; refusal: ApiError; reject(error: ApiError): void }[] = []
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
    while (refused[0] && (now - refused[0].since >= REFUSAL_MS_MAX || mayRefuse(now))) {
      const { refusal, reject } = refused.shift() as (typeof refused)[number]
      reject(refusal)
    }
    if (refused.length > 0) paceLater()
  }

  function paceLater(): void {
    isPaced = true
    setTimeout(pace, PACE_MS).unref()
  }

  return {
    refuse(refusal) {
      const since = performance.now()
      if (refused.length >= REFUSALS_WAITING_MAX || (refused.length === 0 && mayRefuse(since))) throw refusal
      return new Promise((_, reject) => {
        refused.push({ since, refusal, reject })
        if (!isPaced) paceLater()
      })
    },
  }
}
