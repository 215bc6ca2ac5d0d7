import type { Sql } from '@loci/postgres/pool.ts'

export interface ApiKey {
  id: string
  organizationId: string
  userId: string
  /** `key_…`, `gateway:…` or `command:…`: the maker of the key or of its present secret. Null: not recorded. */
  madeBy: string | null
  /** The browser session in which it, or its present secret, was made. */
  sessionId: string | null
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
    text: `insert into loci.api_keys (id, organization_id, user_id, name, scopes, tenant_ids, digest, pepper, created_at, expires_at,
        made_by, session_id)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
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
      key.madeBy,
      key.sessionId,
    ],
  })
}

export interface ApiKeyRow extends ApiKey {
  digest: string
  pepper: string
  /** Until when the secret before the last rotation works. */
  previousUntil: Date | null
  revokedAt: Date | null
}

const COLUMNS = `id, organization_id as "organizationId", user_id as "userId", made_by as "madeBy", session_id as "sessionId", name, scopes,
  tenant_ids as "tenantIds",
  created_at as "createdAt", expires_at as "expiresAt", last_used_at as "lastUsedAt", digest, pepper, previous_until as "previousUntil",
  revoked_at as "revokedAt"`

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

/** Deleted ones too. */
export async function lockApiKey(
  sql: Sql,
  organizationId: string,
  { userId, tenantIds }: KeyFilter,
  id: string,
): Promise<ApiKeyRow | undefined> {
  const { rows } = await sql.query<ApiKeyRow>({
    name: 'api_keys_lock',
    text: `select ${COLUMNS} from loci.api_keys
      where organization_id = $1 and ${FILTER} and id = $4 for update`,
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

/** Of this name, made by the person and no key, in use: all but the newest `keep`. Locked. */
export async function lockKeysBeyond(
  sql: Sql,
  { organizationId, userId, name }: Pick<ApiKey, 'organizationId' | 'userId' | 'name'>,
  keep: number,
): Promise<string[]> {
  const { rows } = await sql.query<{ id: string }>({
    name: 'api_keys_lock_beyond',
    text: `select id from loci.api_keys where organization_id = $1 and id in (
        select id from loci.api_keys
        where organization_id = $1 and user_id = $2 and made_by = $2 and name = $3 and revoked_at is null
          and (expires_at is null or expires_at > clock_timestamp())
        order by created_at desc, id desc offset $4
      ) order by id for update`,
    values: [organizationId, userId, name, keep],
  })
  return rows.map(({ id }) => id)
}

/** The old secret works until `previousUntil`; null = no longer. */
export async function replaceDigest(
  sql: Sql,
  { organizationId, id }: { organizationId: string; id: string },
  kept: { digest: string; pepper: string },
  previousUntil: Date | null,
  { madeBy, sessionId }: Pick<ApiKey, 'madeBy' | 'sessionId'>,
): Promise<void> {
  await sql.query({
    name: 'api_keys_rotate',
    text: `update loci.api_keys set digest = $3, pepper = $4, previous_until = $5, made_by = $6, session_id = $7,
        previous_digest = case when $5::timestamptz is null then null else digest end,
        previous_pepper = case when $5::timestamptz is null then null else pepper end
      where organization_id = $1 and id = $2`,
    values: [organizationId, id, kept.digest, kept.pepper, previousUntil, madeBy, sessionId],
  })
}

/** Every key that the session made, deleted ones too. */
export async function listKeysOfSession(
  sql: Sql,
  organizationId: string,
  sessionId: string,
): Promise<{ id: string; isDeleted: boolean }[]> {
  const { rows } = await sql.query<{ id: string; isDeleted: boolean }>({
    name: 'api_keys_list_of_session',
    text: `select id, revoked_at is not null as "isDeleted" from loci.api_keys
      where organization_id = $1 and session_id = $2 order by id for update`,
    values: [organizationId, sessionId],
  })
  return rows
}

/** Every key that the person ever had, deleted ones too. */
export async function listKeysOf(sql: Sql, organizationId: string, userId: string): Promise<string[]> {
  const { rows } = await sql.query<{ id: string }>({
    name: 'api_keys_list_of',
    text: 'select id from loci.api_keys where organization_id = $1 and user_id = $2 order by id',
    values: [organizationId, userId],
  })
  return rows.map(({ id }) => id)
}

/**
 * These keys, those that they made, and so on, through deleted ones too. Locked; repeated until no more are found,
 * because a key that is not locked yet may just be making another.
 */
export async function lockKeysMadeBy(sql: Sql, organizationId: string, keyIds: string[]): Promise<string[]> {
  for (let locked = 0; ; ) {
    const { rows } = await sql.query<{ id: string }>({
      name: 'api_keys_lock_made',
      text: `select id from loci.api_keys where organization_id = $1 and id in (
          with recursive made (id) as (
            select unnest($2::text[])
            union
            select k.id from loci.api_keys k join made m on k.organization_id = $1 and k.made_by = m.id
          )
          select id from made
        ) order by id for update`,
      values: [organizationId, keyIds],
    })
    if (rows.length === locked) return rows.map(({ id }) => id)
    locked = rows.length
  }
}

/** Those of them that were not deleted yet. */
export async function revokeApiKeys(
  sql: Sql,
  organizationId: string,
  ids: string[],
): Promise<{ id: string; madeBy: string | null }[]> {
  const { rows } = await sql.query<{ id: string; madeBy: string | null }>({
    name: 'api_keys_revoke_all',
    text: `update loci.api_keys set revoked_at = now() where organization_id = $1 and id = any($2) and revoked_at is null
      returning id, made_by as "madeBy"`,
    values: [organizationId, ids],
  })
  return rows
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

/** Open invitations of these keys and people, which nobody can accept any more. */
export async function deleteInvitationsOf(
  sql: Sql,
  organizationId: string,
  makers: string[],
): Promise<{ id: string; invitedBy: string }[]> {
  const { rows } = await sql.query<{ id: string; invitedBy: string }>({
    name: 'api_keys_delete_invitations',
    text: `delete from loci.invitations where organization_id = $1 and invited_by = any($2) and accepted_at is null
      returning id, invited_by as "invitedBy"`,
    values: [organizationId, makers],
  })
  return rows.toSorted((a, b) => (a.id < b.id ? -1 : 1))
}
