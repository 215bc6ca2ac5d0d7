// Row-level security in a transaction: for which organization it works. Everything of an organization is invisible
// until one is chosen, and nothing of another one is visible after.

import type { Sql } from '@loci/postgres/pool.ts'
import type { PlanName } from '../plans.ts'
import type { StoredKey } from './caller.ts'
import type { Rate, RateLimit } from './rates.ts'
import type { Session } from './session.ts'

/**
 * To the end of the transaction. A statement of its own: inside the statement that reads, the planner may well read
 * first and set afterwards.
 */
export async function useOrganization(sql: Sql, organizationId: string): Promise<void> {
  await sql.query({
    name: 'access_use_organization',
    text: `select set_config('loci.organization', $1, true)`,
    values: [organizationId],
  })
}

export interface Owner {
  organizationId: string
  tenantId: string
  /** Null when the id is a tenant's. */
  serviceId: string | null
  cellId: string | null
}

/** Whose an id of a tenant, service, token or partner credential is; asked before an organization can be chosen. */
export async function findOwner(sql: Sql, id: string): Promise<Owner | undefined> {
  const { rows } = await sql.query<Owner>({
    name: 'access_find_owner',
    text: `select organization_id as "organizationId", tenant_id as "tenantId", service_id as "serviceId", cell_id as "cellId"
      from loci.owner_of($1)`,
    values: [id],
  })
  return rows[0]
}

export async function findApiKey(sql: Sql, id: string): Promise<StoredKey | undefined> {
  const { rows } = await sql.query<StoredKey>({
    name: 'access_find_api_key',
    text: `select id, organization_id as "organizationId", user_id as "userId", scopes, tenant_ids as "tenantIds", digest, pepper,
        previous_digest as "previousDigest", previous_pepper as "previousPepper", previous_until as "previousUntil",
        expires_at as "expiresAt", revoked_at as "revokedAt", role, email, plan
      from loci.api_key_of($1)`,
    values: [id],
  })
  return rows[0]
}

/** Of an access token by its digest; undefined when the session is over. */
export async function findSession(sql: Sql, digest: string): Promise<Session | undefined> {
  const { rows } = await sql.query<Session>({
    name: 'access_find_session',
    text: `select id, user_id as "userId", issuer, subject, email, name, expires_at as "expiresAt",
        signed_in_at as "signedInAt", organizations
      from loci.session_of($1)`,
    values: [digest],
  })
  return rows[0]
}

/** Whether the API key is still one, and stays so to the end of the transaction. */
export async function lockCallersKey(sql: Sql, organizationId: string, id: string): Promise<boolean> {
  const { rowCount } = await sql.query({
    name: 'access_lock_key',
    // `key share`: noting a use of the key need not wait, deleting it must.
    text: 'select from loci.api_keys where organization_id = $1 and id = $2 and revoked_at is null for key share',
    values: [organizationId, id],
  })
  return rowCount === 1
}

/** Whether the session goes on, and is not ended before the end of the transaction. */
export async function lockCallersSession(sql: Sql, id: string): Promise<boolean> {
  const { rowCount } = await sql.query({
    name: 'access_lock_session',
    // `share`, not `key share`: an end of the session, which changes no key, must wait.
    text: 'select from loci.sessions where id = $1 and ended_at is null for share',
    values: [id],
  })
  return rowCount === 1
}

/** Whether the person is still a member, and stays so to the end of the transaction. */
export async function lockCallersMembership(sql: Sql, organizationId: string, userId: string): Promise<boolean> {
  const { rowCount } = await sql.query({
    name: 'access_lock_membership',
    text: 'select from loci.members where organization_id = $1 and user_id = $2 for key share',
    values: [organizationId, userId],
  })
  return rowCount === 1
}

/** Of the organization in use. */
export async function hasTenant(sql: Sql, organizationId: string, id: string): Promise<boolean> {
  const { rowCount } = await sql.query({
    name: 'access_has_tenant',
    text: 'select from loci.tenants where organization_id = $1 and id = $2 and deleted_at is null',
    values: [organizationId, id],
  })
  return rowCount === 1
}

export async function findOrganizationPlan(sql: Sql, id: string): Promise<PlanName | undefined> {
  const { rows } = await sql.query<{ plan: PlanName }>({
    name: 'access_organization_plan',
    text: 'select plan from loci.organizations where id = $1',
    values: [id],
  })
  return rows[0]?.plan
}

/** A statement of its own, never part of a transaction: the rows of the buckets are locked until the end. */
export async function takeRate(sql: Sql, { bucket, shared, perMinute, burst }: RateLimit): Promise<Rate> {
  const taken = shared
    ? {
        name: 'access_take_two_rates',
        text: `select remaining, reset_ms as "resetMs", wait_ms as "waitMs", is_shared as "isShared"
          from loci.take_two_rates($1, $2, $3, $4, $5, $6)`,
        values: [bucket, perMinute, burst, shared.bucket, shared.perMinute, shared.burst],
      }
    : {
        name: 'access_take_rate',
        text: `select remaining, reset_ms as "resetMs", wait_ms as "waitMs", false as "isShared" from loci.take_rate($1, $2, $3)`,
        values: [bucket, perMinute, burst],
      }
  const { rows } = await sql.query<Omit<Rate, 'waitMs'> & { waitMs: number | null }>(taken)
  const rate = rows[0] as (typeof rows)[number]
  return { ...rate, waitMs: rate.waitMs ?? undefined }
}

/** How full the bucket is, by the database's clock as everything about it. */
export async function readRate(sql: Sql, { bucket, perMinute, burst }: RateLimit) {
  const { rows } = await sql.query<{ resetMs: number }>({
    name: 'access_read_rate',
    text: `select greatest(0, coalesce(max(tat), 0) - extract(epoch from clock_timestamp()) * 1000)::float8 as "resetMs"
      from loci.rate_limits where bucket = $1`,
    values: [bucket],
  })
  const resetMs = rows[0]?.resetMs ?? 0
  return { remaining: Math.floor(burst - (resetMs * perMinute) / 60_000), resetMs }
}

/** Buckets that have been full again for an hour. */
export async function forgetRates(sql: Sql): Promise<void> {
  await sql.query({
    text: `delete from loci.rate_limits where tat < extract(epoch from now() - interval '1 hour') * 1000`,
  })
}

/** API keys that cannot be verified any more: the sealing key they were made under is not in the settings. */
export async function countApiKeysBeyond(sql: Sql, peppers: string[]): Promise<number> {
  const { rows } = await sql.query<{ count: number }>({
    text: 'select loci.count_api_keys_beyond($1) as count',
    values: [peppers],
  })
  return rows[0]?.count ?? 0
}
