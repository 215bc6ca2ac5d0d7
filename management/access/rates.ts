// How much a caller may ask of management: GCRA, reads and writes apart. The services routes have the rates of the
// organization's plan, per authentication context: no other caller can use them up (specification, Limits). All other
// routes have one rate for every plan, so high that no person meets it. An organization may have many keys, so all its
// callers together read as much as five, and their writes of a day are bounded by the plan: each leaves an audit entry
// and events behind. The buckets are in PostgreSQL, shared by all replicas. While that table cannot be written (a
// fail-over, a read-only server) each process limits by itself at a part of the rate: reads go on and no caller is
// without a limit.

import { ApiError } from '@loci/chassis/api-error.ts'
import type { AnswerHeaders } from '@loci/chassis/route.ts'
import { PLANS, type PlanName } from '../plans.ts'

export type RateClass = 'read' | 'write'

/**
 * The specification limits the creation and the list of services; all else has a bucket of its own, so that neither
 * uses up the other's. What ends a credential or needs no scope takes nothing of the organization's day (`alone`): else
 * a thief could use up the day, and the owner could not delete the stolen key. Revocations by jti are stored, so they
 * have a daily bound of their own.
 */
export type RatedRoutes = 'services' | 'others' | 'alone' | 'revocations'

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
  perMinute: number
  burst: number
  /** A bucket of the whole organization; undefined where each caller stands alone. */
  shared: { bucket: string; perMinute: number; burst: number } | undefined
}

export interface RateStore {
  /** One request of every bucket, or of none; throws when the store does not answer. */
  take(limit: RateLimit): Promise<Rate>
  /** How full the caller's bucket is; takes nothing. */
  peek(limit: RateLimit): Promise<Omit<Rate, 'waitMs' | 'isShared'>>
}

export type RatedCaller = { id: string; organizationId: string; plan: PlanName }

export interface Rates {
  /** Takes one from the caller's bucket and sets the rate headers; throws RATE_LIMITED when it is empty. */
  take(caller: RatedCaller, kind: RateClass, answer: AnswerHeaders, of?: RatedRoutes): Promise<void>
  /** Sets the rate headers without taking anything: for refusals that come before the limit. */
  show(caller: RatedCaller, kind: RateClass, answer: AnswerHeaders, of?: RatedRoutes): Promise<void>
  /**
   * A body that was refused before the rate of the services routes was asked, as the specification orders. It takes
   * nothing of that rate, but has one of its own, that of other writes, by the 16 KiB and in this process alone:
   * whoever is beyond it is 429 before the next body is read.
   */
  noteRefused(caller: RatedCaller, bytes: number): void
  requireUnrefused(caller: RatedCaller): void
}

/** What one process grants alone: with two replicas, the usual number, together about the plan's rate. */
const ALONE_PART = 0.5
const MINUTES_A_DAY = 1_440
/** An organization may have a hundred keys: together they read as much as so many of them. */
const READERS = 5
/** Of a day's writes: how many an organization may make at once. */
const BURST_PART = 0.5
const ALONE_BUCKETS_MAX = 10_000
const REFUSED_UNIT_BYTES = 16 * 1024

export function createRates(store: RateStore, now: () => number = Date.now): Rates {
  const alone = new Map<string, number>()
  const refused = new Map<string, number>()

  function takeAlone({ bucket, shared, perMinute, burst }: RateLimit): Rate {
    if (alone.size > ALONE_BUCKETS_MAX) alone.clear()
    const before = alone.get(bucket) ?? 0
    const own = takeOne(bucket, perMinute, burst)
    if (own.waitMs !== undefined || !shared) return { ...own, isShared: false }
    const { waitMs } = takeOne(shared.bucket, shared.perMinute, shared.burst)
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

  function peekAlone({ bucket, perMinute, burst }: RateLimit) {
    const resetMs = Math.max(0, (alone.get(bucket) ?? 0) - now())
    return { remaining: Math.floor(burst - (resetMs * perMinute * ALONE_PART) / 60_000), resetMs }
  }

  return {
    async take(caller, kind, answer, of = 'others') {
      const limit = limitOf(caller, kind, of)
      const rate = await store.take(limit).catch(() => takeAlone(limit))
      if (rate.waitMs !== undefined) throw refusal(caller, kind, limit, rate)
      writeHeaders(answer, kind, limit, rate)
    },
    async show(caller, kind, answer, of = 'others') {
      const limit = limitOf(caller, kind, of)
      writeHeaders(answer, kind, limit, await store.peek(limit).catch(() => peekAlone(limit)))
    },
    noteRefused(caller, bytes) {
      const { bucket, perMinute } = limitOf(caller, 'write', 'alone')
      if (refused.size >= ALONE_BUCKETS_MAX) for (const [old, due] of refused) if (due < now()) refused.delete(old)
      const cost = 1 + Math.floor(bytes / REFUSED_UNIT_BYTES)
      refused.set(bucket, Math.max(refused.get(bucket) ?? 0, now()) + (cost * 60_000) / perMinute)
    },
    requireUnrefused(caller) {
      const limit = limitOf(caller, 'write', 'alone')
      const waitMs = (refused.get(limit.bucket) ?? 0) - now() - (limit.burst * 60_000) / limit.perMinute
      if (waitMs > 0)
        throw new ApiError(
          'RATE_LIMITED',
          'Too many bodies of this caller were refused. Wait as long as Retry-After says.',
          {
            retryAfterMs: Math.ceil(waitMs),
          },
        )
    },
  }
}

function limitOf({ id, organizationId, plan }: RatedCaller, kind: RateClass, of: RatedRoutes): RateLimit {
  const limits = PLANS[plan][of === 'services' ? 'services_per_minute' : 'management_per_minute']
  return {
    bucket: `${organizationId}:${id}:${kind}:${of === 'services' ? of : 'others'}`,
    perMinute: limits[kind],
    burst: limits[`${kind}_burst`],
    shared: sharedOf(organizationId, plan, kind, of),
  }
}

function sharedOf(organizationId: string, plan: PlanName, kind: RateClass, of: RatedRoutes): RateLimit['shared'] {
  const bucket = `${organizationId}:all:${kind}:${of}`
  if (kind === 'write') return of === 'others' || of === 'revocations' ? { bucket, ...dayOf(plan) } : undefined
  const { read, read_burst: burst } = PLANS[plan].management_per_minute
  return of === 'others' ? { bucket, perMinute: read * READERS, burst: burst * READERS } : undefined
}

function dayOf(plan: PlanName): { perMinute: number; burst: number } {
  const { writes_per_day } = PLANS[plan].organization
  return { perMinute: Math.ceil(writes_per_day / MINUTES_A_DAY), burst: writes_per_day * BURST_PART }
}

type Shown = Pick<Rate, 'remaining' | 'resetMs'>

function writeHeaders(answer: AnswerHeaders, kind: RateClass, limit: RateLimit, shown: Shown): void {
  for (const [name, value] of Object.entries(headersOf(kind, limit, shown))) answer.header(name, value)
}

function headersOf(kind: RateClass, { perMinute, burst }: RateLimit, { remaining, resetMs }: Shown) {
  return {
    'ratelimit-policy': `"${kind}";q=${perMinute};w=60;burst=${burst}`,
    ratelimit: `"${kind}";r=${Math.max(0, remaining)};t=${Math.ceil(resetMs / 1000)}`,
  }
}

/** Without a time of its own the refusal says 60 s, as every RATE_LIMITED does (specification, Limits). */
function refusal({ plan }: RatedCaller, kind: RateClass, limit: RateLimit, rate: Rate): ApiError {
  const { perMinute, shared } = limit
  const together =
    kind === 'write'
      ? `${PLANS[plan].organization.writes_per_day} writes a day`
      : `${shared?.perMinute} read requests a minute`
  const allowed = rate.isShared
    ? `All callers of the organization together may make ${together}`
    : `This caller may make ${perMinute} ${kind} requests a minute`
  return new ApiError('RATE_LIMITED', `${allowed} on the plan ${plan}. Wait as long as Retry-After says.`, {
    ...(rate.waitMs ? { retryAfterMs: rate.waitMs } : {}),
    headers: headersOf(kind, limit, rate),
  })
}
