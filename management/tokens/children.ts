// Links that a holder made offline and tells us about, so that they are listed and can be taken back by name. Nothing depends on
// what is told: a child ends with its root, and to take back the root takes back everything under it.

import { ApiError } from '@loci/chassis/api-error.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import { appendAudit } from '../audit/store.ts'
import { findChild, findToken, insertChild, type ListedChild, listTenantsOfJti } from './store.ts'

export interface ChildRequest {
  organizationId: string
  tenantId: string
  parentJti: string
  jti: string
  expiresAt: Date
}

/** In a transaction that has the organization in use. The same child again is the same answer, and nothing new. */
export async function registerChild(
  sql: Sql,
  request: ChildRequest,
  actor: string,
  requestId: string,
): Promise<{ child: ListedChild; serviceId: string; isNew: boolean }> {
  const { organizationId, tenantId, parentJti, jti, expiresAt } = request
  const parent = await findToken(sql, organizationId, tenantId, parentJti)
  const owners = parent ? await listTenantsOfJti(sql, jti) : []
  // A jti is no secret, but it is nobody's business whose it is.
  if (!parent || owners.some((owner) => owner !== tenantId)) throw noSuchToken()
  if (parent.delegationDepth === 0)
    throw new ApiError('INVALID_STATE', 'This token was issued with max_delegation_depth 0: it has no children.')
  if (expiresAt > parent.expiresAt || expiresAt <= new Date())
    throw new ApiError(
      'VALIDATION_ERROR',
      `exp must lie ahead and not after that of the token, ${parent.expiresAt.getTime() / 1000}.`,
    )
  const { serviceId } = parent
  if (owners.length > 0) return { child: await requireSame(sql, request), serviceId, isNew: false }
  const isNew = await insertChild(sql, { ...request, serviceId })
  const child = await requireSame(sql, request)
  if (isNew)
    await appendAudit(sql, {
      chain: organizationId,
      actor,
      action: 'token.register_child',
      subject: jti,
      requestId,
      detail: { service_id: serviceId, parent_id: parentJti, expires_at: expiresAt.toISOString() },
    })
  return { child, serviceId, isNew }
}

async function requireSame(
  sql: Sql,
  { organizationId, parentJti, jti, expiresAt }: ChildRequest,
): Promise<ListedChild> {
  const child = await findChild(sql, organizationId, jti)
  if (child?.parentJti === parentJti && child.expiresAt.getTime() === expiresAt.getTime()) return child
  throw new ApiError(
    'INVALID_STATE',
    'This jti is known already, as a token or as a child with another parent or exp: each link needs a jti of its own.',
  )
}

export function noSuchToken(): ApiError {
  return new ApiError('NOT_FOUND', 'The tenant has no token of this id. GET /api/v1/tenants/{id}/tokens lists them.')
}
