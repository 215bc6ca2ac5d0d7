// Entering an instance: what every transaction on tenant rows begins with.

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
