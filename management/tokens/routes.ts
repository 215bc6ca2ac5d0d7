import type { RunAct } from '@loci/acts/idempotency/idempotency.ts'
import { ApiError } from '@loci/chassis/api-error.ts'
import { page } from '@loci/chassis/page.ts'
import { type Route, route } from '@loci/chassis/route.ts'
import { isId } from '@loci/contract/ids.ts'
import { operationsOf } from '@loci/contract/roles.ts'
import {
  childRequest,
  childResponse,
  tokenDeleteQuery,
  tokenList,
  tokenListQuery,
  tokenParams,
  tokenRequest,
  tokenResponse,
  tokensParams,
} from '@loci/contract/tokens.ts'
import { deleted } from '@loci/contract/wire.ts'
import type { Pool, Sql } from '@loci/postgres/pool.ts'
import { type Caller, type CallerAccess, requireScope } from '../access/caller.ts'
import { readForCaller, requireOwnService, requireOwnTenant, requireStillKey } from '../access/own.ts'
import { appendEvent } from '../acts/events/store.ts'
import { requirePlaced } from '../services/services.ts'
import { findService, lockServiceAndCell, type Service } from '../services/store.ts'
import { noSuchToken, registerChild } from './children.ts'
import {
  findTenantPlan,
  type ListedChild,
  type ListedToken,
  listChildren,
  listServicesOfJti,
  listTokens,
  listUsableServices,
} from './store.ts'
import { type Issuer, mintToken, revokeToken } from './tokens.ts'

interface TokenOptions {
  caller: CallerAccess
  pool: Pool
  act: RunAct<Caller>
  issuer: Issuer
  /** Whether there is a billing webhook; without one every plan is covered. */
  isBilled: boolean
}

export function tokenRoutes({ caller: access, pool, act, issuer, isBilled }: TokenOptions): Route[] {
  return [
    route(
      {
        method: 'POST',
        path: '/api/v1/tenants/{id}/tokens',
        access: access.scope('tokens:write', 'write'),
        tag: 'tokens',
        summary: 'Issue a token for a service of the tenant.',
        details: 'It is shown once.',
        params: tokensParams,
        body: tokenRequest,
        bodyDefault: {},
        answers: { 201: tokenResponse },
        errors: ['NOT_FOUND', 'SERVICE_REQUIRED', 'INVALID_STATE', 'IDEMPOTENCY_REPLAY_WITHHELD'],
        failureMessage: 'Failed to issue the token',
      },
      (call) =>
        act(call, async (sql, by) => {
          const { caller, body } = call
          const { id } = call.params
          await requireStillKey(sql, caller)
          await requireOwnTenant(sql, caller, id)
          const service = await requireServiceOf(sql, caller, id, body.service_id)
          const request = {
            name: body.name,
            ops: body.ops,
            allowedOps: operationsOf(caller.role),
            databases: body.databases,
            ttlSeconds: body.ttl_seconds,
            coveredPlan: isBilled ? await findTenantPlan(sql, caller.organizationId, id) : undefined,
            endsBy: caller.expiresAt,
            maxDelegationDepth: body.max_delegation_depth,
            holderKey: body.holder_key,
            sub: subOf(caller),
          }
          const minted = await mintToken(sql, issuer, service, request, by.actor, by.requestId)
          await appendEventOf(sql, service, 'token.issued', minted.token_id)
          return { status: 201, body: minted, issued: minted.token_id }
        }),
    ),

    route(
      {
        method: 'GET',
        path: '/api/v1/tenants/{id}/tokens',
        access: access.anyone('read'),
        tag: 'tokens',
        summary: 'List the tokens of the tenant, newest first, and never their text.',
        details: 'Needs tenants:read or tokens:write.',
        params: tokensParams,
        query: tokenListQuery,
        answers: { 200: tokenList },
        failureMessage: 'Failed to list the tokens',
      },
      ({ caller, params: { id }, query }) => {
        if (!caller.scopes.has('tokens:write')) requireScope(caller, 'tenants:read')
        return readForCaller(pool, caller, async (sql) => {
          await requireOwnTenant(sql, caller, id)
          const of = { organizationId: caller.organizationId, tenantId: id, serviceId: query.service_id }
          const read = await listTokens(sql, of, { before: query.cursor, limit: query.limit + 1 })
          const { rows: tokens, next } = page(read, query.limit, ({ jti }) => jti)
          const children = await listChildren(
            sql,
            caller.organizationId,
            tokens.filter(({ childrenTotal }) => childrenTotal > 0).map(({ jti }) => jti),
          )
          const byParent = Map.groupBy(children, ({ parentJti }) => parentJti)
          return {
            tokens: tokens.map((token) => listedToken(token, byParent.get(token.jti) ?? [])),
            next_cursor: next,
          }
        })
      },
    ),

    route(
      {
        method: 'POST',
        path: '/api/v1/tenants/{id}/tokens/{token_id}/children',
        access: access.scope('tokens:write', 'write'),
        tag: 'tokens',
        summary: 'Register a capability that was narrowed offline from a token.',
        details: 'It is then listed and can be deleted by its jti.',
        params: tokenParams,
        body: childRequest,
        answers: { 201: childResponse },
        errors: ['NOT_FOUND', 'INVALID_STATE'],
        failureMessage: 'Failed to register the child',
      },
      (call) =>
        act(call, async (sql, by) => {
          const { caller, body } = call
          const { id, token_id } = call.params
          await requireOwnTenant(sql, caller, id)
          const { organizationId } = caller
          const expiresAt = momentOf(body.exp)
          const said = { name: body.name ?? null, ops: body.ops ?? null }
          const request = { organizationId, tenantId: id, parentJti: token_id, jti: body.jti, expiresAt, ...said }
          const { child, serviceId, isNew } = await registerChild(sql, request, by.actor, call.requestId)
          const owner = { organizationId, tenantId: id, id: serviceId }
          if (isNew) await appendEventOf(sql, owner, 'token.child_registered', body.jti)
          return { status: 201, body: listedChild(child) }
        }),
    ),

    route(
      {
        method: 'DELETE',
        path: '/api/v1/tenants/{id}/tokens/{token_id}',
        access: access.scope('tokens:write', 'write', 'revocations'),
        tag: 'tokens',
        summary: 'Revoke a token.',
        details:
          'Or a registered child by its jti, or with service_id any jti. Every daemon refuses it within seconds.',
        params: tokenParams,
        query: tokenDeleteQuery,
        answers: { 200: deleted },
        errors: ['NOT_FOUND'],
        failureMessage: 'Failed to delete the token',
      },
      async (call) => {
        const { caller, query } = call
        const { id, token_id } = call.params
        const { organizationId } = caller
        return act(call, async (sql, by) => {
          await requireOwnTenant(sql, caller, id)
          const named =
            query.service_id === undefined ? undefined : await findService(sql, organizationId, query.service_id)
          if (query.service_id !== undefined) requireOwnService(caller, named?.tenantId === id ? named : undefined)
          const serviceIds = named ? [named.id] : await listServicesOfJti(sql, organizationId, id, token_id)
          if (serviceIds.length === 0) throw noSuchToken()
          // Every cell before the first audit entry: the order of locks.
          const services: Service[] = []
          for (const serviceId of serviceIds)
            services.push((await lockServiceAndCell(sql, organizationId, serviceId)) ?? fail(noSuchToken()))
          for (const service of services) {
            await revokeToken(sql, service, token_id, by.actor, by.requestId)
            await appendEventOf(sql, service, 'token.revoked', token_id)
          }
          return { status: 200, body: { deleted: true } }
        })
      },
    ),
  ]
}

/** The named one, or the only one there is. One of another tenant or organization is as if it did not exist. */
async function requireServiceOf(
  sql: Sql,
  caller: Caller,
  tenantId: string,
  named: string | undefined,
): Promise<Service> {
  const usable = named === undefined ? await listUsableServices(sql, caller.organizationId, tenantId) : [named]
  const [id] = usable
  if (id === undefined || usable.length > 1)
    throw new ApiError(
      'SERVICE_REQUIRED',
      `The tenant has ${id === undefined ? 'no service that a token could be for: make one' : 'several services: name one in service_id'}.`,
    )
  const found = isId('svc', id) ? await findService(sql, caller.organizationId, id) : undefined
  const service = requireOwnService(caller, found?.tenantId === tenantId ? found : undefined)
  requirePlaced(service)
  return service
}

function fail(error: ApiError): never {
  throw error
}

/** The API key itself, so that all that it asked for can be ended at once; a caller of a gateway has no id of ours. */
function subOf({ kind, id, userId }: Caller): string | undefined {
  return kind === 'key' ? id : (userId ?? undefined)
}

/** Seconds beyond what a Date can hold are later than any token ends. */
function momentOf(seconds: number): Date {
  return new Date(Math.min(Math.max(seconds, 0), 8.64e12) * 1000)
}

async function appendEventOf(
  sql: Sql,
  { organizationId, tenantId, id }: { organizationId: string; tenantId: string; id: string },
  type: string,
  subject: string,
): Promise<void> {
  await appendEvent(sql, { organizationId, type, subject, data: { tenant_id: tenantId, service_id: id } })
}

function listedToken(token: ListedToken, children: ListedChild[]): object {
  return {
    token_id: token.jti,
    name: token.name,
    tenant_id: token.tenantId,
    service_id: token.serviceId,
    ops: token.ops,
    keyspaces: token.ks,
    sub: token.sub,
    made_by: token.madeBy,
    max_delegation_depth: token.delegationDepth,
    issued_at: token.issuedAt,
    expires_at: token.expiresAt,
    revoked_at: token.revokedAt,
    last_used_at: token.lastUsedAt,
    children: children.map(listedChild),
    children_total: token.childrenTotal,
  }
}

function listedChild(child: ListedChild): object {
  return {
    jti: child.jti,
    parent_id: child.parentJti,
    name: child.name,
    ops: child.ops,
    expires_at: child.expiresAt,
    registered_at: child.registeredAt,
    revoked_at: child.revokedAt,
  }
}
