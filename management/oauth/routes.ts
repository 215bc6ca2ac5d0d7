// The authorization server for clients of /mcp: its document, its token endpoint, and what an organization manages of
// it. The page where a person decides is among the pages.

import { appendAudit } from '@loci/acts/audit/store.ts'
import type { RunAct } from '@loci/acts/idempotency/idempotency.ts'
import { ApiError } from '@loci/chassis/api-error.ts'
import { page } from '@loci/chassis/page.ts'
import { open } from '@loci/chassis/probes.ts'
import { type Call, type Reply, type Route, reply, route } from '@loci/chassis/route.ts'
import { isId, newId } from '@loci/contract/ids.ts'
import {
  authorizationServer,
  OAUTH_OPERATIONS,
  oauthClient,
  oauthClientList,
  oauthClientListQuery,
  oauthClientMake,
  oauthError,
  oauthGrantList,
  oauthGrantListQuery,
  oauthTokens,
} from '@loci/contract/oauth.ts'
import { formBody } from '@loci/contract/pages.ts'
import { deleted, idPath } from '@loci/contract/wire.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import type { Attempts } from '../access/attempts.ts'
import type { Caller, CallerAccess } from '../access/caller.ts'
import { requireWholeOrganization } from '../access/organization.ts'
import { mayUseTenant, readForCaller, requireStillKey } from '../access/own.ts'
import type { Issuer } from '../tokens/tokens.ts'
import { endGrant, endGrantsOf, exchangeCode, type Issued, refreshGrant } from './grants.ts'
import { isRedirectUri } from './redirect-uris.ts'
import {
  countClients,
  deleteClient,
  insertClient,
  listClients,
  listGrants,
  lockGrant,
  type OauthClient,
  type OauthGrant,
} from './store.ts'
import type { GrantUses } from './uses.ts'

interface OauthOptions {
  caller: CallerAccess
  act: RunAct<Caller>
  pool: Pool
  issuer: Issuer
  isBilled: boolean
  publicUrl: string
  attempts: Attempts
  uses: GrantUses
}

const FORM_BYTES_MAX = 8 * 1024
const CLIENTS_MAX = 50
const FORM_TYPE = /^application\/x-www-form-urlencoded\s*(;|$)/i

export function oauthRoutes(options: OauthOptions): Route[] {
  return [...serverRoutes(options), ...clientRoutes(options), ...grantRoutes(options)]
}

function serverRoutes({ pool, issuer, isBilled, publicUrl, attempts, uses }: OauthOptions): Route[] {
  const by = { pool, issuer, isBilled }

  async function issuedFor(
    fields: URLSearchParams,
    { answer, requestId }: Pick<Call<unknown, unknown, unknown, unknown>, 'answer' | 'requestId'>,
  ): Promise<Issued | undefined | string> {
    const given = (name: string) => (fields.getAll(name).length === 1 ? (fields.get(name) as string) : undefined)
    const [clientId, resource] = [given('client_id'), given('resource')]
    const [code, redirectUri, verifier] = [given('code'), given('redirect_uri'), given('code_verifier')]
    const refreshToken = given('refresh_token')
    if (clientId === undefined) return 'client_id is needed, once.'
    // Two would be as if none were there, and the token for whichever the client does not mean.
    if (fields.getAll('resource').length > 1) return 'resource may be there once: a token is for one service.'
    switch (given('grant_type')) {
      case 'authorization_code':
        if (code === undefined || redirectUri === undefined || verifier === undefined)
          return 'code, redirect_uri and code_verifier are needed, each once.'
        if (!(await uses.takeUse(code, answer))) return undefined
        return exchangeCode(by, { code, clientId, redirectUri, verifier, resource }, requestId)
      case 'refresh_token':
        if (refreshToken === undefined) return 'refresh_token is needed, once.'
        if (!(await uses.takeUse(refreshToken, answer))) return undefined
        return refreshGrant(by, { refreshToken, clientId, resource }, requestId)
      default:
        return 'unsupported'
    }
  }

  return [
    route(
      {
        method: 'GET',
        path: '/.well-known/oauth-authorization-server',
        access: open,
        tag: 'oauth',
        summary: 'Describe the authorization server for clients of /mcp.',
        answers: { 200: authorizationServer },
      },
      () => ({
        issuer: publicUrl,
        authorization_endpoint: `${publicUrl}/oauth/authorize`,
        token_endpoint: `${publicUrl}/oauth/token`,
        response_types_supported: ['code'],
        response_modes_supported: ['query'],
        grant_types_supported: ['authorization_code', 'refresh_token'],
        code_challenge_methods_supported: ['S256'],
        token_endpoint_auth_methods_supported: ['none'],
        scopes_supported: [...OAUTH_OPERATIONS],
        authorization_response_iss_parameter_supported: true as const,
        client_id_metadata_document_supported: true as const,
      }),
    ),
    route(
      {
        method: 'POST',
        path: '/oauth/token',
        // Many people's clients ask from one address, that of the program's maker: what is good is never slowed.
        access: attempts.from,
        tag: 'oauth',
        summary: 'Exchange a code, or a refresh token, for an access token and the next refresh token.',
        body: formBody,
        bodyRaw: true,
        bodyBytesMax: FORM_BYTES_MAX,
        answers: { 200: oauthTokens, 400: oauthError },
        errors: ['STORE_UNAVAILABLE', 'UNSUPPORTED_MEDIA_TYPE'],
      },
      async (call) => {
        const { caller: address, body, headers } = call
        if (!FORM_TYPE.test(String(headers['content-type'] ?? '')))
          // Whoever sends something else is no client of OAuth yet, and gets the error that every route has.
          throw new ApiError('UNSUPPORTED_MEDIA_TYPE', 'Send a form: content-type application/x-www-form-urlencoded.')
        const issued = await issuedFor(new URLSearchParams(String(body)), call)
        if (issued === 'unsupported')
          return oauthRefusal('unsupported_grant_type', 'grant_type must be authorization_code or refresh_token.')
        if (typeof issued === 'string') return oauthRefusal('invalid_request', issued)
        if (issued === undefined) {
          const refusal = attempts.failed(address, new ApiError('UNAUTHENTICATED', 'It is not good, or not any more.'))
          if (refusal.code === 'RATE_LIMITED') throw refusal
          return oauthRefusal('invalid_grant', 'It is not good, or not any more: ask the person again.')
        }
        const { accessToken: access_token, expiresIn: expires_in, refreshToken: refresh_token, ops } = issued
        return { access_token, token_type: 'Bearer' as const, expires_in, refresh_token, scope: ops.join(' ') }
      },
    ),
  ]
}

function oauthRefusal(error: string, description: string): Reply {
  return reply(400, { error, error_description: description })
}

function clientRoutes({ caller: access, act, pool }: OauthOptions): Route[] {
  return [
    route(
      {
        method: 'POST',
        path: '/api/v1/oauth-clients',
        access: access.scope('keys:write', 'write'),
        tag: 'oauth',
        summary: 'Register an OAuth client that people of the organization may allow.',
        details: 'It has no secret.',
        body: oauthClientMake,
        answers: { 201: oauthClient },
        errors: ['QUOTA_EXCEEDED'],
      },
      (call) => {
        const { caller, body } = call
        requireWholeOrganization(caller)
        const wrong = body.redirect_uris.findIndex((one) => !isRedirectUri(one))
        if (wrong >= 0) {
          const problem = 'must be https, or http on loopback, without fragment and credentials'
          throw new ApiError('VALIDATION_ERROR', `redirect_uris.${wrong} ${problem}.`, {
            details: [{ field: `body.redirect_uris.${wrong}`, problem }],
          })
        }
        return act(call, async (sql, by) => {
          const { organizationId } = caller
          await requireStillKey(sql, caller)
          if ((await countClients(sql, organizationId)) >= CLIENTS_MAX)
            throw new ApiError(
              'QUOTA_EXCEEDED',
              `An organization has at most ${CLIENTS_MAX} clients. Delete one first.`,
            )
          const id = newId('oac')
          const made = { id, organizationId, name: body.name, redirectUris: body.redirect_uris, madeBy: by.actor }
          const client = await insertClient(sql, made)
          const detail = { name: body.name, redirect_uris: body.redirect_uris.join(' ') }
          await appendAudit(sql, { ...by, chain: organizationId, action: 'oauth_client.create', subject: id, detail })
          return { status: 201, body: clientJson(client) }
        })
      },
    ),
    route(
      {
        method: 'GET',
        path: '/api/v1/oauth-clients',
        access: access.scope('keys:write', 'read'),
        tag: 'oauth',
        summary: 'List the OAuth clients that the organization registered.',
        query: oauthClientListQuery,
        answers: { 200: oauthClientList },
      },
      async ({ caller, query }) => {
        requireWholeOrganization(caller)
        const asked = { before: query.cursor, limit: query.limit + 1 }
        const read = await readForCaller(pool, caller, (sql) => listClients(sql, caller.organizationId, asked))
        const { rows, next } = page(read, query.limit, ({ id }) => id)
        return { oauth_clients: rows.map(clientJson), next_cursor: next }
      },
    ),
    route(
      {
        method: 'DELETE',
        path: '/api/v1/oauth-clients/{id}',
        access: access.scope('keys:write', 'write', 'alone'),
        tag: 'oauth',
        summary: 'Delete an OAuth client.',
        details: 'What people allowed it ends within seconds.',
        params: idPath,
        answers: { 200: deleted },
        errors: ['NOT_FOUND'],
      },
      (call) => {
        requireWholeOrganization(call.caller)
        return act(call, async (sql, by) => {
          const { organizationId } = call.caller
          const { id: subject } = call.params
          // First, so that nothing is allowed to it meanwhile that would stay.
          const isDeleted = isId('oac', subject) && (await deleteClient(sql, organizationId, subject))
          if (!isDeleted)
            throw new ApiError('NOT_FOUND', 'There is no such client. GET /api/v1/oauth-clients lists yours.')
          const grants = await endGrantsOf(sql, organizationId, { clientId: subject }, 'client_deleted', by)
          const detail = { grants }
          await appendAudit(sql, { ...by, chain: organizationId, action: 'oauth_client.delete', subject, detail })
          return { status: 200, body: { deleted: true } }
        })
      },
    ),
  ]
}

function grantRoutes({ caller: access, act, pool }: OauthOptions): Route[] {
  /** All with `keys:write`, otherwise one's own. */
  const visibleTo = ({ scopes, userId, id }: Caller) => (scopes.has('keys:write') ? null : (userId ?? id))
  return [
    route(
      {
        method: 'GET',
        path: '/api/v1/oauth-grants',
        access: access.anyone('read'),
        tag: 'oauth',
        summary: 'List the grants that people gave to OAuth clients.',
        details: 'By everybody with `keys:write`, otherwise by you.',
        query: oauthGrantListQuery,
        answers: { 200: oauthGrantList },
      },
      async ({ caller, query }) => {
        const of = { userId: visibleTo(caller), tenantIds: caller.tenantIds }
        const asked = { before: query.cursor, limit: query.limit + 1 }
        const read = await readForCaller(pool, caller, (sql) => listGrants(sql, caller.organizationId, of, asked))
        const { rows, next } = page(read, query.limit, ({ id }) => id)
        return { oauth_grants: rows.map(grantJson), next_cursor: next }
      },
    ),
    route(
      {
        method: 'DELETE',
        path: '/api/v1/oauth-grants/{id}',
        access: access.anyone('write'),
        tag: 'oauth',
        summary: 'End a grant of an OAuth client.',
        details: 'Every daemon refuses its tokens within seconds.',
        params: idPath,
        answers: { 200: deleted },
        errors: ['NOT_FOUND'],
      },
      (call) =>
        act(call, async (sql, by) => {
          const { caller } = call
          const { id } = call.params
          const found = isId('oag', id) ? await lockGrant(sql, caller.organizationId, id) : undefined
          const whose = visibleTo(caller)
          const isOwn = found && (whose === null || found.userId === whose) && mayUseTenant(caller, found.tenantId)
          if (!isOwn || found.endedAt !== null)
            throw new ApiError('NOT_FOUND', 'There is no such grant. GET /api/v1/oauth-grants lists yours.')
          await endGrant(sql, found, 'revoked', by)
          return { status: 200, body: { deleted: true } }
        }),
    ),
  ]
}

function clientJson({ id, name, redirectUris, createdAt }: OauthClient) {
  return { id, name, redirect_uris: redirectUris, created_at: createdAt.toISOString() }
}

function grantJson(grant: OauthGrant) {
  return {
    ...{ id: grant.id, user_id: grant.userId, tenant_id: grant.tenantId, service_id: grant.serviceId },
    ...{ client_id: grant.clientId, client_name: grant.clientName, ops: grant.ops, databases: grant.databases },
    created_at: grant.createdAt.toISOString(),
    expires_at: grant.expiresAt.toISOString(),
    last_used_at: grant.lastUsedAt?.toISOString() ?? null,
  }
}
