// The table loci.services: states are read and saved whole; what follows from one is decided in service-state.ts,
// reconcile.ts and observe.ts. Due rows, placement, quarantine and operations have stores of their own.

import type { TenantAccess } from '@loci/contract/states.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import { holdOrganization, holdTenant, LOCKS, lockService } from '../acts/locks/store.ts'
import { PLAN_NAMES, type PlanName } from '../plans.ts'
import type { Operation } from './operations/operation.ts'
import { RECOVERED, type ServiceState } from './service-state.ts'

/** A state and what never changes in it, or only by a command of the customer. */
export interface Placed {
  state: ServiceState
  tenantId: string
  serviceType: string
  plan: PlanName
  region: string
  config: Record<string, unknown>
}

interface Row extends Omit<ServiceState, 'operation'>, Omit<Placed, 'state'> {
  operation:
    | (Omit<Operation, 'createdAt' | 'updatedAt' | 'finishedAt'> & {
        createdAt: string
        updatedAt: string
        finishedAt: string | null
      })
    | null
}

const SELECT = `select s.id, s.wanted_state as "wantedState", s.status, s.status_reason as "statusReason", s.cell_id as "cellId",
    s.desired_state as "desiredState", s.state_reason as "stateReason", s.generation, s.published_digest as "publishedDigest",
    s.observed_generation as "observedGeneration", s.observed_state as "observedState", s.deadline_at as "deadlineAt", s.attempts,
    s.tenant_id as "tenantId", s.service_type as "serviceType", s.plan, s.region, s.config,
    (select jsonb_build_object('id', o.id, 'kind', o.kind, 'status', o.status, 'steps', o.steps, 'error', o.error,
        'createdAt', o.created_at, 'updatedAt', o.updated_at, 'finishedAt', o.finished_at)
      from loci.operations o where o.organization_id = s.organization_id and o.id = s.operation_id) as operation
  from loci.services s`

/**
 * Of the organization in use. The lock is a statement of its own: what is read in the statement that waited for it
 * may be older than the row, an operation that came with it for one.
 */
export async function findPlaced(
  sql: Sql,
  organizationId: string,
  id: string,
  { lock }: { lock: boolean },
): Promise<Placed | undefined> {
  if (lock) await lockService(sql, organizationId, id)
  const { rows } = await sql.query<Row>({
    name: 'provisioning_find',
    text: `${SELECT} where s.organization_id = $1 and s.id = $2`,
    values: [organizationId, id],
  })
  return rows[0] && placedOf(rows[0])
}

export interface ObservedRow {
  svc: string
  generation: number
  state: string
}

/** Of the organization in use: those of which the cell says anything that is not known yet. */
export async function listNews(sql: Sql, organizationId: string, observed: ObservedRow[]): Promise<string[]> {
  const { rows } = await sql.query<{ id: string }>({
    name: 'provisioning_news',
    text: `select s.id from loci.services s
        join unnest($2::text[], $3::bigint[], $4::text[]) as reported (id, generation, state) on reported.id = s.id
      where s.organization_id = $1 and (s.observed_generation, s.observed_state) is distinct from (reported.generation, reported.state)
      order by s.id`,
    values: [
      organizationId,
      observed.map(({ svc }) => svc),
      observed.map(({ generation }) => generation),
      observed.map(({ state }) => state),
    ],
  })
  return rows.map(({ id }) => id)
}

function placedOf({ tenantId, serviceType, plan, region, config, operation, ...state }: Row): Placed {
  const known = operation && {
    ...operation,
    createdAt: new Date(operation.createdAt),
    updatedAt: new Date(operation.updatedAt),
    finishedAt: operation.finishedAt === null ? null : new Date(operation.finishedAt),
  }
  return { state: { ...state, operation: known }, tenantId, serviceType, plan, region, config }
}

/** Of the organization in use. */
export async function saveServiceState(
  sql: Sql,
  organizationId: string,
  state: ServiceState,
  now: Date,
): Promise<void> {
  await sql.query({
    name: 'provisioning_save',
    text: `update loci.services set wanted_state = $3, status = $4, status_reason = $5, cell_id = $6, desired_state = $7,
        state_reason = $8, generation = $9, published_digest = $10, observed_generation = $11, observed_state = $12,
        operation_id = $13, deadline_at = $14, attempts = $15, updated_at = $16,
        deleted_at = case when $4 = 'deleted' then coalesce(deleted_at, $16) end
      where organization_id = $1 and id = $2`,
    values: [
      organizationId,
      state.id,
      state.wantedState,
      state.status,
      state.statusReason,
      state.cellId,
      state.desiredState,
      state.stateReason,
      state.generation,
      state.publishedDigest,
      state.observedGeneration,
      state.observedState,
      state.operation?.id ?? null,
      state.deadlineAt,
      state.attempts,
      now,
    ],
  })
}

export interface TenantCoverage {
  plan: PlanName
  access: TenantAccess
  /** How many services of the tenant that use its quota are as old as this one or older. */
  rank: number
}

/**
 * Of the organization in use. The tenant's row is held against change: a payment that commits after it was read must
 * find the service still to be reconciled, or it would stay as it was.
 */
export async function holdCoverage(
  sql: Sql,
  organizationId: string,
  tenantId: string,
  serviceId: string,
): Promise<TenantCoverage | undefined> {
  await holdTenant(sql, organizationId, tenantId)
  const { rows } = await sql.query<TenantCoverage>({
    name: 'provisioning_coverage',
    text: `select t.plan, t.access, (
        select count(*)::int from loci.services s
        where s.organization_id = t.organization_id and s.tenant_id = t.id and s.id <= $3
          and s.status not in ('failed', 'deleting', 'deleted')
      ) as rank from loci.tenants t where t.organization_id = $1 and t.id = $2`,
    values: [organizationId, tenantId, serviceId],
  })
  return rows[0]
}

/** The organization's highest plan and its number of services in the quota. Locked against change as above. */
export async function holdOrganizationCoverage(
  sql: Sql,
  organizationId: string,
): Promise<{ plan: PlanName; used: number }> {
  await holdOrganization(sql, organizationId)
  const { rows } = await sql.query<{ plan: PlanName; used: number }>({
    name: 'provisioning_organization_coverage',
    text: `select (
        select plan from (
          select plan from loci.organizations where id = $1
          union all select plan from loci.tenants where organization_id = $1 and deleted_at is null
        ) as plans order by array_position($2::text[], plan) desc limit 1
      ) as plan, (
        select coalesce(sum(count), 0)::int from loci.service_counts
        where organization_id = $1 and tenant_id = '' and status not in ('failed', 'deleting', 'deleted')
      ) as used`,
    values: [organizationId, PLAN_NAMES],
  })
  return rows[0] as { plan: PlanName; used: number }
}

/** Rank of the service among all of the organization that use the quota; counts at most `max` + 1. */
export async function findRankInOrganization(
  sql: Sql,
  organizationId: string,
  serviceId: string,
  max: number,
): Promise<number> {
  const { rows } = await sql.query<{ rank: number }>({
    name: 'provisioning_rank_in_organization',
    text: `select count(*)::int as rank from (
        select from loci.services where organization_id = $1 and id <= $2 and status not in ('failed', 'deleting', 'deleted') limit $3
      ) as older`,
    values: [organizationId, serviceId, max + 1],
  })
  return rows[0]?.rank ?? 0
}

export interface Adopted {
  id: string
  organizationId: string
  tenantId: string
  name: string
  slug: string
  serviceType: string
  plan: PlanName
  cellId: string
  state: 'active' | 'suspended'
  generation: number
  operationId: string
  now: Date
}

/** Of the organization in use; region of its cell. `failed` until its owner accepts it: no quota, no rank. */
export async function insertAdopted(sql: Sql, one: Adopted): Promise<void> {
  LOCKS.own(sql, 'service', one.id)
  LOCKS.own(sql, 'due row', one.id)
  await sql.query({
    name: 'provisioning_insert_adopted',
    text: `insert into loci.services (id, organization_id, tenant_id, name, slug, service_type, plan, region, cell_id, status,
        status_reason, wanted_state, desired_state, generation, observed_generation, observed_state, operation_id, created_at, updated_at)
      select $1, $2, $3, $4, $5, $6, $7, c.region, c.id, 'failed', '${RECOVERED}', 'active', $9, $10, $10, $9, $11, $12, $12
      from loci.cells c where c.id = $8`,
    values: [
      one.id,
      one.organizationId,
      one.tenantId,
      one.name,
      one.slug,
      one.serviceType,
      one.plan,
      one.cellId,
      one.state,
      one.generation,
      one.operationId,
      one.now,
    ],
  })
}

export interface NewService {
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
  operationId: string
  deadlineAt: Date
  createdAt: Date
}

/** False when the slug is taken. */
export async function insertService(sql: Sql, service: NewService): Promise<boolean> {
  LOCKS.own(sql, 'service', service.id)
  LOCKS.own(sql, 'due row', service.id)
  const { rowCount } = await sql.query({
    name: 'services_insert',
    text: `insert into loci.services (id, organization_id, tenant_id, name, slug, service_type, plan, region, cell_id, config,
        operation_id, deadline_at, created_at, updated_at, status, desired_state, generation)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13, 'provisioning', 'active', 0)
      on conflict (organization_id, slug) where status <> 'deleted' do nothing`,
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
      service.operationId,
      service.deadlineAt,
      service.createdAt,
    ],
  })
  return rowCount === 1
}

/** What its owner may change; plan and config are published to the cell later. */
export async function updateService(
  sql: Sql,
  { organizationId, id }: { organizationId: string; id: string },
  { name, plan, config }: { name: string; plan: PlanName; config: Record<string, unknown> },
  now: Date,
): Promise<void> {
  await sql.query({
    name: 'services_update',
    text: `update loci.services set name = $3, plan = $4, config = $5, updated_at = $6 where organization_id = $1 and id = $2`,
    values: [organizationId, id, name, plan, JSON.stringify(config), now],
  })
}
