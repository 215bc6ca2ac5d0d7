import type { Sql } from '@loci/postgres/pool.ts'

export interface PartnerCredential {
  id: string
  organizationId: string
  tenantId: string
  serviceId: string
  name: string
  /** Who made its present secret; null: before that was noted. */
  madeBy: string | null
  partner: string
  database: string
  projectionClasses: string[]
  routes: string[]
  digest: string
  createdAt: Date
  expiresAt: Date | null
  rotatedAt: Date | null
  revokedAt: Date | null
  lastUsedAt: Date | null
}

const COLUMNS = `id, organization_id as "organizationId", tenant_id as "tenantId", service_id as "serviceId", name, made_by as "madeBy", partner,
  database, projection_classes as "projectionClasses", routes, digest, created_at as "createdAt", expires_at as "expiresAt",
  rotated_at as "rotatedAt", revoked_at as "revokedAt", last_used_at as "lastUsedAt"`

export async function insertPartnerCredential(sql: Sql, credential: PartnerCredential): Promise<void> {
  await sql.query({
    name: 'partner_credentials_insert',
    text: `insert into loci.partner_credentials (id, organization_id, tenant_id, service_id, name, partner, database,
        projection_classes, routes, digest, created_at, expires_at, made_by)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
    values: [
      credential.id,
      credential.organizationId,
      credential.tenantId,
      credential.serviceId,
      credential.name,
      credential.partner,
      credential.database,
      credential.projectionClasses,
      credential.routes,
      credential.digest,
      credential.createdAt,
      credential.expiresAt,
      credential.madeBy,
    ],
  })
}

/** Of the organization in use, and locked: two who change it at once take turns. */
export async function findPartnerCredential(
  sql: Sql,
  organizationId: string,
  id: string,
): Promise<PartnerCredential | undefined> {
  const { rows } = await sql.query<PartnerCredential>({
    name: 'partner_credentials_find',
    text: `select ${COLUMNS} from loci.partner_credentials where organization_id = $1 and id = $2 for update`,
    values: [organizationId, id],
  })
  return rows[0]
}

/** Newest first, without those that were deleted. */
export async function listPartnerCredentials(
  sql: Sql,
  organizationId: string,
  serviceId: string,
  page: { before: string | undefined; limit: number },
): Promise<PartnerCredential[]> {
  const { rows } = await sql.query<PartnerCredential>({
    name: 'partner_credentials_list',
    text: `select ${COLUMNS} from loci.partner_credentials
      where organization_id = $1 and service_id = $2 and revoked_at is null and ($3::text is null or id < $3)
      order by id desc limit $4`,
    values: [organizationId, serviceId, page.before ?? null, page.limit],
  })
  return rows
}

export async function hasCredentialsMadeBy(sql: Sql, organizationId: string, makers: string[]): Promise<boolean> {
  return (await listCredentialsMadeBy(sql, organizationId, makers)).length > 0
}

/** Those that one of the makers made and that were not deleted, by id. */
export async function listCredentialsMadeBy(
  sql: Sql,
  organizationId: string,
  makers: string[],
): Promise<{ id: string; serviceId: string }[]> {
  const { rows } = await sql.query<{ id: string; serviceId: string }>({
    name: 'partner_credentials_made_by',
    text: `select id, service_id as "serviceId" from loci.partner_credentials
      where organization_id = $1 and made_by = any($2) and revoked_at is null order by id`,
    values: [organizationId, makers],
  })
  return rows
}

export async function replaceDigest(
  sql: Sql,
  organizationId: string,
  id: string,
  digest: string,
  madeBy: string,
  at: Date,
): Promise<PartnerCredential> {
  const { rows } = await sql.query<PartnerCredential>({
    name: 'partner_credentials_rotate',
    text: `update loci.partner_credentials set digest = $3, rotated_at = $4, made_by = $5
      where organization_id = $1 and id = $2 returning ${COLUMNS}`,
    values: [organizationId, id, digest, at, madeBy],
  })
  return rows[0] as PartnerCredential
}

export async function markPartnerCredentialRevoked(
  sql: Sql,
  organizationId: string,
  id: string,
  at: Date,
): Promise<PartnerCredential> {
  const { rows } = await sql.query<PartnerCredential>({
    name: 'partner_credentials_revoke',
    text: `update loci.partner_credentials set revoked_at = $3 where organization_id = $1 and id = $2 returning ${COLUMNS}`,
    values: [organizationId, id, at],
  })
  return rows[0] as PartnerCredential
}
