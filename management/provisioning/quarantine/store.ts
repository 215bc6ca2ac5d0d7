// Instances that a cell has and that are not known here, or not there; adoption.ts says when one is taken back.

import type { Sql } from '@loci/postgres/pool.ts'
import type { ObservedRow } from '../store.ts'

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
    text: `delete from loci.quarantine q using loci.feed_items f, unnest($2::text[], $3::bigint[]) as reported (id, generation)
      where q.cell_id = $1 and q.service_id = reported.id and f.cell_id = $1 and f.kind = 'instance' and f.key = reported.id
        and reported.generation <= (f.body->>'generation')::bigint`,
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

/** How many a cell has there: a thief of its key must not fill the disk with invented ones. */
export async function countQuarantined(sql: Sql, cellId: string): Promise<number> {
  const { rows } = await sql.query<{ count: number }>({
    name: 'provisioning_count_quarantined',
    text: 'select count(*)::int as count from loci.quarantine where cell_id = $1',
    values: [cellId],
  })
  return rows[0]?.count ?? 0
}

/**
 * An instance that lives in a cell where it is not: kept aside when the feed cannot take it away, because what it says
 * there is older than what the cell has.
 */
export async function quarantineStray(sql: Sql, cellId: string, observed: ObservedRow): Promise<void> {
  await sql.query({
    name: 'provisioning_quarantine_stray',
    text: `insert into loci.quarantine (cell_id, service_id, organization_id, tenant_id, service_type, plan, state, generation)
      select cell_id, key, body->>'org', body->>'ten', body->>'service_type', body->>'plan', $3, $4 from loci.feed_items
        where cell_id = $1 and kind = 'instance' and key = $2 and (body->>'generation')::bigint < $4
      on conflict (cell_id, service_id) do update set state = excluded.state, generation = excluded.generation, last_seen_at = now()`,
    values: [cellId, observed.svc, observed.state, observed.generation],
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
