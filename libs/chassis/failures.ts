// Slows down whoever keeps sending credentials that fail, by address; a valid credential is never slowed (CONTRACT 1).

import { networkOf } from './addresses.ts'
import { ApiError } from './api-error.ts'

export interface Failures {
  /** Counts one failure and answers the error to throw: the refusal itself, or 429 beyond the limit of this minute. */
  refuse(address: string, refusal: ApiError): ApiError
}

const MINUTE_MS = 60_000
/**
 * Bounds memory under a flood from many addresses. Beyond it newcomers are counted together until the minute is over: to forget
 * everybody instead would let a flood free whoever was slowed.
 */
const ADDRESSES_MAX = 50_000
const NEWCOMERS = 'newcomers'

export function createFailures(perMinute: number, now: () => number = () => performance.now()): Failures {
  let windowStart = now()
  let counts = new Map<string, number>()
  return {
    refuse(address, refusal) {
      const at = now()
      if (at - windowStart >= MINUTE_MS) {
        windowStart = at
        counts = new Map()
      }
      // A host has a whole /64 of IPv6 addresses to fail from.
      const network = networkOf(address)
      const key = counts.size < ADDRESSES_MAX || counts.has(network) ? network : NEWCOMERS
      const count = (counts.get(key) ?? 0) + 1
      counts.set(key, count)
      if (count <= perMinute) return refusal
      return new ApiError('RATE_LIMITED', 'Too many requests from this address had a credential that fails.', {
        retryAfterMs: Math.max(1_000, windowStart + MINUTE_MS - at),
      })
    },
  }
}
