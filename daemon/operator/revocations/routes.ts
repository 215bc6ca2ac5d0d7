import { ApiError } from '@loci/chassis/api-error.ts'
import { type Access, type Route, route } from '@loci/chassis/route.ts'
import { revocationRequest, revocationResponse } from '@loci/contract/revocations.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import type { Administrator } from '../../access/admin.ts'
import { type CellRevocation, countRevokedTokens, isPlaced, revokeInCell } from './store.ts'

/** A mistyped year would lock an organization out of the cell until then, with every token that it is issued. */
const AHEAD_MS_MAX = 60_000
/** Each replica keeps them in memory. */
const TOKENS_MAX = 10_000

interface RevocationOptions {
  admin: Access<Administrator>
  pool: Pool
  /** Makes it effective in this replica at once; the others follow at their next poll. */
  catchUp(): Promise<void>
}

export function revocationRoutes({ admin, pool, catchUp }: RevocationOptions): Route[] {
  return [
    route(
      {
        method: 'POST',
        path: '/admin/revocations',
        access: admin,
        tag: 'admin',
        summary: 'Revoke a capability, or every one that was issued before a moment.',
        details: 'By the jti of any of its links; or of an organization, tenant or service.',
        body: revocationRequest,
        answers: { 200: revocationResponse },
        errors: ['NOT_FOUND', 'INVALID_STATE', 'STORE_UNAVAILABLE'],
      },
      async ({ caller, body, requestId }) => {
        if (body.not_before !== undefined && Date.parse(body.not_before) > Date.now() + AHEAD_MS_MAX) {
          throw new ApiError(
            'VALIDATION_ERROR',
            'not_before lies more than 60 s in the future: it would refuse tokens that are not issued yet.',
          )
        }
        const kind = (['jti', 'org', 'ten', 'svc'] as const).find(
          (one) => body[one] !== undefined,
        ) as CellRevocation['kind']
        const value = body[kind] as string
        await requireRevocable(pool, kind, value)
        const auditId = await revokeInCell(pool, {
          kind,
          value,
          notBefore: body.not_before === undefined ? null : new Date(body.not_before),
          actor: caller.name,
          requestId,
        })
        // It is committed: that this replica could not read it back at once is no reason to say that nothing was done.
        await catchUp().catch(() => undefined)
        return { revoked: true, audit_id: auditId }
      },
    ),
  ]
}

/** Somebody who has nothing here was mistyped, or is in another cell. A jti does not say whose it is. */
async function requireRevocable(pool: Pool, kind: CellRevocation['kind'], value: string): Promise<void> {
  if (kind !== 'jti' && !(await isPlaced(pool, kind, value)))
    throw new ApiError(
      'NOT_FOUND',
      `Nothing of ${value} is placed in this cell. GET /api/v1/services says where it is.`,
    )
  if (kind === 'jti' && (await countRevokedTokens(pool)) >= TOKENS_MAX)
    throw new ApiError(
      'INVALID_STATE',
      `This cell has ${TOKENS_MAX} revocations by jti. Revoke the service up to a moment instead: svc and not_before.`,
    )
}
