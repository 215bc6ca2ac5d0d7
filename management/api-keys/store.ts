import type { Sql } from '@loci/postgres/pool.ts'

export interface ApiKey {
  id: string
  organizationId: string
  userId: string
  name: string
  scopes: string[]
  tenantIds: string[] | null
  createdAt: Date
  expiresAt: Date | null
  /** Exact to a minute. */
  lastUsedAt?: Date | null
}

/** Of the organization in use. */
export async function insertApiKey(sql: Sql, key: ApiKey, kept: { digest: string; pepper: string }): Promise<void> {
  await sql.query({
    name: 'api_keys_insert',
    text: `insert into loci.api_keys (id, organization_id, user_id, name, scopes, tenant_ids, digest, pepper, created_at, expires_at)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
    values: [
      key.id,
      key.organizationId,
      key.userId,
      key.name,
      key.scopes,
      key.tenantIds,
      kept.digest,
      kept.pepper,
      key.createdAt,
      key.expiresAt,
    ],
  })
}

export interface ApiKeyRow extends ApiKey {
  digest: string
  pepper: string
  /** Until when the secret before the last rotation works. */
  previousUntil: Date | null
}

const COLUMNS = `id, organization_id as "organizationId", user_id as "userId", name, scopes, tenant_ids as "tenantIds",
  created_at as "createdAt", expires_at as "expiresAt", last_used_at as "lastUsedAt", digest, pepper, previous_until as "previousUntil"`

export interface KeyFilter {
  /** Only those that this person made. */
  userId: string | null
  /** Only those that are limited to some of these. */
  tenantIds: readonly string[] | null
}

/** $2 and $3 of a statement. */
const FILTER = '($2::text is null or user_id = $2) and ($3::text[] is null or tenant_ids <@ $3)'

/** Those that were not deleted, newest first. */
export async function listApiKeys(
  sql: Sql,
  organizationId: string,
  { userId, tenantIds }: KeyFilter,
  { before, limit }: { before: string | null; limit: number },
): Promise<ApiKeyRow[]> {
  const { rows } = await sql.query<ApiKeyRow>({
    name: 'api_keys_list',
    text: `select ${COLUMNS} from loci.api_keys
      where organization_id = $1 and ${FILTER} and revoked_at is null and ($4::text is null or id < $4)
      order by id desc limit $5`,
    values: [organizationId, userId, tenantIds, before, limit],
  })
  return rows
}

export async function lockApiKey(
  sql: Sql,
  organizationId: string,
  { userId, tenantIds }: KeyFilter,
  id: string,
): Promise<ApiKeyRow | undefined> {
  const { rows } = await sql.query<ApiKeyRow>({
    name: 'api_keys_lock',
    text: `select ${COLUMNS} from loci.api_keys
      where organization_id = $1 and ${FILTER} and revoked_at is null and id = $4 for update`,
    values: [organizationId, userId, tenantIds, id],
  })
  return rows[0]
}

/** Neither deleted nor expired. */
export async function countKeysInUse(sql: Sql, organizationId: string): Promise<number> {
  const { rows } = await sql.query<{ count: number }>({
    name: 'api_keys_count',
    text: `select count(*)::int as count from loci.api_keys
      where organization_id = $1 and revoked_at is null and (expires_at is null or expires_at > clock_timestamp())`,
    values: [organizationId],
  })
  return rows[0]?.count ?? 0
}

/** What it was works until then; null = no longer. */
export async function replaceDigest(
  sql: Sql,
  { organizationId, id }: { organizationId: string; id: string },
  kept: { digest: string; pepper: string },
  previousUntil: Date | null,
): Promise<void> {
  await sql.query({
    name: 'api_keys_rotate',
    text: `update loci.api_keys set digest = $3, pepper = $4, previous_until = $5,
        previous_digest = case when $5::timestamptz is null then null else digest end,
        previous_pepper = case when $5::timestamptz is null then null else pepper end
      where organization_id = $1 and id = $2`,
    values: [organizationId, id, kept.digest, kept.pepper, previousUntil],
  })
}

export async function revokeApiKey(sql: Sql, organizationId: string, id: string): Promise<void> {
  await sql.query({
    name: 'api_keys_revoke',
    text: 'update loci.api_keys set revoked_at = now() where organization_id = $1 and id = $2',
    values: [organizationId, id],
  })
}

/** All that the person made; how many there were. */
export async function revokeKeysOf(sql: Sql, organizationId: string, userId: string): Promise<number> {
  const { rowCount } = await sql.query({
    name: 'api_keys_revoke_of',
    text: 'update loci.api_keys set revoked_at = now() where organization_id = $1 and user_id = $2 and revoked_at is null',
    values: [organizationId, userId],
  })
  return rowCount
}

/** Of the organization in use. */
export async function saveKeyUses(sql: Sql, organizationId: string, uses: { id: string; at: number }[]): Promise<void> {
  await sql.query({
    name: 'api_keys_uses',
    text: `update loci.api_keys k set last_used_at = greatest(k.last_used_at, u.at)
      from unnest($2::text[], $3::timestamptz[]) as u (id, at) where k.organization_id = $1 and k.id = u.id`,
    values: [organizationId, uses.map(({ id }) => id), uses.map(({ at }) => new Date(at))],
  })
}
