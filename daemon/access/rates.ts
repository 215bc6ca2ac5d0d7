// The plan's rate of each instance (burst 2×), kept by this replica as a GCRA: one number per instance, no timer. It
// counts work, because requests differ 300-fold in cost: a request is 1, a consistency call 50; what its
// body and its answer add is known later and charged then. A request is admitted when there is room for 1, whatever it
// turns out to cost, so that a plan with a small burst can still write a large batch; the debt is paid before the next
// one is admitted. Replicas do not coordinate per request: once a second the busy ones exchange their counts and grant
// their share of the rate (feed/usage/usage.ts).
//
// All services of an organization have a bucket together, as many times the rate of one as the plan says: ten services
// were ten times the plan. It counts in time, so that services of different plans can share it.

import { ApiError } from '@loci/chassis/api-error.ts'
import { createCache } from '@loci/chassis/cache.ts'
import type { Instance } from './authority.ts'

export interface InstanceCounts {
  requests: number
  writes: number
  perSecond: number
}

/** Whose rate it is. */
export type Payer = Pick<Instance, 'id' | 'organizationId' | 'limits'>

export interface Rates {
  /** Throws 429 RATE_LIMITED with the time after which the next request fits. */
  take(payer: Payer, isWrite: boolean, cost?: number): void
  /**
   * Runs `verify`, the costly part of a credential of which only the root is verified, while the instance has room and
   * chains of this root have not failed as often as the plan's rate. Takes nothing from the instance: anyone who has a
   * root, even a revoked one, can append any links to it.
   */
  verifying<Value>(payer: Payer, root: string, verify: () => Value): Value
  /**
   * What an admitted request costs beyond its 1. `isDone`: the work is done, so it is charged and never refused. `own`:
   * what this request was charged before, which is no reason to refuse it.
   */
  charge(payer: Payer, units: number, isDone: boolean, own?: number): void
  /** Whether it, or its organization, has begun more than burst and rate pay for. */
  isInDebt(payer: Payer): boolean
  /** Requests of each instance and organization at this replica since the last call, refused ones included. */
  drainCounts(): {
    instances: Map<string, InstanceCounts>
    organizations: Map<string, Pick<InstanceCounts, 'requests' | 'perSecond'>>
  }
  /** The part of an instance's or organization's rate that this replica may grant, 0..1; absent = all. */
  setShares(shares: Map<string, number>): void
}

/** Instances, organizations, and roots whose chains failed recently. */
const BUCKETS_MAX = 100_000

export function createRates(now: () => number = () => performance.now()): Rates {
  // Theoretical arrival time of the next request, in milliseconds.
  // An evicted bucket starts again with a full burst.
  const arrivals = createCache<number>(BUCKETS_MAX)
  let counts = new Map<string, InstanceCounts>()
  let shares = new Map<string, number>()
  let theirCounts = new Map<string, Pick<InstanceCounts, 'requests' | 'perSecond'>>()

  function count({ id, organizationId, limits }: Payer, isWrite: boolean): void {
    const { requests_per_second: perSecond, organization_rate: times } = limits
    const own = counts.get(id)
    if (!own) counts.set(id, { requests: 1, writes: isWrite ? 1 : 0, perSecond })
    else {
      own.requests += 1
      if (isWrite) own.writes += 1
    }
    if (times === undefined) return
    const theirs = theirCounts.get(organizationId)
    if (theirs) theirs.requests += 1
    else theirCounts.set(organizationId, { requests: 1, perSecond: perSecond * times })
  }

  /** Milliseconds that 1 takes of the instance's bucket. */
  const intervalMsOf = ({ id, limits }: Payer) => 1_000 / (limits.requests_per_second * (shares.get(id) ?? 1))
  /** And of its organization's, with its burst. Undefined where the plan has no bound: then there is no such bucket. */
  const organizationOf = ({ organizationId, limits }: Payer) => {
    const times = limits.organization_rate
    if (times === undefined) return undefined
    const intervalMs = 1_000 / (limits.requests_per_second * times * (shares.get(organizationId) ?? 1))
    return { intervalMs, burstMs: limits.burst * times * intervalMs }
  }
  const dueOf = (bucket: string) => arrivals.find(bucket) ?? 0

  /** When the next request of the bucket is due; throws when that is more than `burstMs` ahead. */
  function requireRoom(bucket: string, burstMs: number, whose: Whose = 'instance'): number {
    const at = now()
    const due = Math.max(dueOf(bucket), at)
    if (due - at > burstMs) throw limited(due - at - burstMs, whose)
    return due
  }

  /** Room for so many. The burst of an organization is as many times larger as its rate is. */
  function requireRoomOf(payer: Payer, units: number): void {
    requireRoom(payer.id, (payer.limits.burst - units) * intervalMsOf(payer))
    const theirs = organizationOf(payer)
    if (theirs) requireRoom(payer.organizationId, theirs.burstMs - units * theirs.intervalMs, 'organization')
  }

  function add(payer: Payer, units: number): void {
    const at = now()
    arrivals.keep(payer.id, Math.max(dueOf(payer.id), at) + units * intervalMsOf(payer))
    const theirs = organizationOf(payer)
    if (!theirs) return
    arrivals.keep(payer.organizationId, Math.max(dueOf(payer.organizationId), at) + units * theirs.intervalMs)
  }

  return {
    take(payer, isWrite, cost = 1) {
      count(payer, isWrite)
      requireRoomOf(payer, 1)
      add(payer, cost)
    },
    verifying(payer, root, verify) {
      const { requests_per_second: perSecond, burst } = payer.limits
      const failing = `${payer.id} ${root}`
      const due = requireRoom(failing, ((burst - 1) * 1_000) / perSecond)
      requireRoomOf(payer, 1)
      try {
        return verify()
      } catch (error) {
        arrivals.keep(failing, due + 1_000 / perSecond)
        throw error
      }
    },
    charge(payer, units, isDone, own = 0) {
      // Of many large bodies at once the first is accepted; the next ones find its debt.
      if (!isDone) requireRoomOf(payer, -own)
      if (units > 0) add(payer, units)
    },
    isInDebt(payer) {
      if (dueOf(payer.id) - now() > payer.limits.burst * intervalMsOf(payer)) return true
      const theirs = organizationOf(payer)
      return theirs !== undefined && dueOf(payer.organizationId) - now() > theirs.burstMs
    },
    drainCounts() {
      const seen = { instances: counts, organizations: theirCounts }
      counts = new Map()
      theirCounts = new Map()
      return seen
    },
    setShares(next) {
      shares = next
    },
  }
}

type Whose = 'instance' | 'organization'

const WHOSE: Readonly<Record<Whose, string>> = {
  instance: 'The instance has used up the work per second of its plan.',
  organization: 'The services of the organization together have used up the work per second of their plan.',
}

function limited(ms: number, whose: Whose): ApiError {
  return new ApiError(
    'RATE_LIMITED',
    `${WHOSE[whose]} A request costs 1, plus 1 per 16 KiB or 250 members of its body and per 100 rows or 64 KiB of its answer or, of a recall, a cycle or advice, read for it, per 16 KiB of records that are stored, per 4 KiB that a cycle takes in and per 32 KiB of the index that an erasure writes anew; a consistency call costs 50.`,
    { retryAfterMs: Math.ceil(ms) },
  )
}
