import { ApiError } from '@loci/chassis/api-error.ts'
import { type Access, type Route, route } from '@loci/chassis/route.ts'
import { revocationRequest, revocationResponse } from '@loci/contract/revocations.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import type { Administrator } from '../access/admin.ts'
import { type CellRevocation, revokeInCell } from './store.ts'

/** A mistyped year would lock an organization out of the cell until then, and a revocation cannot be undone. */
const SKEW_MS = 120_000

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
        summary:
          'Revoke a capability by the jti of any of its links, or everything older than a moment of an organization, tenant or service.',
        body: revocationRequest,
        answers: { 200: revocationResponse },
        errors: ['STORE_UNAVAILABLE'],
      },
      async ({ caller, body, requestId }) => {
        if (body.not_before !== undefined && Date.parse(body.not_before) > Date.now() + SKEW_MS) {
          throw new ApiError(
            'VALIDATION_ERROR',
            'not_before lies in the future: it would refuse tokens that are not issued yet.',
          )
        }
        const kind = (['jti', 'org', 'ten', 'svc'] as const).find(
          (one) => body[one] !== undefined,
        ) as CellRevocation['kind']
        const auditId = await revokeInCell(pool, {
          kind,
          value: body[kind] as string,
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
