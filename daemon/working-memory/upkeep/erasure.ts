// When a memory is erased it leaves working memory too: the slots that stand for its record or say the same, and every
// version of a slot that does. The history has no index by value: an erasure reads all that a database has of it, and
// pays for it, instead of every write.

import type { Forget, Forgotten } from '../../databases/erasure.ts'
import { eraseSlots, listHeldTexts, listTextsWith, type SlotText } from './store.ts'

export const forgetSlots: Forget = async (sql, forgotten) => {
  const place = { instanceId: forgotten.instanceId, database: forgotten.database }
  const held = (await listHeldTexts(sql, place)).filter((slot) => isOf(slot, forgotten)).map(({ key }) => key)
  const word = wordIn(forgotten)
  const versions: Pick<SlotText, 'key' | 'version'>[] = []
  for (let after: Pick<SlotText, 'key' | 'version'> | null = { key: '', version: 0 }; after; ) {
    const page = await listTextsWith(sql, place, word, after)
    versions.push(...page.texts.filter((slot) => isOf(slot, forgotten)).map(({ key, version }) => ({ key, version })))
    after = page.next
  }
  const isNothing = held.length === 0 && versions.length === 0
  const { erased, events } = isNothing
    ? { erased: 0, events: [] }
    : await eraseSlots(sql, place, { keys: held, versions })
  const checked = [
    { place: 'slots', found: held.length, erased: held.length },
    { place: 'slot_versions', found: versions.length, erased },
  ]
  return { checked, events }
}

/** What every text with the value has in it, so that the others are not fetched; empty: nothing is sure to be. */
function wordIn({ content, ids }: Forgotten): string {
  const words =
    content
      ?.normalize('NFKC')
      .toLowerCase()
      .match(/[a-z0-9]+/g) ?? []
  return content === null ? (ids[0] ?? '') : words.reduce((best, word) => (word.length > best.length ? word : best), '')
}

/** Also one that is damaged, as far as it can be read. */
function isOf({ text }: SlotText, { ids, isValue }: Forgotten): boolean {
  try {
    const { recordId, value } = JSON.parse(text) as { recordId: string | null; value: unknown }
    if (recordId !== null && ids.includes(recordId)) return true
    return isValue(typeof value === 'string' ? value : JSON.stringify(value))
  } catch {
    return ids.some((id) => text.includes(id))
  }
}
