// What the control database and the cells hold, read as an administrator, past all policies.

import type { Throwaway } from '@loci/postgres/testing/throwaway.ts'
import { runSql } from '../../world/sql.ts'
import type { Random } from '../seeded.ts'
import type { Cell } from './cell.ts'
import type { Tables } from './control.ts'
import { FIRST_EPOCH } from './model.ts'

export interface ServiceState {
  id: string
  status: string
  statusReason: string | null
  cellId: string | null
  generation: number
}

const CONTROL = 'loci_control'
const CELL = 'loci_cell'

export function listServiceStates(control: Throwaway): Promise<ServiceState[]> {
  return runSql<ServiceState>(
    control.adminUrl(CONTROL),
    `select id, status, status_reason as "statusReason", cell_id as "cellId", generation from loci.services order by id`,
  )
}

export interface Books {
  /** Statuses whose counter is not the number of its rows. */
  miscounted: string[]
  openOperations: number
  due: number
  /** Told to two cells at once. */
  doubled: number
  /** Cells whose number of taken places is not the number of instances they were told. */
  misplaced: number
  withoutDeadline: number
}

export async function readBooks(control: Throwaway): Promise<Books> {
  const [row] = await runSql<Books>(
    control.adminUrl(CONTROL),
    `with counted as (
        select organization_id, tenant_id, service_type, status, count(*) from loci.services group by 1, 2, 3, 4
        union all select organization_id, '', service_type, status, count(*) from loci.services group by 1, 2, 3, 4
      ), told as (
        select cell_id, key from loci.feed_items where kind = 'instance' and body->>'state' <> 'deleted'
      )
      select (
        select coalesce(array_agg(status), '{}') from (select * from loci.service_counts where count <> 0) as kept
          full join counted using (organization_id, tenant_id, service_type, status)
          where kept.count is distinct from counted.count
      ) as miscounted,
      (select count(*)::int from loci.operations where finished_at is null) as "openOperations",
      (select count(*)::int from loci.due_services) as due,
      (select count(*)::int from (select from told group by key having count(*) > 1) as d) as doubled,
      (select count(*)::int from loci.cells c where placed <> (select count(*) from told where cell_id = c.id)) as misplaced,
      (select count(*)::int from loci.services
        where status in ('provisioning', 'updating', 'deleting') and deadline_at is null) as "withoutDeadline"`,
  )
  return row as Books
}

export interface InstanceState {
  id: string
  state: string
  generation: number
  isPurged: boolean
}

export function listInstanceStates(cell: Throwaway): Promise<InstanceState[]> {
  return runSql<InstanceState>(
    cell.adminUrl(CELL),
    `select id, state, generation, purged_at is not null as "isPurged" from loci.instances order by id`,
  )
}

/** Ids, times and sums of these stay when an instance is gone, and nothing that it held. */
const KEPT = ['deletions', 'usage_minutes', 'usage_flushes']

/** Tables with rows of these instances: none, when they are erased. */
export async function listRemains(cell: Throwaway, ids: string[]): Promise<string[]> {
  const url = cell.adminUrl(CELL)
  const tables = await runSql<{ name: string }>(
    url,
    `select table_name as name from information_schema.columns
      where table_schema = 'loci' and column_name = 'instance_id' and table_name <> all($1) order by 1`,
    [KEPT],
  )
  const remains: string[] = []
  for (const { name } of tables) {
    const [row] = await runSql<{ count: number }>(
      url,
      `select count(*)::int as count from loci.${name} where instance_id = any($1)`,
      [ids],
    )
    if (row && row.count > 0) remains.push(`${name} ${row.count}`)
  }
  return remains
}

export function firstTables(cells: Cell[], random: Random): Tables {
  return {
    epoch: FIRST_EPOCH,
    tenants: new Set(['t1', 't2']),
    services: new Map(),
    operations: new Map(),
    due: new Map(),
    cells: new Map(
      cells.map(({ id }) => [id, { capacity: 1 + random.below(5), placed: 0, feedSeq: 0, items: new Map() }]),
    ),
    quarantine: new Set(),
    used: new Map(),
  }
}
