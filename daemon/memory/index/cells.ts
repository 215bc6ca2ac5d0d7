// Which cells are scored. By counts, never by time, and by what the cells hold, never by how rows are cut: the answer
// is the same on a slow machine and on every replica.

import { Buckets } from './buckets.ts'
import type { Database } from './database.ts'
import { CELL, CELL_BITS, segmentOf } from './places.ts'
import { CHOSEN, type Scratch, WANTED } from './scratch.ts'

export interface Pruning {
  /** Cells scored in full. A database of at most so many full cells is scored whole. */
  cells: number
  /** Postings of the rarest terms that may make cells candidates. */
  open: number
  /** Postings read at all; terms beyond them do not count. */
  visit: number
  /** Best contexts, all of whose cells are candidates. */
  contexts: number
}

/** Measured on LoCoMo with copies (bench/recall.bench.ts): recall@10 loses at most .003 against scoring every item. */
const PRUNING: Pruning = { cells: 384, open: 4_096, visit: 65_536, contexts: 8 }
/** Where few actors share many items their names tell little, and more cells must be looked at. */
const PRUNING_FEW_ACTORS: Pruning = { ...PRUNING, cells: 768 }
const FEW_ACTORS = 24
const MANY_ITEMS = 32_768

export function pruningOf({ actors, items }: Pick<Database, 'actors' | 'items'>): Pruning {
  return actors <= FEW_ACTORS && items > MANY_ITEMS ? PRUNING_FEW_ACTORS : PRUNING
}

/** Whether every item is scored. Counted in items, which do not depend on where a masked one stood. */
export function isScoredWhole({ items }: Pick<Database, 'items'>, { cells }: Pruning): boolean {
  return items <= cells * CELL
}

/**
 * Candidates: cells with evidence, those beside them, and all of the best contexts. Valued by own evidence, half of
 * that beside them, the context's score, and the named actor's weight where that actor speaks in the context.
 */
export function valueCandidates(
  database: Database,
  scratch: Scratch,
  pruning: Pruning,
  weights: { context: number; actor: number },
  speaks: Int32Array | null,
): void {
  const { cellContext, cellItems, cellFrom, cellTo } = database
  const { candidates, evidence, value, contextScore, contextBest } = scratch
  addCellsBeside(database, scratch)
  for (const context of bestContexts(database, scratch, pruning.contexts)) {
    for (let cell = cellFrom[context]!; cell < cellTo[context]!; cell++) addCandidate(scratch, cell, cellItems)
  }
  for (let j = 0; j < scratch.candidateCount; j++) {
    const cell = candidates[j]!
    const context = cellContext[cell]!
    let sum = evidence[cell]!
    if (contextBest > 0) sum += (weights.context * contextScore[context]!) / contextBest
    if (speaks !== null && speaks[context]! > 0) sum += weights.actor
    value[j] = sum
    if (!scratch.isShared(context)) continue
    if (cellContext[cell - 1] === context) sum += 0.5 * evidence[cell - 1]!
    if (cellContext[cell + 1] === context) sum += 0.5 * evidence[cell + 1]!
    value[j] = sum
  }
}

function addCellsBeside({ cellContext, cellItems }: Database, scratch: Scratch): void {
  const { candidates, cellStamp } = scratch
  const tick = scratch.nextTick()
  const count = scratch.candidateCount
  for (let j = 0; j < count; j++) cellStamp[candidates[j]!] = tick
  for (let j = 0; j < count; j++) {
    const cell = candidates[j]!
    if (!scratch.isShared(cellContext[cell]!)) continue
    if (cellContext[cell - 1] === cellContext[cell]) addCandidate(scratch, cell - 1, cellItems)
    if (cellContext[cell + 1] === cellContext[cell]) addCandidate(scratch, cell + 1, cellItems)
  }
}

function addCandidate(scratch: Scratch, cell: number, cellItems: Uint8Array): void {
  if (scratch.cellStamp[cell] === scratch.tick || cellItems[cell] === 0) return
  scratch.cellStamp[cell] = scratch.tick
  scratch.candidates[scratch.candidateCount++] = cell
}

/** Ties: the lower id. */
function bestContexts(
  { contextId }: Database,
  { scoredContexts, scoredContextCount, contextScore }: Scratch,
  max: number,
) {
  const best: number[] = []
  const isBetter = (a: number, b: number) =>
    contextScore[a]! > contextScore[b]! || (contextScore[a] === contextScore[b] && contextId[a]! < contextId[b]!)
  for (let j = 0; j < scoredContextCount; j++) {
    const context = scoredContexts[j]!
    if (best.length === max && !isBetter(context, best[max - 1]!)) continue
    let at = best.length === max ? max - 1 : best.length
    for (; at > 0 && isBetter(context, best[at - 1]!); at--) best[at] = best[at - 1]!
    best[at] = context
  }
  return best
}

const buckets = new Buckets()

/**
 * Takes the best candidates. Where one actor's monologues would take more than half of the cells, the other half goes
 * to cells of others as long as there are any: ten thousand near copies of a fact must not crowd out the fact. Cells
 * without an item that passes the filter take no place.
 */
export function chooseCells(
  database: Database,
  scratch: Scratch,
  cells: number,
  mayHave: ((cell: number) => boolean) | null,
): void {
  const { candidates, value } = scratch
  const count = mayHave === null ? scratch.candidateCount : bringForward(scratch, mayHave)
  if (count <= cells) {
    for (let j = 0; j < count; j++) take(database, scratch, candidates[j]!)
    return
  }
  const share = database.actors > 1 ? Math.floor(cells / 2) : cells
  const takenBy = new Map<string, number>()
  const passedOver: number[] = []
  buckets.eachDescending(value, count, byAge(database, candidates), (j) => {
    const cell = candidates[j]!
    const owner = share < cells ? ownerOf(database, cell) : null
    if (owner !== null) {
      const taken = takenBy.get(owner) ?? 0
      if (taken === share) {
        if (passedOver.length < cells) passedOver.push(cell)
        return true
      }
      takenBy.set(owner, taken + 1)
    }
    take(database, scratch, cell)
    return scratch.chosenCount < cells
  })
  for (const cell of passedOver) if (scratch.chosenCount < cells) take(database, scratch, cell)
}

/** Puts the candidates that have an item which passes before the others, so that only these are sorted. How many. */
function bringForward({ candidates, value, candidateCount }: Scratch, mayHave: (cell: number) => boolean): number {
  let count = 0
  for (let j = 0; j < candidateCount; j++) {
    const cell = candidates[j]!
    if (!mayHave(cell)) continue
    const worth = value[j]!
    candidates[j] = candidates[count]!
    value[j] = value[count]!
    candidates[count] = cell
    value[count++] = worth
  }
  return count
}

/** Ties at the edge go to the older context, then to the earlier cell. */
function byAge({ cellContext, contextId }: Database, candidates: Int32Array) {
  return (a: number, b: number) => {
    const one = candidates[a]!
    const other = candidates[b]!
    return contextId[cellContext[one]!]! - contextId[cellContext[other]!]! || one - other
  }
}

/** The actor of all items of a cell; null where several speak. */
function ownerOf({ placeItem, itemAt, segments }: Database, cell: number): string | null {
  let owner: string | null = null
  let k = 0
  for (let place = cell * CELL; place < (cell + 1) * CELL; place++) {
    const item = placeItem[place]!
    if (item < 0) continue
    k = segmentOf(itemAt, item, k)
    const segment = segments[k]!
    const actor = segment.actors[segment.actor[item - itemAt[k]!]!]!
    if (owner !== null && owner !== actor) return null
    owner = actor
  }
  return owner
}

/** Cells that are scored whatever their value. */
export function takeCells(database: Database, scratch: Scratch, places: Iterable<number>): void {
  for (const place of places) {
    const cell = place >> CELL_BITS
    if (!(scratch.wanted[cell + 1]! & CHOSEN)) take(database, scratch, cell)
  }
}

/** The cells beside a chosen one are wanted as well, for what their postings give it; only in its own context. */
function take({ cellContext }: Database, scratch: Scratch, cell: number): void {
  const { chosen, wanted } = scratch
  chosen[scratch.chosenCount++] = cell
  wanted[cell + 1]! |= CHOSEN | WANTED
  if (!scratch.isShared(cellContext[cell]!)) return
  if (cellContext[cell - 1] === cellContext[cell]) wanted[cell]! |= WANTED
  if (cellContext[cell + 1] === cellContext[cell]) wanted[cell + 2]! |= WANTED
}
