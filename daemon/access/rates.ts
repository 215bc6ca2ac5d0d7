// The plan's requests per second of each instance (burst 2×), kept by this replica as a generic cell rate: one number per
// instance, no timer. The replicas of a cell do not ask each other at each request; once a second the busy ones learn what the
// others have seen and grant their share of the rate (background.ts).

import { ApiError } from '@loci/chassis/api-error.ts'

export interface InstanceCounts {
  requests: number
  writes: number
  perSecond: number
}

export interface Rates {
  /** Throws 429 RATE_LIMITED with the time after which the next request fits. */
  take(instanceId: string, perSecond: number, burst: number, isWrite: boolean): void
  /** What this replica has seen of each instance since it was last asked, refused requests included. */
  drainCounts(): Map<string, InstanceCounts>
  /** The part of an instance's rate that this replica may grant, 0..1; absent = all. */
  setShares(shares: Map<string, number>): void
}

const INSTANCES_MAX = 100_000

export function createRates(now: () => number = () => performance.now()): Rates {
  // Theoretical arrival time of the next request, in milliseconds.
  const arrivals = new Map<string, number>()
  let counts = new Map<string, InstanceCounts>()
  let shares = new Map<string, number>()
  function count(instanceId: string, perSecond: number, isWrite: boolean): void {
    const own = counts.get(instanceId)
    if (!own) counts.set(instanceId, { requests: 1, writes: isWrite ? 1 : 0, perSecond })
    else {
      own.requests += 1
      if (isWrite) own.writes += 1
    }
  }

  return {
    take(instanceId, perSecond, burst, isWrite) {
      count(instanceId, perSecond, isWrite)
      const intervalMs = 1_000 / (perSecond * (shares.get(instanceId) ?? 1))
      const at = now()
      const due = Math.max(arrivals.get(instanceId) ?? 0, at)
      const aheadMs = due - at
      if (aheadMs > (burst - 1) * intervalMs) {
        throw new ApiError('RATE_LIMITED', 'The instance has used up the requests per second of its plan.', {
          retryAfterMs: Math.ceil(aheadMs - (burst - 1) * intervalMs),
        })
      }
      if (arrivals.size >= INSTANCES_MAX && !arrivals.has(instanceId)) arrivals.clear()
      arrivals.set(instanceId, due + intervalMs)
    },
    drainCounts() {
      const seen = counts
      counts = new Map()
      return seen
    },
    setShares(next) {
      shares = next
    },
  }
}
