// All SQL of provisioning. Lives are loaded and saved whole; what they may become is decided in lifecycle.ts.

import type { Sql } from '@loci/postgres/pool.ts'
import type { PlanName } from '../plans.ts'
import { type Life, RECOVERED } from './lifecycle.ts'
import type { Operation } from './operations/operation.ts'

/** A life and what never changes in it, or only by the customer's word. */
export interface Placed {
  life: Life
  tenantId: string
  serviceType: string
  plan: PlanName
  region: string
  config: Record<string, unknown>
}

interface Row extends Omit<Life, 'operation'>, Omit<Placed, 'life'> {
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
  if (lock)
    await sql.query({
      name: 'provisioning_lock',
      text: 'select from loci.services where organization_id = $1 and id = $2 for no key update',
      values: [organizationId, id],
    })
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
        join unnest($2::text[], $3::bigint[], $4::text[]) as told (id, generation, state) on told.id = s.id
      where s.organization_id = $1 and (s.observed_generation, s.observed_state) is distinct from (told.generation, told.state)
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

function placedOf({ tenantId, serviceType, plan, region, config, operation, ...life }: Row): Placed {
  const known = operation && {
    ...operation,
    createdAt: new Date(operation.createdAt),
    updatedAt: new Date(operation.updatedAt),
    finishedAt: operation.finishedAt === null ? null : new Date(operation.finishedAt),
  }
  return { life: { ...life, operation: known }, tenantId, serviceType, plan, region, config }
}

/** Of the organization in use. */
export async function saveLife(sql: Sql, organizationId: string, life: Life, now: Date): Promise<void> {
  await sql.query({
    name: 'provisioning_save',
    text: `update loci.services set wanted_state = $3, status = $4, status_reason = $5, cell_id = $6, desired_state = $7,
        state_reason = $8, generation = $9, published_digest = $10, observed_generation = $11, observed_state = $12,
        operation_id = $13, deadline_at = $14, attempts = $15, updated_at = $16,
        deleted_at = case when $4 = 'deleted' then coalesce(deleted_at, $16) end
      where organization_id = $1 and id = $2`,
    values: [
      organizationId,
      life.id,
      life.wantedState,
      life.status,
      life.statusReason,
      life.cellId,
      life.desiredState,
      life.stateReason,
      life.generation,
      life.publishedDigest,
      life.observedGeneration,
      life.observedState,
      life.operation?.id ?? null,
      life.deadlineAt,
      life.attempts,
      now,
    ],
  })
}

/**
 * Somebody must look at the service; now, unless said otherwise. In the transaction of whatever gave the reason. Never later than
 * another reason has it.
 */
export async function putDue(
  sql: Sql,
  organizationId: string,
  serviceId: string,
  at: Date = new Date(),
): Promise<void> {
  await sql.query({
    name: 'provisioning_put_due',
    text: `insert into loci.due_services as d (service_id, organization_id, due_at) values ($1, $2, $3)
      on conflict (service_id) do update set due_at = least(d.due_at, excluded.due_at)`,
    values: [serviceId, organizationId, at],
  })
}

/** After a look, under the locks of the tenant and the service: every reason there was is answered by it. */
export async function setDue(sql: Sql, organizationId: string, serviceId: string, at: Date | null): Promise<void> {
  if (at === null) return dropDue(sql, serviceId)
  await sql.query({
    name: 'provisioning_set_due',
    text: `insert into loci.due_services (service_id, organization_id, due_at) values ($1, $2, $3)
      on conflict (service_id) do update set due_at = excluded.due_at, first_due_at = null, attempts = 0`,
    values: [serviceId, organizationId, at],
  })
}

export async function dropDue(sql: Sql, serviceId: string): Promise<void> {
  await sql.query({
    name: 'provisioning_drop_due',
    text: 'delete from loci.due_services where service_id = $1',
    values: [serviceId],
  })
}

/** The deadline that a confirmation has made needless. Whatever else somebody must look at the service for stays. */
export async function dropDeadline(sql: Sql, serviceId: string, deadlineAt: Date): Promise<void> {
  await sql.query({
    name: 'provisioning_drop_deadline',
    text: 'delete from loci.due_services where service_id = $1 and due_at = $2',
    values: [serviceId, deadlineAt],
  })
}

/** Every service of the tenant, of the organization in use: what it is entitled to has changed. */
export async function putTenantDue(
  sql: Sql,
  organizationId: string,
  tenantId: string,
  at: Date = new Date(),
): Promise<void> {
  await sql.query({
    name: 'provisioning_put_tenant_due',
    text: `insert into loci.due_services as d (service_id, organization_id, due_at)
      select id, organization_id, $3 from loci.services
        where organization_id = $1 and tenant_id = $2 and status <> 'deleted' order by id
      on conflict (service_id) do update set due_at = least(d.due_at, excluded.due_at)`,
    values: [organizationId, tenantId, at],
  })
}

/**
 * Claims up to `max` due services. Claiming moves due_at forward, so a crashed worker's services become due again; each claim without a
 * reconciliation that ended well doubles the wait, up to 64 times `putOffMs`. Concurrent workers skip each other's rows.
 */
export async function claimDue(
  sql: Sql,
  { now, max, putOffMs }: { now: Date; max: number; putOffMs: number },
): Promise<{ serviceId: string; organizationId: string }[]> {
  const { rows } = await sql.query<{ serviceId: string; organizationId: string }>({
    name: 'provisioning_claim_due',
    text: `update loci.due_services d set due_at = $1::timestamptz + $3 * 2 ^ least(d.attempts, 6) * interval '1 millisecond',
        first_due_at = coalesce(d.first_due_at, d.due_at), attempts = d.attempts + 1
      from (
        select service_id from loci.due_services where due_at <= $1 order by due_at limit $2 for update skip locked
      ) as mine where mine.service_id = d.service_id
      returning d.service_id as "serviceId", d.organization_id as "organizationId"`,
    values: [now, max, putOffMs],
  })
  return rows
}

/** How much is overdue, claimed or not, and by how much: what an operator looks at first when services do not come to be. */
export async function countOverdue(sql: Sql): Promise<{ count: number; oldestS: number }> {
  const { rows } = await sql.query<{ count: number; oldestS: number }>({
    name: 'provisioning_overdue',
    text: `select count(*)::int as count,
        coalesce(extract(epoch from now() - min(coalesce(first_due_at, due_at))), 0)::float8 as "oldestS"
      from loci.due_services where coalesce(first_due_at, due_at) < now()`,
  })
  return rows[0] as { count: number; oldestS: number }
}

export interface Standing {
  plan: PlanName
  access: 'full' | 'read_only' | 'none' | 'delete'
  /** How many services of the tenant that use its quota are as old as this one or older. */
  rank: number
}

/**
 * Of the organization in use. The tenant's row is held against change: a payment that commits after it was read must find the
 * service still to be looked at, or it would stay as it was.
 */
export async function holdStanding(
  sql: Sql,
  organizationId: string,
  tenantId: string,
  serviceId: string,
): Promise<Standing | undefined> {
  await sql.query({
    name: 'provisioning_hold_tenant',
    text: 'select from loci.tenants where organization_id = $1 and id = $2 for share',
    values: [organizationId, tenantId],
  })
  const { rows } = await sql.query<Standing>({
    name: 'provisioning_standing',
    text: `select t.plan, t.access, (
        select count(*)::int from loci.services s
        where s.organization_id = t.organization_id and s.tenant_id = t.id and s.id <= $3
          and s.status not in ('failed', 'deleting', 'deleted')
      ) as rank from loci.tenants t where t.organization_id = $1 and t.id = $2`,
    values: [organizationId, tenantId, serviceId],
  })
  return rows[0]
}

export interface Candidate {
  id: string
  placed: number
  capacity: number
  isOwn: boolean
  isHeard: boolean
}

/** Cells of the region with room that the tenant may use: its own, and those of nobody. */
export async function listCandidates(sql: Sql, region: string, tenantId: string): Promise<Candidate[]> {
  const { rows } = await sql.query<Candidate>({
    name: 'provisioning_candidates',
    text: `select id, placed, capacity, tenant_id is not null as "isOwn",
        coalesce(heard_at > now() - interval '1 minute', false) as "isHeard"
      from loci.cells where region = $1 and (tenant_id is null or tenant_id = $2) order by id`,
    values: [region, tenantId],
  })
  return rows
}

export interface Room {
  placed: number
  capacity: number
  isOwn: boolean
  /** Whom the whole cell is kept for. */
  tenantId: string | null
}

/** Locked to the end of the transaction: two can not take the last place. */
export async function lockRoom(sql: Sql, cellId: string): Promise<Room | undefined> {
  const { rows } = await sql.query<Room>({
    name: 'provisioning_lock_cell',
    text: `select placed, capacity, tenant_id is not null as "isOwn", tenant_id as "tenantId" from loci.cells where id = $1
      for no key update`,
    values: [cellId],
  })
  return rows[0]
}

const READY_TIMES_MAX = 50

/** Keeps the last fifty of the placement. */
export async function addReadyTime(sql: Sql, placement: string, at: Date, ms: number): Promise<void> {
  await sql.query({
    name: 'provisioning_add_ready',
    text: 'insert into loci.ready_times (placement, at, ms) values ($1, $2, $3)',
    values: [placement, at, Math.round(ms)],
  })
}

/** Of all placements, in upkeep. */
export async function forgetReadyTimes(sql: Sql): Promise<void> {
  await sql.query({
    text: `delete from loci.ready_times t using (
        select placement, (array_agg(at order by at desc))[${READY_TIMES_MAX}] as oldest from loci.ready_times group by placement
      ) as kept where t.placement = kept.placement and t.at < kept.oldest`,
  })
}

/** The ninth in ten of the last fifty, in milliseconds; undefined before there was any. */
export async function findReadyMs(sql: Sql, placement: string): Promise<number | undefined> {
  const { rows } = await sql.query<{ ms: number | null }>({
    name: 'provisioning_ready_ms',
    text: `select percentile_disc(0.9) within group (order by ms) as ms from (
        select ms from loci.ready_times where placement = $1 order by at desc limit ${READY_TIMES_MAX}
      ) as last`,
    values: [placement],
  })
  return rows[0]?.ms ?? undefined
}

/** Of the organization in use: what stood back because the plan covers fewer may come forward when another goes. */
export async function putUncoveredDue(sql: Sql, organizationId: string, tenantId: string, at: Date): Promise<void> {
  await sql.query({
    name: 'provisioning_put_uncovered_due',
    text: `insert into loci.due_services as d (service_id, organization_id, due_at)
      select id, organization_id, $3 from loci.services
        where organization_id = $1 and tenant_id = $2 and status <> 'deleted' and state_reason = 'plan_not_covered' order by id
      on conflict (service_id) do update set due_at = least(d.due_at, excluded.due_at)`,
    values: [organizationId, tenantId, at],
  })
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

/** Of the organization in use. The region is that of its cell. Failed until its owner accepts it: it uses no quota and no rank. */
export async function insertAdopted(sql: Sql, one: Adopted): Promise<void> {
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

export interface Quarantined {
  cellId: string
  serviceId: string
  organizationId: string
  tenantId: string
  serviceType: string
  plan: string
  state: string
  generation: number
  firstSeenAt: Date
  lastSeenAt: Date
}

export async function saveQuarantined(
  sql: Sql,
  cellId: string,
  one: {
    svc: string
    org: string
    ten: string
    service_type: string
    plan: string
    state: string
    generation: number
  },
): Promise<boolean> {
  const { rows } = await sql.query<{ isNew: boolean }>({
    name: 'provisioning_quarantine',
    text: `insert into loci.quarantine (cell_id, service_id, organization_id, tenant_id, service_type, plan, state, generation)
      values ($1, $2, $3, $4, $5, $6, $7, $8)
      on conflict (cell_id, service_id) do update set state = excluded.state, generation = excluded.generation, last_seen_at = now()
      returning xmax = 0 as "isNew"`,
    values: [cellId, one.svc, one.org, one.ten, one.service_type, one.plan, one.state, one.generation],
  })
  return rows[0]?.isNew === true
}

/** Of those that the cell has as this database knows them, or less: what was said of them before is settled. */
export async function deleteSettled(sql: Sql, cellId: string, observed: ObservedRow[]): Promise<void> {
  if (observed.length === 0) return
  await sql.query({
    name: 'provisioning_settled',
    text: `delete from loci.quarantine q using loci.feed_items f, unnest($2::text[], $3::bigint[]) as told (id, generation)
      where q.cell_id = $1 and q.service_id = told.id and f.cell_id = $1 and f.kind = 'instance' and f.key = told.id
        and told.generation <= (f.body->>'generation')::bigint`,
    values: [cellId, observed.map(({ svc }) => svc), observed.map(({ generation }) => generation)],
  })
}

export async function findQuarantined(sql: Sql, cellId: string, serviceId: string): Promise<Quarantined | undefined> {
  const { rows } = await sql.query<Quarantined>({
    name: 'provisioning_find_quarantined',
    text: `select ${QUARANTINED} from loci.quarantine where cell_id = $1 and service_id = $2`,
    values: [cellId, serviceId],
  })
  return rows[0]
}

/** How many a cell has there: whoever has its key can say what he likes, and must not fill the disk with it. */
export async function countQuarantined(sql: Sql, cellId: string): Promise<number> {
  const { rows } = await sql.query<{ count: number }>({
    name: 'provisioning_count_quarantined',
    text: 'select count(*)::int as count from loci.quarantine where cell_id = $1',
    values: [cellId],
  })
  return rows[0]?.count ?? 0
}

/**
 * An instance that lives in a cell where it is not: kept aside when the feed can not take it away, because what it says there is older
 * than what the cell has.
 */
export async function quarantineStray(sql: Sql, cellId: string, told: ObservedRow): Promise<void> {
  await sql.query({
    name: 'provisioning_quarantine_stray',
    text: `insert into loci.quarantine (cell_id, service_id, organization_id, tenant_id, service_type, plan, state, generation)
      select cell_id, key, body->>'org', body->>'ten', body->>'service_type', body->>'plan', $3, $4 from loci.feed_items
        where cell_id = $1 and kind = 'instance' and key = $2 and (body->>'generation')::bigint < $4
      on conflict (cell_id, service_id) do update set state = excluded.state, generation = excluded.generation, last_seen_at = now()`,
    values: [cellId, told.svc, told.state, told.generation],
  })
}

export async function deleteQuarantined(sql: Sql, cellId: string, serviceId: string): Promise<Quarantined | undefined> {
  const { rows } = await sql.query<Quarantined>({
    name: 'provisioning_unquarantine',
    text: `delete from loci.quarantine where cell_id = $1 and service_id = $2 returning ${QUARANTINED}`,
    values: [cellId, serviceId],
  })
  return rows[0]
}

const QUARANTINED = `cell_id as "cellId", service_id as "serviceId", organization_id as "organizationId", tenant_id as "tenantId",
  service_type as "serviceType", plan, state, generation, first_seen_at as "firstSeenAt", last_seen_at as "lastSeenAt"`

export async function listQuarantined(sql: Sql): Promise<Quarantined[]> {
  const { rows } = await sql.query<Quarantined>({
    name: 'provisioning_quarantined',
    text: `select ${QUARANTINED} from loci.quarantine order by first_seen_at, service_id limit 1000`,
  })
  return rows
}
