// Credentials of partners: bound to one instance and one database, and to the routes and classes they are good for. The
// token is shown once; we keep its digest, and so does the cell. It compares with one digest, so a new secret ends the
// old one at once. Projections are kept apart by the name of the partner, which stays as it was given.

import { createHash, randomBytes } from 'node:crypto'
import type { Act } from '@loci/acts/audit/audit.ts'
import { appendAudit } from '@loci/acts/audit/store.ts'
import { isDatabaseName } from '@loci/capability/keyspaces.ts'
import { ApiError } from '@loci/chassis/api-error.ts'
import { newId } from '@loci/contract/ids.ts'
import { PARTNER_ROUTE_NAMES } from '@loci/contract/operations.ts'
import { PARTNER_NAME } from '@loci/contract/partner-credentials.ts'
import { PROJECTION_CLASSES } from '@loci/contract/projections.ts'
import { formatSecretToken } from '@loci/contract/secret-token.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import { publish } from '../../acts/feed/store.ts'
import { findService, type Service } from '../../services/store.ts'
import {
  findPartnerCredential,
  insertPartnerCredential,
  listCredentialsMadeBy,
  markPartnerCredentialRevoked,
  type PartnerCredential,
  replaceDigest,
} from './store.ts'

export interface PartnerCredentialRequest {
  name: string
  database: string
  /** Default: the credential's own id. */
  partner?: string | undefined
  /** Default: all. */
  projectionClasses?: string[] | undefined
  /** Default: all. */
  routes?: string[] | undefined
  expiresAt?: Date | undefined
}

/** In a transaction that has the service's organization in use. */
export async function mintPartnerCredential(
  sql: Sql,
  service: Service,
  request: PartnerCredentialRequest,
  actor: string,
  requestId?: string,
): Promise<{ credential: PartnerCredential; token: string }> {
  const now = new Date()
  const id = newId('ptr', now.getTime())
  const { name, database, partner = id } = request
  if (name.length < 1 || name.length > 100) throw invalid('its name must have 1 to 100 characters')
  if (!isDatabaseName(database)) throw invalid('its database must be one name of 1 to 64 of a-z, 0-9, _ and -')
  if (!PARTNER_NAME.test(partner)) throw invalid('its partner must be 1 to 64 of a-z, 0-9, ., _ and -')
  if (request.expiresAt && request.expiresAt <= now) throw invalid('it would have expired already')
  const { token, digest } = makeSecret(id)
  const credential: PartnerCredential = {
    id,
    organizationId: service.organizationId,
    tenantId: service.tenantId,
    serviceId: service.id,
    name,
    madeBy: actor,
    partner,
    database,
    projectionClasses: requireSome('projection classes', request.projectionClasses, [...PROJECTION_CLASSES]),
    routes: requireSome('routes', request.routes, PARTNER_ROUTE_NAMES),
    digest,
    createdAt: now,
    expiresAt: request.expiresAt ?? null,
    rotatedAt: null,
    revokedAt: null,
    lastUsedAt: null,
  }
  await insertPartnerCredential(sql, credential)
  await publishCredential(sql, service, credential)
  await audit(sql, 'partner_credential.mint', credential, actor, requestId)
  return { credential, token }
}

/** A new secret under the same id; the old one is refused as soon as the cell has applied it. */
export async function rotatePartnerCredential(
  sql: Sql,
  service: Service,
  id: string,
  actor: string,
  requestId?: string,
): Promise<{ credential: PartnerCredential; token: string }> {
  const now = new Date()
  const { expiresAt } = await requireCurrent(sql, service, id)
  if (expiresAt && expiresAt <= now)
    throw new ApiError('INVALID_STATE', 'The partner credential has expired: delete it and make a new one.')
  const { token, digest } = makeSecret(id)
  const credential = await replaceDigest(sql, service.organizationId, id, digest, actor, now)
  await publishCredential(sql, service, credential)
  await audit(sql, 'partner_credential.rotate', credential, actor, requestId)
  return { credential, token }
}

/** In a transaction that has the service's organization in use. */
export async function revokePartnerCredential(
  sql: Sql,
  service: Service,
  id: string,
  actor: string,
  requestId?: string,
): Promise<PartnerCredential> {
  await requireCurrent(sql, service, id)
  const credential = await markPartnerCredentialRevoked(sql, service.organizationId, id, new Date())
  await publishCredential(sql, service, credential)
  await audit(sql, 'partner_credential.revoke', credential, actor, requestId)
  return credential
}

/** All that these keys made; how many. In a transaction that has the feeds of all cells locked. */
export async function revokePartnerCredentialsOf(
  sql: Sql,
  organizationId: string,
  makers: string[],
  { actor, requestId }: Act,
): Promise<number> {
  const made = await listCredentialsMadeBy(sql, organizationId, makers)
  for (const { id, serviceId } of made) {
    const service = await findService(sql, organizationId, serviceId)
    if (service) await revokePartnerCredential(sql, service, id, actor, requestId)
  }
  return made.length
}

async function requireCurrent(sql: Sql, service: Service, id: string): Promise<PartnerCredential> {
  const credential = await findPartnerCredential(sql, service.organizationId, id)
  if (credential?.serviceId !== service.id || credential.revokedAt !== null)
    throw new ApiError('NOT_FOUND', 'The service has no such partner credential, or it was deleted.')
  return credential
}

function makeSecret(id: string): { token: string; digest: string } {
  const token = formatSecretToken('ptr', id, randomBytes(32).toString('base64url'))
  return { token, digest: createHash('sha256').update(token).digest('hex') }
}

async function publishCredential(sql: Sql, service: Service, credential: PartnerCredential): Promise<void> {
  if (service.cellId === null) return
  await publish(sql, service.cellId, {
    kind: 'partner_credential',
    key: credential.id,
    body: {
      id: credential.id,
      partner: credential.partner,
      svc: credential.serviceId,
      org: credential.organizationId,
      ten: credential.tenantId,
      database: credential.database,
      projection_classes: credential.projectionClasses,
      routes: credential.routes,
      digest: credential.digest,
      state: credential.revokedAt ? 'revoked' : 'active',
      expires_at: credential.expiresAt?.toISOString() ?? null,
    },
  })
}

async function audit(
  sql: Sql,
  action: string,
  credential: PartnerCredential,
  actor: string,
  requestId: string | undefined,
): Promise<void> {
  const { id, organizationId, serviceId, database } = credential
  await appendAudit(sql, {
    chain: organizationId,
    actor,
    action,
    subject: id,
    requestId,
    detail: { service_id: serviceId, database },
  })
}

function requireSome(what: string, given: string[] | undefined, known: string[]): string[] {
  if (given === undefined) return known
  const wrong = given.find((one) => !known.includes(one))
  if (wrong !== undefined || given.length === 0) throw invalid(`its ${what} are some of ${known.join(', ')}`)
  return known.filter((one) => given.includes(one))
}

function invalid(problem: string): ApiError {
  return new ApiError('VALIDATION_ERROR', `The partner credential cannot be issued: ${problem}.`)
}
