import type { Sql } from '@loci/postgres/pool.ts'
import type { PlanName } from '../plans.ts'

export interface Organization {
  id: string
  name: string
}

export async function listOrganizations(sql: Sql, nameOrId: string): Promise<Organization[]> {
  const { rows } = await sql.query<Organization>({
    name: 'organizations_find',
    text: 'select id, name from loci.organizations where id = $1 or name = $1 order by id limit 2',
    values: [nameOrId],
  })
  return rows
}

export async function insertOrganization(sql: Sql, { id, name }: Organization): Promise<void> {
  await sql.query({
    name: 'organizations_insert',
    text: 'insert into loci.organizations (id, name) values ($1, $2)',
    values: [id, name],
  })
}

export interface Tenant {
  id: string
  organizationId: string
  name: string
  slug: string
  plan: PlanName
  status: 'active' | 'past_due' | 'suspended' | 'closed'
}

/** Of the organization in use. */
export async function listTenants(sql: Sql, organizationId: string, nameOrId: string): Promise<Tenant[]> {
  const { rows } = await sql.query<Tenant>({
    name: 'tenants_find',
    text: `select id, organization_id as "organizationId", name, slug, plan, status from loci.tenants
      where organization_id = $1 and (id = $2 or name = $2 or slug = $2) order by id limit 2`,
    values: [organizationId, nameOrId],
  })
  return rows
}

export async function insertTenant(sql: Sql, tenant: Tenant): Promise<void> {
  await sql.query({
    name: 'tenants_insert',
    text: `insert into loci.tenants (id, organization_id, name, slug, plan, status) values ($1, $2, $3, $4, $5, $6)`,
    values: [tenant.id, tenant.organizationId, tenant.name, tenant.slug, tenant.plan, tenant.status],
  })
}
