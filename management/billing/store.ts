// All SQL of billing. A tenant's row is locked before its events are read, so two events of one tenant are never folded
// past each other. Parked events belong to the platform: no organization sees them.

import { PLATFORM } from '@loci/contract/audit.ts'
import type { TenantAccess } from '@loci/contract/states.ts'
import { ADVISORY_LOCKS } from '@loci/postgres/advisory-locks.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import { LOCKS, lockOrganization, lockTenant } from '../acts/locks/store.ts'
import type { PlanName } from '../plans.ts'
import type { BillingEvent, BillingStatus } from './fold.ts'
import type { Ordering } from './ordering.ts'

export type Effect = 'applied' | 'superseded' | 'unordered' | 'parked' | 'dead'

export interface StoredEvent extends BillingEvent {
  tenantId: string
  /** As the event names it; '' when it names none. */
  subscriptionId: string
  /** The provider's own id of the delivery. */
  inboxKey: string | null
  effect: Effect
}

/** With what only people read. */
export interface WholeEvent extends StoredEvent {
  /** As it was sent. */
  metadata: Record<string, string> | null
}

/** What billing decides about a tenant. */
export interface Settled {
  /** What the tenant is entitled to. */
  plan: PlanName
  /** Null: nothing was ever billed. */
  billedPlan: PlanName | null
  status: 'active' | 'past_due' | 'suspended' | 'closed'
  statusReason: string | null
  access: TenantAccess
  billingStatus: BillingStatus | null
  customerId: string | null
  subscriptionId: string | null
  currentPeriodStart: string | null
  currentPeriodEnd: string | null
  graceEndsAt: Date | null
  notices: string[]
}

export interface BilledTenant extends Settled {
  id: string
  organizationId: string
  arrivals: number
  lastEventAt: Date | null
  updatedAt: Date
  deletedAt: Date | null
}

const TENANT = `id, organization_id as "organizationId", plan, billed_plan as "billedPlan", status, status_reason as "statusReason",
  access, billing_status as "billingStatus", customer_id as "customerId", subscription_id as "subscriptionId", current_period_start as "currentPeriodStart",
  current_period_end as "currentPeriodEnd", grace_ends_at as "graceEndsAt", last_event_at as "lastEventAt", arrivals, notices,
  updated_at as "updatedAt", deleted_at as "deletedAt"`

/** By the database's clock, which all processes share: a process with a wrong clock must not suspend a tenant. */
export async function readNow(sql: Sql): Promise<Date> {
  const { rows } = await sql.query<{ now: Date }>({ name: 'billing_now', text: 'select now() as now' })
  return (rows[0] as { now: Date }).now
}

/**
 * Of the organization in use, closed ones included. Undefined too with `skipLocked` while another one has locked it.
 */
export async function lockBilledTenant(
  sql: Sql,
  organizationId: string,
  id: string,
  { skipLocked = false } = {},
): Promise<BilledTenant | undefined> {
  const name = skipLocked ? 'billing_try_lock_tenant' : 'billing_lock_tenant'
  return lockTenant<BilledTenant>(sql, { organizationId, id, name, columns: TENANT, isClosedToo: true, skipLocked })
}

/** Of the organization in use. */
export async function findTenant(sql: Sql, organizationId: string, id: string): Promise<BilledTenant | undefined> {
  const { rows } = await sql.query<BilledTenant>({
    name: 'billing_find_tenant',
    text: `select ${TENANT} from loci.tenants where organization_id = $1 and id = $2`,
    values: [organizationId, id],
  })
  return rows[0]
}

/** Held to park an event and to make a tenant: without it one could miss the other. */
export async function lockTenantId(sql: Sql, tenantId: string): Promise<void> {
  await sql.query({
    name: 'billing_lock_tenant_id',
    text: `select pg_advisory_xact_lock(hashtextextended($1, ${ADVISORY_LOCKS.parkedTenant}))`,
    values: [tenantId],
  })
}

const EVENT = `id, tenant_id as "tenantId", arrival, inbox_key as "inboxKey", event_type as "eventType", customer_id as "customerId",
  subscription_id as "subscriptionId", counts_for as "countsFor", plan, status, current_period_start as "currentPeriodStart",
  current_period_end as "currentPeriodEnd", sequence, occurred_at as "occurredAt", digest, effect, received_at as "receivedAt"`
const WHOLE_EVENT = `${EVENT}, metadata`

/** False when the delivery is known, in any organization: nothing is written then. */
export async function insertEvent(sql: Sql, organizationId: string, event: WholeEvent): Promise<boolean> {
  const { rowCount } = await sql.query({
    name: 'billing_insert_event',
    text: `insert into loci.billing_events (organization_id, tenant_id, id, arrival, inbox_key, event_type, customer_id,
        subscription_id, counts_for, plan, status, current_period_start, current_period_end, sequence, occurred_at, digest, effect,
        received_at, metadata)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)
      on conflict (inbox_key) where inbox_key is not null do nothing`,
    values: [
      organizationId,
      event.tenantId,
      event.id,
      event.arrival,
      event.inboxKey,
      event.eventType,
      event.customerId,
      event.subscriptionId,
      event.countsFor,
      event.plan,
      event.status,
      event.currentPeriodStart,
      event.currentPeriodEnd,
      event.sequence,
      event.occurredAt,
      event.digest,
      event.effect,
      event.receivedAt,
      event.metadata && JSON.stringify(event.metadata),
    ],
  })
  return rowCount === 1
}

/** Of the organization in use, by arrival; without metadata, which can be large and is not needed here. */
export async function listEvents(sql: Sql, organizationId: string, tenantId: string): Promise<StoredEvent[]> {
  const { rows } = await sql.query<StoredEvent>({
    name: 'billing_list_events',
    text: `select ${EVENT} from loci.billing_events where organization_id = $1 and tenant_id = $2 order by arrival`,
    values: [organizationId, tenantId],
  })
  return rows
}

/** Newest first, of the organization in use. */
export async function pageEvents(
  sql: Sql,
  {
    organizationId,
    tenantId,
    before,
    limit,
  }: { organizationId: string; tenantId: string; before: number; limit: number },
): Promise<WholeEvent[]> {
  const { rows } = await sql.query<WholeEvent>({
    name: 'billing_page_events',
    text: `select ${WHOLE_EVENT} from loci.billing_events where organization_id = $1 and tenant_id = $2 and arrival < $3
      order by arrival desc limit $4`,
    values: [organizationId, tenantId, before, limit],
  })
  return rows
}

/** With the platform in use, newest first. */
export async function pageParked(sql: Sql, before: string, limit: number): Promise<WholeEvent[]> {
  const { rows } = await sql.query<WholeEvent>({
    name: 'billing_page_parked',
    text: `select ${WHOLE_EVENT} from loci.billing_events where organization_id = '${PLATFORM}' and id < $1 order by id desc limit $2`,
    values: [before, limit],
  })
  return rows
}

/** With the platform in use and the tenant's id locked: the number of its last parked event. */
export async function findParkedEnd(sql: Sql, tenantId: string): Promise<number> {
  const { rows } = await sql.query<{ end: number }>({
    name: 'billing_parked_end',
    text: `select coalesce(max(arrival), 0) as end from loci.billing_events
      where organization_id = '${PLATFORM}' and tenant_id = $1`,
    values: [tenantId],
  })
  return rows[0]?.end ?? 0
}

/** With the platform in use: the events of this tenant, which are then parked no longer. */
export async function takeParked(sql: Sql, tenantId: string): Promise<WholeEvent[]> {
  const { rows } = await sql.query<WholeEvent>({
    name: 'billing_take_parked',
    text: `delete from loci.billing_events where organization_id = '${PLATFORM}' and tenant_id = $1 returning ${WHOLE_EVENT}`,
    values: [tenantId],
  })
  return rows.sort((one, other) => one.arrival - other.arrival)
}

/** With the platform in use: tenants with parked events, which may exist by now. */
export async function listParkedTenants(sql: Sql, limit: number): Promise<string[]> {
  const { rows } = await sql.query<{ tenantId: string }>({
    name: 'billing_parked_tenants',
    text: `select tenant_id as "tenantId" from loci.billing_events where organization_id = '${PLATFORM}' and effect = 'parked'
      group by tenant_id order by max(received_at) desc, tenant_id limit $1`,
    values: [limit],
  })
  return rows.map(({ tenantId }) => tenantId)
}

/** With the platform in use. */
export async function markParkedDead(sql: Sql, receivedBefore: Date): Promise<void> {
  await sql.query({
    name: 'billing_mark_dead',
    text: `update loci.billing_events set effect = 'dead'
      where organization_id = '${PLATFORM}' and effect = 'parked' and received_at < $1`,
    values: [receivedBefore],
  })
}

/** Of the organization in use. Its services learn of it by the generation. */
export async function saveSettled(
  sql: Sql,
  {
    id,
    organizationId,
    arrivals,
    lastEventAt,
  }: Pick<BilledTenant, 'id' | 'organizationId' | 'arrivals' | 'lastEventAt'>,
  settled: Settled,
  now: Date,
): Promise<void> {
  await sql.query({
    name: 'billing_save_settled',
    text: `update loci.tenants set plan = $3, billed_plan = $4, status = $5, status_reason = $6, access = $7, billing_status = $8,
        customer_id = $9, subscription_id = $10, current_period_start = $11, current_period_end = $12, grace_ends_at = $13,
        last_event_at = $14, arrivals = $15, notices = $16, generation = generation + 1, updated_at = $17
      where organization_id = $1 and id = $2`,
    values: [
      organizationId,
      id,
      settled.plan,
      settled.billedPlan,
      settled.status,
      settled.statusReason,
      settled.access,
      settled.billingStatus,
      settled.customerId,
      settled.subscriptionId,
      settled.currentPeriodStart,
      settled.currentPeriodEnd,
      settled.graceEndsAt,
      lastEventAt,
      arrivals,
      settled.notices,
      now,
    ],
  })
}

const PLAN_ORDER = `array['free', 'starter', 'pro', 'enterprise']`

/**
 * The best plan of its tenants. Two statements: the second must see what another event of the organization has
 * committed while we waited for the first.
 */
export async function saveOrganizationPlan(sql: Sql, organizationId: string): Promise<boolean> {
  await lockOrganization(sql, organizationId)
  const { rowCount } = await sql.query({
    name: 'billing_organization_plan',
    text: `update loci.organizations set plan = best.plan from (
        select plan from loci.tenants where organization_id = $1 and deleted_at is null
        order by array_position(${PLAN_ORDER}, plan) desc limit 1
      ) as best where id = $1 and organizations.plan <> best.plan`,
    values: [organizationId],
  })
  return rowCount > 0
}

/**
 * Null = the clock alone changes nothing. Never more than a day ahead: what was decided at a wrong time is checked
 * again at the right one.
 */
export async function putTenantClock(
  sql: Sql,
  { id, organizationId }: { id: string; organizationId: string },
  dueAt: Date | null,
): Promise<void> {
  LOCKS.note(sql, 'due row', id)
  await sql.query(
    dueAt === null
      ? { name: 'billing_drop_clock', text: 'delete from loci.due_tenants where tenant_id = $1', values: [id] }
      : {
          name: 'billing_put_clock',
          text: `insert into loci.due_tenants (tenant_id, organization_id, due_at) values ($1, $2, least($3, now() + interval '1 day'))
            on conflict (tenant_id) do update set due_at = excluded.due_at`,
          values: [id, organizationId, dueAt],
        },
  )
}

export async function listDueTenants(
  sql: Sql,
  now: Date,
  limit: number,
): Promise<{ id: string; organizationId: string }[]> {
  const { rows } = await sql.query<{ id: string; organizationId: string }>({
    name: 'billing_list_due',
    text: `select tenant_id as id, organization_id as "organizationId" from loci.due_tenants where due_at <= $1
      order by due_at, tenant_id limit $2`,
    values: [now, limit],
  })
  return rows
}

/** With the tenant locked. Another process may have been here since it was listed. */
export async function isTenantDue(sql: Sql, id: string, now: Date): Promise<boolean> {
  const { rowCount } = await sql.query({
    name: 'billing_is_due',
    text: 'select from loci.due_tenants where tenant_id = $1 and due_at <= $2',
    values: [id, now],
  })
  return rowCount === 1
}

/**
 * Of the events that count for one subscription, of the organization in use: those that have this ordering lose it and
 * get the next lower one. Answers how many. The time of an event that has a sequence stays: it says since when a
 * payment is missing.
 */
export async function clearOrdering(
  sql: Sql,
  organizationId: string,
  tenantId: string,
  subscriptionId: string,
  ordering: Exclude<Ordering, 'arrival'>,
): Promise<number> {
  const { rowCount } = await sql.query({
    name: `billing_clear_${ordering}`,
    text: `update loci.billing_events set ${ordering} = null
      where organization_id = $1 and tenant_id = $2 and counts_for = $3 and ${ordering} is not null${ordering === 'occurred_at' ? ' and sequence is null' : ''}`,
    values: [organizationId, tenantId, subscriptionId],
  })
  return rowCount
}

/** Of the organization in use, by status; what is deleted is not there. */
export async function countServices(sql: Sql, organizationId: string, tenantId: string): Promise<Map<string, number>> {
  const { rows } = await sql.query<{ status: string; count: number }>({
    name: 'billing_count_services',
    text: `select status, sum(count)::int as count from loci.service_counts
      where organization_id = $1 and tenant_id = $2 and status <> 'deleted' group by status having sum(count) > 0 order by status`,
    values: [organizationId, tenantId],
  })
  return new Map(rows.map(({ status, count }) => [status, count]))
}
