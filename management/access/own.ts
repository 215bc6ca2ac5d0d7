// What belongs to the caller. Another's tenant is 403, another's service 404, in the same words whether it exists or
// not. For a key that is limited to tenants the other tenants of its organization are another's.

import { ApiError } from '@loci/chassis/api-error.ts'
import { isId } from '@loci/contract/ids.ts'
import type { Pool, Sql } from '@loci/postgres/pool.ts'
import { type TransactionOptions, transaction } from '@loci/postgres/transaction.ts'
import type { Caller } from './caller.ts'
import { hasTenant, lockCallersKey, lockCallersMembership, useOrganization } from './store.ts'

/** Reads in a transaction that has the caller's organization in use. */
export function readForCaller<T>(
  pool: Pool,
  { organizationId }: Pick<Caller, 'organizationId'>,
  work: (sql: Sql) => Promise<T>,
  options: Pick<TransactionOptions, 'isolation'> = {},
): Promise<T> {
  const read = async (sql: Sql) => {
    await useOrganization(sql, organizationId)
    return work(sql)
  }
  return transaction(pool, read, { ...options, readOnly: true })
}

/** In a transaction that has the caller's organization in use. */
export async function requireOwnTenant(sql: Sql, caller: Caller, id: string): Promise<void> {
  if (isId('ten', id) && mayUseTenant(caller, id) && (await hasTenant(sql, caller.organizationId, id))) return
  throw notYourTenant()
}

/** `service` is what was found in the caller's organization. */
export function requireOwnService<Found extends { tenantId: string; status: string }>(
  caller: Caller,
  service: Found | undefined,
): Found {
  if (!service || service.status === 'deleted' || !mayUseTenant(caller, service.tenantId))
    throw new ApiError('NOT_FOUND', 'There is no such service. GET /api/v1/services lists yours.')
  return service
}

/**
 * Before a credential is made, and before anything else is locked: the key, or the member, that makes it is not deleted
 * before that is committed, so that its deletion finds all that it made.
 */
export async function requireStillKey(sql: Sql, { kind, organizationId, id }: Caller): Promise<void> {
  if (kind === 'key' && !(await lockCallersKey(sql, organizationId, id)))
    throw new ApiError('UNAUTHENTICATED', 'The API key was deleted meanwhile. Nothing was done.')
  if (kind === 'session' && !(await lockCallersMembership(sql, organizationId, id)))
    throw new ApiError('FORBIDDEN', 'You were removed from the organization meanwhile. Nothing was done.')
}

export function mayUseTenant({ tenantIds }: Pick<Caller, 'tenantIds'>, id: string): boolean {
  return tenantIds === null || tenantIds.includes(id)
}

export function notYourTenant(): ApiError {
  return new ApiError('FORBIDDEN', 'This tenant is not one of those that the credential may use.')
}
