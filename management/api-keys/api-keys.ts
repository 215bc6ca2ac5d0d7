// Keys that programs call management with. The text is shown once; an HMAC of it is stored. A key is limited twice:
// when it is made, by what its maker has (scopes, tenants, time), and at each use, by what the person behind it may do
// then.

import type { Act } from '@loci/acts/audit/audit.ts'
import { appendAudit } from '@loci/acts/audit/store.ts'
import { ApiError } from '@loci/chassis/api-error.ts'
import type { SealingKey } from '@loci/chassis/setting-values.ts'
import { STAFF_SCOPE } from '@loci/contract/api-keys.ts'
import { newId } from '@loci/contract/ids.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import { makeApiKey } from '../access/api-key.ts'
import type { Caller } from '../access/caller.ts'
import { mayUseTenant, notYourTenant } from '../access/own.ts'
import { appendEvent } from '../acts/events/store.ts'
import {
  type ApiKey,
  type ApiKeyRow,
  countKeysInUse,
  insertApiKey,
  type KeyFilter,
  listKeysOfSession,
  lockKeysBeyond,
  lockKeysMadeBy,
  replaceDigest,
  revokeApiKeys,
} from './store.ts'
import { type TakenBack, takeBack } from './take-back.ts'

const KEYS_MAX = 100

export interface KeyRequest {
  organizationId: string
  /** The person who makes it. */
  userId: string
  /** In which browser session, where in one. */
  sessionId?: string | undefined
  name: string
  scopes: string[]
  tenantIds: string[] | null
  expiresAt: Date | null
}

/** In a transaction that has the organization in use, as are the others below. */
export async function issueApiKey(
  sql: Sql,
  sealingKeys: SealingKey[],
  request: KeyRequest,
  act: Act,
  now: Date = new Date(),
): Promise<{ key: ApiKey; secret: string }> {
  const sessionId = request.sessionId ?? null
  const key: ApiKey = { ...request, sessionId, madeBy: act.actor, id: newId('key', now.getTime()), createdAt: now }
  const { organizationId, id: subject } = key
  const { text, digest, pepper } = makeApiKey(subject, sealingKeys)
  await insertApiKey(sql, key, { digest, pepper })
  const detail = {
    user_id: key.userId,
    scopes: key.scopes.join(' '),
    tenant_ids: key.tenantIds?.join(' ') ?? null,
    expires_at: key.expiresAt?.toISOString() ?? null,
    ...inSession(sessionId),
  }
  await appendAudit(sql, { ...act, chain: organizationId, action: 'api_key.make', subject, detail })
  await appendEvent(sql, {
    organizationId,
    type: 'api_key.created',
    subject,
    data: { user_id: key.userId, ...inSession(sessionId) },
  })
  return { key, secret: text }
}

function inSession(sessionId: string | null): { session_id?: string } {
  return sessionId === null ? {} : { session_id: sessionId }
}

/** Call after inserting the key: the organization's audit is locked then, so concurrent ones are counted. */
export async function requireRoom(sql: Sql, organizationId: string): Promise<void> {
  const used = await countKeysInUse(sql, organizationId)
  if (used <= KEYS_MAX) return
  throw new ApiError(
    'QUOTA_EXCEEDED',
    `The organization has reached its limit of ${KEYS_MAX} API keys: delete one first.`,
    {
      details: { limit: KEYS_MAX, used: used - 1 },
    },
  )
}

export async function rotateApiKey(
  sql: Sql,
  sealingKeys: SealingKey[],
  key: ApiKeyRow,
  { overlapSeconds, sessionId }: { overlapSeconds: number; sessionId: string | undefined },
  act: Act,
  now: Date = new Date(),
): Promise<{ key: ApiKeyRow; secret: string }> {
  if (key.expiresAt !== null && key.expiresAt <= now)
    throw new ApiError('INVALID_STATE', 'This API key has expired: make a new one.')
  const { organizationId, id: subject } = key
  const { text, digest, pepper } = makeApiKey(subject, sealingKeys)
  const previousUntil = overlapSeconds === 0 ? null : new Date(now.getTime() + overlapSeconds * 1_000)
  // The holder of the new secret may be a thief who rotated it, so the key counts as made by the key that asked. Unless
  // that one was made by this key: two keys that made each other would outlive both their makers.
  const own = await lockKeysMadeBy(sql, organizationId, [subject])
  const maker = own.includes(act.actor)
    ? { madeBy: key.madeBy, sessionId: key.sessionId }
    : { madeBy: act.actor, sessionId: sessionId ?? null }
  await replaceDigest(sql, key, { digest, pepper }, previousUntil, maker)
  const detail = { overlap_seconds: overlapSeconds, ...inSession(sessionId ?? null) }
  await appendAudit(sql, { ...act, chain: organizationId, action: 'api_key.rotate', subject, detail })
  await appendEvent(sql, { organizationId, type: 'api_key.rotated', subject, data: {} })
  return { key: { ...key, digest, pepper, previousUntil, ...maker }, secret: text }
}

/**
 * With what it made, unless `made` is `keep`. What a deleted key made can still be ended by deleting it again: a thief
 * may have deleted the stolen key with `made=keep`. False when nothing was left to end.
 */
export async function deleteApiKey(
  sql: Sql,
  { organizationId, id: subject, revokedAt }: ApiKeyRow,
  made: 'delete' | 'keep',
  act: Act,
): Promise<boolean> {
  const keyIds = [subject]
  const isDeleted = revokedAt !== null
  if (isDeleted && made === 'keep') return false
  const taken = made === 'keep' ? undefined : await takeBack(sql, { organizationId, keyIds }, act)
  if (!taken) await revokeApiKeys(sql, organizationId, keyIds)
  if (isDeleted && taken && taken.apiKeys + taken.tokens + taken.partnerCredentials + taken.invitations === 0)
    return false
  const detail = taken
    ? {
        made,
        api_keys: taken.apiKeys - (isDeleted ? 0 : 1),
        tokens: taken.tokens,
        partner_credentials: taken.partnerCredentials,
        invitations: taken.invitations,
      }
    : { made }
  await appendAudit(sql, { ...act, chain: organizationId, action: 'api_key.delete', subject, detail })
  await appendEvent(sql, { organizationId, type: 'api_key.deleted', subject, data: {} })
  return true
}

/** Ends what a session made, with what those keys made; keys that were deleted with `made=keep` too. */
export async function deleteKeysOfSession(
  sql: Sql,
  { organizationId, sessionId }: { organizationId: string; sessionId: string },
  act: Act,
): Promise<TakenBack> {
  const own = await listKeysOfSession(sql, organizationId, sessionId)
  const taken = await takeBack(sql, { organizationId, keyIds: own.map(({ id }) => id) }, act)
  for (const { id: subject } of own.filter(({ isDeleted }) => !isDeleted)) {
    const detail = { made: 'delete', session_id: sessionId }
    await appendAudit(sql, { ...act, chain: organizationId, action: 'api_key.delete', subject, detail })
    await appendEvent(sql, { organizationId, type: 'api_key.deleted', subject, data: { session_id: sessionId } })
  }
  return taken
}

/** Ends the person's oldest keys of a name, so that one more makes `max`. What they made stays, as when one expires. */
export async function makeRoomFor(
  sql: Sql,
  key: Pick<ApiKey, 'organizationId' | 'userId' | 'name'>,
  max: number,
  act: Act,
): Promise<void> {
  const { organizationId } = key
  const ended = await revokeApiKeys(sql, organizationId, await lockKeysBeyond(sql, key, max - 1))
  for (const { id: subject } of ended) {
    const detail = { made: 'keep', limit: max }
    await appendAudit(sql, { ...act, chain: organizationId, action: 'api_key.delete', subject, detail })
    await appendEvent(sql, { organizationId, type: 'api_key.deleted', subject, data: {} })
  }
}

/** Keys that a caller sees: with keys:write all of the organization, else the person's own; within its tenants. */
export function visibleKeys({ scopes, userId, tenantIds }: Caller): KeyFilter {
  // No id is empty: a caller of a gateway without the scope has no person, and so no keys.
  return { userId: scopes.has('keys:write') ? null : (userId ?? ''), tenantIds }
}

interface Grant {
  scopes: string[]
  tenantIds: string[] | null
  expiresAt: Date | null
}

interface Asked {
  scopes: string[] | undefined
  tenantIds: string[] | undefined
  expiresIn: number | undefined
}

/** What is asked, or what the caller has where nothing is; refused when it is more than that. */
export function grantOf(caller: Caller, asked: Asked, now: Date = new Date()): Grant {
  const own = caller.tenantIds === null ? null : [...caller.tenantIds]
  const grant: Grant = {
    scopes: [...new Set(asked.scopes ?? caller.scopes)],
    tenantIds: asked.tenantIds ? [...new Set(asked.tenantIds)] : own,
    expiresAt: asked.expiresIn === undefined ? caller.expiresAt : new Date(now.getTime() + asked.expiresIn * 1_000),
  }
  if (grant.scopes.length === 0)
    throw new ApiError('FORBIDDEN', 'This credential has no scope to pass on: ask an owner or admin for a key.')
  requireWithin(caller, grant)
  return grant
}

/** A caller may rotate only a key that it could have made itself. */
export function requireMayRotate(caller: Caller, key: ApiKey): void {
  if (key.id === caller.id) return
  if (key.userId !== caller.userId)
    throw new ApiError(
      'FORBIDDEN',
      'Only the person who made this API key can rotate it. Delete it and make one of your own.',
    )
  requireWithin(caller, key)
}

function requireWithin(caller: Caller, { scopes, tenantIds, expiresAt }: Grant): void {
  for (const scope of scopes) {
    if (scope === STAFF_SCOPE ? caller.isStaff : (caller.scopes as ReadonlySet<string>).has(scope)) continue
    throw new ApiError(
      'FORBIDDEN',
      `This credential lacks the scope ${scope} and cannot pass it on: use one that has it.`,
    )
  }
  const isWithinTenants =
    tenantIds === null ? caller.tenantIds === null : tenantIds.every((id) => mayUseTenant(caller, id))
  if (!isWithinTenants) throw notYourTenant()
  const until = caller.expiresAt
  if (until !== null && (expiresAt === null || expiresAt > until))
    throw new ApiError(
      'FORBIDDEN',
      `This credential ends at ${until.toISOString()}, and what it makes cannot last longer: give an earlier end.`,
    )
}
