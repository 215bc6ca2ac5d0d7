// What opens an instance: capabilities, and the credentials of partners.

import { ApiError } from '@loci/chassis/api-error.ts'
import { isId } from '@loci/contract/ids.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import { transaction } from '@loci/postgres/transaction.ts'
import { findOwner, useOrganization } from '../access/store.ts'
import { listOrganizations } from '../organizations/store.ts'
import { requireService } from '../services/services.ts'
import type { Service } from '../services/store.ts'
import { keepKeys } from '../tokens/keys/keys.ts'
import { mintPartnerCredential, revokePartnerCredential } from '../tokens/partner-credentials/partner-credentials.ts'
import { mintToken, revokeEpoch, revokeToken } from '../tokens/tokens.ts'
import { type Context, type Given, type Group, integerOf, jsonOf, listOf } from './verb.ts'

export const TOKENS: Group = {
  summary:
    'capabilities: tokens mint --service svc_… --ops a,b|all --databases "*"|a,b …, tokens revoke --jti cap_… | --org …',
  verbs: {
    mint: {
      required: ['service'],
      optional: ['ops', 'databases', 'ttl', 'depth', 'sub', 'name', 'holder-key'],
      run: tokensMint,
    },
    revoke: { optional: ['jti', 'service', 'tenant', 'org', 'not-before'], run: tokensRevoke },
  },
}

export const PARTNER_CREDENTIALS: Group = {
  summary:
    'partners: partner-credentials mint --service svc_… --name n --database d --partner p --classes a,b --routes a,b, revoke --id ptr_…',
  without: ['sealingKeys'],
  verbs: {
    mint: {
      required: ['service', 'name', 'database'],
      optional: ['classes', 'routes', 'partner', 'expires-at'],
      run: partnerCredentialsMint,
    },
    revoke: { required: ['id'], run: partnerCredentialsRevoke },
  },
}

async function tokensMint({ pool, issuer, actor }: Context, given: Given): Promise<object> {
  await keepKeys(pool, issuer.sealer)
  return transaction(pool, async (sql) => {
    const service = await useService(sql, given.service as string)
    const request = {
      name: given.name,
      ops: given.ops === undefined || given.ops === 'all' ? undefined : listOf(given.ops),
      databases: given.databases === undefined ? undefined : listOf(given.databases),
      ttlSeconds: given.ttl === undefined ? undefined : integerOf('ttl', given.ttl),
      maxDelegationDepth: given.depth === undefined ? undefined : integerOf('depth', given.depth),
      holderKey: given['holder-key'] === undefined ? undefined : jsonOf('holder-key', given['holder-key']),
      sub: given.sub,
    }
    return mintToken(sql, issuer, service, request, actor)
  })
}

async function tokensRevoke({ pool, actor }: Context, given: Given): Promise<object> {
  const notBefore = new Date(given['not-before'] ?? Date.now())
  if (Number.isNaN(notBefore.getTime()))
    throw new ApiError('VALIDATION_ERROR', '--not-before is a time such as 2026-11-15T09:30:00Z.')
  if (given.jti === undefined) return revokeScope({ pool, actor }, given, notBefore)
  if (given.tenant ?? given.org ?? given['not-before'])
    throw new ApiError('VALIDATION_ERROR', '--jti names one token: give --service with it, or nothing else.')
  const jti = given.jti
  return transaction(pool, async (sql) => {
    const serviceId = given.service ?? (await findOwner(sql, jti))?.serviceId
    if (!serviceId)
      throw new ApiError('NOT_FOUND', `${jti} is not a token that we issued: name its service too, with --service.`)
    const service = await useService(sql, serviceId)
    const { expiresAt, auditId } = await revokeToken(sql, service, jti, actor)
    return { revoked: true, jti, service_id: serviceId, expires_at: expiresAt.toISOString(), audit_id: auditId }
  })
}

async function revokeScope(
  { pool, actor }: Pick<Context, 'pool' | 'actor'>,
  given: Given,
  notBefore: Date,
): Promise<object> {
  const scopes = (['service', 'tenant', 'org'] as const).filter((name) => given[name] !== undefined)
  const [scope] = scopes
  if (scopes.length !== 1 || !scope)
    throw new ApiError('VALIDATION_ERROR', 'Name exactly one of --jti, --service, --tenant and --org.')
  const id = given[scope] as string
  return transaction(pool, async (sql) => {
    const kind = ({ service: 'svc', tenant: 'ten', org: 'org' } as const)[scope]
    const owner =
      scope === 'org' ? await organizationOwner(sql, id) : isId(kind, id) ? await findOwner(sql, id) : undefined
    if (!owner) throw new ApiError('NOT_FOUND', `There is no ${scope} ${id}.`)
    const { organizationId, cellId } = owner
    const { expiresAt, auditId } = await revokeEpoch(sql, { kind, id, organizationId, cellId, notBefore }, actor)
    return {
      revoked: true,
      kind,
      id,
      not_before: notBefore.toISOString(),
      expires_at: expiresAt.toISOString(),
      audit_id: auditId,
    }
  })
}

async function organizationOwner(sql: Sql, id: string): Promise<{ organizationId: string; cellId: null } | undefined> {
  const found = (await listOrganizations(sql, id)).find((organization) => organization.id === id)
  return found && { organizationId: found.id, cellId: null }
}

async function partnerCredentialsMint({ pool, actor }: Context, given: Given): Promise<object> {
  const expiresAt = given['expires-at'] === undefined ? undefined : new Date(given['expires-at'])
  if (expiresAt && Number.isNaN(expiresAt.getTime()))
    throw new ApiError('VALIDATION_ERROR', '--expires-at is a time such as 2027-01-01T00:00:00Z.')
  return transaction(pool, async (sql) => {
    const service = await useService(sql, given.service as string)
    const request = {
      name: given.name as string,
      database: given.database as string,
      partner: given.partner,
      projectionClasses: given.classes === undefined ? undefined : listOf(given.classes),
      routes: given.routes === undefined ? undefined : listOf(given.routes),
      expiresAt,
    }
    const { credential, token } = await mintPartnerCredential(sql, service, request, actor)
    return {
      id: credential.id,
      token,
      organization_id: credential.organizationId,
      tenant_id: credential.tenantId,
      service_id: credential.serviceId,
      name: credential.name,
      partner: credential.partner,
      database: credential.database,
      projection_classes: credential.projectionClasses,
      routes: credential.routes,
      created_at: credential.createdAt.toISOString(),
      expires_at: credential.expiresAt?.toISOString() ?? null,
    }
  })
}

async function partnerCredentialsRevoke({ pool, actor }: Context, given: Given): Promise<object> {
  const id = given.id as string
  return transaction(pool, async (sql) => {
    const serviceId = isId('ptr', id) ? (await findOwner(sql, id))?.serviceId : undefined
    if (!serviceId) throw new ApiError('NOT_FOUND', `There is no partner credential ${id}.`)
    const service = await useService(sql, serviceId)
    const { revokedAt } = await revokePartnerCredential(sql, service, id, actor)
    return { revoked: true, id, service_id: serviceId, revoked_at: revokedAt?.toISOString() ?? null }
  })
}

/** The service, with its organization in use for the rest of the transaction. */
async function useService(sql: Sql, id: string): Promise<Service> {
  const owner = isId('svc', id) ? await findOwner(sql, id) : undefined
  if (!owner) throw new ApiError('NOT_FOUND', `There is no service ${id}.`)
  await useOrganization(sql, owner.organizationId)
  return requireService(sql, owner.organizationId, id)
}
