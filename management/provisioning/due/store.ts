// Due rows: which services must be reconciled, and when. A row is written in the transaction that gives the reason.

import type { Sql } from '@loci/postgres/pool.ts'
import { LOCKS } from '../../acts/locks/store.ts'

/**
 * The service must be reconciled; now, unless said otherwise. In the transaction that gives the reason. Never later
 * than another reason has it.
 */
export async function putDue(
  sql: Sql,
  organizationId: string,
  serviceId: string,
  at: Date = new Date(),
): Promise<void> {
  LOCKS.note(sql, 'due row', serviceId)
  await sql.query({
    name: 'provisioning_put_due',
    text: `insert into loci.due_services as d (service_id, organization_id, due_at) values ($1, $2, $3)
      on conflict (service_id) do update set due_at = least(d.due_at, excluded.due_at)`,
    values: [serviceId, organizationId, at],
  })
  if (at.getTime() <= Date.now()) reconcileSoon(sql, organizationId, serviceId)
}

/** At once in this process, when the transaction has committed. What must not be forgotten has a due row as well. */
export function reconcileSoon(sql: Sql, organizationId: string, serviceId: string): void {
  sql.afterCommit((wake) => wake('service', organizationId, serviceId))
}

/** After a look, under the locks of the tenant and the service: every reason there was is answered by it. */
export async function setDue(sql: Sql, organizationId: string, serviceId: string, at: Date | null): Promise<void> {
  LOCKS.note(sql, 'due row', serviceId)
  if (at === null) return dropDue(sql, serviceId)
  await sql.query({
    name: 'provisioning_set_due',
    text: `insert into loci.due_services (service_id, organization_id, due_at) values ($1, $2, $3)
      on conflict (service_id) do update set due_at = excluded.due_at, first_due_at = null, attempts = 0`,
    values: [serviceId, organizationId, at],
  })
}

export async function dropDue(sql: Sql, serviceId: string): Promise<void> {
  LOCKS.note(sql, 'due row', serviceId)
  await sql.query({
    name: 'provisioning_drop_due',
    text: 'delete from loci.due_services where service_id = $1',
    values: [serviceId],
  })
}

/** The deadline that a confirmation has made needless. Any other reason to reconcile the service stays. */
export async function dropDeadline(sql: Sql, serviceId: string, deadlineAt: Date): Promise<void> {
  LOCKS.note(sql, 'due row', serviceId)
  await sql.query({
    name: 'provisioning_drop_deadline',
    text: 'delete from loci.due_services where service_id = $1 and due_at = $2',
    values: [serviceId, deadlineAt],
  })
}

/** Every service of the tenant, or of all tenants, of the organization in use: what it is entitled to has changed. */
export async function putServicesDue(
  sql: Sql,
  organizationId: string,
  tenantId: string | null,
  at: Date = new Date(),
): Promise<void> {
  const { rows } = await sql.query<{ id: string }>({
    name: 'provisioning_put_services_due',
    text: `insert into loci.due_services as d (service_id, organization_id, due_at)
      select id, organization_id, $3 from loci.services
        where organization_id = $1 and ($2::text is null or tenant_id = $2) and status <> 'deleted' order by id
      on conflict (service_id) do update set due_at = least(d.due_at, excluded.due_at) returning service_id as id`,
    values: [organizationId, tenantId, at],
  })
  noteDue(sql, rows)
  sql.afterCommit((wake) => wake('due services'))
}

/**
 * Claims up to `max` due services. Claiming moves due_at forward, so a crashed worker's services become due again; each
 * claim without a reconciliation that ended well doubles the wait, up to 64 times `putOffMs`. Concurrent workers skip
 * each other's rows.
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

/** How many services are overdue, claimed or not, and by how much: the first figure for an operator. */
export async function countOverdue(sql: Sql): Promise<{ count: number; oldestS: number }> {
  const { rows } = await sql.query<{ count: number; oldestS: number }>({
    name: 'provisioning_overdue',
    text: `select count(*)::int as count,
        coalesce(extract(epoch from now() - min(coalesce(first_due_at, due_at))), 0)::float8 as "oldestS"
      from loci.due_services where coalesce(first_due_at, due_at) < now()`,
  })
  return rows[0] as { count: number; oldestS: number }
}

/**
 * Of the organization in use: what stood back because a plan covers fewer may come forward when another goes. The one
 * that goes is among them, so that due rows are locked by id: two of one organization that go at the same moment would
 * deadlock.
 */
export async function putUncoveredDue(sql: Sql, organizationId: string, leavingId: string, at: Date): Promise<void> {
  const { rows } = await sql.query<{ id: string }>({
    name: 'provisioning_put_uncovered_due',
    text: `insert into loci.due_services as d (service_id, organization_id, due_at)
      select id, organization_id, $3 from loci.services where organization_id = $1
          and (id = $2 or status <> 'deleted' and state_reason = 'plan_not_covered') order by id
      on conflict (service_id) do update set due_at = least(d.due_at, excluded.due_at) returning service_id as id`,
    values: [organizationId, leavingId, at],
  })
  noteDue(sql, rows)
}

function noteDue(sql: Sql, rows: { id: string }[]): void {
  for (const id of rows.map((row) => row.id).sort()) LOCKS.note(sql, 'due row', id)
}
