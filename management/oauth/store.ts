import type { Role } from '@loci/contract/roles.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import type { RatedCaller } from '../access/rates.ts'

export interface OauthClient {
  id: string
  organizationId: string
  name: string
  redirectUris: string[]
  createdAt: Date
}

export interface OauthGrant {
  id: string
  organizationId: string
  userId: string
  sessionId: string
  tenantId: string
  serviceId: string
  clientId: string
  clientName: string
  resource: string
  ops: string[]
  databases: string[]
  redirectUri: string
  codeDigest: string
  codeChallenge: string
  codeUsedAt: Date | null
  refreshDigest: string | null
  spentDigests: string[]
  createdAt: Date
  expiresAt: Date
  lastUsedAt: Date | null
  endedAt: Date | null
}

const CLIENT = `id, organization_id as "organizationId", name, redirect_uris as "redirectUris", created_at as "createdAt"`
const GRANT = `id, organization_id as "organizationId", user_id as "userId", session_id as "sessionId", tenant_id as "tenantId",
  service_id as "serviceId", client_id as "clientId", client_name as "clientName", resource, ops, databases,
  redirect_uri as "redirectUri", code_digest as "codeDigest", code_challenge as "codeChallenge",
  code_used_at as "codeUsedAt", refresh_digest as "refreshDigest", spent_digests as "spentDigests",
  created_at as "createdAt", expires_at as "expiresAt", last_used_at as "lastUsedAt", ended_at as "endedAt"`
/** How long a code waits for its client. */
const CODE = `interval '60 seconds'`
const IDLE = `interval '30 days'`
const ABSOLUTE = `interval '90 days'`
const SPENT_MAX = 20

/** Of a client or a grant; asked before an organization can be chosen. */
export async function findOrganizationOf(sql: Sql, id: string): Promise<string | undefined> {
  const { rows } = await sql.query<{ id: string | null }>({
    name: 'oauth_organization_of',
    text: 'select loci.oauth_organization_of($1) as id',
    values: [id],
  })
  return rows[0]?.id ?? undefined
}

export async function insertClient(
  sql: Sql,
  client: Omit<OauthClient, 'createdAt'> & { madeBy: string },
): Promise<OauthClient> {
  const { rows } = await sql.query<OauthClient>({
    name: 'oauth_insert_client',
    text: `insert into loci.oauth_clients (id, organization_id, name, redirect_uris, made_by)
      values ($1, $2, $3, $4, $5) returning ${CLIENT}`,
    values: [client.id, client.organizationId, client.name, client.redirectUris, client.madeBy],
  })
  return rows[0] as OauthClient
}

export async function countClients(sql: Sql, organizationId: string): Promise<number> {
  const { rows } = await sql.query<{ count: number }>({
    name: 'oauth_count_clients',
    text: 'select count(*)::int as count from loci.oauth_clients where organization_id = $1',
    values: [organizationId],
  })
  return rows[0]?.count ?? 0
}

export async function findClient(sql: Sql, organizationId: string, id: string): Promise<OauthClient | undefined> {
  const { rows } = await sql.query<OauthClient>({
    name: 'oauth_find_client',
    text: `select ${CLIENT} from loci.oauth_clients where organization_id = $1 and id = $2`,
    values: [organizationId, id],
  })
  return rows[0]
}

/** False when it is gone; not deleted before the end of the transaction. */
export async function holdClient(sql: Sql, organizationId: string, id: string): Promise<boolean> {
  const { rowCount } = await sql.query({
    name: 'oauth_hold_client',
    text: 'select from loci.oauth_clients where organization_id = $1 and id = $2 for key share',
    values: [organizationId, id],
  })
  return rowCount === 1
}

export async function listClients(
  sql: Sql,
  organizationId: string,
  { before, limit }: { before: string | undefined; limit: number },
): Promise<OauthClient[]> {
  const { rows } = await sql.query<OauthClient>({
    name: 'oauth_list_clients',
    text: `select ${CLIENT} from loci.oauth_clients where organization_id = $1 and ($2::text is null or id < $2)
      order by id desc limit $3`,
    values: [organizationId, before ?? null, limit],
  })
  return rows
}

export async function deleteClient(sql: Sql, organizationId: string, id: string): Promise<boolean> {
  const { rowCount } = await sql.query({
    name: 'oauth_delete_client',
    text: 'delete from loci.oauth_clients where organization_id = $1 and id = $2',
    values: [organizationId, id],
  })
  return rowCount === 1
}

/** What the person is in the organization in use; stays so to the end of the transaction. */
export async function lockRole(sql: Sql, organizationId: string, userId: string): Promise<Role | undefined> {
  const { rows } = await sql.query<{ role: Role }>({
    name: 'oauth_lock_role',
    // `share`, not `key share`: a change of the role, which changes no key, must wait.
    text: 'select role from loci.members where organization_id = $1 and user_id = $2 for share',
    values: [organizationId, userId],
  })
  return rows[0]?.role
}

type NewGrant = Pick<
  OauthGrant,
  | 'id'
  | 'organizationId'
  | 'userId'
  | 'sessionId'
  | 'tenantId'
  | 'serviceId'
  | 'clientId'
  | 'clientName'
  | 'resource'
  | 'ops'
  | 'databases'
  | 'redirectUri'
  | 'codeDigest'
  | 'codeChallenge'
>

export async function insertGrant(sql: Sql, grant: NewGrant): Promise<void> {
  await sql.query({
    name: 'oauth_insert_grant',
    text: `insert into loci.oauth_grants (id, organization_id, user_id, session_id, tenant_id, service_id, client_id, client_name,
        resource, ops, databases, redirect_uri, code_digest, code_challenge, created_at, expires_at)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, now(), now() + ${CODE})`,
    values: [
      ...[grant.id, grant.organizationId, grant.userId, grant.sessionId, grant.tenantId, grant.serviceId],
      ...[grant.clientId, grant.clientName, grant.resource, grant.ops, grant.databases, grant.redirectUri],
      ...[grant.codeDigest, grant.codeChallenge],
    ],
  })
}

export async function findGrant(sql: Sql, organizationId: string, id: string): Promise<OauthGrant | undefined> {
  const { rows } = await sql.query<OauthGrant>({
    name: 'oauth_find_grant',
    text: `select ${GRANT} from loci.oauth_grants where organization_id = $1 and id = $2`,
    values: [organizationId, id],
  })
  return rows[0]
}

interface Owner {
  userId: string
  plan: RatedCaller['plan']
}

/** Whose the code or the refresh token with this digest is, also one that was used before; undefined: nobody's. */
export async function findHolder(
  sql: Sql,
  organizationId: string,
  id: string,
  digest: string,
): Promise<Owner | undefined> {
  const { rows } = await sql.query<Owner>({
    name: 'oauth_find_holder',
    text: `select g.user_id as "userId", o.plan from loci.oauth_grants g join loci.organizations o on o.id = g.organization_id
      where g.organization_id = $1 and g.id = $2 and g.ended_at is null
        and ($3 in (g.code_digest, g.refresh_digest) or $3 = any(g.spent_digests))`,
    values: [organizationId, id, digest],
  })
  return rows[0]
}

/** A code and a refresh token are used once: whoever comes second waits here and sees that. `isOver`: by time. */
export async function lockGrant(
  sql: Sql,
  organizationId: string,
  id: string,
): Promise<(OauthGrant & { isOver: boolean }) | undefined> {
  const { rows } = await sql.query<OauthGrant & { isOver: boolean }>({
    name: 'oauth_lock_grant',
    text: `select ${GRANT}, expires_at <= clock_timestamp() as "isOver" from loci.oauth_grants
      where organization_id = $1 and id = $2 for update`,
    values: [organizationId, id],
  })
  return rows[0]
}

/** The next refresh token. The one before is spent, and so is the code. */
export async function saveRefresh(sql: Sql, { organizationId, id }: OauthGrant, digest: string): Promise<void> {
  await sql.query({
    name: 'oauth_save_refresh',
    text: `update loci.oauth_grants set refresh_digest = $3, code_used_at = coalesce(code_used_at, clock_timestamp()),
        spent_digests = (array_remove(refresh_digest || spent_digests, null))[1:${SPENT_MAX}], last_used_at = clock_timestamp(),
        expires_at = least(created_at + ${ABSOLUTE}, clock_timestamp() + ${IDLE})
      where organization_id = $1 and id = $2`,
    values: [organizationId, id, digest],
  })
}

export async function saveEnd(sql: Sql, { organizationId, id }: OauthGrant, reason: string): Promise<boolean> {
  const { rowCount } = await sql.query({
    name: 'oauth_end_grant',
    text: `update loci.oauth_grants set ended_at = clock_timestamp(), end_reason = $3, refresh_digest = null,
        expires_at = least(expires_at, clock_timestamp())
      where organization_id = $1 and id = $2 and ended_at is null`,
    values: [organizationId, id, reason],
  })
  return rowCount === 1
}

/** Whose grants: each that is given narrows. */
export interface GrantsOf {
  userId?: string | undefined
  sessionId?: string | undefined
  clientId?: string | undefined
  /** But for so many of the newest. */
  beyond?: number
}

/** Those that go on, in the order of their ids; locked. */
export async function lockGrantsOf(
  sql: Sql,
  organizationId: string,
  { userId, sessionId, clientId, beyond = 0 }: GrantsOf,
): Promise<OauthGrant[]> {
  const { rows } = await sql.query<OauthGrant>({
    name: 'oauth_lock_grants_of',
    text: `select ${GRANT} from loci.oauth_grants where organization_id = $1 and id in (
        select g.id from loci.oauth_grants g where g.organization_id = $1 and g.ended_at is null
          and ($2::text is null or g.user_id = $2) and ($3::text is null or g.session_id = $3)
          and ($4::text is null or g.client_id = $4)
        order by g.id desc offset $5)
      order by id for update`,
    values: [organizationId, userId ?? null, sessionId ?? null, clientId ?? null, beyond],
  })
  return rows
}

/** Those that go on, newest first; `userId` null: of everybody, `tenantIds` null: of every tenant. */
export async function listGrants(
  sql: Sql,
  organizationId: string,
  { userId, tenantIds }: { userId: string | null; tenantIds: readonly string[] | null },
  { before, limit }: { before: string | undefined; limit: number },
): Promise<OauthGrant[]> {
  const { rows } = await sql.query<OauthGrant>({
    name: 'oauth_list_grants',
    text: `select ${GRANT} from loci.oauth_grants where organization_id = $1 and ended_at is null
        and expires_at > clock_timestamp() and code_used_at is not null
        and ($2::text is null or user_id = $2) and ($3::text[] is null or tenant_id = any($3))
        and ($4::text is null or id < $4)
      order by id desc limit $5`,
    values: [organizationId, userId, tenantIds, before ?? null, limit],
  })
  return rows
}

/** Access tokens that the grant was given and that daemons still take; `beyond`: those alone that may do more. */
export async function listTokensOf(
  sql: Sql,
  { organizationId, id, userId }: OauthGrant,
  beyond: readonly string[] = [],
): Promise<string[]> {
  const { rows } = await sql.query<{ jti: string }>({
    name: 'oauth_tokens_of_grant',
    text: `select jti from loci.tokens where organization_id = $1 and sub = $2 and made_by = $3 and revoked_at is null
      and expires_at > clock_timestamp() and not ops <@ $4::text[] order by jti`,
    values: [organizationId, userId, id, beyond],
  })
  return rows.map(({ jti }) => jti)
}
