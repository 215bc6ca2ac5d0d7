// Links that a holder made offline and registers here, so that they are listed and can be revoked by name. Nothing
// depends on it: a child ends with its root, and revoking the root revokes everything under it. Children are kept by
// service: the same jti may be registered for another one, or the first to learn a jti could keep its owner from
// registering it.

import { appendAudit } from '@loci/acts/audit/store.ts'
import { ApiError } from '@loci/chassis/api-error.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import { findChild, findToken, insertChild, isTokenOfAnother, type ListedChild } from './store.ts'

export interface ChildRequest {
  organizationId: string
  tenantId: string
  parentJti: string
  jti: string
  expiresAt: Date
  /** Its holder's word for the list, as the end is: a daemon reads the link alone. Null: not told. */
  name: string | null
  ops: string[] | null
}

/** In a transaction that has the organization in use. The same child again is the same answer, and nothing new. */
export async function registerChild(
  sql: Sql,
  request: ChildRequest,
  actor: string,
  requestId: string,
): Promise<{ child: ListedChild; serviceId: string; isNew: boolean }> {
  const { organizationId, tenantId, parentJti, jti, expiresAt, name } = request
  const parent = await findToken(sql, organizationId, tenantId, parentJti)
  // A token that management issued to another tenant cannot be registered as a child. Whoever has such an id, of 80
  // random bits, learns that it exists: children have ids of the same form, so not all of them can be refused.
  if (!parent || (await isTokenOfAnother(sql, tenantId, jti))) throw noSuchToken()
  if (parent.delegationDepth === 0)
    throw new ApiError('INVALID_STATE', 'This token was issued with max_delegation_depth 0: it has no children.')
  if (expiresAt > parent.expiresAt || expiresAt <= new Date())
    throw new ApiError(
      'VALIDATION_ERROR',
      `exp must lie ahead and not after that of the token, ${parent.expiresAt.getTime() / 1000}.`,
    )
  const ops = request.ops && opsWithin(parent.ops, request.ops)
  const { serviceId } = parent
  if (await findToken(sql, organizationId, tenantId, jti)) throw knownAlready()
  const isNew = await insertChild(sql, { ...request, ops, serviceId })
  const child = await findChild(sql, organizationId, serviceId, jti)
  if (child?.parentJti !== parentJti || child.expiresAt.getTime() !== expiresAt.getTime()) throw knownAlready()
  const isOther = (name !== null && name !== child.name) || (ops !== null && ops.join() !== child.ops?.join())
  if (isOther) throw knownAlready()
  if (isNew)
    await appendAudit(sql, {
      chain: organizationId,
      actor,
      action: 'token.register_child',
      subject: jti,
      requestId,
      detail: {
        service_id: serviceId,
        parent_id: parentJti,
        expires_at: expiresAt.toISOString(),
        ...(name === null ? {} : { name }),
        ...(ops === null ? {} : { ops: ops.join(' ') }),
      },
    })
  return { child, serviceId, isNew }
}

/** In the order of the token, each once. A link cannot have what its token has not, so such a list would be wrong. */
function opsWithin(ofToken: string[], told: string[]): string[] {
  const unknown = told.find((op) => !ofToken.includes(op))
  if (unknown !== undefined)
    throw new ApiError(
      'VALIDATION_ERROR',
      `The token has no operation '${unknown.slice(0, 40)}', so no link of it has: name some of ${ofToken.join(', ')}.`,
    )
  return ofToken.filter((op) => told.includes(op))
}

function knownAlready(): ApiError {
  return new ApiError(
    'INVALID_STATE',
    'This jti is known already, as a token or as a child with another parent, exp, name or ops: each link needs a jti of its own.',
  )
}

export function noSuchToken(): ApiError {
  return new ApiError('NOT_FOUND', 'The tenant has no token of this id. GET /api/v1/tenants/{id}/tokens lists them.')
}
