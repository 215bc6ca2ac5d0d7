import { looksLikeId } from '@loci/contract/ids.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import { LOCKS, lockOrganization, lockTenant } from '../acts/locks/store.ts'
import type { PlanName } from '../plans.ts'

export interface Tenant {
  id: string
  organizationId: string
  name: string
  slug: string
  plan: PlanName
  status: 'active' | 'past_due' | 'suspended' | 'closed'
  /** Where a service goes that names no tenant. */
  isDefault: boolean
}

/** Of the organization in use. */
export async function listTenants(sql: Sql, organizationId: string, nameOrId: string): Promise<Tenant[]> {
  const { rows } = await sql.query<Tenant>({
    name: 'tenants_find',
    text: `select id, organization_id as "organizationId", name, slug, plan, status, is_default as "isDefault" from loci.tenants
      where organization_id = $1 and case when $3 then id = $2 else name = $2 or slug = $2 end and deleted_at is null order by id limit 2`,
    values: [organizationId, nameOrId, looksLikeId(nameOrId)],
  })
  return rows
}

export interface TenantRow extends Tenant {
  createdAt: Date
  updatedAt: Date
}

const COLUMNS = `id, organization_id as "organizationId", name, slug, plan, status, is_default as "isDefault", created_at as "createdAt",
  updated_at as "updatedAt"`

/** False when another tenant of the organization has the slug. */
export async function insertTenant(sql: Sql, tenant: Tenant): Promise<boolean> {
  LOCKS.own(sql, 'tenant', tenant.id)
  LOCKS.own(sql, 'due row', tenant.id)
  const { rowCount } = await sql.query({
    name: 'tenants_insert',
    text: `insert into loci.tenants (id, organization_id, name, slug, plan, status, is_default)
      values ($1, $2, $3, $4, $5, $6, $7) on conflict (organization_id, slug) where deleted_at is null do nothing`,
    values: [tenant.id, tenant.organizationId, tenant.name, tenant.slug, tenant.plan, tenant.status, tenant.isDefault],
  })
  return rowCount === 1
}

/** Newest first; of `only` when that is not null. */
export async function listTenantPage(
  sql: Sql,
  organizationId: string,
  { only, before, limit }: { only: readonly string[] | null; before: string | null; limit: number },
): Promise<TenantRow[]> {
  const { rows } = await sql.query<TenantRow>({
    name: 'tenants_page',
    text: `select ${COLUMNS} from loci.tenants where organization_id = $1 and deleted_at is null
        and ($2::text[] is null or id = any($2)) and ($3::text is null or id < $3)
      order by id desc limit $4`,
    values: [organizationId, only, before, limit],
  })
  return rows
}

export async function findTenant(sql: Sql, organizationId: string, id: string): Promise<TenantRow | undefined> {
  const { rows } = await sql.query<TenantRow>({
    name: 'tenants_by_id',
    text: `select ${COLUMNS} from loci.tenants where organization_id = $1 and id = $2 and deleted_at is null`,
    values: [organizationId, id],
  })
  return rows[0]
}

/** Until the transaction ends: creating a service in the tenant and deleting the tenant exclude each other. */
export async function lockTenantRow(sql: Sql, organizationId: string, id: string): Promise<TenantRow | undefined> {
  return lockTenant<TenantRow>(sql, { organizationId, id, name: 'tenants_lock', columns: COLUMNS })
}

/**
 * The organization's row stays locked: its plan cannot change, and no other transaction can make a tenant meanwhile.
 */
export async function lockTenantCount(sql: Sql, organizationId: string): Promise<{ plan: PlanName; tenants: number }> {
  const { plan } = await lockOrganization<PlanName>(sql, organizationId)
  const counted = await sql.query<{ tenants: number }>({
    name: 'tenants_count',
    text: 'select count(*)::int as tenants from loci.tenants where organization_id = $1 and deleted_at is null',
    values: [organizationId],
  })
  return { plan, tenants: counted.rows[0]?.tenants ?? 0 }
}

export async function renameTenant(sql: Sql, organizationId: string, id: string, name: string): Promise<void> {
  await sql.query({
    name: 'tenants_rename',
    text: 'update loci.tenants set name = $3, updated_at = now() where organization_id = $1 and id = $2',
    values: [organizationId, id, name],
  })
}

export async function closeTenant(sql: Sql, organizationId: string, id: string): Promise<void> {
  await sql.query({
    name: 'tenants_close',
    text: `update loci.tenants set status = 'closed', deleted_at = now(), updated_at = now() where organization_id = $1 and id = $2`,
    values: [organizationId, id],
  })
}

/** All that are not gone: a failed one or one that is being deleted is still there. */
export async function countPresentServices(sql: Sql, organizationId: string, tenantId: string): Promise<number> {
  const { rows } = await sql.query<{ count: number }>({
    name: 'tenants_count_services',
    text: `select coalesce(sum(count), 0)::int as count from loci.service_counts
      where organization_id = $1 and tenant_id = $2 and status <> 'deleted'`,
    values: [organizationId, tenantId],
  })
  return rows[0]?.count ?? 0
}

/** Which of the ids are tenants of the organization. */
export async function listKnownTenants(sql: Sql, organizationId: string, ids: readonly string[]): Promise<string[]> {
  const { rows } = await sql.query<{ id: string }>({
    name: 'tenants_known',
    text: `select id from loci.tenants where organization_id = $1 and id = any($2) and deleted_at is null order by id`,
    values: [organizationId, ids],
  })
  return rows.map(({ id }) => id)
}
