// What belongs to the caller. Another's tenant is 403, another's service 404, in the same words whether it exists or
// not. For a key that is limited to tenants the other tenants of its organization are another's.

import { ApiError } from '@loci/chassis/api-error.ts'
import { isId } from '@loci/contract/ids.ts'
import type { Pool, Sql } from '@loci/postgres/pool.ts'
import { type TransactionOptions, transaction } from '@loci/postgres/transaction.ts'
import type { Caller } from './caller.ts'
import { hasTenant, lockCallersKey, lockCallersMembership, lockCallersSession, useOrganization } from './store.ts'

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
export async function requireStillKey(sql: Sql, { kind, organizationId, id, sessionId }: Caller): Promise<void> {
  if (kind === 'key' && !(await lockCallersKey(sql, organizationId, id)))
    throw new ApiError('UNAUTHENTICATED', 'The API key was deleted meanwhile. Nothing was done.')
  if (kind === 'session') await requireStillSession(sql, sessionId as string)
  if (kind === 'session' && !(await lockCallersMembership(sql, organizationId, id)))
    throw new ApiError('FORBIDDEN', 'You were removed from the organization meanwhile. Nothing was done.')
}

/** As requireStillKey(), of the session alone: whoever signs out finds all that it made. */
export async function requireStillSession(sql: Sql, sessionId: string): Promise<void> {
  if (!(await lockCallersSession(sql, sessionId)))
    throw new ApiError('UNAUTHENTICATED', 'You signed out meanwhile, or the session ended. Nothing was done.')
}

const FRESH_MS = 10 * 60_000

export function isFreshSignIn({ signedInAt }: { signedInAt: Date }): boolean {
  return Date.now() - signedInAt.getTime() <= FRESH_MS
}

/** What outlives a session needs proof that its person is there: whoever has copied a cookie cannot sign in again. */
export function requireFreshSignIn({ signedInAt }: Pick<Caller, 'signedInAt'>, publicUrl: string): void {
  // Only a session has it.
  if (signedInAt === undefined || isFreshSignIn({ signedInAt })) return
  const url = new URL('/sign-in/start?fresh=true', publicUrl).href
  throw new ApiError(
    'FORBIDDEN',
    `This needs a sign-in of the last ${FRESH_MS / 60_000} minutes. Sign in again (${url}), then repeat the request.`,
    {
      hint: `Open ${url} in a browser, sign in, then repeat the request.`,
      details: {
        reason: 'sign_in_too_old',
        signed_in_at: signedInAt.toISOString(),
        max_age_seconds: FRESH_MS / 1_000,
        sign_in_url: url,
      },
    },
  )
}

export function mayUseTenant({ tenantIds }: Pick<Caller, 'tenantIds'>, id: string): boolean {
  return tenantIds === null || tenantIds.includes(id)
}

export function notYourTenant(): ApiError {
  return new ApiError('FORBIDDEN', 'This tenant is not one of those that the credential may use.')
}
