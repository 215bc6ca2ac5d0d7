// The arrays that a search works in: one set per thread, as large as its largest database, shared by all searches and
// left clean by each. One function per step over shared typed arrays: one large function with closures took 1.3 times
// as long, an array per scored item as much again.

import type { Database } from './database.ts'

/** Bits of `wanted`: a cell whose postings are spread, and one that is scored. */
export const WANTED = 1
export const CHOSEN = 2

export class Scratch {
  readonly places: number
  readonly cells: number
  readonly contexts: number

  /** Per place: the parts that neighbours share, and marks of the term being read. */
  readonly cue: Float64Array
  /** idf of the cue's terms that the item itself has. */
  readonly own: Float64Array
  readonly near: Float64Array
  readonly answer: Float64Array
  readonly stem: Float64Array
  /** idf of the cue's terms by what an akin word covers of them; and by the most that anything covers of them. */
  readonly akin: Float64Array
  readonly covered: Float64Array
  /** How many of the cue's names the item meets. */
  readonly namesMet: Uint8Array
  readonly resolved: Float64Array
  readonly mark: Float64Array
  /** Twentieths, so that the order of the sum does not show. */
  readonly sum: Int32Array
  readonly stamp: Int32Array
  /** Lists of places. */
  readonly marked: Int32Array
  readonly summed: Int32Array
  readonly touched: Int32Array
  touchedCount = 0

  /** Per cell. */
  readonly evidence: Float64Array
  readonly cellStamp: Int32Array
  readonly wanted: Uint8Array
  /** Candidate cells and their values; the chosen ones. */
  readonly candidates: Int32Array
  readonly value: Float64Array
  candidateCount = 0
  readonly chosen: Int32Array
  chosenCount = 0

  /** Per context: score as one document, and the count of the term being read. */
  readonly contextScore: Float64Array
  readonly contextCount: Float64Array
  readonly contextSeen: Int32Array
  readonly scoredContexts: Int32Array
  scoredContextCount = 0
  contextBest = 0

  /** Postings of the cue's terms: place, count, whether the item is a question. They grow when needed. */
  postingPlace = new Int32Array(1 << 14)
  postingCount = new Uint8Array(1 << 14)
  postingAsks = new Uint8Array(1 << 14)
  postings = 0

  /** Which contexts are shared by their items; null: all. */
  named: Uint8Array | null = null

  /** Scored items: place and score. */
  readonly scoredPlace: Int32Array
  readonly score: Float64Array
  scoredCount = 0

  /** idf of the cue's terms, of its words (for stem groups), best neighbourhood. */
  idfTotal = 1
  groupTotal = 1
  /** What relevance is a share of: the idf of all of the cue's terms, and what else it asks for. */
  askedTotal = 1
  nearBest = 0
  tick = 0

  constructor(places: number, cells: number, contexts: number) {
    this.places = places
    this.cells = cells
    this.contexts = contexts
    this.cue = new Float64Array(places)
    this.own = new Float64Array(places)
    this.near = new Float64Array(places)
    this.answer = new Float64Array(places)
    this.stem = new Float64Array(places)
    this.akin = new Float64Array(places)
    this.covered = new Float64Array(places)
    this.namesMet = new Uint8Array(places)
    this.resolved = new Float64Array(places)
    this.mark = new Float64Array(places)
    this.sum = new Int32Array(places)
    this.stamp = new Int32Array(places)
    this.marked = new Int32Array(places)
    this.summed = new Int32Array(places)
    this.touched = new Int32Array(places)
    this.evidence = new Float64Array(cells)
    this.cellStamp = new Int32Array(cells)
    // Shifted by one, with room at either end: wanted[cell + 1] is the cell itself.
    this.wanted = new Uint8Array(cells + 2)
    this.candidates = new Int32Array(cells)
    this.value = new Float64Array(cells)
    this.chosen = new Int32Array(cells)
    this.contextScore = new Float64Array(contexts)
    this.contextCount = new Float64Array(contexts)
    this.contextSeen = new Int32Array(contexts)
    this.scoredContexts = new Int32Array(contexts)
    this.scoredPlace = new Int32Array(places)
    this.score = new Float64Array(places)
  }

  /** Stamps are never cleared: a tick is used once. */
  nextTick(): number {
    if (this.tick === 0x7fff_ffff) {
      this.stamp.fill(0)
      this.cellStamp.fill(0)
      this.tick = 0
    }
    return ++this.tick
  }

  /** Whether the items of a context are each other's neighbours. */
  isShared(context: number): boolean {
    return this.named === null || this.named[context] === 1
  }

  roomForPostings(count: number): void {
    if (this.postings + count <= this.postingPlace.length) return
    const size = 2 * (this.postings + count)
    const place = new Int32Array(size)
    const counts = new Uint8Array(size)
    const asks = new Uint8Array(size)
    place.set(this.postingPlace)
    counts.set(this.postingCount)
    asks.set(this.postingAsks)
    this.postingPlace = place
    this.postingCount = counts
    this.postingAsks = asks
  }

  clean(): void {
    for (let j = 0; j < this.touchedCount; j++) {
      const place = this.touched[j]!
      this.cue[place] = 0
      this.own[place] = 0
      this.near[place] = 0
      this.answer[place] = 0
      this.akin[place] = 0
      this.covered[place] = 0
      this.namesMet[place] = 0
    }
    for (let j = 0; j < this.scoredContextCount; j++) this.contextScore[this.scoredContexts[j]!] = 0
    for (let j = 0; j < this.candidateCount; j++) this.evidence[this.candidates[j]!] = 0
    for (let j = 0; j < this.chosenCount; j++) this.wanted.fill(0, this.chosen[j]!, this.chosen[j]! + 3)
    this.touchedCount = this.scoredContextCount = this.candidateCount = this.chosenCount = 0
    this.scoredCount = this.postings = 0
    this.contextBest = this.nearBest = 0
    this.idfTotal = this.groupTotal = this.askedTotal = 1
  }
}

/** Adds evidence to a cell, which becomes a candidate by it. */
export function addEvidence(scratch: Scratch, cell: number, value: number): void {
  if (scratch.evidence[cell] === 0) scratch.candidates[scratch.candidateCount++] = cell
  scratch.evidence[cell]! += value
}

let shared: Scratch | undefined

export function scratchFor({ placeItem, cellContext, contextId }: Database): Scratch {
  const places = Math.max(placeItem.length, shared?.places ?? 0)
  const cells = Math.max(cellContext.length, shared?.cells ?? 0)
  const contexts = Math.max(contextId.length, shared?.contexts ?? 0)
  if (shared === undefined || places > shared.places || cells > shared.cells || contexts > shared.contexts) {
    shared = new Scratch(places, cells, contexts)
  }
  return shared
}

/** After a search that threw: what it left in the arrays is unknown. */
export function dropScratch(): void {
  shared = undefined
}
