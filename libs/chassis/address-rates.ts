// The rate of each address on open routes, where nobody is asked who he is, and on paths that are no route. Strangers
// decide what those cost, so one address gets a part of the process and no more.
//
// An address spends units of .2 ms: what its route counts for, and afterwards 1 for each 16 KiB of answer or what the
// request was measured to use beyond 20 ms, which may leave a debt. So does a refused request of somebody unknown, on
// every route. 200 come back per second, 2,000 can be saved: the documents in plain form 75 times at once and 7 times a
// second from then on. What a load balancer asks for (live, ready, startup) counts for nothing.

import { ApiError } from './api-error.ts'

export interface AddressRates {
  /** The refusal where the address is over its rate; else the units are spent. */
  take(network: string, units: number): ApiError | undefined
  /** What it was measured to use beyond that. */
  charge(network: string, units: number): void
}

/** Processor time and bytes of one unit. */
export const ADDRESS_UNIT_US = 200
export const ADDRESS_UNIT_BYTES = 16 * 1024
/** Not charged: many people may share an address, and the first of a route meets the compiler. */
export const BY_CHANCE_US = 20_000
const UNITS_PER_SECOND = 200
const UNITS_SAVED_MAX = 2_000
const MS_PER_UNIT = 1_000 / UNITS_PER_SECOND
const SAVED_MS_MAX = UNITS_SAVED_MAX * MS_PER_UNIT
/** Bounds memory under a flood from many addresses; beyond it newcomers share one rate, as in failures.ts. */
const ADDRESSES_MAX = 50_000
const NEWCOMERS = 'newcomers'
const SWEEP_MS = 1_000

export function createAddressRates(now: () => number = () => performance.now()): AddressRates {
  /** When each address will have saved all that it can. */
  const fullAt = new Map<string, number>()
  let sweptAt = Number.NEGATIVE_INFINITY

  /** Addresses that have saved everything are as good as unknown. */
  function sweep(at: number): void {
    if (at - sweptAt < SWEEP_MS) return
    sweptAt = at
    for (const [network, full] of fullAt) if (full <= at) fullAt.delete(network)
  }

  function keyOf(network: string, at: number): string {
    if (fullAt.has(network) || fullAt.size < ADDRESSES_MAX) return network
    sweep(at)
    return fullAt.size < ADDRESSES_MAX ? network : NEWCOMERS
  }

  function spend(network: string, units: number, at: number): number {
    const key = keyOf(network, at)
    const full = Math.max(at, fullAt.get(key) ?? 0) + units * MS_PER_UNIT
    fullAt.set(key, full)
    return full
  }

  return {
    take(network, units) {
      const at = now()
      const owedMs = Math.max(0, (fullAt.get(keyOf(network, at)) ?? 0) - at) + units * MS_PER_UNIT - SAVED_MS_MAX
      if (owedMs > 0)
        return new ApiError('RATE_LIMITED', 'Too many requests from this address to routes that need no credential.', {
          retryAfterMs: Math.max(1_000, Math.ceil(owedMs)),
        })
      spend(network, units, at)
      return undefined
    },
    charge(network, units) {
      if (units > 0) spend(network, units, now())
    },
  }
}
