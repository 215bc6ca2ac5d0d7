// The plan's rate of each instance (burst 2×), kept by this replica as a GCRA: one number per instance, no timer. It
// counts work, because requests differ 300-fold in cost: a request is 1, a consistency call 50; what its
// body and its answer add is known later and charged then. A request is admitted when there is room for 1, whatever it
// turns out to cost, so that a plan with a small burst can still write a large batch; the debt is paid before the next
// one is admitted. Replicas do not coordinate per request: once a second the busy ones exchange their counts and grant
// their share of the rate (feed/usage/usage.ts).

import { ApiError } from '@loci/chassis/api-error.ts'
import { createCache } from '@loci/chassis/cache.ts'

export interface InstanceCounts {
  requests: number
  writes: number
  perSecond: number
}

export interface Rates {
  /** Throws 429 RATE_LIMITED with the time after which the next request fits. */
  take(instanceId: string, perSecond: number, burst: number, isWrite: boolean, cost?: number): void
  /**
   * Runs `verify`, the costly part of a credential of which only the root is verified, while the instance has room and
   * chains of this root have not failed as often as the plan's rate. Takes nothing from the instance: anyone who has a
   * root, even a revoked one, can append any links to it.
   */
  verifying<Value>(
    of: { instanceId: string; root: string; perSecond: number; burst: number },
    verify: () => Value,
  ): Value
  /**
   * What an admitted request costs beyond its 1. `isDone`: the work is done, so it is charged and never refused. `own`:
   * what this request was charged before, which is no reason to refuse it.
   */
  charge(instanceId: string, perSecond: number, burst: number, units: number, isDone: boolean, own?: number): void
  /** Whether it has begun more than its burst and its rate pay for. */
  isInDebt(instanceId: string, perSecond: number, burst: number): boolean
  /** Requests of each instance at this replica since the last call, refused ones included. */
  drainCounts(): Map<string, InstanceCounts>
  /** The part of an instance's rate that this replica may grant, 0..1; absent = all. */
  setShares(shares: Map<string, number>): void
}

/** Instances, and roots whose chains failed recently. */
const BUCKETS_MAX = 100_000

export function createRates(now: () => number = () => performance.now()): Rates {
  // Theoretical arrival time of the next request, in milliseconds.
  // An evicted bucket starts again with a full burst.
  const arrivals = createCache<number>(BUCKETS_MAX)
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

  const intervalMsOf = (instanceId: string, perSecond: number) => 1_000 / (perSecond * (shares.get(instanceId) ?? 1))

  /** When the next request of the bucket is due; throws when that is more than the burst ahead. */
  function requireRoom(bucket: string, intervalMs: number, burst: number): number {
    const at = now()
    const due = Math.max(arrivals.find(bucket) ?? 0, at)
    const overMs = due - at - (burst - 1) * intervalMs
    if (overMs > 0) throw limited(overMs)
    return due
  }

  return {
    take(instanceId, perSecond, burst, isWrite, cost = 1) {
      count(instanceId, perSecond, isWrite)
      const intervalMs = intervalMsOf(instanceId, perSecond)
      arrivals.keep(instanceId, requireRoom(instanceId, intervalMs, burst) + cost * intervalMs)
    },
    verifying({ instanceId, root, perSecond, burst }, verify) {
      const failing = `${instanceId} ${root}`
      const due = requireRoom(failing, 1_000 / perSecond, burst)
      requireRoom(instanceId, intervalMsOf(instanceId, perSecond), burst)
      try {
        return verify()
      } catch (error) {
        arrivals.keep(failing, due + 1_000 / perSecond)
        throw error
      }
    },
    charge(instanceId, perSecond, burst, units, isDone, own = 0) {
      const intervalMs = intervalMsOf(instanceId, perSecond)
      const at = now()
      const due = Math.max(arrivals.find(instanceId) ?? 0, at)
      // Of many large bodies at once the first is accepted; the next ones find its debt.
      const overMs = due - at - (burst + own) * intervalMs
      if (!isDone && overMs > 0) throw limited(overMs)
      arrivals.keep(instanceId, due + units * intervalMs)
    },
    isInDebt(instanceId, perSecond, burst) {
      return (arrivals.find(instanceId) ?? 0) - now() > burst * intervalMsOf(instanceId, perSecond)
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

function limited(ms: number): ApiError {
  return new ApiError(
    'RATE_LIMITED',
    'The instance has used up the work per second of its plan. A request costs 1, plus 1 per 16 KiB or 250 members of its body and per 100 rows or 64 KiB of its answer or, of a recall, a cycle or advice, read for it, per 16 KiB of records that are stored, per 4 KiB that a cycle takes in and per 32 KiB of the index that an erasure writes anew; a consistency call costs 50.',
    { retryAfterMs: Math.ceil(ms) },
  )
}
