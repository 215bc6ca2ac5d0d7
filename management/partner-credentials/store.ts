import type { Sql } from '@loci/postgres/pool.ts'

export interface PartnerCredential {
  id: string
  organizationId: string
  tenantId: string
  serviceId: string
  name: string
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

const COLUMNS = `id, organization_id as "organizationId", tenant_id as "tenantId", service_id as "serviceId", name, partner, database,
  projection_classes as "projectionClasses", routes, digest, created_at as "createdAt", expires_at as "expiresAt",
  rotated_at as "rotatedAt", revoked_at as "revokedAt", last_used_at as "lastUsedAt"`

export async function insertPartnerCredential(sql: Sql, credential: PartnerCredential): Promise<void> {
  await sql.query({
    name: 'partner_credentials_insert',
    text: `insert into loci.partner_credentials (id, organization_id, tenant_id, service_id, name, partner, database,
        projection_classes, routes, digest, created_at, expires_at)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
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

export async function replaceDigest(
  sql: Sql,
  organizationId: string,
  id: string,
  digest: string,
  at: Date,
): Promise<PartnerCredential> {
  const { rows } = await sql.query<PartnerCredential>({
    name: 'partner_credentials_rotate',
    text: `update loci.partner_credentials set digest = $3, rotated_at = $4
      where organization_id = $1 and id = $2 returning ${COLUMNS}`,
    values: [organizationId, id, digest, at],
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
