import type { Sql } from '@loci/postgres/pool.ts'
import type { PlanName } from '../plans.ts'

export interface TokenRow {
  jti: string
  organizationId: string
  tenantId: string
  serviceId: string
  name: string | null
  kid: string
  ops: string[]
  ks: string[]
  sub: string | null
  /** Null: before that was noted. */
  madeBy: string | null
  issuedAt: Date
  expiresAt: Date
  delegationDepth: number
}

export async function insertToken(sql: Sql, token: TokenRow): Promise<void> {
  await sql.query({
    name: 'tokens_insert',
    text: `insert into loci.tokens (jti, organization_id, tenant_id, service_id, name, kid, ops, ks, sub, issued_at, expires_at,
        delegation_depth, made_by)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
    values: [
      token.jti,
      token.organizationId,
      token.tenantId,
      token.serviceId,
      token.name,
      token.kid,
      token.ops,
      token.ks,
      token.sub,
      token.issuedAt,
      token.expiresAt,
      token.delegationDepth,
      token.madeBy,
    ],
  })
}

/** When a token ends; for a registered child, its token too. Undefined for an unknown jti. */
export async function findTokenEnd(
  sql: Sql,
  organizationId: string,
  serviceId: string,
  jti: string,
): Promise<Date | undefined> {
  const { rows } = await sql.query<{ expiresAt: Date }>({
    name: 'tokens_find_end',
    // What was registered as the end of a child is only its holder's word. No link outlives its root, so that end is
    // safe.
    text: `select expires_at as "expiresAt" from loci.tokens where organization_id = $1 and service_id = $2 and jti in ($3,
        (select parent_jti from loci.token_children where organization_id = $1 and service_id = $2 and jti = $3))
      order by expires_at desc limit 1`,
    values: [organizationId, serviceId, jti],
  })
  return rows[0]?.expiresAt
}

export async function markRevoked(
  sql: Sql,
  { organizationId, id }: { organizationId: string; id: string },
  jti: string,
  at: Date,
): Promise<void> {
  for (const table of ['tokens', 'token_children'])
    await sql.query({
      name: `${table}_mark_revoked`,
      text: `update loci.${table} set revoked_at = coalesce(revoked_at, $3)
        where organization_id = $1 and jti = $2 and service_id = $4`,
      values: [organizationId, jti, at, id],
    })
}

export async function hasTokensOf(sql: Sql, organizationId: string, subs: string[], at: Date): Promise<boolean> {
  const { rowCount } = await sql.query({
    name: 'tokens_has_of',
    text: `select from loci.tokens where organization_id = $1 and sub = any($2) and revoked_at is null and expires_at > $3 limit 1`,
    values: [organizationId, subs, at],
  })
  return rowCount > 0
}

/** Marks all tokens of these keys or persons; how many of each were valid, and until when. */
export async function revokeTokensOf(
  sql: Sql,
  organizationId: string,
  subs: string[],
  at: Date,
): Promise<{ sub: string; count: number; until: Date }[]> {
  const { rows } = await sql.query<{ sub: string; count: number; until: Date }>({
    name: 'tokens_revoke_of',
    text: `with ended as (
        update loci.tokens set revoked_at = $3
        where organization_id = $1 and sub = any($2) and revoked_at is null and expires_at > $3 returning sub, expires_at
      )
      select sub, count(*)::int as count, max(expires_at) as until from ended group by sub order by sub`,
    values: [organizationId, subs, at],
  })
  return rows
}

/** The tenant's services of a jti, by id: the token's own, and each that it was registered in as a child. */
export async function listServicesOfJti(
  sql: Sql,
  organizationId: string,
  tenantId: string,
  jti: string,
): Promise<string[]> {
  const { rows } = await sql.query<{ serviceId: string }>({
    name: 'tokens_services_of_jti',
    text: `select service_id as "serviceId" from loci.tokens where organization_id = $1 and tenant_id = $2 and jti = $3
      union
      select service_id from loci.token_children where organization_id = $1 and tenant_id = $2 and jti = $3
      order by "serviceId"`,
    values: [organizationId, tenantId, jti],
  })
  return rows.map(({ serviceId }) => serviceId)
}

export interface ListedChild {
  jti: string
  parentJti: string
  name: string | null
  ops: string[] | null
  expiresAt: Date
  registeredAt: Date
  revokedAt: Date | null
}

export interface ListedToken extends TokenRow {
  revokedAt: Date | null
  lastUsedAt: Date | null
  childrenTotal: number
}

const CHILDREN_LISTED_MAX = 100

/** Newest first. */
export async function listTokens(
  sql: Sql,
  of: { organizationId: string; tenantId: string; serviceId: string | undefined },
  page: { before: string | undefined; limit: number },
): Promise<ListedToken[]> {
  const { rows } = await sql.query<ListedToken>({
    text: `select jti, organization_id as "organizationId", tenant_id as "tenantId", service_id as "serviceId", name, kid, ops, ks, sub,
        made_by as "madeBy", issued_at as "issuedAt", expires_at as "expiresAt", delegation_depth as "delegationDepth", revoked_at as "revokedAt",
        last_used_at as "lastUsedAt", (select count(*) from loci.token_children c
          where c.organization_id = t.organization_id and c.parent_jti = t.jti) as "childrenTotal"
      from loci.tokens t
      where organization_id = $1 and tenant_id = $2 ${of.serviceId === undefined ? 'and $3::text is null' : 'and service_id = $3'}
        and ($4::text is null or jti < $4)
      order by jti desc limit $5`,
    values: [of.organizationId, of.tenantId, of.serviceId ?? null, page.before ?? null, page.limit],
  })
  return rows
}

/** The newest of each of the tokens. */
export async function listChildren(sql: Sql, organizationId: string, parents: string[]): Promise<ListedChild[]> {
  const { rows } = await sql.query<ListedChild>({
    name: 'tokens_children',
    text: `select c.* from unnest($2::text[]) as parent (jti), lateral (
        select ${CHILD_COLUMNS} from loci.token_children
        where organization_id = $1 and parent_jti = parent.jti order by registered_at desc, jti limit $3
      ) as c order by c."registeredAt" desc, c.jti`,
    values: [organizationId, parents, CHILDREN_LISTED_MAX],
  })
  return rows
}

const CHILD_COLUMNS = `jti, parent_jti as "parentJti", name, ops, expires_at as "expiresAt", registered_at as "registeredAt",
  revoked_at as "revokedAt"`

/** A token that management issued to the tenant; children are none. */
export async function findToken(
  sql: Sql,
  organizationId: string,
  tenantId: string,
  jti: string,
): Promise<Pick<TokenRow, 'jti' | 'serviceId' | 'expiresAt' | 'delegationDepth' | 'ops'> | undefined> {
  const { rows } = await sql.query<Pick<TokenRow, 'jti' | 'serviceId' | 'expiresAt' | 'delegationDepth' | 'ops'>>({
    name: 'tokens_find',
    text: `select jti, service_id as "serviceId", expires_at as "expiresAt", delegation_depth as "delegationDepth", ops
      from loci.tokens where organization_id = $1 and tenant_id = $2 and jti = $3`,
    values: [organizationId, tenantId, jti],
  })
  return rows[0]
}

/** Whether we issued it to another tenant, of any organization. Of their children and of other ids nothing is asked. */
export async function isTokenOfAnother(sql: Sql, tenantId: string, jti: string): Promise<boolean> {
  const { rows } = await sql.query<{ isAnothers: boolean }>({
    name: 'tokens_is_of_another',
    text: 'select loci.is_token_of_another($1, $2) as "isAnothers"',
    values: [jti, tenantId],
  })
  return rows[0]?.isAnothers ?? false
}

/** False when the service has a child of that jti. */
export async function insertChild(
  sql: Sql,
  child: {
    organizationId: string
    tenantId: string
    serviceId: string
    parentJti: string
    jti: string
    expiresAt: Date
    name: string | null
    ops: string[] | null
  },
): Promise<boolean> {
  const { rowCount } = await sql.query({
    name: 'tokens_insert_child',
    text: `insert into loci.token_children (jti, organization_id, tenant_id, service_id, parent_jti, expires_at, name, ops, registered_at)
      values ($1, $2, $3, $4, $5, $6, $7, $8, clock_timestamp()) on conflict (organization_id, service_id, jti) do nothing`,
    values: [
      child.jti,
      child.organizationId,
      child.tenantId,
      child.serviceId,
      child.parentJti,
      child.expiresAt,
      child.name,
      child.ops,
    ],
  })
  return rowCount === 1
}

export async function findChild(
  sql: Sql,
  organizationId: string,
  serviceId: string,
  jti: string,
): Promise<ListedChild | undefined> {
  const { rows } = await sql.query<ListedChild>({
    name: 'tokens_find_child',
    text: `select ${CHILD_COLUMNS} from loci.token_children where organization_id = $1 and service_id = $2 and jti = $3`,
    values: [organizationId, serviceId, jti],
  })
  return rows[0]
}

/** Two at most: the question is whether there is exactly one. */
export async function listUsableServices(sql: Sql, organizationId: string, tenantId: string): Promise<string[]> {
  const { rows } = await sql.query<{ id: string }>({
    name: 'tokens_usable_services',
    text: `select id from loci.services where organization_id = $1 and tenant_id = $2
      and status not in ('failed', 'deleting', 'deleted') order by id limit 2`,
    values: [organizationId, tenantId],
  })
  return rows.map(({ id }) => id)
}

/** What the tenant's billing covers today. */
export async function findTenantPlan(
  sql: Sql,
  organizationId: string,
  tenantId: string,
): Promise<PlanName | undefined> {
  const { rows } = await sql.query<{ plan: PlanName }>({
    name: 'tokens_tenant_plan',
    text: 'select plan from loci.tenants where organization_id = $1 and id = $2',
    values: [organizationId, tenantId],
  })
  return rows[0]?.plan
}
