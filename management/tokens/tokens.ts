// Capabilities are issued and taken back here. What is issued is the intersection of what was
// asked, what the caller may do and what the plan allows.

import type { KeyObject } from 'node:crypto'
import { appendAudit } from '@loci/acts/audit/store.ts'
import { BYTES_MAX, mintRoot, type RootClaims, seal } from '@loci/capability/capability.ts'
import { newKeyPair, type PrivateJwk, type PublicJwk, publicKeyOf } from '@loci/capability/jws.ts'
import { isDatabaseName } from '@loci/capability/keyspaces.ts'
import { ApiError } from '@loci/chassis/api-error.ts'
import type { Sealer } from '@loci/chassis/sealing.ts'
import { HEADER } from '@loci/contract/headers.ts'
import { newId } from '@loci/contract/ids.ts'
import {
  DOMAINS,
  hasDomain,
  hasOperation,
  OPERATION_NAMES,
  OPERATIONS,
  type Operation,
} from '@loci/contract/operations.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import { PLAN_NAMES, PLANS, type PlanName, TOKEN_SECONDS_MAX } from '../plans.ts'
import type { Service } from '../services/store.ts'
import { requireSigningKey } from './keys/keys.ts'
import { foldOldest, lockFeeds, revoke } from './revocations/revocations.ts'
import { findTokenEnd, insertToken, markRevoked } from './store.ts'

export interface TokenRequest {
  name?: string | undefined
  /** Default: all but operator. */
  ops?: string[] | undefined
  /** The rights of the caller, who cannot grant others. Default: all, for commands of the operator. */
  allowedOps?: readonly Operation[] | undefined
  /** Default: ["default"]; ["*"] = all. */
  databases?: string[] | undefined
  ttlSeconds?: number | undefined
  /** What the tenant's billing covers: a service may still be on a larger plan for a while. Default: all. */
  coveredPlan?: PlanName | undefined
  /** When the caller's credential ends: the token ends no later. Null or default: never. */
  endsBy?: Date | null | undefined
  maxDelegationDepth?: number | undefined
  /** The public key of the holder who will narrow it: then only that holder can make a usable token of it. */
  holderKey?: unknown
  /** Who asked: `usr_…` or `key_…`; CONSOLE_HOLDER of management's own. */
  sub?: string | undefined
}

export interface MintedToken {
  token_id: string
  token: string
  token_type: 'loci-capability'
  header: string
  organization_id: string
  tenant_id: string
  service_id: string
  ops: string[]
  keyspaces: string[]
  issued_at: string
  expires_at: string
  expires_in: number
  /** What to narrow offline with; not there when the holder has a key of its own. */
  delegation?: { chain: string; key: PrivateJwk }
}

const TTL_SECONDS_MIN = 60
const TTL_SECONDS_DEFAULT = 86_400
const DEPTH_MAX = 4
const KEYSPACES_MAX = 100
/** Verifiers allow 30 s; twice that, and nothing that was revoked is valid when its revocation goes. */
const TOLERANCE_MS = 60_000

export interface Issuer {
  sealer: Sealer
  /** `iss` of what is minted: management's public URL. */
  publicUrl: string
}

/** In a transaction that has the service's organization in use. */
export async function mintToken(
  sql: Sql,
  { sealer, publicUrl }: Issuer,
  service: Service,
  request: TokenRequest,
  actor: string,
  requestId?: string,
): Promise<MintedToken> {
  const now = new Date()
  const iat = Math.floor(now.getTime() / 1000)
  const grant = requireGrant(request, service, iat)
  const expiresAt = new Date((iat + grant.ttlSeconds) * 1000)
  const key = await requireSigningKey(sql, sealer, expiresAt)
  const claims: RootClaims = {
    iss: publicUrl,
    aud: service.id,
    org: service.organizationId,
    ten: service.tenantId,
    svc: service.id,
    ops: grant.ops,
    ks: grant.keyspaces,
    iat,
    nbf: iat,
    exp: iat + grant.ttlSeconds,
    jti: newId('cap', now.getTime()),
    del_max: grant.depth,
    ...(grant.sub === undefined ? {} : { sub: grant.sub }),
  }
  const issuedAt = new Date(iat * 1000)
  await insertToken(sql, {
    jti: claims.jti,
    organizationId: service.organizationId,
    tenantId: service.tenantId,
    serviceId: service.id,
    name: request.name ?? null,
    kid: key.kid,
    ops: grant.ops,
    ks: grant.keyspaces,
    sub: grant.sub ?? null,
    madeBy: actor,
    issuedAt,
    expiresAt,
    delegationDepth: grant.depth,
  })
  await appendAudit(sql, {
    chain: service.organizationId,
    actor,
    action: 'token.mint',
    subject: claims.jti,
    requestId,
    detail: {
      service_id: service.id,
      ops: grant.ops.join(' '),
      depth: grant.depth,
      expires_at: expiresAt.toISOString(),
    },
  })
  return {
    token_id: claims.jti,
    ...requireUsable(sign(claims, key, grant.holderKey)),
    token_type: 'loci-capability',
    header: HEADER.capability,
    organization_id: service.organizationId,
    tenant_id: service.tenantId,
    service_id: service.id,
    ops: grant.ops,
    keyspaces: grant.keyspaces,
    issued_at: issuedAt.toISOString(),
    expires_at: expiresAt.toISOString(),
    expires_in: grant.ttlSeconds,
  }
}

/**
 * Without a depth the root is the token. With one the root carries a key, so it is no credential by itself: the token
 * is the root and a leaf that seals it. The leaf bears the root's jti, because it is the same holder: a renewed token
 * must keep what its idempotency keys mean, and one revocation must reach both.
 */
function sign(
  claims: RootClaims,
  key: { kid: string; privateKey: KeyObject },
  holderKey: PublicJwk | undefined,
): Pick<MintedToken, 'token' | 'delegation'> {
  if (claims.del_max === 0) return { token: mintRoot(claims, key) }
  if (holderKey) return { token: mintRoot({ ...claims, cnf: { jwk: holderKey } }, key) }
  const { publicJwk, privateJwk } = newKeyPair()
  const delegation = { chain: mintRoot({ ...claims, cnf: { jwk: publicJwk } }, key), key: privateJwk }
  return { token: seal(delegation, { jti: claims.jti }), delegation }
}

/** A daemon refuses what is over its limit, so it is refused here, where the caller can ask for less. */
function requireUsable<Signed extends Pick<MintedToken, 'token' | 'delegation'>>(signed: Signed): Signed {
  // A chain that is to be narrowed needs room for the link that narrows it.
  const longest = Math.max(signed.token.length, (signed.delegation?.chain.length ?? 0) * 2)
  if (longest > BYTES_MAX) throw invalid('the token would be over 8 KiB: name fewer databases, or "*" for all of them')
  return signed
}

interface Grant {
  ops: Operation[]
  keyspaces: string[]
  ttlSeconds: number
  depth: number
  holderKey: PublicJwk | undefined
  sub: string | undefined
}

function requireGrant(request: TokenRequest, service: Service, iat: number): Grant {
  const { serviceType } = service
  const meant = requireOps(request.ops).filter((op) => hasOperation(serviceType, OPERATIONS[op]))
  if (meant.length === 0)
    throw new ApiError('FORBIDDEN', `A service of type ${serviceType} has none of the operations that were asked for.`)
  const ops = meant.filter((op) => request.allowedOps?.includes(op) ?? true)
  if (ops.length === 0)
    throw new ApiError('FORBIDDEN', 'Your role has none of the operations that were asked for: ask for others.')
  const databases = requireDatabases(request.databases)
  const depth = request.maxDelegationDepth ?? 0
  if (!Number.isInteger(depth) || depth < 0 || depth > DEPTH_MAX)
    throw invalid(`max_delegation_depth must be a whole number from 0 to ${DEPTH_MAX}`)
  if (ops.includes('operator') && (databases[0] !== '*' || depth > 0))
    throw invalid('operator needs databases ["*"] and depth 0: it covers the whole instance and cannot be delegated')
  const ttlSeconds = requireTtl(request, service, iat)
  if (request.sub !== undefined && !/^((usr|key)_[0-9a-z]{26}|console)$/.test(request.sub))
    throw invalid('sub must be the id of a user or an API key')
  if (request.name !== undefined && (request.name.length < 1 || request.name.length > 100))
    throw invalid('name must have 1 to 100 characters')
  const keyspaces = keyspacesOf(ops, databases, serviceType)
  if (keyspaces.length > KEYSPACES_MAX)
    throw invalid(
      `these operations on these databases are ${keyspaces.length} keyspaces; a token has at most ${KEYSPACES_MAX}`,
    )
  return { ops, keyspaces, ttlSeconds, depth, holderKey: requireHolderKey(request.holderKey, depth), sub: request.sub }
}

function requireTtl({ ttlSeconds, coveredPlan, endsBy }: TokenRequest, service: Service, iat: number): number {
  const plan = lesserPlan(service.plan, coveredPlan ?? service.plan)
  const ttlMax = PLANS[plan].token_seconds_max
  const wanted = ttlSeconds ?? Math.min(TTL_SECONDS_DEFAULT, ttlMax)
  if (!Number.isInteger(wanted) || wanted < TTL_SECONDS_MIN || wanted > ttlMax)
    throw invalid(`ttl_seconds must be from ${TTL_SECONDS_MIN} to ${ttlMax}, the longest of the plan ${plan}`)
  if (!endsBy) return wanted
  const left = Math.floor(endsBy.getTime() / 1000) - iat
  if (left < TTL_SECONDS_MIN)
    throw new ApiError(
      'FORBIDDEN',
      `This API key ends at ${endsBy.toISOString()}, in less than ${TTL_SECONDS_MIN} s, and a token lasts at least that long: use a key that ends later.`,
    )
  return Math.min(wanted, left)
}

function lesserPlan(one: PlanName, other: PlanName): PlanName {
  return PLAN_NAMES.indexOf(one) < PLAN_NAMES.indexOf(other) ? one : other
}

function requireOps(given: string[] | undefined): Operation[] {
  if (given === undefined) return OPERATION_NAMES.filter((op) => op !== 'operator')
  const unknown = given.find((op) => !(OPERATION_NAMES as string[]).includes(op))
  if (unknown !== undefined)
    throw invalid(`there is no operation '${unknown}'; the operations are ${OPERATION_NAMES.join(', ')}`)
  if (given.length === 0) throw invalid('ops must name at least one operation')
  return OPERATION_NAMES.filter((op) => given.includes(op))
}

function requireDatabases(given: string[] = ['default']): string[] {
  if (given.length === 1 && given[0] === '*') return ['*']
  const wrong = given.find((name) => !isDatabaseName(name))
  if (wrong !== undefined || given.length === 0)
    throw invalid('databases must be ["*"] or names of 1 to 64 of a-z, 0-9, _ and -')
  return [...new Set(given)].sort()
}

function requireHolderKey(given: unknown, depth: number): PublicJwk | undefined {
  if (given === undefined) return undefined
  if (depth < 1) throw invalid('holder_key needs max_delegation_depth of at least 1')
  if (publicKeyOf(given) === undefined)
    throw invalid('holder_key must be a public Ed25519 JWK with kty, crv and x alone: never send a private key')
  return given as PublicJwk
}

/** Each domain of the operations that the service has, in each of the databases. */
function keyspacesOf(ops: Operation[], databases: string[], serviceType: string): string[] {
  const needed = new Set(ops.flatMap((op) => OPERATIONS[op].domains))
  return DOMAINS.filter((domain) => needed.has(domain) && hasDomain(serviceType, domain)).flatMap((domain) =>
    databases.map((database) => `${domain}/${database}`),
  )
}

function invalid(problem: string): ApiError {
  return new ApiError('VALIDATION_ERROR', `The token cannot be issued: ${problem}.`)
}

/** Any jti of the service, ours or made offline by its holder. In a transaction with its organization in use. */
export async function revokeToken(
  sql: Sql,
  service: Service,
  jti: string,
  actor: string,
  requestId?: string,
): Promise<{ expiresAt: Date; auditId: string }> {
  const now = new Date()
  if (jti.length < 1 || jti.length > 200) throw new ApiError('VALIDATION_ERROR', 'A jti has 1 to 200 characters.')
  const end = await findTokenEnd(sql, service.organizationId, service.id, jti)
  // A child that was made offline ends with its root at the latest, and no root lives longer than the longest plan lets
  // it.
  const expiresAt = new Date((end?.getTime() ?? now.getTime() + TOKEN_SECONDS_MAX * 1000) + TOLERANCE_MS)
  const cells = service.cellId === null ? [] : [service.cellId]
  // The cell's row before the chain of the audit, as everywhere: two orders would deadlock.
  await lockFeeds(sql, cells)
  await markRevoked(sql, service, jti, now)
  const auditId = await appendAudit(sql, {
    chain: service.organizationId,
    actor,
    action: 'token.revoke',
    subject: jti,
    requestId,
    detail: { service_id: service.id },
  })
  // Its data are erased, and no daemon serves it again: a revocation would stay for a year and hit nothing.
  if (service.status === 'deleted') return { expiresAt, auditId }
  const name = { kind: 'jti' as const, svc: service.id, value: jti }
  await revoke(sql, { ...name, cellId: '', notBefore: null, expiresAt, auditId }, cells)
  const folded = await foldOldest(sql, service.id, cells)
  if (folded) {
    const { id, organizationId, cellId } = service
    await revokeEpoch(sql, { kind: 'svc', id, organizationId, cellId, notBefore: folded.notBefore }, 'management')
  }
  return { expiresAt, auditId }
}

export interface Epoch {
  kind: 'org' | 'ten' | 'svc' | 'sub'
  /** Of `sub`: `<organization>/<key or person>`. */
  id: string
  organizationId: string
  /** Of a service. */
  cellId: string | null
  notBefore: Date
  /** When the last token ends that it can hit, where that is known. */
  until?: Date | undefined
}

/** Everything whose root was issued at or before a moment. */
export async function revokeEpoch(
  sql: Sql,
  { kind, id, organizationId, cellId, notBefore, until }: Epoch,
  actor: string,
  now: Date = new Date(),
  requestId?: string,
): Promise<{ expiresAt: Date; auditId: string }> {
  if (notBefore.getTime() > now.getTime() + TOLERANCE_MS)
    throw new ApiError(
      'VALIDATION_ERROR',
      'not_before lies in the future: it would refuse tokens that are not issued yet.',
    )
  const last = until?.getTime() ?? notBefore.getTime() + TOKEN_SECONDS_MAX * 1000
  const expiresAt = new Date(last + TOLERANCE_MS)
  const cells = kind === 'svc' ? (cellId === null ? [] : [cellId]) : 'all'
  await lockFeeds(sql, cells)
  const auditId = await appendAudit(sql, {
    chain: organizationId,
    actor,
    action: 'token.revoke_epoch',
    subject: id,
    requestId,
    detail: { kind, not_before: notBefore.toISOString() },
  })
  await revoke(sql, { kind, svc: '', value: id, cellId: '', notBefore, expiresAt, auditId }, cells)
  return { expiresAt, auditId }
}
