// All SQL of the work that makes vectors: when it is due.

import type { Sql } from '@loci/postgres/pool.ts'
import { dueOf, enteringLocks } from '../../databases/locks.ts'
import type { Due } from '../../databases/store.ts'

/** Segments have items without a vector; of a database that is there. */
export async function putVectorsDue(sql: Sql, { instanceId, database }: Due): Promise<void> {
  await sql.query({
    name: 'vectors_due',
    text: `select loci.put_due($1, $2, 'vectors', now()) from loci.enter_database($1, array[$2], '{}', 0) e where e.outcome = 'open'`,
    values: [instanceId, database],
    locks: () => enteringLocks(instanceId, [{ database }], 'due row'),
  })
}

/** Every item has its vector, or nobody can make them. */
export async function endVectorsDue(sql: Sql, { instanceId, database }: Due): Promise<void> {
  await sql.query({
    name: 'vectors_done',
    text: `delete from loci.due where instance_id = $1 and database = $2 and kind = 'vectors'`,
    values: [instanceId, database],
    locks: () => [dueOf(instanceId, database)],
  })
}
