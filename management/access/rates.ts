// How much a caller may ask of management (CONTRACT 4.2 and 7): GCRA, reads and writes apart, by the plan of the organization. All
// callers of an organization together have a few times that, however many keys they make. The buckets are in Postgres, so all
// replicas grant the plan's rate once together. While that table can not be written (a fail-over, a read-only server) each process
// limits for itself at a part of the rate: reads go on and nobody is let loose.

import { ApiError } from '@loci/chassis/api-error.ts'
import type { AnswerHeaders } from '@loci/chassis/route.ts'
import { PLANS, type PlanName } from '../plans.ts'

export type RateClass = 'read' | 'write'

/** The seed limits the creation and the list of services; all else has a bucket of its own, so that neither uses up the other's. */
export type RatedRoutes = 'services' | 'others'

export interface Rate {
  remaining: number
  resetMs: number
  /** Undefined when the request is allowed. */
  waitMs: number | undefined
  /** It is the organization's bucket that is empty, and not the caller's. */
  isShared: boolean
}

export interface RateLimit {
  bucket: string
  /** Of the organization, with `share` times the rate and the burst. */
  shared: string
  perMinute: number
  burst: number
  share: number
}

/** One request of both buckets, or of none; throws when the store does not answer. */
export type TakeRate = (limit: RateLimit) => Promise<Rate>

export interface Rates {
  /** Takes one from the caller's bucket, says so in the answer's headers, and throws RATE_LIMITED when there is none. */
  take(
    caller: { id: string; organizationId: string; plan: PlanName },
    kind: RateClass,
    answer: AnswerHeaders,
    of?: RatedRoutes,
  ): Promise<void>
}

/** What one process grants alone: with two replicas, the usual number, together about the plan's rate. */
const ALONE_PART = 0.5
const SHARE = 5
const ALONE_BUCKETS_MAX = 10_000

export function createRates(takeRate: TakeRate, now: () => number = Date.now): Rates {
  const alone = new Map<string, number>()

  function takeAlone({ bucket, shared, perMinute, burst, share }: RateLimit): Rate {
    if (alone.size > ALONE_BUCKETS_MAX) alone.clear()
    const before = alone.get(bucket) ?? 0
    const own = takeOne(bucket, perMinute, burst)
    if (own.waitMs !== undefined) return { ...own, isShared: false }
    const { waitMs } = takeOne(shared, perMinute * share, burst * share)
    if (waitMs !== undefined) alone.set(bucket, before)
    return { ...own, waitMs, isShared: waitMs !== undefined }
  }

  function takeOne(bucket: string, perMinute: number, burst: number): Omit<Rate, 'isShared'> {
    const at = now()
    const stepMs = 60_000 / (perMinute * ALONE_PART)
    const tat = Math.max(alone.get(bucket) ?? 0, at)
    const overMs = tat - at - stepMs * (burst - 1)
    if (overMs > 0) return { remaining: 0, resetMs: tat - at, waitMs: Math.ceil(overMs) }
    alone.set(bucket, tat + stepMs)
    return {
      remaining: Math.floor(burst - (tat + stepMs - at) / stepMs),
      resetMs: tat + stepMs - at,
      waitMs: undefined,
    }
  }

  return {
    async take({ id, organizationId, plan }, kind, answer, of = 'others') {
      const limits = PLANS[plan].management_per_minute
      const perMinute = limits[kind]
      const burst = limits[`${kind}_burst`]
      const bucket = `${organizationId}:${id}:${kind}:${of}`
      const limit = { bucket, shared: `${organizationId}:all:${kind}:${of}`, perMinute, burst, share: SHARE }
      const rate = await takeRate(limit).catch(() => takeAlone(limit))
      answer.header('ratelimit-policy', `"${kind}";q=${perMinute};w=60;burst=${burst}`)
      answer.header('ratelimit', `"${kind}";r=${Math.max(0, rate.remaining)};t=${Math.ceil(rate.resetMs / 1000)}`)
      if (rate.waitMs === undefined) return
      throw new ApiError(
        'RATE_LIMITED',
        `${rate.isShared ? `All callers of the organization together may make ${perMinute * SHARE}` : `This caller may make ${perMinute}`} ${kind} requests a minute on the plan ${plan}. Wait as long as Retry-After says.`,
        { retryAfterMs: rate.waitMs },
      )
    },
  }
}
