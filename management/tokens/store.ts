import type { Sql } from '@loci/postgres/pool.ts'

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
  issuedAt: Date
  expiresAt: Date
  delegationDepth: number
}

export async function insertToken(sql: Sql, token: TokenRow): Promise<void> {
  await sql.query({
    name: 'tokens_insert',
    text: `insert into loci.tokens (jti, organization_id, tenant_id, service_id, name, kid, ops, ks, sub, issued_at, expires_at,
        delegation_depth)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
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
    ],
  })
}

/** When a token of ours, or a child of one that was registered, ends; undefined for a jti that we do not know. */
export async function findTokenEnd(
  sql: Sql,
  organizationId: string,
  serviceId: string,
  jti: string,
): Promise<Date | undefined> {
  const { rows } = await sql.query<{ expiresAt: Date }>({
    name: 'tokens_find_end',
    text: `select expires_at as "expiresAt" from loci.tokens where organization_id = $1 and service_id = $2 and jti = $3
      union all
      select expires_at from loci.token_children where organization_id = $1 and service_id = $2 and jti = $3`,
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
  await sql.query({
    name: 'tokens_mark_revoked',
    text: `update loci.tokens set revoked_at = coalesce(revoked_at, $3) where organization_id = $1 and jti = $2 and service_id = $4`,
    values: [organizationId, jti, at, id],
  })
}
