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
  revokedAt: Date | null
}

const COLUMNS = `id, organization_id as "organizationId", tenant_id as "tenantId", service_id as "serviceId", name, partner, database,
  projection_classes as "projectionClasses", routes, digest, created_at as "createdAt", expires_at as "expiresAt",
  revoked_at as "revokedAt"`

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

/** Of the organization in use; undefined when it has none of that id. */
export async function markPartnerCredentialRevoked(
  sql: Sql,
  organizationId: string,
  id: string,
  at: Date,
): Promise<PartnerCredential | undefined> {
  const { rows } = await sql.query<PartnerCredential>({
    name: 'partner_credentials_revoke',
    text: `update loci.partner_credentials set revoked_at = coalesce(revoked_at, $3)
      where organization_id = $1 and id = $2 returning ${COLUMNS}`,
    values: [organizationId, id, at],
  })
  return rows[0]
}
