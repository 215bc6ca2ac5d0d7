// What a person allows a client, from the consent to its end.
//
//   allowed     with a code, good once and for a minute, bound to client, redirect address, PKCE challenge and resource
//   in use      with a refresh token, good once: each use makes the next. Access tokens are capabilities of the one
//               service, for ten minutes, with at most what the person's role may do at that moment; a lesser role
//               ends those that may do more
//   ended       by the person, an owner, the client's deletion, the end of the membership, a sign-out with
//               `revoke_issued`, a code or refresh token that came twice; by time 30 days after its last use, 90 in
//               all. Its access tokens are revoked in the cell
//
// Locks: the session and the membership, then the rows of grants, then the cells, then the audit.

import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Act } from '@loci/acts/audit/audit.ts'
import { appendAudit } from '@loci/acts/audit/store.ts'
import { ApiError } from '@loci/chassis/api-error.ts'
import { newId } from '@loci/contract/ids.ts'
import { OAUTH_OPERATIONS } from '@loci/contract/oauth.ts'
import { hasOperation, OPERATIONS, type Operation } from '@loci/contract/operations.ts'
import { operationsOf, type Role } from '@loci/contract/roles.ts'
import { formatSecretToken, readSecretToken } from '@loci/contract/secret-token.ts'
import type { Pool, Sql } from '@loci/postgres/pool.ts'
import { transaction } from '@loci/postgres/transaction.ts'
import { requireStillSession } from '../access/own.ts'
import type { RatedCaller } from '../access/rates.ts'
import { useOrganization } from '../access/store.ts'
import { endpointOf } from '../services/services.ts'
import { findService, lockServiceAndCell, type Service } from '../services/store.ts'
import { lockFeeds } from '../tokens/revocations/revocations.ts'
import { findTenantPlan } from '../tokens/store.ts'
import { type Issuer, mintToken, revokeToken } from '../tokens/tokens.ts'
import { askedOf, type GrantRequest } from './requests.ts'
import {
  findGrant,
  findHolder,
  findOrganizationOf,
  type GrantsOf,
  holdClient,
  insertGrant,
  listTokensOf,
  lockGrant,
  lockGrantsOf,
  lockRole,
  type OauthGrant,
  saveEnd,
  saveRefresh,
} from './store.ts'

const ACCESS_S = 600
/** Of a person in an organization: one more ends the oldest. */
const GRANTS_MAX = 20
/** Statuses in which a service is nobody's to use, or was taken from whoever does not pay. */
const CLOSED = new Set(['failed', 'deleting', 'deleted', 'suspended'])

export interface Allowed {
  organizationId: string
  serviceId: string
  ops: string[]
  databases: string[]
}

/** Whether a client that asks for the resource means this service: its own address, or its /mcp. */
export function isResourceOf(resource: string, service: Pick<Service, 'id' | 'endpoint'>): boolean {
  const endpoint = endpointOf(service)?.replace(/\/+$/, '')
  const asked = URL.parse(resource)?.href.replace(/\/+$/, '')
  if (endpoint === undefined || asked === undefined) return false
  const own = URL.parse(endpoint)?.href.replace(/\/+$/, '')
  return asked === own || asked === `${own}/mcp`
}

export function isUsable({ status, cellId }: Pick<Service, 'status' | 'cellId'>): boolean {
  return cellId !== null && !CLOSED.has(status)
}

/** What a client can be given of this service by somebody of that role. */
export function grantableOf(role: Role, { serviceType }: Pick<Service, 'serviceType'>): Operation[] {
  const own = operationsOf(role)
  return OAUTH_OPERATIONS.filter((op) => own.includes(op) && hasOperation(serviceType, OPERATIONS[op]))
}

/** The code for the client. In the name of the person of a session. */
export function allow(
  pool: Pool,
  { userId, sessionId }: { userId: string; sessionId: string },
  request: GrantRequest,
  { organizationId, serviceId, ops: chosen, databases }: Allowed,
  act: Act,
): Promise<string> {
  return transaction(pool, async (sql) => {
    await useOrganization(sql, organizationId)
    await requireStillSession(sql, sessionId)
    const role = await lockRole(sql, organizationId, userId)
    if (!role) throw new ApiError('FORBIDDEN', 'You do not belong to this organization.')
    const service = await findService(sql, organizationId, serviceId)
    if (!service || !isUsable(service) || !isResourceOf(request.resource, service))
      throw new ApiError(
        'FORBIDDEN',
        'This service is not at the address that the client asked for, or cannot be used.',
      )
    const asked = askedOf(request)
    const ops = grantableOf(role, service).filter((op) => chosen.includes(op) && asked.includes(op))
    if (ops.length === 0) throw new ApiError('VALIDATION_ERROR', 'Choose at least one right, or deny.')
    const { organizationId: owner, clientId } = request
    // Until the commit it is not deleted, so that its deletion finds this grant.
    if (owner !== null && (owner !== organizationId || !(await holdClient(sql, organizationId, clientId))))
      throw new ApiError('FORBIDDEN', 'This client is of another organization, or was deleted meanwhile.')
    await endGrantsOf(sql, organizationId, { userId, beyond: GRANTS_MAX - 1 }, 'too_many', act)
    const id = newId('oag')
    const code = formatSecretToken('ocd', id, randomBytes(32).toString('base64url'))
    await insertGrant(sql, {
      ...{ id, organizationId, userId, sessionId, tenantId: service.tenantId, serviceId, ops, databases },
      ...{ clientId: request.clientId, clientName: request.clientName, resource: request.resource },
      ...{ redirectUri: request.redirectUri, codeDigest: digestOf(code), codeChallenge: request.challenge },
    })
    const detail = {
      ...{ client_id: request.clientId, client_name: request.clientName, service_id: serviceId, session_id: sessionId },
      ...{ ops: ops.join(' '), databases: databases.join(' '), redirect_uri: request.redirectUri },
    }
    await appendAudit(sql, { ...act, chain: organizationId, action: 'oauth.allow', subject: id, detail })
    return code
  })
}

export interface CodeExchange {
  code: string
  clientId: string
  redirectUri: string
  verifier: string
  resource: string | undefined
}

export interface Issued {
  accessToken: string
  expiresIn: number
  refreshToken: string
  ops: string[]
}

/** Undefined: the client is told `invalid_grant`, whatever it was. */
export type Exchanged = Issued | undefined

interface Issuing {
  pool: Pool
  issuer: Issuer
  isBilled: boolean
}

export function exchangeCode(by: Issuing, given: CodeExchange, requestId: string): Promise<Exchanged> {
  return withGrant(by, readId('ocd', given.code), requestId, (grant) => {
    if (!isSame(grant.codeDigest, digestOf(given.code))) return 'unknown'
    // Twice: one of the two is not the client's, and nobody knows which.
    if (grant.codeUsedAt !== null) return 'code_replayed'
    const isOwn = grant.clientId === given.clientId && grant.redirectUri === given.redirectUri
    const isMeant = given.resource === undefined || given.resource === grant.resource
    const challenge = createHash('sha256').update(given.verifier).digest('base64url')
    // Whoever has the code and not the rest has it from elsewhere: it is good for nobody any more.
    return isOwn && isMeant && isSame(challenge, grant.codeChallenge) ? 'good' : 'code_misused'
  })
}

export interface RefreshRequest {
  refreshToken: string
  clientId: string
  resource: string | undefined
}

export function refreshGrant(by: Issuing, given: RefreshRequest, requestId: string): Promise<Exchanged> {
  return withGrant(by, readId('ort', given.refreshToken), requestId, (grant) => {
    const digest = digestOf(given.refreshToken)
    if (grant.spentDigests.includes(digest)) return 'refresh_token_replayed'
    if (grant.refreshDigest === null || !isSame(grant.refreshDigest, digest)) return 'unknown'
    const isMeant = given.resource === undefined || given.resource === grant.resource
    return grant.clientId === given.clientId && isMeant ? 'good' : 'refresh_token_misused'
  })
}

export interface Holder {
  grantId: string
  organizationId: string
  userId: string
  plan: RatedCaller['plan']
}

/** Of a code or a refresh token of a grant that goes on, whether it was used before or not. */
export function findHolderOf(pool: Pool, text: string): Promise<Holder | undefined> {
  const grantId = readId('ocd', text) ?? readId('ort', text)
  if (grantId === undefined) return Promise.resolve(undefined)
  return transaction(pool, async (sql) => {
    const organizationId = await findOrganizationOf(sql, grantId)
    if (organizationId === undefined) return undefined
    await useOrganization(sql, organizationId)
    const holder = await findHolder(sql, organizationId, grantId, digestOf(text))
    return holder && { grantId, organizationId, ...holder }
  })
}

/** `unknown`: nothing is done. Other verdicts but `good` end the grant. */
async function withGrant(
  { pool, issuer, isBilled }: Issuing,
  id: string | undefined,
  requestId: string,
  judge: (grant: OauthGrant) => string,
): Promise<Exchanged> {
  if (id === undefined) return undefined
  return transaction(pool, async (sql) => {
    const organizationId = await findOrganizationOf(sql, id)
    if (organizationId === undefined) return undefined
    await useOrganization(sql, organizationId)
    const seen = await findGrant(sql, organizationId, id)
    // Before the grant, as whoever removes the member does it.
    const role = seen && (await lockRole(sql, organizationId, seen.userId))
    const grant = seen && (await lockGrant(sql, organizationId, id))
    if (!grant || grant.endedAt !== null) return undefined
    const verdict = judge(grant)
    if (verdict === 'unknown' || (grant.isOver && verdict === 'good')) return undefined
    const act = { actor: id, requestId }
    if (verdict !== 'good' || !role) {
      await endGrant(sql, grant, role ? verdict : 'not_a_member', act)
      return undefined
    }
    const service = await findService(sql, organizationId, grant.serviceId)
    if (!service || !isUsable(service)) return undefined
    const ops = grantableOf(role, service).filter((op) => grant.ops.includes(op))
    if (ops.length === 0) return undefined
    const refreshToken = formatSecretToken('ort', id, randomBytes(32).toString('base64url'))
    await saveRefresh(sql, grant, digestOf(refreshToken))
    const coveredPlan = isBilled ? await findTenantPlan(sql, organizationId, grant.tenantId) : undefined
    const { databases, userId: sub, clientName } = grant
    const asked = { name: clientName, ops, databases, ttlSeconds: ACCESS_S, coveredPlan, sub }
    const minted = await mintToken(sql, issuer, service, asked, id, requestId)
    return { accessToken: minted.token, expiresIn: minted.expires_in, refreshToken, ops: minted.ops }
  })
}

/** Of a grant whose row is locked, in a transaction that has its organization in use. */
export async function endGrant(sql: Sql, grant: OauthGrant, reason: string, act: Act): Promise<void> {
  const { organizationId, id: subject, serviceId, clientId } = grant
  const service = await lockServiceAndCell(sql, organizationId, serviceId)
  if (!(await saveEnd(sql, grant, reason))) return
  const detail = { reason, client_id: clientId, service_id: serviceId }
  await appendAudit(sql, { ...act, chain: organizationId, action: 'oauth.end', subject, detail })
  if (!service) return
  for (const jti of await listTokensOf(sql, grant)) await revokeToken(sql, service, jti, act.actor, act.requestId)
}

/**
 * Of a person who may do less from now on: access tokens that may do more are refused within seconds, and the next one
 * has what is left. In a transaction that has the organization in use and has locked no cell.
 */
export async function endAccessBeyond(
  sql: Sql,
  organizationId: string,
  { userId, role }: { userId: string; role: Role },
  act: Act,
): Promise<void> {
  const grants = await lockGrantsOf(sql, organizationId, { userId })
  if (grants.length > 1) await lockFeeds(sql, 'all')
  for (const grant of grants) {
    const jtis = await listTokensOf(sql, grant, operationsOf(role))
    const service = jtis.length > 0 ? await lockServiceAndCell(sql, organizationId, grant.serviceId) : undefined
    if (service) for (const jti of jtis) await revokeToken(sql, service, jti, act.actor, act.requestId)
  }
}

/** How many ended. In a transaction that has the organization in use and has locked no cell. */
export async function endGrantsOf(
  sql: Sql,
  organizationId: string,
  of: GrantsOf,
  reason: string,
  act: Act,
): Promise<number> {
  const grants = await lockGrantsOf(sql, organizationId, of)
  // Cells by id: they may be of several.
  if (grants.length > 1) await lockFeeds(sql, 'all')
  for (const grant of grants) await endGrant(sql, grant, reason, act)
  return grants.length
}

function readId(kind: 'ocd' | 'ort', text: string): string | undefined {
  const id = readSecretToken(kind, text)
  return id === undefined ? undefined : `oag_${id}`
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

function isSame(one: string, other: string): boolean {
  return one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other))
}
