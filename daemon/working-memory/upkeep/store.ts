// All SQL of what is erased of working memory, in the transaction of the erasure, which has entered the database.

import type { Sql } from '@loci/postgres/pool.ts'
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

/** Versions that are looked through at once; without a word all of them are fetched, and each may have 16 KiB. */
const SEEN_MAX = 5_000
const FETCHED_MAX = 200

/**
 * Of the next versions behind `after`, by key and version, those with a word of lower-case letters and digits in them,
 * whatever their case and width.
 */
export async function listTextsWith(
  sql: Sql,
  { instanceId, database }: Due,
  word: string,
  after: Pick<SlotText, 'key' | 'version'>,
): Promise<{ texts: SlotText[]; next: Pick<SlotText, 'key' | 'version'> | null }> {
  const limit = word === '' ? FETCHED_MAX : SEEN_MAX
  const { rows } = await sql.query<SlotText & { seen: number; isWith: boolean }>({
    name: 'slot_versions_with',
    text: `with page as (select v.key, v.version, v.text, row_number() over (order by v.key, v.version) as n, count(*) over () as seen
        from (select * from loci.slot_versions v where v.instance_id = $1 and v.database = $2 and (v.key, v.version) > ($3, $4)
          order by v.key, v.version limit $5) v)
      select key, version, seen, is_with as "isWith", case when is_with then text else '' end as text
      from page, lateral (select lower(normalize(text, nfkc)) like '%' || $6 || '%' as is_with) w
      where is_with or n = seen order by n`,
    values: [instanceId, database, after.key, after.version, limit, word],
  })
  const last = rows.at(-1)
  return { texts: rows.filter(({ isWith }) => isWith), next: last && last.seen >= limit ? last : null }
}

/** The caller appends the events, last. */
export async function eraseSlots(
  sql: Sql,
  { instanceId, database }: Due,
  { keys, versions }: { keys: string[]; versions: { key: string; version: number }[] },
): Promise<{ erased: number; events: object[] }> {
  const { rows } = await sql.query<{ erased: number; events: object[] }>({
    name: 'wm_erase',
    text: 'select erased, events from loci.wm_erase($1, $2, $3, $4, $5)',
    values: [...[instanceId, database, keys], versions.map(({ key }) => key), versions.map(({ version }) => version)],
  })
  return rows[0] as { erased: number; events: object[] }
}
