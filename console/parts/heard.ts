// What a cycle heard: of its decisions those about memories that it made itself, and those about something that was
// said again. What only became a memory in it, after it was held as a slot, was not heard.

import { type Decision, recordIdOf } from './ledger.ts'

interface Ran {
  startedAt: string
  completedAt: string
}

interface Dated {
  id: string
  version: number
  createdAt: string
}

const AGAIN = new Set(['reinforced', 'merged'])

/** In the order in which they were stored. `byId`: the memories that the decisions name, as far as they are there. */
export function heardIn<One extends Dated>(
  { startedAt, completedAt }: Ran,
  decisions: readonly Decision[],
  byId: ReadonlyMap<string, One>,
): One[] {
  const found = new Map<string, One>()
  const consolidated = new Set<string | undefined>()
  for (const decision of decisions) if (decision.action === 'consolidated') consolidated.add(recordIdOf(decision))
  for (const decision of decisions) {
    const record = byId.get(recordIdOf(decision) ?? '')
    if (!record || consolidated.has(record.id)) continue
    const isOfIt = startedAt <= record.createdAt && record.createdAt <= completedAt
    if (isOfIt || AGAIN.has(decision.action)) found.set(record.id, record)
  }
  return [...found.values()].sort(
    (one, other) =>
      Number(one.createdAt > other.createdAt) - Number(one.createdAt < other.createdAt) || one.version - other.version,
  )
}
