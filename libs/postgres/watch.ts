// Asks the database how it is, so that readiness can say what no request has met yet.

import type { Sql } from './pool.ts'

/** What is wrong with a database that answers; undefined when it can be read and written. */
export async function readProblem(sql: Sql): Promise<string | undefined> {
  const { rows } = await sql.query<{ readOnly: boolean }>({
    name: 'watch',
    text: `select current_setting('transaction_read_only') = 'on' as "readOnly"`,
  })
  return rows[0]?.readOnly ? 'read-only: reads go on, writes do not' : undefined
}

/** One round trip, for a health check that must really ask. */
export async function pingDatabase(sql: Sql): Promise<{ latencyMs: number }> {
  const startedAt = performance.now()
  await sql.query({ name: 'ping', text: 'select 1' })
  return { latencyMs: Math.round((performance.now() - startedAt) * 100) / 100 }
}
