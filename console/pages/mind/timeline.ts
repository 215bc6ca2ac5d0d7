// What a timeline says, put together from the answers that tell it: each stay once, with when it came and left, and
// how strongly it was held after each cycle.

import { idsFrom } from '@loci/contract/ids.ts'
import type { Timeline, TimelineItem } from '@loci/sdk/daemon.ts'

type TimelineCycle = Timeline['cycles'][number]

export interface CycleAt extends Omit<TimelineCycle, 'at'> {
  at: number
  /** As it was written. */
  time: string
}

export interface Stay {
  /** The same however often it is read. */
  id: string
  key: string
  recordId: string | null
  pinned: boolean
  from: number
  /** Null: it goes on. */
  to: number | null
  /** Null: when it came is not known; `from` is when it is first seen. */
  came: TimelineItem['from']
  /** Null: it goes on, or when it left is not known. */
  left: TimelineItem['to']
  /** Its light: since each moment so strong, until the next. */
  light: { at: number; score: number; seq: number | null }[]
  /** Undefined: nobody may read it here, it was erased, or it is damaged. */
  text: string | undefined
  isCut: boolean
  isRedacted: boolean
}

export interface Mind {
  capacity: number
  /** Oldest first. */
  cycles: CycleAt[]
  /** By when they began. */
  stays: Stay[]
  /** How many each cycle heard, by its number. */
  heard: ReadonlyMap<number, number>
  damaged: Timeline['damaged']
  /** What was before it is not kept whole. */
  prunedBefore: number | null
  isComplete: boolean
}

/** A page of the timeline; `until`: where it ends, null where that is now. */
export interface Answer {
  timeline: Timeline
  until: number | null
}

interface Told {
  item: TimelineItem
  scores: Map<number, number>
  until: number | null
}

/** `answers`: newest first. What is in two of them is told once. */
export function mindOf(answers: readonly Answer[], { hasWords = true } = {}): Mind {
  const bySeq = new Map<number, CycleAt>()
  const damaged = new Map<string, Timeline['damaged'][number]>()
  for (const { timeline } of answers) {
    for (const { at, ...cycle } of timeline.cycles) bySeq.set(cycle.seq, { ...cycle, at: Date.parse(at), time: at })
    for (const one of timeline.damaged) damaged.set(`${one.kind} ${one.ref}`, one)
  }
  const cycles = [...bySeq.values()].sort((one, other) => one.at - other.at || one.seq - other.seq)
  const stays = toldOnce(answers).map((told) => stayOf(told, bySeq, hasWords))
  const pruned = answers.flatMap(({ timeline: { prunedBefore } }) => (prunedBefore ? [Date.parse(prunedBefore)] : []))
  return {
    capacity: answers[0]?.timeline.capacity ?? 0,
    cycles,
    stays: stays.sort((one, other) => one.from - other.from || (one.id < other.id ? -1 : 1)),
    heard: heardBy(cycles, stays),
    damaged: [...damaged.values()],
    prunedBefore: pruned.length > 0 ? Math.max(...pruned) : null,
    isComplete: answers.every(({ timeline }) => timeline.complete),
  }
}

/** A stay that lasts over several pages is on each of them. Of a key one slot is held at a time. */
function toldOnce(answers: readonly Answer[]): Told[] {
  const byKey = new Map<string, Told[]>()
  for (const { timeline, until } of answers)
    for (const item of timeline.items) {
      const known = byKey.get(item.key) ?? []
      const same = known.find((one) => isSame(one.item, item)) ?? goesOn(known, item)
      if (same) {
        for (const [seq, score] of item.scores) same.scores.set(seq, score)
        same.item = both(same.item, item)
      } else known.push({ item, scores: new Map(item.scores), until })
      byKey.set(item.key, known)
    }
  return [...byKey.values()].flat()
}

function isSame(one: TimelineItem, other: TimelineItem): boolean {
  if (one.from && other.from) return one.from.at === other.from.at
  return one.to !== null && other.to !== null && one.to.at === other.to.at
}

/** What lasts beyond an older page is the first of its key on the newer ones, if that does not say when it came. */
function goesOn(known: readonly Told[], item: TimelineItem): Told | undefined {
  const next = item.to === null ? known.at(-1) : undefined
  return next && (!next.item.from || !item.from) ? next : undefined
}

function both(newer: TimelineItem, older: TimelineItem): TimelineItem {
  const isTold = newer.text !== undefined
  return {
    ...newer,
    ...(isTold ? {} : older.text === undefined ? {} : { text: older.text }),
    ...(isTold || !older.cut ? {} : { cut: true }),
    recordId: newer.recordId ?? older.recordId,
    pinned: newer.pinned || older.pinned,
    from: newer.from ?? older.from,
    to: newer.to ?? older.to,
    activation: newer.activation ?? older.activation,
  }
}

function stayOf({ item, scores, until }: Told, cycles: ReadonlyMap<number, CycleAt>, hasWords: boolean): Stay {
  const { key, recordId, pinned, from: came, to: left, activation, text } = item
  const light: Stay['light'] = [...scores]
    .flatMap(([seq, score]) => {
      const cycle = cycles.get(seq)
      return cycle ? [{ at: cycle.at, score, seq }] : []
    })
    .sort((one, other) => one.at - other.at)
  const to = left ? Date.parse(left.at) : until
  const from = came ? Date.parse(came.at) : (light[0]?.at ?? to ?? 0)
  const first = light[0]
  if (activation !== null && (!first || first.at > from)) {
    // Written by somebody before a cycle judged it; an end without any cycle is as it was when it left.
    light.unshift({ at: from, score: activation, seq: null })
  }
  return {
    ...{ id: `${key} ${came?.at ?? `until ${left?.at ?? until}`}`, key, recordId, pinned, from, to, came, left, light },
    ...{ text, isCut: item.cut === true, isRedacted: hasWords && item.redacted === true },
  }
}

/**
 * What came in new has a place or was only stored; what was said again, or has the key of a slot, is counted as such,
 * whether it has a place or not.
 */
function heardBy(cycles: readonly CycleAt[], stays: readonly Stay[]): Map<number, number> {
  const heard = new Map(cycles.map(({ seq, counts }) => [seq, counts.stored + counts.reinforced + counts.merged]))
  for (const { came, recordId, from } of stays) {
    if (came?.by !== 'observed' || came.cycle === null || recordId === null) continue
    const isNew = recordId >= idsFrom('mem', from)
    if (isNew && heard.has(came.cycle)) heard.set(came.cycle, (heard.get(came.cycle) ?? 0) + 1)
  }
  return heard
}
