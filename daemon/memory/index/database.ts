// A database as the search sees it: its segments joined once per list of segments. Everything here is derived and is a
// function of the rows alone: contexts and cells, novelty, the actors' names.

import { type ActorNames, FLAG, isNamed, type Language } from '../analysis/item.ts'
import { actorNames } from '../analysis/names.ts'
import { termBytes } from './dictionary.ts'
import type { Segment } from './format.ts'
import { type FirstItems, findFirstItems } from './novelty.ts'
import { CELL, numberCells, type PlacedRun, type Places, placeRun, runLength, segmentOf } from './places.ts'

export interface Database extends Places {
  language: Language
  segments: readonly Segment[]
  /** Number of each segment's first item; items are numbered over all segments. */
  itemAt: Int32Array
  /** Items that count: those masked out do not. */
  items: number
  /** The items masked out, as a segment of their own: what df must be lowered by. */
  mask: Segment | null
  /** Per segment and run. */
  runContext: Int32Array[]
  runDayMin: Int32Array[]
  runDayMax: Int32Array[]
  /** Per context: its id, its items, the sum of their lengths. */
  contextId: Uint32Array
  contextItems: Int32Array
  contextLength: Float64Array
  /** 1 where the senders named the context; 0 where records merely were stored soon after each other. */
  contextNamed: Uint8Array
  contextOf: (id: number) => number | undefined
  /** Contexts with at least one item, and the lengths of their items; the same of the named ones. */
  contexts: number
  lengthTotal: number
  namedContexts: number
  namedLengthTotal: number
  dayMin: number
  dayMax: number
  /** Per segment and item: terms that it says first. */
  novel: Uint16Array[]
  actors: number
  names: ActorNames
  /** Per context: items of the actor that a cue names. */
  itemsOfActor: (who: string) => Int32Array
  /** Bytes of the derived arrays, beside the segments' own. */
  derivedBytes: number
}

export interface Base extends Database {
  /** Segment and number of each run, by context and position, and where each context's begin. */
  runs: Int32Array
  runFrom: Int32Array
  firsts: FirstItems
  actorItems: Map<string, number>
}

/** The cost of remembering an actor's contexts is one number per context; cues name few actors. */
const REMEMBERED_ACTORS_MAX = 8

export function openDatabase(segments: readonly Segment[], language: Language): Base {
  const itemAt = new Int32Array(segments.length)
  let items = 0
  for (const [k, segment] of segments.entries()) {
    itemAt[k] = items
    items += segment.items
  }
  const contexts = readContexts(segments)
  const places = numberPlaces(segments, itemAt, contexts)
  const lastSegment = { k: 0 }
  const seqOf = (item: number) => {
    lastSegment.k = segmentOf(itemAt, item, lastSegment.k)
    return segments[lastSegment.k]!.seq[item - itemAt[lastSegment.k]!]!
  }
  const { firsts, novel } = findFirstItems(segments, itemAt, seqOf)
  const actorItems = countActors(segments)
  const names = actorNames(actorItems.keys(), language)
  for (const term of names.terms) {
    const key = termBytes(term)
    const item = firsts.find(key, key.length)
    if (item < 0) continue
    const k = segmentOf(itemAt, item, 0)
    novel[k]![item - itemAt[k]!]!--
  }
  const database = {
    ...{ language, segments, itemAt, items, mask: null, firsts, novel, actorItems, names, actors: actorItems.size },
    ...contexts,
    ...places,
    itemsOfActor: () => new Int32Array(0),
    derivedBytes: 0,
  }
  return { ...database, itemsOfActor: actorCounter(database), derivedBytes: derivedBytesOf(database) }
}

interface Contexts extends ContextCounts {
  contextId: Uint32Array
  contextItems: Int32Array
  contextLength: Float64Array
  contextNamed: Uint8Array
  contextOf: (id: number) => number | undefined
  runContext: Int32Array[]
  runDayMin: Int32Array[]
  runDayMax: Int32Array[]
  dayMin: number
  dayMax: number
  runs: Int32Array
  runFrom: Int32Array
}

/** The runs of one context, in the order of their positions. */
export function* runsOf({ runs, runFrom }: Pick<Base, 'runs' | 'runFrom'>, context: number): Generator<PlacedRun> {
  for (let j = runFrom[context]!; j < runFrom[context + 1]!; j++) yield { segment: runs[2 * j]!, run: runs[2 * j + 1]! }
}

function readContexts(segments: readonly Segment[]): Contexts {
  const index = new Map<number, number>()
  const runContext: Int32Array[] = []
  for (const segment of segments) {
    runContext.push(
      Int32Array.from(segment.runContext, (id) => {
        const context = index.get(id) ?? index.size
        index.set(id, context)
        return context
      }),
    )
  }
  const contexts = index.size
  const contextItems = new Int32Array(contexts)
  const contextLength = new Float64Array(contexts)
  const days = segments.map((segment, k) => readRuns(segment, runContext[k]!, contextItems, contextLength))
  const { runs, runFrom } = sortRuns(segments, runContext, contexts)
  const contextNamed = new Uint8Array(contexts)
  for (const [k, segment] of segments.entries()) markNamed(contextNamed, segment, runContext[k]!)
  return {
    ...{ contextId: Uint32Array.from(index.keys()), contextOf: (id) => index.get(id) },
    ...{ contextItems, contextLength, contextNamed, ...countContexts({ contextItems, contextLength, contextNamed }) },
    ...{ runContext, runDayMin: days.map(({ min }) => min), runDayMax: days.map(({ max }) => max), runs, runFrom },
    dayMin: days.reduce((least, { min }) => min.reduce((a, b) => Math.min(a, b), least), Number.POSITIVE_INFINITY),
    dayMax: days.reduce((most, { max }) => max.reduce((a, b) => Math.max(a, b), most), Number.NEGATIVE_INFINITY),
  }
}

/** Every record of a context has a contextId, or none has. */
export function markNamed(contextNamed: Uint8Array, segment: Segment, contexts: Int32Array): void {
  for (const [run, start] of segment.runStart.entries()) {
    if (segment.flags[start]! & FLAG.named) contextNamed[contexts[run]!] = 1
  }
}

export interface ContextCounts {
  contexts: number
  lengthTotal: number
  namedContexts: number
  namedLengthTotal: number
}

export function countContexts({
  contextItems,
  contextLength,
  contextNamed,
}: Pick<Database, 'contextItems' | 'contextLength' | 'contextNamed'>): ContextCounts {
  const counts = { contexts: 0, lengthTotal: 0, namedContexts: 0, namedLengthTotal: 0 }
  for (let c = 0; c < contextItems.length; c++) {
    const length = contextLength[c]!
    counts.lengthTotal += length
    if (contextNamed[c] === 1) counts.namedLengthTotal += length
    if (contextItems[c] === 0) continue
    counts.contexts++
    if (contextNamed[c] === 1) counts.namedContexts++
  }
  return counts
}

/** Adds a segment's items to their contexts; answers the first and last day of each run. */
export function readRuns(
  segment: Segment,
  contexts: Int32Array,
  contextItems: Int32Array,
  contextLength: Float64Array,
): { min: Int32Array; max: Int32Array } {
  const runs = segment.runStart.length
  const min = new Int32Array(runs)
  const max = new Int32Array(runs)
  for (let r = 0; r < runs; r++) {
    const context = contexts[r]!
    const start = segment.runStart[r]!
    const end = start + runLength(segment, r)
    let low = segment.day[start]!
    let high = low
    let length = 0
    for (let i = start; i < end; i++) {
      length += segment.length[i]!
      const day = segment.day[i]!
      if (day < low) low = day
      if (day > high) high = day
    }
    min[r] = low
    max[r] = high
    contextItems[context]! += end - start
    contextLength[context]! += length
  }
  return { min, max }
}

function sortRuns(segments: readonly Segment[], runContext: readonly Int32Array[], contexts: number) {
  const runs: (PlacedRun & { context: number; position: number })[] = []
  const runFrom = new Int32Array(contexts + 1)
  for (const [k, segment] of segments.entries()) {
    for (const [run, position] of segment.runPosition.entries()) {
      const context = runContext[k]![run]!
      runs.push({ segment: k, run, context, position })
      runFrom[context + 1]!++
    }
  }
  for (let c = 0; c < contexts; c++) runFrom[c + 1]! += runFrom[c]!
  runs.sort((a, b) => a.context - b.context || a.position - b.position)
  return { runs: Int32Array.from(runs.flatMap(({ segment, run }) => [segment, run])), runFrom }
}

function numberPlaces(segments: readonly Segment[], itemAt: Int32Array, contexts: Contexts): Places {
  const shift = segments.map((segment) => new Int32Array(segment.runStart.length))
  const cellFrom = new Int32Array(contexts.contexts)
  const cellTo = new Int32Array(contexts.contexts)
  let cells = 0
  for (let c = 0; c < contexts.contexts; c++) {
    cellFrom[c] = cells
    cells = numberCells(segments, shift, runsOf(contexts, c), cells)
    cellTo[c] = cells
  }
  const cellContext = new Int32Array(cells)
  for (let c = 0; c < contexts.contexts; c++) cellContext.fill(c, cellFrom[c], cellTo[c])
  const placeItem = new Int32Array(cells * CELL).fill(-1)
  const places = { shift, placeItem, cellContext, cellItems: new Uint8Array(cells), cellFrom, cellTo }
  for (let c = 0; c < contexts.contexts; c++) {
    for (const run of runsOf(contexts, c)) placeRun(places, segments[run.segment]!, itemAt[run.segment]!, run, null)
  }
  return places
}

export function countActors(segments: readonly Segment[]): Map<string, number> {
  const items = new Map<string, number>()
  for (const segment of segments) {
    const counts = new Uint32Array(segment.actors.length)
    for (const actor of segment.actor) counts[actor]!++
    for (const [actor, name] of segment.actors.entries()) {
      if (name !== '') items.set(name, (items.get(name) ?? 0) + counts[actor]!)
    }
  }
  return items
}

function actorCounter(database: Pick<Database, 'segments' | 'runContext' | 'contextId'>): Database['itemsOfActor'] {
  const remembered = new Map<string, Int32Array>()
  return (who) => {
    let counts = remembered.get(who)
    if (counts !== undefined) return counts
    if (remembered.size === REMEMBERED_ACTORS_MAX) remembered.delete(remembered.keys().next().value as string)
    counts = new Int32Array(database.contextId.length)
    for (const [k, segment] of database.segments.entries()) addActor(counts, segment, database.runContext[k]!, who, 1)
    remembered.set(who, counts)
    return counts
  }
}

/** Adds (or, by -1, takes away) a segment's items of one actor to the counts of their contexts. */
export function addActor(counts: Int32Array, segment: Segment, contexts: Int32Array, who: string, by: 1 | -1): void {
  const named = namedActors(segment, who)
  if (named === null) return
  for (let i = 0; i < segment.items; i++) if (named[segment.actor[i]!] === 1) counts[contexts[segment.run[i]!]!]! += by
}

/** Which of a segment's actors are the one that a cue names; null for none. */
export function namedActors(segment: Segment, who: string): Uint8Array | null {
  let named: Uint8Array | null = null
  for (const [index, name] of segment.actors.entries()) {
    if (!isNamed(name, who)) continue
    named ??= new Uint8Array(segment.actors.length)
    named[index] = 1
  }
  return named
}

function derivedBytesOf(base: Omit<Base, 'derivedBytes' | 'itemsOfActor'>): number {
  const perRun = [...base.shift, ...base.runContext, ...base.runDayMin, ...base.runDayMax]
  const others = [
    ...[base.itemAt, base.contextId, base.contextItems, base.contextLength, base.contextNamed],
    ...[base.runs, base.runFrom],
    ...[base.placeItem, base.cellContext, base.cellItems, base.cellFrom, base.cellTo, ...base.novel],
  ]
  let bytes = base.firsts.byteLength
  for (const { byteLength } of [...perRun, ...others]) bytes += byteLength
  // The contexts of the actors that are remembered.
  return bytes + base.contextId.byteLength * REMEMBERED_ACTORS_MAX
}
