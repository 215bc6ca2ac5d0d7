// The fourteen parts of an item's score (weights.ts). Those that neighbours share are spread from the postings; the
// others are read from the item when it is scored.

import { CAPS_MAX, type Cue, DIGITS_SHIFT, FLAG } from '../analysis/item.ts'
import { PARTS, type PartWeights, type SalienceWeights } from '../weights.ts'
import { type Database, namedActors } from './database.ts'
import type { DateFit } from './dates.ts'
import { CELL, CELL_BITS, segmentOf } from './places.ts'
import { CHOSEN, type Scratch } from './scratch.ts'
import type { CueTerm } from './terms.ts'

/** How much of a term an item has that was said so many positions before it, or after. */
const SAID_BEFORE = [1, 0.7, 0.5] as const
const SAID_AFTER = [1, 0.4, 0.2] as const
/** In twentieths: a term said `distance` positions away counts 1 - .15 distance. */
const NEAR_WHOLE = 20
const NEAR_STEP = 3
const NEAR_SATURATION = 0.8
const LOG1P = Float64Array.from({ length: 256 }, (_, value) => Math.log1p(value))

/** Spreads a term over the neighbours of the items that have it: parts cue, near and answer. */
export function spread({ cellContext }: Database, scratch: Scratch, term: CueTerm, whole: boolean): void {
  const { postingPlace, postingCount, postingAsks, wanted, stamp, mark, marked, sum, summed } = scratch
  const tick = scratch.nextTick()
  const asked: number[] = []
  let markedCount = 0
  let summedCount = 0
  for (let j = term.from; j < term.to; j++) {
    const place = postingPlace[j]!
    const cell = place >> CELL_BITS
    if (!whole && wanted[cell + 1] === 0) continue
    const context = cellContext[cell]!
    const count = postingCount[j]!
    stamp[place] = tick
    const from = cellContext[cell - 1] === context ? place - CELL : cell * CELL
    const to = cellContext[cell + 1] === context ? place + CELL : cell * CELL + CELL - 1
    for (let at = from; at <= to; at++) {
      const distance = at < place ? place - at : at - place
      if (distance < 3) {
        const share = at < place ? SAID_AFTER[distance]! : SAID_BEFORE[distance]!
        if (mark[at]! < share) {
          if (mark[at] === 0) marked[markedCount++] = at
          mark[at] = share
        }
      }
      if (sum[at] === 0) summed[summedCount++] = at
      sum[at]! += count * (NEAR_WHOLE - NEAR_STEP * distance)
    }
    if (postingAsks[j] === 1 && place < to) asked.push(place + 1)
  }
  addSpread(scratch, term.idf, markedCount, summedCount)
  const share = term.idf / scratch.idfTotal
  for (const place of asked) if (stamp[place] !== tick) scratch.answer[place]! += share
}

function addSpread(scratch: Scratch, idf: number, markedCount: number, summedCount: number): void {
  const { mark, marked, sum, summed, cue, near, touched } = scratch
  for (let j = 0; j < markedCount; j++) {
    const place = marked[j]!
    cue[place]! += idf * mark[place]!
    mark[place] = 0
  }
  let count = scratch.touchedCount
  for (let j = 0; j < summedCount; j++) {
    const place = summed[j]!
    const said = sum[place]! / NEAR_WHOLE
    if (near[place] === 0) touched[count++] = place
    near[place]! += (idf * said) / (said + NEAR_SATURATION)
    sum[place] = 0
  }
  scratch.touchedCount = count
}

/** The best neighbourhood of an item that is scored: around others not all postings were spread. */
export function findNearBest({ placeItem }: Database, scratch: Scratch, whole: boolean): void {
  const { near, touched, wanted } = scratch
  for (let j = 0; j < scratch.touchedCount; j++) {
    const place = touched[j]!
    if (near[place]! <= scratch.nearBest || placeItem[place]! < 0) continue
    if (whole || wanted[(place >> CELL_BITS) + 1]! & CHOSEN) scratch.nearBest = near[place]!
  }
}

export class Scorer {
  readonly #database: Database
  readonly #scratch: Scratch
  readonly #weights: Float64Array
  readonly #salience: SalienceWeights
  readonly #fit: DateFit | null
  readonly #when: number
  readonly #asks: number
  /** Per segment: which of its actors the cue names. */
  readonly #named: (Uint8Array | null)[]
  /** The parts of the item scored last, each times its weight. */
  readonly parts = new Float64Array(PARTS.length)

  constructor(
    database: Database,
    scratch: Scratch,
    cue: Cue,
    fit: DateFit | null,
    weights: { parts: PartWeights; salience: SalienceWeights },
  ) {
    this.#database = database
    this.#scratch = scratch
    this.#weights = Float64Array.from(PARTS, (part) => weights.parts[part])
    this.#salience = weights.salience
    this.#fit = fit
    this.#when = cue.when ? 1 : 0
    this.#asks = cue.asks
    const who = cue.who.length === 1 ? cue.who[0] : undefined
    this.#named = database.segments.map((segment) => (who === undefined ? null : namedActors(segment, who)))
  }

  /** Scores item `i` of segment `k`, which stands at `place`. */
  score(k: number, i: number, place: number): number {
    const { parts } = this
    const weights = this.#weights
    const scratch = this.#scratch
    const database = this.#database
    const segment = database.segments[k]!
    const flags = segment.flags[i]!
    const cue = scratch.cue[place]!
    const context = this.#contextPart(place)
    const asked = flags & this.#asks
    const named = this.#named[k]!
    parts[0] = this.#salienceOf(k, i, place, flags)
    parts[1] = cue / scratch.idfTotal
    parts[2] = cue > 0 || this.#fit !== null || context >= 0.5 ? context : 0
    parts[3] = named === null ? 0 : named[segment.actor[i]!]!
    parts[4] = this.#fit === null ? 0 : this.#fit.of(segment.day[i]!)
    parts[5] = this.#when === 1 && flags & FLAG.time ? 1 : 0
    parts[6] = scratch.answer[place]!
    parts[7] = scratch.resolved[place]!
    parts[8] = scratch.nearBest > 0 ? scratch.near[place]! / scratch.nearBest : 0
    parts[9] = scratch.stem[place]! / scratch.groupTotal
    parts[10] = asked & FLAG.place ? 1 : 0
    parts[11] = asked & FLAG.duration ? 1 : 0
    parts[12] = asked & FLAG.title ? 1 : 0
    parts[13] = asked & FLAG.person ? 1 : 0
    let score = 0
    for (let j = 0; j < PARTS.length; j++) {
      const part = weights[j]! * parts[j]!
      parts[j] = part
      score += part
    }
    return score
  }

  /** The parts of the item scored last. A loop: Array.from() of a typed array took a fifth of a search. */
  takeParts(): number[] {
    const parts: number[] = []
    for (let j = 0; j < PARTS.length; j++) parts.push(this.parts[j]!)
    return parts
  }

  #contextPart(place: number): number {
    const { contextBest, contextScore } = this.#scratch
    return contextBest > 0 ? contextScore[this.#database.cellContext[place >> CELL_BITS]!]! / contextBest : 0
  }

  /** The same for every cue, and read here all the same: kept per item it would be copied with every change. */
  #salienceOf(k: number, i: number, place: number, flags: number): number {
    const weights = this.#salience
    const segment = this.#database.segments[k]!
    const novel = Math.min(this.#database.novel[k]![i]!, CAPS_MAX)
    return (
      weights.novel * LOG1P[novel]! +
      weights.caps * LOG1P[segment.caps[i]!]! +
      weights.digits * ((flags >> DIGITS_SHIFT) / 3) +
      (flags & FLAG.question ? weights.question : 0) +
      (flags & FLAG.first ? weights.first : 0) +
      (flags & FLAG.time ? weights.time : 0) +
      (flags & FLAG.you ? weights.you : 0) +
      (this.#answersQuestion(k, place) ? weights.answers : 0)
    )
  }

  /** Whether the item before it in the context is a question. */
  #answersQuestion(k: number, place: number): boolean {
    const { cellContext, placeItem, itemAt, segments } = this.#database
    if (place % CELL === 0 && cellContext[(place >> CELL_BITS) - 1] !== cellContext[place >> CELL_BITS]) return false
    const before = placeItem[place - 1]!
    if (!(before >= 0)) return false
    const of = segmentOf(itemAt, before, k)
    return (segments[of]!.flags[before - itemAt[of]!]! & FLAG.question) !== 0
  }
}
