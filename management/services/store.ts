import { ApiError } from '@loci/chassis/api-error.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import { lockCell, lockOrganization, lockTenant } from '../acts/locks/store.ts'
import type { PlanName } from '../plans.ts'
import type { DesiredState, Status } from '../provisioning/service-state.ts'

export interface Service {
  id: string
  organizationId: string
  tenantId: string
  name: string
  slug: string
  serviceType: string
  plan: PlanName
  region: string
  cellId: string | null
  /** The template of its cell's address; null while it has no cell. */
  endpoint: string | null
  config: Record<string, unknown>
  status: Status
  statusReason: string | null
  desiredState: DesiredState
  operationId: string | null
  generation: number
  createdAt: Date
  updatedAt: Date
}

const COLUMNS = `s.id, s.organization_id as "organizationId", s.tenant_id as "tenantId", s.name, s.slug, s.service_type as "serviceType",
  s.plan, s.region, s.cell_id as "cellId", c.endpoint, s.config, s.status, s.status_reason as "statusReason",
  s.desired_state as "desiredState", s.operation_id as "operationId", s.generation, s.created_at as "createdAt",
  s.updated_at as "updatedAt"`
const FROM = 'from loci.services s left join loci.cells c on c.id = s.cell_id'

/** Of the organization in use. */
export async function findService(sql: Sql, organizationId: string, id: string): Promise<Service | undefined> {
  const { rows } = await sql.query<Service>({
    name: 'services_find',
    text: `select ${COLUMNS} ${FROM} where s.organization_id = $1 and s.id = $2`,
    values: [organizationId, id],
  })
  return rows[0]
}

export interface TenantQuota {
  id: string
  plan: PlanName
  access: string
  /** Services that use the quota: failed and deleting ones have released it. */
  used: number
}

/** The tenant's row stays locked: its billing cannot change, and two cannot take the last place of its quota. */
export async function lockQuota(
  sql: Sql,
  organizationId: string,
  tenantId: string | undefined,
): Promise<TenantQuota | undefined> {
  const tenant = await lockTenant<Omit<TenantQuota, 'used'>>(sql, {
    organizationId,
    id: tenantId,
    name: tenantId === undefined ? 'services_lock_default_tenant' : 'services_lock_tenant',
    columns: 'id, plan, access',
  })
  // Counted after the lock is had, in a statement of its own: before it the number could be another's past.
  return tenant && { ...tenant, used: await countUsed(sql, organizationId, tenant.id) }
}

async function countUsed(sql: Sql, organizationId: string, tenantId: string): Promise<number> {
  const { rows } = await sql.query<{ used: number }>({
    name: 'services_used',
    text: `select coalesce(sum(count), 0)::int as used from loci.service_counts
      where organization_id = $1 and tenant_id = $2 and status not in ('failed', 'deleting', 'deleted')`,
    values: [organizationId, tenantId],
  })
  return rows[0]?.used ?? 0
}

export interface OrganizationQuota {
  /** The highest that billing covers for one of its tenants. */
  plan: PlanName
  used: number
  /** Of the last 24 hours, deleted ones included; counted up to `createdMax`. */
  created: number
}

/**
 * The organization's row stays locked, after the tenant's: creations of two tenants cannot take the last place of
 * their organization. Ids begin with the time of their making, so those of the last day are the end of one index.
 */
export async function lockOrganizationQuota(
  sql: Sql,
  organizationId: string,
  { since, createdMax }: { since: string; createdMax(plan: PlanName): number },
): Promise<OrganizationQuota> {
  const { plan } = await lockOrganization<PlanName>(sql, organizationId)
  const counted = await sql.query<Omit<OrganizationQuota, 'plan'>>({
    name: 'services_used_by_organization',
    text: `select (select coalesce(sum(count), 0)::int from loci.service_counts
          where organization_id = $1 and tenant_id = '' and status not in ('failed', 'deleting', 'deleted')) as used,
        (select count(*)::int from (
          select from loci.services where organization_id = $1 and id >= $2 order by id limit $3) as recent) as created`,
    values: [organizationId, since, createdMax(plan)],
  })
  return { plan, ...(counted.rows[0] as Omit<OrganizationQuota, 'plan'>) }
}

export interface ServiceFilter {
  /** Undefined = all of the organization. */
  tenantIds: readonly string[] | undefined
  serviceType: string | undefined
  status: string | undefined
}

/** Exact, from the counters: a count of the rows would grow with them. */
export async function countServices(sql: Sql, organizationId: string, filter: ServiceFilter): Promise<number> {
  const values: unknown[] = [organizationId, filter.tenantIds ?? ['']]
  const conditions = ['organization_id = $1', 'tenant_id = any($2)']
  if (filter.serviceType !== undefined) conditions.push(`service_type = $${values.push(filter.serviceType)}`)
  if (filter.status !== undefined) conditions.push(`status = $${values.push(filter.status)}`)
  else conditions.push(`status <> 'deleted'`)
  const { rows } = await sql.query<{ total: number }>({
    text: `select coalesce(sum(count), 0)::int as total from loci.service_counts where ${conditions.join(' and ')}`,
    values,
  })
  return rows[0]?.total ?? 0
}

/** Newest first, because ids begin with the time. The page comes from an index, then its rows are read. */
export async function listServices(
  sql: Sql,
  organizationId: string,
  filter: ServiceFilter,
  { limit, offset }: { limit: number; offset: number },
): Promise<Service[]> {
  const values: unknown[] = [organizationId, limit, offset]
  const { rows } = await sql.query<Service>({
    text: `select ${COLUMNS} from (
        select organization_id, id from loci.services where ${conditionsOf(filter, values)} order by id desc limit $2 offset $3
      ) as page join loci.services s on s.organization_id = page.organization_id and s.id = page.id
      left join loci.cells c on c.id = s.cell_id order by s.id desc`,
    values,
  })
  return rows
}

/** Appends what its conditions need to `values`, which begin with the organization. */
function conditionsOf(filter: ServiceFilter, values: unknown[]): string {
  const conditions = ['organization_id = $1']
  if (filter.tenantIds?.length === 1) conditions.push(`tenant_id = $${values.push(filter.tenantIds[0])}`)
  else if (filter.tenantIds) conditions.push(`tenant_id = any($${values.push(filter.tenantIds)})`)
  if (filter.serviceType !== undefined) conditions.push(`service_type = $${values.push(filter.serviceType)}`)
  if (filter.status !== undefined) conditions.push(`status = $${values.push(filter.status)}`)
  if (filter.status !== 'deleted') conditions.push(`status <> 'deleted'`)
  return conditions.join(' and ')
}

/** A part of a word has no index without an extension; so many rows are read in 10 ms. */
const SEARCHED_MAX = 5_000

/** Of the newest that fit the filter, those with `q` in name or slug, in any case. */
export async function searchServices(
  sql: Sql,
  organizationId: string,
  filter: ServiceFilter,
  { q, limit, offset }: { q: string; limit: number; offset: number },
): Promise<{ total: number; services: Service[]; searchedAll: boolean }> {
  const values: unknown[] = [organizationId, q, SEARCHED_MAX + 1]
  const { rows } = await sql.query<{ ids: string[]; read: number }>({
    text: `with newest as (
        select id, name, slug, row_number() over (order by id desc) as n from loci.services
        where ${conditionsOf(filter, values)} order by id desc limit $3
      )
      select coalesce(array_agg(id order by id desc) filter (where n < $3
          and (strpos(lower(name), lower($2)) > 0 or strpos(lower(slug), lower($2)) > 0)), '{}') as ids,
        count(*)::int as read from newest`,
    values,
  })
  const { ids, read } = rows[0] as { ids: string[]; read: number }
  const { rows: services } = await sql.query<Service>({
    name: 'services_of_ids',
    text: `select ${COLUMNS} ${FROM} where s.organization_id = $1 and s.id = any($2) order by s.id desc`,
    values: [organizationId, ids.slice(offset, offset + limit)],
  })
  return { total: ids.length, services, searchedAll: read <= SEARCHED_MAX }
}

const TRIES_MAX = 3

/**
 * The service with the row of its cell locked, to publish something to that cell: without the lock a service that moves
 * meanwhile would leave its new cell without it. Before anything else of the transaction is locked, as every change of
 * a feed.
 */
export async function lockServiceAndCell(sql: Sql, organizationId: string, id: string): Promise<Service | undefined> {
  let service = await findService(sql, organizationId, id)
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    if (!service || service.cellId === null) return service
    const { cellId } = service
    await lockCell(sql, cellId)
    service = await findService(sql, organizationId, id)
    if (service?.cellId === cellId) return service
  }
  throw new ApiError('OVERLOADED', 'The service is being moved. Nothing was done; try again.')
}
