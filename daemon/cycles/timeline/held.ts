// What was in mind at the end of what is asked for: what is held now, where no cycle came since; else what the next
// cycle found. And what left between then and there.

import { judgePage } from '../records.ts'
import { listCycles } from '../store.ts'
import { type EndFound, type Reading, readDecisions, readEnds, readVersions } from './reading.ts'
import type { HeldAtEnd } from './stays.ts'
import { listEnds, type Said, type VersionOf } from './store.ts'

/** Slots that left since then, of which it is read whether they were there. */
const SINCE_MAX = 1_000

interface Held {
  slots: HeldAtEnd[]
  /** Whether what became of everything is known. */
  isWhole: boolean
  /** Keys of slots that do not fit their digests. */
  damaged: (string | null)[]
}

/** `last`: the number of the last cycle before that moment. */
export async function heldAt(reading: Reading, last: number): Promise<Held> {
  const { mind, until } = reading
  if (until > mind.now) return heldNow(reading)
  const next = last < mind.cycles ? await cycleAt(reading, last + 1) : undefined
  if (next === 'unknown') return { slots: [], isWhole: false, damaged: [] }
  const then = next ? { slots: await heldBy(reading, next.found), damaged: [] } : heldNow(reading)
  const { left, isWhole } = await leftSince(reading, next?.startedAt ?? null)
  const slots = new Map(then.slots.map((one) => [one.key, one]))
  // Of a key the one that left first was there.
  for (const { end, found } of left.toReversed())
    if (found?.said && found.said.createdAt < until)
      slots.set(end.key, { key: end.key, said: found.said, expiredAt: null })
  return { slots: [...slots.values()], isWhole, damaged: then.damaged }
}

function heldNow({ mind: { slots }, until }: Reading): Held {
  return {
    slots: slots.flatMap(({ key, said, expiresAt }) => {
      if (key === null || !isThen(said, until)) return []
      return [{ key, said, expiredAt: expiresAt !== null && expiresAt < until ? expiresAt : null }]
    }),
    isWhole: true,
    damaged: slots.flatMap(({ key, said }) => (said ? [] : [key])),
  }
}

async function heldBy(reading: Reading, found: VersionOf[]): Promise<HeldAtEnd[]> {
  const versions = await readVersions(reading, found)
  return found.flatMap(({ key }, at) => {
    const said = versions[at]?.said
    return isThen(said, reading.until) ? [{ key, said, expiredAt: null }] : []
  })
}

async function leftSince(reading: Reading, to: number | null): Promise<{ left: EndFound[]; isWhole: boolean }> {
  const { pool, place, mind, until } = reading
  const range = { from: until, to, below: mind.seq + 1, isForward: true, limit: SINCE_MAX + 1 }
  const ends = await listEnds(pool, place, range)
  const left = await readEnds(reading, ends.slice(0, SINCE_MAX))
  return { left, isWhole: left.length === ends.length }
}

/** When a cycle began, and the slots that it found. */
async function cycleAt(reading: Reading, seq: number): Promise<{ startedAt: number; found: VersionOf[] } | 'unknown'> {
  const range = { below: seq + 1, limit: 1, since: null, until: null }
  const { shown } = judgePage(await listCycles(reading.pool, reading.place, range))
  const row = shown.find((one) => one.seq === seq)
  const [read] = row ? await readDecisions(reading, [row]) : []
  if (!row || !read?.decisions) return 'unknown'
  const found = new Map<string, VersionOf>()
  for (const { subject } of read.decisions)
    if (subject.kind === 'slot' && subject.version !== null)
      found.set(subject.key, { key: subject.key, version: subject.version })
  return { startedAt: row.startedAt.getTime(), found: [...found.values()] }
}

function isThen(said: Said | undefined, until: number): said is Said {
  return said !== undefined && said.createdAt < until
}
