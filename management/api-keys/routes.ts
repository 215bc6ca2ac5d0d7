import type { RunAct } from '@loci/acts/idempotency/idempotency.ts'
import { ApiError } from '@loci/chassis/api-error.ts'
import { page } from '@loci/chassis/page.ts'
import { type Route, route } from '@loci/chassis/route.ts'
import type { SealingKey } from '@loci/chassis/setting-values.ts'
import {
  apiKeyDeleteQuery,
  apiKeyIssued,
  apiKeyList,
  apiKeyListQuery,
  apiKeyMake,
  apiKeyParams,
  apiKeyRotate,
} from '@loci/contract/api-keys.ts'
import { isId } from '@loci/contract/ids.ts'
import { deleted } from '@loci/contract/wire.ts'
import type { Pool, Sql } from '@loci/postgres/pool.ts'
import type { Caller, CallerAccess } from '../access/caller.ts'
import { requirePerson } from '../access/organization.ts'
import { readForCaller, requireFreshSignIn, requireStillKey } from '../access/own.ts'
import { listKnownTenants } from '../tenants/store.ts'
import {
  deleteApiKey,
  grantOf,
  issueApiKey,
  requireMayRotate,
  requireRoom,
  rotateApiKey,
  visibleKeys,
} from './api-keys.ts'
import { type ApiKey, type ApiKeyRow, listApiKeys, lockApiKey } from './store.ts'

interface ApiKeyOptions {
  caller: CallerAccess
  act: RunAct<Caller>
  pool: Pool
  sealingKeys: SealingKey[]
  publicUrl: string
}

const NO_STORE = { 'cache-control': 'no-store' }

export function apiKeyRoutes({ caller: access, act, pool, sealingKeys, publicUrl }: ApiKeyOptions): Route[] {
  return [
    route(
      {
        method: 'GET',
        path: '/api/v1/api-keys',
        access: access.anyone('read'),
        tag: 'api-keys',
        summary: 'List API keys.',
        details: 'All of the organization with `keys:write`, otherwise your own.',
        query: apiKeyListQuery,
        answers: { 200: apiKeyList },
      },
      async ({ caller, query }) => {
        const asked = { before: query.cursor ?? null, limit: query.limit + 1 }
        const read = await readForCaller(pool, caller, (sql) =>
          listApiKeys(sql, caller.organizationId, visibleKeys(caller), asked),
        )
        const { rows, next } = page(read, query.limit, ({ id }) => id)
        return { api_keys: rows.map((key) => keyJson(key)), next_cursor: next }
      },
    ),
    route(
      {
        method: 'POST',
        path: '/api/v1/api-keys',
        access: access.scope('keys:write', 'write'),
        tag: 'api-keys',
        summary: 'Create an API key with at most the rights of the caller.',
        details: 'Its secret is shown once. A session needs a sign-in of the last 10 minutes.',
        body: apiKeyMake,
        answers: { 201: apiKeyIssued },
        errors: ['QUOTA_EXCEEDED', 'IDEMPOTENCY_REPLAY_WITHHELD'],
      },
      async (call) => {
        const { caller, body } = call
        const userId = requirePerson(caller)
        requireFreshSignIn(caller, publicUrl)
        const { organizationId, sessionId } = caller
        return act(call, async (sql, by) => {
          await requireStillKey(sql, caller)
          const { name, scopes, tenant_ids: tenantIds, expires_in: expiresIn } = body
          const grant = grantOf(caller, { scopes, tenantIds, expiresIn })
          if (tenantIds) await requireKnown(sql, organizationId, tenantIds)
          const request = { organizationId, userId, sessionId, name, ...grant }
          const { key, secret } = await issueApiKey(sql, sealingKeys, request, by)
          await requireRoom(sql, organizationId)
          return { status: 201, body: { ...keyJson(key), secret }, headers: NO_STORE, issued: key.id }
        })
      },
    ),
    route(
      {
        method: 'DELETE',
        path: '/api/v1/api-keys/{id}',
        access: access.scope('keys:write', 'write', 'alone'),
        tag: 'api-keys',
        summary: 'Delete an API key.',
        details:
          'It stops working at once, and what it made ends with it: API keys, tokens, partner credentials, open invitations, and what those made.',
        params: apiKeyParams,
        query: apiKeyDeleteQuery,
        answers: { 200: deleted },
        errors: ['NOT_FOUND', 'INVALID_STATE'],
      },
      (call) =>
        act(call, async (sql, by) => {
          const found = await findKey(sql, call.caller, call.params.id)
          if (!found || !(await deleteApiKey(sql, found, call.query.made, by))) throw noSuchKey()
          return { status: 200, body: { deleted: true } }
        }),
    ),
    route(
      {
        method: 'POST',
        path: '/api/v1/api-keys/{id}/rotate',
        access: access.scope('keys:write', 'write'),
        tag: 'api-keys',
        summary: 'Rotate one of your own API keys.',
        details: 'The answer has its new secret; the old one works until the overlap ends.',
        params: apiKeyParams,
        body: apiKeyRotate,
        bodyOptional: true,
        answers: { 200: apiKeyIssued },
        errors: ['NOT_FOUND', 'INVALID_STATE', 'IDEMPOTENCY_REPLAY_WITHHELD'],
      },
      async (call) => {
        const { caller, body } = call
        const { id } = call.params
        requirePerson(caller)
        requireFreshSignIn(caller, publicUrl)
        return act(call, async (sql, by) => {
          await requireStillKey(sql, caller)
          const found = await findKey(sql, caller, id)
          if (!found || found.revokedAt !== null) throw noSuchKey()
          requireMayRotate(caller, found)
          const { key, secret } = await rotateApiKey(
            sql,
            sealingKeys,
            found,
            { overlapSeconds: body.overlap_seconds, sessionId: caller.sessionId },
            by,
          )
          return { status: 200, body: { ...keyJson(key, key.previousUntil), secret }, headers: NO_STORE, issued: id }
        })
      },
    ),
  ]
}

/** Another organization's is as none, and so is one that the list would not show. */
async function findKey(sql: Sql, caller: Caller, id: string): Promise<ApiKeyRow | undefined> {
  return isId('key', id) ? lockApiKey(sql, caller.organizationId, visibleKeys(caller), id) : undefined
}

function noSuchKey(): ApiError {
  return new ApiError('NOT_FOUND', 'There is no such API key. GET /api/v1/api-keys lists yours.')
}

async function requireKnown(sql: Sql, organizationId: string, tenantIds: string[]): Promise<void> {
  const known = new Set(await listKnownTenants(sql, organizationId, tenantIds))
  const unknown = tenantIds.find((id) => !known.has(id))
  if (unknown !== undefined)
    throw new ApiError('VALIDATION_ERROR', `'${unknown}' is no tenant of the organization.`, {
      details: [{ field: 'body.tenant_ids', problem: 'names what is no tenant of the organization' }],
    })
}

function keyJson(key: ApiKey, previousUntil: Date | null = (key as Partial<ApiKeyRow>).previousUntil ?? null) {
  const { id, userId, madeBy, sessionId, name, scopes, tenantIds, createdAt, expiresAt, lastUsedAt } = key
  return {
    id,
    user_id: userId,
    made_by: madeBy,
    session_id: sessionId,
    name,
    scopes,
    tenant_ids: tenantIds,
    created_at: createdAt.toISOString(),
    expires_at: expiresAt?.toISOString() ?? null,
    last_used_at: lastUsedAt?.toISOString() ?? null,
    previous_until: previousUntil?.toISOString() ?? null,
  }
}
