// When a memory is erased it leaves working memory too: the slots that stand for its record or say the same, and every
// version of a slot that says the same. Evictions and clears hold names, numbers and reasons, no content. What a cycle
// keeps of a slot that stands for a record says what the record says, so versions are found by their value alone.

import type { Forget, Forgotten, Thin } from '../../databases/erasure.ts'
import { contentOf } from '../slots.ts'
import { eraseSlots, listHeldTexts, type SlotText, thinVersions } from './store.ts'

/** Versions that are erased by one statement. */
const PAGE = 1_000

export const forgetSlots: Forget = async (sql, forgotten) => {
  const { instanceId, database, mac, until } = forgotten
  const through = until?.seq ?? Number.MAX_SAFE_INTEGER
  const place = { instanceId, database }
  const keys = (await listHeldTexts(sql, place)).filter((slot) => isOf(slot, forgotten)).map(({ key }) => key)
  const { erased, events } = await eraseSlots(sql, place, { keys, mac, through, limit: PAGE })
  let versions = erased
  for (let last = erased; last === PAGE; versions += last)
    last = (await eraseSlots(sql, place, { keys: [], mac, through, limit: PAGE })).erased
  const checked = [
    { place: 'slots', found: keys.length, erased: keys.length },
    { place: 'slot_versions', found: versions, erased: versions },
  ]
  return { checked, events }
}

/** A value that a slot was given a million times is erased a page at a time; others write in between. */
export const thinSlots: Thin = async (pool, place, mac, count) => {
  for (let last = PAGE; last === PAGE; ) {
    last = await thinVersions(pool, place, { mac, limit: PAGE })
    if (last > 0) count({ place: 'slot_versions', found: last, erased: last })
  }
}

/** Also one that is damaged, as far as it can be read. */
function isOf({ text, version }: SlotText, { ids, isValue, until }: Forgotten): boolean {
  if (until && version > until.seq) return false
  try {
    const { recordId, value } = JSON.parse(text) as { recordId: string | null; value: unknown }
    if (recordId !== null && ids.includes(recordId)) return true
    return isValue(contentOf(value))
  } catch {
    return ids.some((id) => text.includes(id))
  }
}
