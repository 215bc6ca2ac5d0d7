// Slows down whoever keeps sending credentials that fail, by address; a valid credential is never slowed.
// Beyond the limit an address is also suspect: what comes from it with a credential that is not known to be good gets
// few slots (limiter.ts).

import { hash } from 'node:crypto'
import { networkOf } from './addresses.ts'
import { ApiError } from './api-error.ts'
import { createCache } from './cache.ts'

export interface Failures {
  /** Counts one failure and answers the error to throw: the refusal itself, or 429 beyond the limit of this minute. */
  refuse(address: string, refusal: ApiError): ApiError
  /** Whether any address was beyond the limit in this minute or the one before: asked first, it costs nothing. */
  areAnyOver(): boolean
  isOver(address: string): boolean
}

const MINUTE_MS = 60_000
/**
 * Bounds memory under a flood from many addresses. Beyond it newcomers are counted together until the minute is over:
 * to forget everybody instead would let a flood free whoever was slowed.
 */
const ADDRESSES_MAX = 50_000
const NEWCOMERS = 'newcomers'

export function createFailures(perMinute: number, now: () => number = () => performance.now()): Failures {
  let windowStart = now()
  let counts = new Map<string, number>()
  let over = new Set<string>()
  let overBefore = new Set<string>()

  function turn(at: number): void {
    const passed = at - windowStart
    if (passed < MINUTE_MS) return
    overBefore = passed < 2 * MINUTE_MS ? over : new Set()
    over = new Set()
    counts = new Map()
    windowStart = at
  }

  return {
    areAnyOver() {
      turn(now())
      return over.size + overBefore.size > 0
    },
    isOver(address) {
      turn(now())
      const network = networkOf(address)
      const isNewcomer = counts.size >= ADDRESSES_MAX && !counts.has(network)
      return over.has(network) || overBefore.has(network) || (isNewcomer && over.has(NEWCOMERS))
    },
    refuse(address, refusal) {
      const at = now()
      turn(at)
      // A host has a whole /64 of IPv6 addresses to fail from.
      const network = networkOf(address)
      const key = counts.size < ADDRESSES_MAX || counts.has(network) ? network : NEWCOMERS
      const count = (counts.get(key) ?? 0) + 1
      counts.set(key, count)
      if (count <= perMinute) return refusal
      over.add(key)
      return new ApiError('RATE_LIMITED', 'Too many requests from this address had a credential that fails.', {
        retryAfterMs: Math.max(1_000, windowStart + MINUTE_MS - at),
      })
    },
  }
}

/** Credentials that were valid at their last use, and their share. Decides who waits, never who is admitted. */
export interface KnownCredentials {
  shareOf(text: string): string | undefined
  keep(text: string, share: string): void
  drop(text: string): void
}

const KNOWN_MAX = 10_000

export function createKnownCredentials(): KnownCredentials {
  const shares = createCache<string>(KNOWN_MAX)
  const digestOf = (text: string) => hash('sha256', text, 'base64')
  return {
    shareOf: (text) => shares.find(digestOf(text)),
    keep: (text, share) => shares.keep(digestOf(text), share),
    drop: (text) => shares.drop(digestOf(text)),
  }
}
