// All SQL of the parts of an index that no stored segment covers.

import type { Sql } from '@loci/postgres/pool.ts'
import { enteringLocks } from '../../databases/locks.ts'
import type { Due } from '../../databases/store.ts'
import { readAround } from '../store.ts'

/** For each of the ranges what tells its records from others; nothing where one of them cannot be read. */
export async function readMarks(
  sql: Sql,
  { instanceId, database }: Due,
  ranges: { from: number; through: number }[],
): Promise<string[]> {
  return readAround(
    async () => {
      const { rows } = await sql.query<{ marks: string[] }>({
        name: 'mem_range_marks',
        text: 'select loci.mem_range_marks($1, $2, $3, $4) as marks',
        values: [instanceId, database, ranges.map(({ from }) => from), ranges.map(({ through }) => through)],
      })
      return rows[0]?.marks ?? []
    },
    async () => [],
  )
}

/** Segments of another language or release are built again from the records, soon; of a database that is there. */
export async function putIndexDue(sql: Sql, { instanceId, database }: Due): Promise<void> {
  await sql.query({
    name: 'index_due',
    text: `select loci.put_due($1, $2, 'index', now()) from loci.enter_database($1, array[$2], '{}', 0) e where e.outcome = 'open'`,
    values: [instanceId, database],
    locks: () => enteringLocks(instanceId, [{ database }], 'due row'),
  })
}
