// All SQL of what is erased of working memory, in the transaction of the erasure, which has entered the database.

import type { Pool, Sql } from '@loci/postgres/pool.ts'
import { execute } from '@loci/postgres/transaction.ts'
import { dueOf, enteringLocks, headOf } from '../../databases/locks.ts'
import type { Due } from '../../databases/store.ts'

export interface SlotText {
  key: string
  version: number
  text: string
}

/** Every slot of the document. */
export async function listHeldTexts(sql: Sql, { instanceId, database }: Due): Promise<SlotText[]> {
  const { rows } = await sql.query<SlotText>({
    name: 'slots_held',
    text: `select s.key, s.version, s.text from loci.working_memory w, lateral loci.wm_slots(w) s
      where w.instance_id = $1 and w.database = $2 and s.key is not null and s.text is not null`,
    values: [instanceId, database],
  })
  return rows
}

/**
 * Slots by their keys, and at most `limit` versions that say the value, up to the number `through`; `erased`: how many
 * of these. The caller appends the events, last.
 */
export async function eraseSlots(
  sql: Sql,
  { instanceId, database }: Due,
  { keys, mac, through, limit }: { keys: string[]; mac: Buffer | null; through: number; limit: number },
): Promise<{ erased: number; events: object[] }> {
  const { rows } = await sql.query<{ erased: number; events: object[] }>({
    name: 'wm_erase',
    text: 'select erased, events from loci.wm_erase($1, $2, $3, $4, $5, $6)',
    values: [instanceId, database, keys, mac, limit, through],
    locks: () => [headOf(instanceId, database), dueOf(instanceId, database)],
  })
  return rows[0] as { erased: number; events: object[] }
}

/** In a transaction of its own, and only where there are more than `limit`: how many it erased. */
export async function thinVersions(
  pool: Pool,
  { instanceId, database }: Due,
  { mac, limit }: { mac: Buffer; limit: number },
): Promise<number> {
  const { rows } = await execute<{ erased: number }>(pool, {
    name: 'wm_thin',
    text: 'select loci.wm_thin($1, $2, $3, $4) as erased',
    values: [instanceId, database, mac, limit],
    locks: () => enteringLocks(instanceId, [{ database }], 'due row'),
  })
  return rows[0]?.erased ?? 0
}
