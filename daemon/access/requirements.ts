// What must fit before a handler runs: identity headers, operations, the type of the service, the database.

import type { Capability } from '@loci/capability/capability.ts'
import { covers, isDatabaseName, onlyDatabase } from '@loci/capability/keyspaces.ts'
import { type AddressSet, clientAddress } from '@loci/chassis/addresses.ts'
import { ApiError } from '@loci/chassis/api-error.ts'
import type { Arrival } from '@loci/chassis/route.ts'
import { HEADER } from '@loci/contract/headers.ts'
import { type Domain, hasOperation, type Operation, type OperationKind } from '@loci/contract/operations.ts'
import type { Instance } from './authority.ts'

type Headers = Arrival['headers']

/** Behind a trusted proxy the client's own address: failures of one client must not slow the others down. */
export function addressOf({ peer, headers }: Arrival, trustedProxies: AddressSet): string {
  return clientAddress(peer, headers, trustedProxies) ?? peer
}

/** Identity headers are optional; those that are sent must equal the credential's. They never widen it. */
export function requireIdentity(headers: Headers, { org, ten, svc }: { org: string; ten: string; svc: string }): void {
  for (const [name, own] of [
    [HEADER.organization, org],
    [HEADER.tenant, ten],
    [HEADER.service, svc],
  ] as const) {
    const sent = headers[name]
    if (sent !== undefined && sent !== own)
      throw new ApiError(
        'IDENTITY_MISMATCH',
        `The header ${name} differs from the credential. Leave it out, or use the credential that it names.`,
      )
  }
}

export function requireOperations(capability: Capability, operations: readonly Operation[]): void {
  for (const operation of operations) {
    if (operation === 'operator') requireOperator(capability)
    else if (!capability.ops.has(operation))
      throw new ApiError('OPERATION_NOT_ALLOWED', `The capability lacks the operation ${operation}.`, {
        details: { operation },
      })
  }
}

/** Operator rights cannot be delegated: they count only in a single root without a key (`cnf`). */
function requireOperator({ ops, isBareRoot }: Capability): void {
  if (!ops.has('operator') || !isBareRoot)
    throw new ApiError(
      'OPERATOR_REQUIRED',
      'This route needs an operator capability: a root with the operation operator, not delegated.',
    )
}

/** The type of the service decides which routes it has, whatever the credential says. */
export function requireServiceType({ serviceType }: Instance, needed: OperationKind): void {
  if (!hasOperation(serviceType, needed))
    throw new ApiError(
      'FORBIDDEN',
      `A service of type ${serviceType} does not have this route. Create a service of type memory for it.`,
    )
}

/**
 * Covered in every one of the domains; without a header the only literal database of the first one, else `default`.
 * `namedInBody`: without a header the body may say which, so that its handler asks whether those are covered.
 */
export function databaseOf(
  headers: Headers,
  ks: readonly string[],
  domains: readonly Domain[],
  namedInBody: boolean,
): string {
  const sent = headers[HEADER.database]
  if (sent !== undefined && (typeof sent !== 'string' || !isDatabaseName(sent)))
    throw new ApiError('VALIDATION_ERROR', `The header ${HEADER.database} must be 1 to 64 of a-z, 0-9, _ and -.`)
  const [first] = domains
  const database = sent ?? (first && onlyDatabase(ks, first)) ?? 'default'
  if (sent === undefined && namedInBody) return database
  const missing = domains.find((domain) => !covers(ks, domain, database))
  if (missing !== undefined) throw databaseMismatch(missing, database, sent !== undefined)
  return database
}

export function databaseMismatch(domain: Domain, database: string, isNamed: boolean): ApiError {
  const meant = isNamed ? '' : `, the database that is meant without ${HEADER.database}: name one that it covers`
  return new ApiError('DATABASE_MISMATCH', `The credential does not cover ${domain}/${database}${meant}.`)
}
