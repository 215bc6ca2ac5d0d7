// When a memory is erased its value leaves the records of cycles too: a focus that says the same, and the metadata of
// the cycle that took it in, or had it as its focus, where a text in it does. The hashes stay, and the chain verifies.

import type { Forget } from '../../databases/erasure.ts'
import { eraseContent, listCyclesOf } from './store.ts'

export const forgetInCycles: Forget = async (sql, { instanceId, database, mac, storedAt, isValue, until }) => {
  const place = { instanceId, database }
  const cycles = await listCyclesOf(sql, place, { mac, storedAt, until: until?.at ?? null })
  const focus = cycles.filter(({ isFocus }) => isFocus).map(({ seq }) => seq)
  const metadata = cycles
    .filter((cycle) => cycle.metadata !== null && textsIn(JSON.parse(cycle.metadata)).some(isValue))
    .map(({ seq }) => seq)
  if (focus.length > 0 || metadata.length > 0) await eraseContent(sql, place, { focus, metadata })
  const found = new Set([...focus, ...metadata]).size
  return { checked: [{ place: 'cycles', found, erased: found }], events: [] }
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : []
}
