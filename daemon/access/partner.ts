// Partner access: `Authorization: Bearer loci_ptr_<id>_<secret><crc>`, looked up by id, compared by
// digest. The credential names one partner, one instance, one database, and the routes and classes it is good for.

import { createHash, timingSafeEqual } from 'node:crypto'
import { type AddressSet, addressSet } from '@loci/chassis/addresses.ts'
import { ApiError } from '@loci/chassis/api-error.ts'
import { createKnownCredentials, type Failures } from '@loci/chassis/failures.ts'
import type { LastUses } from '@loci/chassis/last-uses.ts'
import { SUSPECTS } from '@loci/chassis/limiter.ts'
import type { Access, Arrival } from '@loci/chassis/route.ts'
import { HEADER } from '@loci/contract/headers.ts'
import { PARTNER_ROUTES, type PartnerRoute } from '@loci/contract/operations.ts'
import { readSecretToken } from '@loci/contract/secret-token.ts'
import type { Activity } from './activity.ts'
import type { Authority, Instance, PartnerCredential } from './authority.ts'
import type { Rates } from './rates.ts'
import { addressOf, requireIdentity, requireServiceType } from './requirements.ts'
import { authorityUnread, type RequireServed } from './served.ts'

export interface PartnerCaller {
  instance: Instance
  database: string
  partner: string
  actor: string
  /** Throws when the credential is not good for projections of the class, which stands in the body. */
  requireClass(projectionClass: string): void
}

interface PartnerOptions {
  authority: Authority
  failures: Failures
  uses: Pick<LastUses, 'note'>
  rates: Rates
  activity: Pick<Activity, 'answered'>
  trustedProxies?: AddressSet
  requireServed: RequireServed
}

export type PartnerAccess = (route: PartnerRoute) => Access<PartnerCaller>

export function partnerAccess({
  authority,
  failures,
  uses,
  rates,
  activity,
  trustedProxies = addressSet([]),
  requireServed,
}: PartnerOptions): PartnerAccess {
  const known = createKnownCredentials()
  return (route) => ({
    class: 'partner',
    operation: route,
    effect: PARTNER_ROUTES[route].effect,
    refusesConditions: true,
    schemes: [['partner']],
    shareOf: ({ instance }) => instance.organizationId,
    charge: ({ instance }, units, isDone, own) => rates.charge(instance, units, isDone, own),
    accountOf: ({ instance }) => instance.id,
    burstOf: ({ instance }) => instance.limits.burst,
    rateHeadersOf: ({ instance }) => rates.headersOf(instance),
    noteCost: ({ instance }, route, units) => rates.note(instance, route, units),
    noteAnswer: ({ instance }, status, ms) => activity.answered(instance.id, status, ms),
    challenge: 'Bearer realm="loci partner"',
    errors: [
      'UNAUTHENTICATED',
      'OPERATION_NOT_ALLOWED',
      'IDENTITY_MISMATCH',
      'DATABASE_MISMATCH',
      'FORBIDDEN',
      'PAYMENT_REQUIRED',
      'PLAN_NOT_COVERED',
      'RATE_LIMITED',
      'AUTHORITY_STALE',
      'STORE_UNAVAILABLE',
    ],
    // Every well-formed credential that this replica has not seen is looked up in the database.
    shareBefore(arrival) {
      const share = known.shareOf(String(arrival.headers.authorization))
      if (share !== undefined || !failures.areAnyOver()) return share
      return failures.isOver(addressOf(arrival, trustedProxies)) ? SUSPECTS : undefined
    },
    async authorize(arrival) {
      const kind = PARTNER_ROUTES[route]
      // The rows could be those of a restored database: a capability has a way to find out, this has none.
      if (authority.isStale()) throw authorityUnread()
      const sent = String(arrival.headers.authorization)
      const credential = await authenticate(arrival)
      const instance = credential && (await authority.findInstance(credential.instanceId))
      if (!credential || !instance || instance.state === 'deleted') {
        known.drop(sent)
        throw failures.refuse(addressOf(arrival, trustedProxies), unauthenticated(arrival))
      }
      known.keep(sent, instance.organizationId)
      uses.note(credential.id)
      rates.take(instance, kind.effect === 'write')
      requireIdentity(arrival.headers, {
        org: credential.organizationId,
        ten: credential.tenantId,
        svc: credential.instanceId,
      })
      if (!credential.routes.includes(route)) throw notAllowed(route, `the route ${route}`, credential.routes)
      requireServiceType(instance, kind)
      const asked = arrival.headers[HEADER.database]
      if (asked !== undefined && asked !== credential.database)
        throw new ApiError(
          'DATABASE_MISMATCH',
          `This partner credential is for another database: leave ${HEADER.database} out, or use the credential of that database.`,
        )
      requireServed(instance, kind.effect)
      return {
        instance,
        database: credential.database,
        partner: credential.partner,
        actor: credential.id,
        requireClass(projectionClass) {
          const allowed = credential.projectionClasses
          if (!allowed.includes(projectionClass))
            throw notAllowed(projectionClass, `projections of the class ${projectionClass}`, allowed)
        },
      }
    },
  })

  async function authenticate({ headers }: Arrival): Promise<PartnerCredential | undefined> {
    const sent = headers.authorization
    const token = typeof sent === 'string' && sent.startsWith('Bearer ') ? sent.slice('Bearer '.length) : ''
    const id = readSecretToken('ptr', token)
    if (id === undefined) return undefined
    const digest = createHash('sha256').update(token).digest()
    const isGood = (known: PartnerCredential) =>
      known.state === 'active' &&
      known.digest.length === digest.length &&
      timingSafeEqual(known.digest, digest) &&
      (known.expiresAt === null || known.expiresAt.getTime() > Date.now())
    const credential = await authority.findPartnerCredential(`ptr_${id}`, isGood)
    return credential && isGood(credential) ? credential : undefined
  }
}

/** Of a credential that was sent nothing is told but that it does not count: its id may be somebody else's. */
function unauthenticated({ headers: { authorization } }: Arrival): ApiError {
  const problem = authorization
    ? 'The partner credential in Authorization: Bearer is unknown, expired or revoked, or its service is deleted.'
    : 'This route needs a partner credential in Authorization: Bearer.'
  return new ApiError(
    'UNAUTHENTICATED',
    `${problem} Management issues them: POST /api/v1/services/{id}/partner-credentials.`,
  )
}

function notAllowed(operation: string, refused: string, allowed: readonly string[]): ApiError {
  return new ApiError(
    'OPERATION_NOT_ALLOWED',
    `The partner credential does not allow ${refused}, only ${allowed.join(', ')}.`,
    { details: { operation } },
  )
}
