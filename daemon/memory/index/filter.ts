// Which items a search may answer. What stands in a segment as a sorted list or by runs (contexts, keys, metadata) is
// looked up, and only what is left is compared with the other filters: a narrow filter costs less than a search.

import { DAY_MS } from '../analysis/days.ts'
import { MANY_MEMBERS } from '../facets.ts'
import type { Database } from './database.ts'
import { readLabels, type Segment } from './format.ts'
import { CELL_BITS, runLength, segmentOf } from './places.ts'
import type { Scratch } from './scratch.ts'

export interface Filter {
  /** Folded names. */
  actors?: readonly string[]
  /** One of these kinds, and all of these tags. */
  kinds?: readonly string[]
  tags?: readonly string[]
  /** Facets (memory/facets.ts): one of these contexts, one of these keys, and all of these members of metadata. */
  contexts?: readonly number[]
  keys?: readonly number[]
  members?: readonly number[]
  /** Milliseconds since 1970, both included. */
  since?: number
  until?: number
  /** Only these. */
  seqs?: ReadonlySet<number>
  /** All but these. */
  without?: ReadonlySet<number>
}

export type Accept = ((k: number, i: number) => boolean) | null

const REFUSED = 255

/** Of all items, or of those of one segment: those whose entry in `passed` is `stage` pass. */
export interface Accepted {
  passed: Uint8Array
  stage: number
}

/** Of the items as a database numbers them. Null: every item passes. */
export function acceptedOf({ segments, itemAt }: Database, filter: Filter | undefined): Accepted | null {
  if (filter === undefined || Object.values(filter).every((one) => one === undefined)) return null
  const passed = new Uint8Array(segments.reduce((sum, { items }) => sum + items, 0))
  let stage = 0
  for (const [k, segment] of segments.entries()) {
    const own = passed.subarray(itemAt[k]!, itemAt[k]! + segment.items)
    stage = acceptInto(own, segment, filter)
  }
  return { passed, stage }
}

export function acceptedIn(segment: Segment, filter: Filter): Accepted {
  const passed = new Uint8Array(segment.items)
  return { passed, stage: acceptInto(passed, segment, filter) }
}

function acceptInto(passed: Uint8Array, segment: Segment, filter: Filter): number {
  const stage = lookUp(segment, filter, passed)
  if (passed.includes(stage)) refuse(segment, filter, passed)
  return stage
}

/** Raises the items that have what is looked for, once for each filter; answers how many there were. */
function lookUp(segment: Segment, { contexts, keys, members }: Filter, passed: Uint8Array): number {
  let stage = 0
  if (contexts) {
    stage++
    for (const [run, facet] of segment.runFacet.entries()) {
      const start = segment.runStart[run]!
      if (contexts.includes(facet)) passed.fill(stage, start, start + runLength(segment, run))
    }
  }
  if (keys) {
    stage++
    for (const facet of keys) raise(segment, facet, passed, stage)
  }
  for (const facet of members ?? []) {
    stage++
    raise(segment, facet, passed, stage)
    raise(segment, MANY_MEMBERS, passed, stage)
  }
  return stage
}

/** Of the items that passed all before: those that have a facet. */
function raise({ facet, facetItem }: Segment, wanted: number, passed: Uint8Array, stage: number): void {
  let [low, high] = [0, facet.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (facet[middle]! < wanted) low = middle + 1
    else high = middle
  }
  for (let j = low; j < facet.length && facet[j] === wanted; j++) {
    const i = facetItem[j]!
    if (passed[i] === stage - 1) passed[i] = stage
  }
}

/** Loops of their own: a function for each item took as long as a search of 10^5 items. */
function refuse(segment: Segment, filter: Filter, passed: Uint8Array): void {
  const { actors, since = -Infinity, until = Infinity, seqs, without } = filter
  const { items, actor, label, day, time, seq } = segment
  if (actors) {
    const isRefused = Uint8Array.from(segment.actors, (name) => (actors.includes(name) ? 0 : 1))
    for (let i = 0; i < items; i++) if (isRefused[actor[i]!] === 1) passed[i] = REFUSED
  }
  if (filter.kinds || filter.tags) {
    const isRefused = refusedLabels(segment, filter)
    for (let i = 0; i < items; i++) if (isRefused[label[i]!] === 1) passed[i] = REFUSED
  }
  if (since > -Infinity || until < Infinity) {
    const [first, last] = [Math.floor(since / DAY_MS), Math.floor(until / DAY_MS)]
    for (let i = 0; i < items; i++) {
      const own = day[i]!
      // Most are of a day between the two, or of none of them.
      if (own > first && own < last) continue
      const at = own * DAY_MS + time[i]!
      if (at < since || at > until) passed[i] = REFUSED
    }
  }
  if (seqs) for (let i = 0; i < items; i++) if (!seqs.has(seq[i]!)) passed[i] = REFUSED
  if (without) for (let i = 0; i < items; i++) if (without.has(seq[i]!)) passed[i] = REFUSED
}

function refusedLabels(segment: Segment, { kinds, tags }: Filter): Uint8Array {
  return Uint8Array.from(readLabels(segment), ([kind = '', ...own]) =>
    (!kinds || kinds.includes(kind)) && (!tags || tags.every((tag) => own.includes(tag))) ? 0 : 1,
  )
}

/** A place of each cell that has an item which passes; null where there are more such cells than `cellsMax`. */
export function fewPlaces(
  { segments, itemAt, shift, placeItem }: Database,
  scratch: Scratch,
  { passed, stage }: Accepted,
  cellsMax: number,
): number[] | null {
  const places: number[] = []
  const tick = scratch.nextTick()
  let k = 0
  for (let item = passed.indexOf(stage); item >= 0; item = nextOf(passed, stage, item + 1)) {
    k = segmentOf(itemAt, item, k)
    const i = item - itemAt[k]!
    const place = i + shift[k]![segments[k]!.run[i]!]!
    // Masked: another one stands there, or none.
    if (placeItem[place] !== item || scratch.cellStamp[place >> CELL_BITS] === tick) continue
    scratch.cellStamp[place >> CELL_BITS] = tick
    if (places.push(place) > cellsMax) return null
  }
  return places
}

/** Near ones are found by looking, far ones by a search of the platform. */
function nextOf(passed: Uint8Array, stage: number, from: number): number {
  for (let item = from; item < from + NEAR; item++) if (passed[item] === stage) return item
  return passed.indexOf(stage, from + NEAR)
}

const NEAR = 16
