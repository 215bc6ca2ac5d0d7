// The plan's rate of each instance (burst 2×), kept by this replica as a GCRA: one number per instance, no timer. It
// counts work, because requests differ 300-fold in cost: a request is 1, and what it was measured to use beyond that is
// charged afterwards (libs/chassis/bill.ts). It is admitted when there is room for 1, whatever it turns out to cost, so
// that a plan with a small burst can still write a large batch; the debt is paid before the next one is admitted.
// Replicas do not coordinate per request: once a second the busy ones exchange their counts and grant their share of
// the rate (feed/usage/usage.ts).
//
// All services of an organization have a bucket together, as many times the rate of one as the plan says: ten services
// were ten times the plan. It counts in time, so that services of different plans can share it.

import { ApiError } from '@loci/chassis/api-error.ts'
import { UNIT_US } from '@loci/chassis/bill.ts'
import { createCache } from '@loci/chassis/cache.ts'
import type { Instance } from './authority.ts'

export interface InstanceCounts {
  requests: number
  writes: number
  /** What they cost, and those that were refused 1 each: what the instance asks for. */
  units: number
  perSecond: number
  /** What was charged, by route or kind of due work: its owner reads it in the usage of its service. */
  routes: Map<string, number>
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
   * What an admitted request costs beyond its 1; below 0 it was less than was taken ahead. `isDone`: the work is done,
   * so it is charged and never refused. `own`: what this request was charged before, no reason to refuse it.
   */
  charge(payer: Payer, units: number, isDone: boolean, own?: number): void
  /**
   * What is done for it without having been asked for just now, as building its index: uses up half of its burst, and
   * leaves no debt, or a merge of large segments would have its requests refused for half a minute. Answers how much it
   * was charged.
   */
  chargeUpkeep(payer: Payer, units: number): number
  /** Whether it, or its organization, has begun more than burst and rate pay for. */
  isInDebt(payer: Payer): boolean
  /** It was charged so much for one of its requests of a route, or for due work of a kind. */
  note(payer: Payer, route: string, units: number): void
  /** What is left of both buckets, as RateLimit headers say it (draft-ietf-httpapi-ratelimit-headers-10). */
  headersOf(payer: Payer): RateHeaders
  /** Requests of each instance and organization at this replica since the last call, refused ones included. */
  drainCounts(): {
    instances: Map<string, InstanceCounts>
    organizations: Map<string, Pick<InstanceCounts, 'units' | 'perSecond'>>
  }
  /** The part of an instance's or organization's rate that this replica may grant, 0..1; absent = all. */
  setShares(shares: Map<string, number>): void
}

/** A type and no interface, so that it fits where headers are read by any name. */
export type RateHeaders = { 'ratelimit-policy': string; ratelimit: string }

/** Of the burst. */
const UPKEEP_PART = 0.5
/** Instances, organizations, and roots whose chains failed recently. */
const BUCKETS_MAX = 100_000

export function createRates(now: () => number = () => performance.now()): Rates {
  // Theoretical arrival time of the next request, in milliseconds.
  // An evicted bucket starts again with a full burst.
  const arrivals = createCache<number>(BUCKETS_MAX)
  let counts = new Map<string, InstanceCounts>()
  let shares = new Map<string, number>()
  let theirCounts = new Map<string, Pick<InstanceCounts, 'units' | 'perSecond'>>()

  function count({ id, organizationId, limits }: Payer, units: number): InstanceCounts {
    const { requests_per_second: perSecond, organization_rate: times } = limits
    const own = counts.get(id) ?? { requests: 0, writes: 0, units: 0, perSecond, routes: new Map() }
    counts.set(id, own)
    own.units += units
    if (times === undefined) return own
    const theirs = theirCounts.get(organizationId)
    if (theirs) theirs.units += units
    else theirCounts.set(organizationId, { units, perSecond: perSecond * times })
    return own
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
  function requireRoom(payer: Payer, bucket: string, burstMs: number, whose: Whose = 'instance'): number {
    const at = now()
    const due = Math.max(dueOf(bucket), at)
    if (due - at > burstMs) throw limited(payer.id, due - at - burstMs, whose, headersOf(payer))
    return due
  }

  function headersOf(payer: Payer): RateHeaders {
    const { id, organizationId, limits } = payer
    const at = now()
    const leftOf = (name: string, bucket: string, burst: number, intervalMs: number) => {
      const owedMs = Math.max(0, dueOf(bucket) - at)
      return `"${name}";r=${Math.max(0, Math.floor(burst - owedMs / intervalMs))};t=${Math.ceil(owedMs / 1_000)}`
    }
    const own = leftOf('service', id, limits.burst, intervalMsOf(payer))
    const theirs = organizationOf(payer)
    if (!theirs) return { 'ratelimit-policy': policyOf(limits), ratelimit: own }
    const { burstMs, intervalMs } = theirs
    const all = leftOf('organization', organizationId, burstMs / intervalMs, intervalMs)
    return { 'ratelimit-policy': policyOf(limits), ratelimit: `${own}, ${all}` }
  }

  /** Room for so many. The burst of an organization is as many times larger as its rate is. */
  function requireRoomOf(payer: Payer, units: number): void {
    requireRoom(payer, payer.id, (payer.limits.burst - units) * intervalMsOf(payer))
    const theirs = organizationOf(payer)
    if (theirs) requireRoom(payer, payer.organizationId, theirs.burstMs - units * theirs.intervalMs, 'organization')
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
      const own = count(payer, cost)
      own.requests += 1
      if (isWrite) own.writes += 1
      requireRoomOf(payer, 1)
      add(payer, cost)
    },
    verifying(payer, root, verify) {
      const { requests_per_second: perSecond, burst } = payer.limits
      const failing = `${payer.id} ${root}`
      const due = requireRoom(payer, failing, ((burst - 1) * 1_000) / perSecond)
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
      if (units === 0) return
      // What is given back was counted in another second.
      count(payer, Math.max(0, units))
      add(payer, units)
    },
    chargeUpkeep(payer, units) {
      const at = now()
      const leftOf = (bucket: string, burst: number, intervalMs: number) =>
        burst * UPKEEP_PART - Math.max(0, dueOf(bucket) - at) / intervalMs
      const theirs = organizationOf(payer)
      const left = Math.min(
        leftOf(payer.id, payer.limits.burst, intervalMsOf(payer)),
        theirs ? leftOf(payer.organizationId, theirs.burstMs / theirs.intervalMs, theirs.intervalMs) : Infinity,
      )
      const charged = Math.max(0, Math.min(units, left))
      if (charged === 0) return 0
      count(payer, charged)
      add(payer, charged)
      return charged
    },
    isInDebt(payer) {
      if (dueOf(payer.id) - now() > payer.limits.burst * intervalMsOf(payer)) return true
      const theirs = organizationOf(payer)
      return theirs !== undefined && dueOf(payer.organizationId) - now() > theirs.burstMs
    },
    note(payer, route, units) {
      const { routes } = count(payer, 0)
      routes.set(route, (routes.get(route) ?? 0) + units)
    },
    headersOf,
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

/** Due work that was asked for, by a schedule or by what was told, and leaves a debt as a request does. */
const ASKED_FOR = new Set(['cycle', 'advice'])

/** What due work of an instance has used is charged to it, where this replica knows it. */
export function payingDue(
  rates: Pick<Rates, 'charge' | 'chargeUpkeep' | 'note'>,
  find: (id: string) => Payer | undefined,
) {
  return (kind: string, instanceId: string, us: number): void => {
    const payer = find(instanceId)
    if (!payer) return
    const units = us / UNIT_US
    const charged = ASKED_FOR.has(kind) ? units : rates.chargeUpkeep(payer, units)
    if (ASKED_FOR.has(kind)) rates.charge(payer, units, true)
    if (charged > 0) rates.note(payer, `due work: ${kind}`, charged)
  }
}

type Whose = 'instance' | 'organization'

const WHOSE: Readonly<Record<Whose, string>> = {
  instance: 'The service has used up its work per second.',
  organization: 'All services of the organization have used up their work per second.',
}

/** At most 25 words: it is read in a log, by somebody who wants to know how long and why. */
function limited(instanceId: string, ms: number, whose: Whose, headers: RateHeaders): ApiError {
  return new ApiError(
    'RATE_LIMITED',
    `${WHOSE[whose]} Try again in ${(ms / 1_000).toFixed(1)} s. What cost it: /api/v1/services/${instanceId}/usage; what costs: /docs#error-RATE_LIMITED.`,
    { retryAfterMs: Math.ceil(ms), headers },
  )
}

const policies = new WeakMap<Payer['limits'], string>()

/** By the minute, as management says its own; made once for each plan and not for each answer. */
function policyOf(limits: Payer['limits']): string {
  const known = policies.get(limits)
  if (known !== undefined) return known
  const { requests_per_second: perSecond, burst, organization_rate: times } = limits
  const one = (name: string, part: number) => `"${name}";q=${perSecond * part * 60};w=60;burst=${burst * part}`
  const policy = times === undefined ? one('service', 1) : `${one('service', 1)}, ${one('organization', times)}`
  policies.set(limits, policy)
  return policy
}
