// Anybody can send codes and cookies, and each costs a call to the provider or a look in the database. Those that fail
// count against their address like any failing credential. Beyond the limit a code for the provider is refused before
// anything is asked; a cookie or a device code that is good is never slowed, so it is looked for first, and until then
// all such addresses together have few slots: 200 connections with invented cookies left a paying customer 503 for 23
// to 57 % of its requests (measured).

import { type AddressSet, clientAddress } from '@loci/chassis/addresses.ts'
import { ApiError } from '@loci/chassis/api-error.ts'
import type { Failures } from '@loci/chassis/failures.ts'
import { SUSPECTS } from '@loci/chassis/limiter.ts'
import type { Access, Arrival } from '@loci/chassis/route.ts'
import { slowed } from './caller.ts'

export interface Attempts {
  /** The same access, which also knows from where; refuses an address that is over. */
  counted(access: Access<undefined>): Access<string>
  /** The same access, whose 401s count. */
  slowed<Caller>(access: Access<Caller>): Access<Caller>
  /** Anybody, and from where: the route finds out what fails. */
  from: Access<string>
  addressOf(arrival: Pick<Arrival, 'peer' | 'headers'>): string
  /** The refusal to throw for a code or cookie that failed. */
  failed(address: string, refusal: ApiError): ApiError
}

export function createAttempts({
  failures,
  trustedProxies,
}: {
  failures: Failures
  trustedProxies: AddressSet
}): Attempts {
  const addressOf: Attempts['addressOf'] = ({ peer, headers }) => clientAddress(peer, headers, trustedProxies) ?? peer
  const shareBefore = (arrival: Arrival) =>
    failures.areAnyOver() && failures.isOver(addressOf(arrival)) ? SUSPECTS : undefined
  return {
    addressOf,
    from: { class: 'open', schemes: [], errors: ['RATE_LIMITED'], shareBefore, authorize: addressOf },
    slowed: (access) => ({
      ...access,
      shareBefore,
      errors: [...access.errors, 'RATE_LIMITED'],
      async authorize(arrival) {
        try {
          return await access.authorize(arrival)
        } catch (error) {
          throw slowed(error, arrival, { failures, trustedProxies })
        }
      },
    }),
    counted: (access) => ({
      class: access.class,
      schemes: access.schemes,
      ...(access.units === undefined ? {} : { units: access.units }),
      errors: [...new Set([...access.errors, 'RATE_LIMITED' as const])],
      async authorize(arrival) {
        await access.authorize(arrival)
        const address = addressOf(arrival)
        if (failures.isOver(address))
          throw new ApiError('RATE_LIMITED', 'Too many requests from this address had a credential that fails.')
        return address
      },
    }),
    failed: (address, refusal) => failures.refuse(address, refusal),
  }
}
