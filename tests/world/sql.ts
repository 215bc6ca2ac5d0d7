// SQL of a test's own, on a connection of its own.

import { openPool } from '@loci/postgres/pool.ts'
import { PATIENT } from '@loci/postgres/testing/database.ts'

export async function runSql<Row extends object = Record<string, unknown>>(
  url: string,
  text: string,
  values?: unknown[],
): Promise<Row[]> {
  const pool = openPool({
    url,
    applicationName: 'loci-test',
    connectionsMax: 1,
    ...PATIENT,
    onError: () => {},
  })
  try {
    const { rows } = await pool.query<Row>({ text, ...(values ? { values } : {}) })
    return rows
  } finally {
    await pool.close()
  }
}
