// Lays what happened since the segments were built over a joined database, without joining it again: tails of new
// items, and items masked out because their rows were superseded, archived or erased. The answer is that of a
// database built from the remaining rows: masked items count in no df, no context, no neighbourhood and no novelty.
// Arrays that change are copied; the base stays as it is.

import type { ActorNames } from '../analysis/item.ts'
import { actorNames } from '../analysis/names.ts'
import {
  addActor,
  type Base,
  countActors,
  countContexts,
  type Database,
  markNamed,
  readRuns,
  runsOf,
} from './database.ts'
import { eachEntry, eachPosting, entryString, entryText, findTerm, found, termBytes } from './dictionary.ts'
import type { Segment } from './format.ts'
import { CELL, CELL_BITS, numberCells, type PlacedRun, placeRun, segmentOf } from './places.ts'

/** The mask is a segment of the masked items (extractItems); the tails are segments of the new items, some of which
 *  may have the seq of a masked one: the row changed. */
export function withChanges(base: Base, tails: readonly Segment[], mask: Segment | null): Database {
  if (tails.every(({ items }) => items === 0) && (mask === null || mask.items === 0)) return base
  const changed = copyOf(base, tails, mask)
  if (mask !== null) removeItems(changed, base, mask)
  if (tails.length > 0) addTails(changed, base, tails)
  Object.assign(changed, countContexts(changed))
  const actors = changedActors(base, tails, mask)
  changed.names = actors.names
  changed.actors = actors.count
  changeNovelty(changed, base, tails, mask)
  changed.itemsOfActor = changedCounter(changed, base, tails, mask)
  return changed
}

function copyOf(base: Base, tails: readonly Segment[], mask: Segment | null): Database {
  const segments = [...base.segments, ...tails]
  const itemAt = new Int32Array(segments.length)
  for (let k = 1; k < segments.length; k++) itemAt[k] = itemAt[k - 1]! + segments[k - 1]!.items
  const added = tails.reduce((sum, { items }) => sum + items, 0)
  return {
    ...base,
    ...{ segments, itemAt, mask, items: base.items + added - (mask?.items ?? 0) },
    ...{ shift: [...base.shift], runContext: [...base.runContext], novel: [...base.novel] },
    ...{ runDayMin: [...base.runDayMin], runDayMax: [...base.runDayMax] },
    ...{ placeItem: base.placeItem.slice(), cellItems: base.cellItems.slice(), cellContext: base.cellContext.slice() },
    ...{ contextItems: base.contextItems.slice(), contextLength: base.contextLength.slice() },
  }
}

/** Takes the masked items out of their places and contexts. */
function removeItems(changed: Database, base: Base, mask: Segment): void {
  const seqs = new Set(mask.seq)
  let removed = 0
  for (const [k, segment] of base.segments.entries()) {
    if (segment.seqMax < mask.seqMin || segment.seqMin > mask.seqMax) continue
    for (let i = 0; i < segment.items; i++) {
      if (!seqs.has(segment.seq[i]!)) continue
      const run = segment.run[i]!
      const context = base.runContext[k]![run]!
      const place = i + base.shift[k]![run]!
      changed.placeItem[place] = -1
      changed.cellItems[place >> CELL_BITS]!--
      changed.contextItems[context]!--
      changed.contextLength[context]! -= segment.length[i]!
      removed++
    }
  }
  if (removed !== mask.items) throw new Error(`mask has ${mask.items} items, the segments ${removed} of them`)
}

/** Contexts that the tails continue get new cells behind all others; the ones that they had are given up. */
function addTails(changed: Database, base: Base, tails: readonly Segment[]): void {
  const tailFrom = base.segments.length
  const grown = new Map<number, PlacedRun[]>()
  for (const [n, contexts] of tailContexts(changed, base, tails).entries()) {
    for (const [run, context] of contexts.entries()) {
      const runs = grown.get(context)
      if (runs) runs.push({ segment: tailFrom + n, run })
      else grown.set(context, [...knownRuns(base, context), { segment: tailFrom + n, run }])
    }
  }
  changed.shift = changed.shift.map((shift) => shift.slice())
  for (const { runStart } of tails) changed.shift.push(new Int32Array(runStart.length))
  let cells = base.cellContext.length
  for (const [context, runs] of grown) {
    runs.sort((a, b) => positionOf(changed, a) - positionOf(changed, b))
    giveUpCells(changed, context)
    changed.cellFrom[context] = cells
    cells = numberCells(changed.segments, changed.shift, runs, cells)
    changed.cellTo[context] = cells
  }
  growCells(changed, cells)
  const masked = new Set(changed.mask?.seq)
  for (const [context, runs] of grown) {
    changed.cellContext.fill(context, changed.cellFrom[context], changed.cellTo[context])
    for (const run of runs) {
      const { segment } = run
      placeRun(changed, changed.segments[segment]!, changed.itemAt[segment]!, run, segment < tailFrom ? masked : null)
    }
  }
}

/** Index of the context of each run of each tail; contexts that the base does not know are added. */
function tailContexts(changed: Database, base: Base, tails: readonly Segment[]): Int32Array[] {
  const fresh = new Map<number, number>()
  const contexts = tails.map(({ runContext }) =>
    Int32Array.from(runContext, (id) => {
      const known = base.contextOf(id) ?? fresh.get(id)
      if (known !== undefined) return known
      const context = base.contextId.length + fresh.size
      fresh.set(id, context)
      return context
    }),
  )
  const count = base.contextId.length + fresh.size
  changed.contextId = grow(base.contextId, count)
  changed.contextId.set([...fresh.keys()], base.contextId.length)
  changed.contextItems = grow(changed.contextItems, count)
  changed.contextLength = grow(changed.contextLength, count)
  changed.contextNamed = grow(base.contextNamed, count)
  changed.cellFrom = grow(base.cellFrom, count)
  changed.cellTo = grow(base.cellTo, count)
  changed.contextOf = (id) => base.contextOf(id) ?? fresh.get(id)
  for (const [n, tail] of tails.entries()) {
    const days = readRuns(tail, contexts[n]!, changed.contextItems, changed.contextLength)
    markNamed(changed.contextNamed, tail, contexts[n]!)
    changed.runContext.push(contexts[n]!)
    changed.runDayMin.push(days.min)
    changed.runDayMax.push(days.max)
    changed.dayMin = days.min.reduce((a, b) => Math.min(a, b), changed.dayMin)
    changed.dayMax = days.max.reduce((a, b) => Math.max(a, b), changed.dayMax)
  }
  return contexts
}

function knownRuns(base: Base, context: number): Iterable<PlacedRun> {
  return context < base.contextId.length ? runsOf(base, context) : []
}

function positionOf({ segments }: Database, { segment, run }: PlacedRun): number {
  return segments[segment]!.runPosition[run]!
}

function giveUpCells(changed: Database, context: number): void {
  const from = changed.cellFrom[context]!
  const to = changed.cellTo[context]!
  changed.cellContext.fill(-1, from, to)
  changed.cellItems.fill(0, from, to)
  changed.placeItem.fill(-1, from * CELL, to * CELL)
}

function growCells(changed: Database, cells: number): void {
  const places = changed.placeItem.length
  changed.placeItem = grow(changed.placeItem, cells * CELL)
  changed.placeItem.fill(-1, places)
  changed.cellItems = grow(changed.cellItems, cells)
  changed.cellContext = grow(changed.cellContext, cells)
}

function grow<A extends Int32Array | Uint32Array | Float64Array | Uint8Array>(array: A, length: number): A {
  const larger = new (array.constructor as new (length: number) => A)(length)
  larger.set(array)
  return larger
}

function changedActors(base: Base, tails: readonly Segment[], mask: Segment | null) {
  const added = [...countActors(tails).keys()].filter((name) => !base.actorItems.has(name))
  const speaking = new Set(tails.flatMap(({ actors }) => actors))
  const gone = new Set<string>()
  for (const [name, items] of mask === null ? [] : countActors([mask])) {
    if (base.actorItems.get(name) === items && !speaking.has(name)) gone.add(name)
  }
  const count = base.actors + added.length - gone.size
  if (gone.size > 0) {
    const left = base.actorItems.keys().filter((name) => !gone.has(name))
    return { count, names: actorNames([...left, ...added], base.language) }
  }
  return { count, names: added.length > 0 ? union(base.names, actorNames(added, base.language)) : base.names }
}

function union(one: ActorNames, other: ActorNames): ActorNames {
  return {
    names: new Set([...one.names, ...other.names]),
    terms: new Set([...one.terms, ...other.terms]),
    unspacedLengthMax: Math.max(one.unspacedLengthMax, other.unspacedLengthMax),
  }
}

/**
 * Takes each term whose first item may be another one now from the item that had it and gives it to the new one. Most
 * terms of a tail were said long before it: for them nothing changes, and they are passed over by their bytes.
 */
function changeNovelty(changed: Database, base: Base, tails: readonly Segment[], mask: Segment | null): void {
  const owned = new Set<number>()
  for (const { items } of tails) owned.add(changed.novel.push(new Uint16Array(items)) - 1)
  const count = (item: number, by: 1 | -1) => {
    const k = segmentOf(changed.itemAt, item, 0)
    if (!owned.has(k)) {
      owned.add(k)
      changed.novel[k] = changed.novel[k]!.slice()
    }
    changed.novel[k]![item - changed.itemAt[k]!]! += by
  }
  const done = new Set<string>()
  const change = (term: string, key: Uint8Array, length: number, before: number) => {
    if (done.has(term)) return
    done.add(term)
    const after = firstItem(changed, base, before, key.subarray(0, length))
    if (before >= 0 && !base.names.terms.has(term)) count(before, -1)
    if (after >= 0 && !changed.names.terms.has(term)) count(after, 1)
  }
  const tailFrom = tails.reduce((least, { seqMin }) => Math.min(least, seqMin), Number.POSITIVE_INFINITY)
  for (const segment of mask === null ? tails : [...tails, mask]) {
    eachEntry(segment, 0, (length) => {
      const before = base.firsts.find(entryText, length)
      if (before >= 0 && seqOf(changed, before) < tailFrom && !isMasked(changed, before)) return true
      change(entryString(length), entryText, length, before)
      return true
    })
  }
  if (changed.names === base.names) return
  for (const term of [...base.names.terms, ...changed.names.terms]) {
    if (base.names.terms.has(term) && changed.names.terms.has(term)) continue
    const key = termBytes(term)
    change(term, key, key.length, base.firsts.find(key, key.length))
  }
}

/** The item that now says a term first; `before` did in the base (-1: none). */
function firstItem(changed: Database, base: Base, before: number, key: Uint8Array): number {
  let item = before
  if (before >= 0 && isMasked(changed, before)) {
    item = -1
    for (const k of base.segments.keys()) item = earlier(changed, item, firstIn(changed, k, key))
  }
  for (let k = base.segments.length; k < changed.segments.length; k++)
    item = earlier(changed, item, firstIn(changed, k, key))
  return item
}

function isMasked(changed: Database, item: number): boolean {
  const k = segmentOf(changed.itemAt, item, 0)
  const i = item - changed.itemAt[k]!
  return changed.placeItem[i + changed.shift[k]![changed.segments[k]!.run[i]!]!] !== item
}

/** The item of the lowest seq that has the term, of the items of a segment that are not masked. */
function firstIn(changed: Database, k: number, key: Uint8Array): number {
  const segment = changed.segments[k]!
  let first = -1
  if (!findTerm(segment, key)) return -1
  eachPosting(segment, found.df, found.at, (i) => {
    const item = changed.itemAt[k]! + i
    if ((first < 0 || segment.seq[i]! < segment.seq[first - changed.itemAt[k]!]!) && !isMasked(changed, item)) {
      first = item
    }
  })
  return first
}

function earlier(changed: Database, one: number, other: number): number {
  if (one < 0) return other
  if (other < 0) return one
  return seqOf(changed, other) < seqOf(changed, one) ? other : one
}

function seqOf({ itemAt, segments }: Database, item: number): number {
  const k = segmentOf(itemAt, item, 0)
  return segments[k]!.seq[item - itemAt[k]!]!
}

function changedCounter(changed: Database, base: Base, tails: readonly Segment[], mask: Segment | null) {
  return (who: string) => {
    const counts = grow(base.itemsOfActor(who), changed.contextId.length)
    for (const [n, tail] of tails.entries()) {
      addActor(counts, tail, changed.runContext[base.segments.length + n]!, who, 1)
    }
    if (mask === null) return counts
    const contexts = Int32Array.from(mask.runContext, (id) => changed.contextOf(id)!)
    addActor(counts, mask, contexts, who, -1)
    return counts
  }
}
