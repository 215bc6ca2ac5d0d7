// One page of the timeline: its cycles, newest first, and the stays that ended in the time between the oldest of them
// and the page before, that its cycles judged, or (on the first page) that are in mind at the end.
//
// A page ends by its cycles, by what left meanwhile, or by the bytes that were read for it. Whatever ends it, it goes
// on by the numbers of a cycle and of a leaving. Both only grow, and what was once written stays: pages that are read
// while the mind goes on have neither gaps nor repeats.

import { createTurn } from '@loci/chassis/turn.ts'
import type { Timeline } from '@loci/contract/timeline.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import { badCursor, cursorOf, positionOf } from '../../databases/cursors.ts'
import type { Due } from '../../databases/store.ts'
import { configOf } from '../../working-memory/commits.ts'
import { type CycleBody, type Judged, judgePage } from '../records.ts'
import type { CycleRow } from '../rows.ts'
import { listCycles } from '../store.ts'
import { heldAt } from './held.ts'
import { type EndFound, type Reading, readDecisions, readEnds, readVersions } from './reading.ts'
import { inOrder, itemOf, type Stay, staysOf, timeOf } from './stays.ts'
import { listEnds, readMind, type VersionOf } from './store.ts'

/** Slots that left, of one page. */
const ENDS_MAX = 1_000
/** Times of leaving follow their numbers but for what two clocks differ by. */
const CLOCKS_MS = 60_000

export interface TimelineAsk {
  since: number | null
  until: number | null
  cursor: string | undefined
  limit: number
  isContent: boolean
  goOn: () => void
}

type Damaged = Timeline['damaged'][number]

/** Where a page begins: cycles and leavings below these numbers. */
interface Position {
  cycles: number
  ends: number
}

export async function readTimeline(pool: Pool, place: Due, ask: TimelineAsk): Promise<Timeline> {
  const begun = ask.cursor === undefined ? undefined : positionIn(ask.cursor)
  const mind = await readMind(pool, place)
  if (!mind) return EMPTY
  const turn = createTurn()
  const until = Math.min(ask.until ?? Number.POSITIVE_INFINITY, mind.now + 1)
  const rest = async () => {
    await turn()
    ask.goOn()
  }
  const reading: Reading = { pool, place, mind, until, rest }
  const page = await readPage(reading, begun ?? { cycles: mind.cycles + 1, ends: mind.seq + 1 }, ask)
  const held = begun ? { slots: [], isWhole: true, damaged: [] } : await heldAt(reading, page.last)
  const cycles = page.cycles.map(({ row, decisions }) => ({
    ...{ seq: row.seq, startedAt: row.startedAt.getTime(), decisions },
  }))
  const stays = staysOf(cycles.toReversed(), page.ends, held.slots)
  await readWords(reading, stays)
  return {
    capacity: configOf(mind).capacity,
    cycles: page.cycles.map(({ row }) => cycleOf(row)),
    items: inOrder(stays.map((stay) => itemOf(stay, { numbers: page.numbers, isContent: ask.isContent }))),
    complete: held.isWhole,
    damaged: [
      ...page.damaged,
      ...[...held.damaged, ...stays.flatMap(({ key, isDamaged }) => (isDamaged ? [key] : []))].map(slotDamaged),
    ],
    prunedBefore: mind.keptFrom !== null && (ask.since ?? 0) < mind.keptFrom ? timeOf(mind.keptFrom) : null,
    nextCursor: page.next && cursorOf('t', `${page.next.cycles}.${page.next.ends}`),
  }
}

/** Its cycles with their decisions, what left meanwhile with what it said, and where the next one begins. */
async function readPage(reading: Reading, position: Position, { since, limit }: TimelineAsk) {
  const { pool, place, until } = reading
  const range = { since: since === null ? null : new Date(since), until: new Date(until) }
  const listed = await listCycles(pool, place, { below: position.cycles, limit, ...range })
  const judged = judgePage(listed)
  const numbers = new Map(judged.shown.map(({ seq, startedAt }) => [startedAt.getTime(), seq]))
  let lowest = listed.first
  let isLast = listed.first <= listed.lower
  let shown = judged.shown
  const oldest = shown.at(-1)?.startedAt.getTime() ?? until
  const left = await readLeft(reading, position, isLast ? { since } : { since, oldest })
  if (left.isCut) {
    const cut = left.ends.at(-1)?.end.at ?? until
    // A cycle whose slots left on both sides of the cut is on the next page, with the rest of them.
    shown = shown.filter(({ startedAt }) => startedAt.getTime() > cut)
    lowest = shown.at(-1)?.seq ?? position.cycles
    isLast = false
  }
  const cycles = await readDecisions(reading, shown)
  let ends = left.ends
  const last = cycles.at(-1)?.row
  if (last && cycles.length < shown.length) {
    ends = endsFrom(ends, last.startedAt.getTime())
    lowest = last.seq
    isLast = false
  }
  return {
    ...{ cycles, ends, numbers, last: listed.upper },
    next: isLast ? null : { cycles: lowest, ends: ends.at(-1)?.end.seq ?? position.ends },
    damaged: [
      ...damagedCycles(judged, lowest),
      ...cycles.flatMap(({ row, isLost }): Damaged[] =>
        isLost ? [{ kind: 'decisions', ref: row.id, reason: 'missing' }] : [],
      ),
      ...ends.flatMap(({ end }) => (end.why ? [] : [slotDamaged(end.key)])),
    ],
  }
}

/** What left, newest first, with what it said; `oldest`: where the cycles of the page begin. */
async function readLeft(
  reading: Reading,
  { ends: below }: Position,
  { since, oldest }: { since: number | null; oldest?: number },
): Promise<{ ends: EndFound[]; isCut: boolean }> {
  const from = oldest === undefined ? since : Math.max(since ?? 0, oldest - CLOCKS_MS)
  const range = { from, to: reading.until, below, isForward: false, limit: ENDS_MAX + 1 }
  const all = await listEnds(reading.pool, reading.place, range)
  const wanted = oldest === undefined ? all : all.slice(0, all.findLastIndex(({ at }) => at >= oldest) + 1)
  const ends = await readEnds(reading, wanted.slice(0, ENDS_MAX))
  return { ends, isCut: ends.length < wanted.length }
}

/** In the order of their numbers, down to the last that left from then on. */
function endsFrom(ends: EndFound[], oldest: number): EndFound[] {
  return ends.slice(0, ends.findLastIndex(({ end }) => end.at >= oldest) + 1)
}

/** Of those that go on beyond the page, whose words nothing has told yet. */
async function readWords(reading: Reading, stays: readonly Stay[]): Promise<void> {
  const wanted = stays.filter(({ version, said, end }) => version !== undefined && said === undefined && !end)
  const found = await readVersions(
    reading,
    wanted.map(({ version }) => version as VersionOf),
  )
  for (const [at, stay] of wanted.entries()) {
    stay.said = found[at]?.said
    stay.isDamaged = found[at] !== undefined && stay.said === undefined
  }
}

const EMPTY: Timeline = {
  ...{ capacity: configOf({ service: null, sent: null, configIntact: true }).capacity, cycles: [], items: [] },
  ...{ complete: true, damaged: [], prunedBefore: null, nextCursor: null },
}

function cycleOf({ seq, id, startedAt, focus, body }: CycleRow): Timeline['cycles'][number] {
  const { trigger, decisions, threshold } = JSON.parse(body) as Pick<CycleBody, 'trigger' | 'decisions'> &
    Partial<Pick<CycleBody, 'threshold'>>
  return { seq, id, at: startedAt.toISOString(), trigger, focus, counts: decisions, bar: threshold?.bar ?? null }
}

function damagedCycles({ found }: Judged, lowest: number): Damaged[] {
  return found.flatMap(({ seq, ref, reason }) => (seq >= lowest ? [{ kind: 'cycle' as const, ref, reason }] : []))
}

function slotDamaged(ref: string | null): Damaged {
  return { kind: 'slot', ref, reason: 'digest_mismatch' }
}

function positionIn(cursor: string): Position {
  const [, cycles, ends] = /^(\d{1,15})\.(\d{1,15})$/.exec(positionOf('t', cursor)) ?? []
  if (cycles === undefined || ends === undefined) throw badCursor()
  return { cycles: Number(cycles), ends: Number(ends) }
}
