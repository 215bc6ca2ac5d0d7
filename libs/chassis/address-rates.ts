// The rate of each address on open routes, where nobody is asked who he is, and on paths that are no route. Strangers
// decide what those cost, so one address gets a part of the process and no more.
//
// An address spends units of .2 ms: what its route counts for, and afterwards 1 for each 16 KiB of answer or what the
// request was measured to use beyond 20 ms, which may leave a debt. So does a refused request of somebody unknown, on
// every route. 200 come back per second, 2,000 can be saved: the documents in plain form 75 times at once and 7 times a
// second from then on. What a load balancer asks for (live, ready, startup) counts for nothing.

import { ApiError } from './api-error.ts'
import type { Exchange } from './exchange.ts'
import { createPaces } from './paces.ts'

export interface AddressRates {
  /** The refusal where the address is over its rate; else the units are spent. */
  take(network: string, units: number): ApiError | undefined
  /** What it was measured to use beyond that. */
  charge(network: string, units: number): void
}

/** Processor time and bytes of one unit. */
const ADDRESS_UNIT_US = 200
const ADDRESS_UNIT_BYTES = 16 * 1024
/** Not charged: many people may share an address, and the first of a route meets the compiler. */
const BY_CHANCE_US = 20_000
const UNITS_PER_SECOND = 200
const UNITS_SAVED_MAX = 2_000

export function createAddressRates(now?: () => number): AddressRates {
  const paces = createPaces({ atOnce: UNITS_SAVED_MAX, perSecond: UNITS_PER_SECOND, ...(now ? { now } : {}) })
  return {
    take(network, units) {
      const owedMs = paces.owedMs(network, units)
      if (owedMs > 0)
        return new ApiError('RATE_LIMITED', 'Too many requests from this address to routes that need no credential.', {
          retryAfterMs: Math.max(1_000, Math.ceil(owedMs)),
        })
      paces.spend(network, units)
      return undefined
    },
    charge(network, units) {
      if (units > 0) paces.spend(network, units)
    },
  }
}

/**
 * The work of a request has ended: where nobody is known who could pay, its address does, beyond what was taken when it
 * came. What a load balancer asks for is nobody's.
 */
export function chargeStranger(rates: AddressRates, exchange: Exchange): void {
  const { matched, caller, unreadBytes, work } = exchange
  const { units, schemes = [] } = matched?.spec.access ?? {}
  const isKnown = units ? false : schemes.length === 0 || caller !== undefined
  if (matched && isKnown) return
  const measured = (work.totalUs - BY_CHANCE_US) / ADDRESS_UNIT_US
  rates.charge(exchange.network, Math.max(measured, Math.floor(unreadBytes / ADDRESS_UNIT_BYTES)))
}
