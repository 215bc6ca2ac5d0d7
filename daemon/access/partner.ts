// Partner access (CONTRACT 1): `Authorization: Bearer loci_ptr_<id>_<secret><crc>`, looked up by id, compared by digest. The
// credential names one partner, one instance, one database, and the routes and classes it is good for.

import { createHash, timingSafeEqual } from 'node:crypto'
import { type AddressSet, addressSet } from '@loci/chassis/addresses.ts'
import { ApiError } from '@loci/chassis/api-error.ts'
import type { Failures } from '@loci/chassis/failures.ts'
import type { LastUses } from '@loci/chassis/last-uses.ts'
import type { Access, Arrival } from '@loci/chassis/route.ts'
import { HEADER } from '@loci/contract/headers.ts'
import { readSecretToken } from '@loci/contract/secret-token.ts'
import type { Authority, Instance, PartnerCredential } from './authority.ts'
import type { Rates } from './rates.ts'
import { addressOf, requireIdentity, requireOpen } from './requirements.ts'
import { switchedOff } from './served.ts'

export interface PartnerCaller {
  instance: Instance
  database: string
  partner: string
  projectionClasses: readonly string[]
  actor: string
}

interface PartnerOptions {
  authority: Authority
  failures: Failures
  uses: Pick<LastUses, 'note'>
  rates: Rates
  trustedProxies?: AddressSet
}

export type PartnerRoute = 'projections' | 'advice'

export function partnerAccess({
  authority,
  failures,
  uses,
  rates,
  trustedProxies = addressSet([]),
}: PartnerOptions): (route: PartnerRoute) => Access<PartnerCaller> {
  return (route) => ({
    class: 'partner',
    operation: route,
    schemes: [['partner']],
    shareOf: ({ instance }) => instance.id,
    charge: ({ instance: { id, limits } }, units, isDone) =>
      rates.charge(id, limits.requests_per_second, limits.burst, units, isDone),
    challenge: 'Bearer realm="loci partner"',
    errors: [
      'UNAUTHENTICATED',
      'OPERATION_NOT_ALLOWED',
      'IDENTITY_MISMATCH',
      'DATABASE_MISMATCH',
      'FORBIDDEN',
      'PAYMENT_REQUIRED',
      'RATE_LIMITED',
      'STORE_UNAVAILABLE',
    ],
    async authorize(arrival) {
      const credential = await authenticate(arrival)
      const instance = credential && (await authority.findInstance(credential.instanceId))
      if (!credential || !instance || instance.state === 'deleted') {
        throw failures.refuse(
          addressOf(arrival, trustedProxies),
          new ApiError('UNAUTHENTICATED', 'This route needs a partner credential in Authorization: Bearer.'),
        )
      }
      uses.note(credential.id)
      rates.take(instance.id, instance.limits.requests_per_second, instance.limits.burst, route === 'projections')
      requireIdentity(arrival.headers, {
        org: credential.organizationId,
        ten: credential.tenantId,
        svc: credential.instanceId,
      })
      const said = arrival.headers[HEADER.database]
      if (said !== undefined && said !== credential.database)
        throw new ApiError('DATABASE_MISMATCH', 'The partner credential is bound to another database.')
      if (!credential.routes.includes(route))
        throw new ApiError('OPERATION_NOT_ALLOWED', `The partner credential is not good for ${route}.`, {
          details: { operation: route },
        })
      requireOpen(instance, 'advice:read')
      if (instance.state === 'suspended' && instance.stateReason === 'unpaid_off') throw switchedOff()
      if (route === 'projections' && instance.state === 'suspended')
        throw new ApiError('PAYMENT_REQUIRED', 'The service is suspended: nothing new is taken in.')
      return {
        instance,
        database: credential.database,
        partner: credential.partner,
        projectionClasses: credential.projectionClasses,
        actor: credential.id,
      }
    },
  })

  async function authenticate({ headers }: Arrival): Promise<PartnerCredential | undefined> {
    const sent = headers.authorization
    const token = typeof sent === 'string' && sent.startsWith('Bearer ') ? sent.slice('Bearer '.length) : ''
    const id = readSecretToken('ptr', token)
    if (id === undefined) return undefined
    const credential = await authority.findPartnerCredential(`ptr_${id}`)
    const digest = createHash('sha256').update(token).digest()
    const matches =
      credential !== undefined &&
      credential.digest.length === digest.length &&
      timingSafeEqual(credential.digest, digest)
    if (!credential || !matches || credential.state !== 'active') return undefined
    return credential.expiresAt && credential.expiresAt.getTime() <= Date.now() ? undefined : credential
  }
}
