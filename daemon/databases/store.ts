// All SQL of what every domain stands on: entering an instance, its totals, its boundary, and due work.

import type { Pool, Sql } from '@loci/postgres/pool.ts'
import { transaction } from '@loci/postgres/transaction.ts'

/** The rest of the transaction sees the rows of the instance, and its erasure waits for the end. False: the instance is gone. */
export async function enterInstance(sql: Sql, instanceId: string): Promise<boolean> {
  const { rows } = await sql.query<{ isThere: boolean }>({
    name: 'instance_enter',
    text: 'select loci.enter_instance($1) as "isThere"',
    values: [instanceId],
  })
  return rows[0]?.isThere ?? false
}

/** Runs `work` in a transaction that has entered the instance; undefined when the instance is gone. */
export function withInstance<T>(
  pool: Pool,
  instanceId: string,
  work: (sql: Sql) => Promise<T>,
): Promise<T | undefined> {
  return transaction(pool, async (sql) => ((await enterInstance(sql, instanceId)) ? work(sql) : undefined))
}

export interface Totals {
  records: number
  bytes: number
}

/** What each of the instances holds over all domains, by its id. */
export async function listTotals(sql: Sql, instanceIds: string[]): Promise<Map<string, Totals>> {
  if (instanceIds.length === 0) return new Map()
  const { rows } = await sql.query<Totals & { instanceId: string }>({
    name: 'totals_list',
    text: `select i.id as "instanceId", least(greatest(coalesce(sum(t.records), 0), 0), 9007199254740991)::bigint as records,
        least(greatest(coalesce(sum(t.bytes), 0) + i.keyed_bytes, 0), 9007199254740991)::bigint as bytes
      from loci.instances i left join loci.instance_totals t on t.instance_id = i.id
      where i.id = any($1) group by i.id`,
    values: [instanceIds],
  })
  return new Map(rows.map(({ instanceId, records, bytes }) => [instanceId, { records, bytes }]))
}

/** `failed`: tables in which another instance would see rows of this one. */
export async function checkBoundary(sql: Sql, instanceId: string): Promise<{ checked: number; failed: number }> {
  const { rows } = await sql.query<{ checked: number; failed: number }>({
    name: 'open_tables',
    text: 'select checked, failed from loci.open_tables($1)',
    values: [instanceId],
  })
  return rows[0] as { checked: number; failed: number }
}

export interface Due {
  instanceId: string
  database: string
}

/** Claims what is due, the oldest first; concurrent workers skip each other's rows. */
export async function claimDue(sql: Sql, kind: string, limit: number): Promise<Due[]> {
  const { rows } = await sql.query<Due>({
    name: 'due_claim',
    // now(), not clock_timestamp(), which is never a condition on an index.
    text: `update loci.due d set at = now() + interval '5 seconds'
      from (select instance_id, database from loci.due where kind = $1 and at <= now() order by at limit $2 for update skip locked) c
      where d.instance_id = c.instance_id and d.database = c.database and d.kind = $1
      returning d.instance_id as "instanceId", d.database`,
    values: [kind, limit],
  })
  return rows
}
