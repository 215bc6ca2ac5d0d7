import type { Sql } from '@loci/postgres/pool.ts'
import type { PlanName } from '../plans.ts'

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
  config: Record<string, unknown>
  status: 'provisioning' | 'active' | 'updating' | 'suspended' | 'failed' | 'deleting' | 'deleted'
  desiredState: 'active' | 'suspended' | 'deleted'
  stateReason: string | null
  generation: number
}

const COLUMNS = `id, organization_id as "organizationId", tenant_id as "tenantId", name, slug, service_type as "serviceType", plan,
  region, cell_id as "cellId", config, status, desired_state as "desiredState", state_reason as "stateReason", generation`

/** Of the organization in use. */
export async function findService(sql: Sql, organizationId: string, id: string): Promise<Service | undefined> {
  const { rows } = await sql.query<Service>({
    name: 'services_find',
    text: `select ${COLUMNS} from loci.services where organization_id = $1 and id = $2`,
    values: [organizationId, id],
  })
  return rows[0]
}

export async function insertService(sql: Sql, service: Service): Promise<void> {
  await sql.query({
    name: 'services_insert',
    text: `insert into loci.services (id, organization_id, tenant_id, name, slug, service_type, plan, region, cell_id, config, status,
        desired_state, state_reason, generation)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
    values: [
      service.id,
      service.organizationId,
      service.tenantId,
      service.name,
      service.slug,
      service.serviceType,
      service.plan,
      service.region,
      service.cellId,
      JSON.stringify(service.config),
      service.status,
      service.desiredState,
      service.stateReason,
      service.generation,
    ],
  })
}

/** Failed and deleting ones have released what they used. */
export async function countServices(sql: Sql, organizationId: string, tenantId: string): Promise<number> {
  const { rows } = await sql.query<{ count: number }>({
    name: 'services_count',
    text: `select count(*) as count from loci.services
      where organization_id = $1 and tenant_id = $2 and status not in ('failed', 'deleting', 'deleted')`,
    values: [organizationId, tenantId],
  })
  return rows[0]?.count ?? 0
}

/** The instances that a cell holds, of all organizations; the cell's row is locked, so that two can not take its last place. */
export async function countPlaced(sql: Sql, cellId: string): Promise<number> {
  await sql.query({
    name: 'services_lock_cell',
    text: 'select from loci.cells where id = $1 for update',
    values: [cellId],
  })
  const { rows } = await sql.query<{ count: number }>({
    name: 'services_placed',
    text: `select count(*) as count from loci.feed_items
      where cell_id = $1 and kind = 'instance' and body->>'state' <> 'deleted'`,
    values: [cellId],
  })
  return rows[0]?.count ?? 0
}
