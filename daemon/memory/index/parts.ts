// The parts of an item's score (weights.ts) and its relevance. Those that neighbours share are spread from the
// postings; the others are read from the item when it is scored.

import { CAPS_MAX, type Cue, digitsOf, FLAG } from '../analysis/item.ts'
import {
  ACTOR_WEIGHT,
  ASKED_WEIGHT,
  chanceOf,
  chanceOfEvidence,
  coveredPart,
  evenOf,
  evidenceOf,
  meaningOf,
  NAME_MET,
  STEM_SHARE,
  withoutName,
} from '../relevance.ts'
import { PARTS, type PartWeights, type SalienceWeights } from '../weights.ts'
import type { Covering } from './akin.ts'
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
const MEANING = PARTS.indexOf('meaning')
const RELEVANCE = PARTS.indexOf('relevance')
/** Where numbers stand in `#last`. */
const SALIENT = 0
const COVERED = 1
const LOG1P = Float64Array.from({ length: 256 }, (_, value) => Math.log1p(value))

/** What covers a term of the cue beside the term itself. */
export interface Coverings {
  /** Places with another form of it. */
  stems: Int32Array | null
  akin: Covering | null
  isName: boolean
}

/** Spreads a term over the neighbours of the items that have it: parts cue, near and answer, and what is covered. */
export function spread(
  { cellContext }: Database,
  scratch: Scratch,
  term: CueTerm,
  coverings: Coverings,
  whole: boolean,
): void {
  const { postingPlace, postingCount, postingAsks, wanted, stamp, mark, marked, sum, summed, own } = scratch
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
    own[place]! += term.idf
    const isShared = scratch.isShared(context)
    const first = cellContext[cell - 1] === context ? place - CELL : cell * CELL
    const last = cellContext[cell + 1] === context ? place + CELL : cell * CELL + CELL - 1
    const from = isShared ? first : place
    const to = isShared ? last : place
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
  addCovered(scratch, term.idf, coverings, markedCount, whole)
  const share = term.idf / scratch.idfTotal
  for (const place of asked) if (stamp[place] !== tick) scratch.answer[place]! += share
}

function addSpread(scratch: Scratch, idf: number, markedCount: number, summedCount: number): void {
  const { mark, marked, sum, summed, cue, near, covered, touched } = scratch
  for (let j = 0; j < markedCount; j++) {
    const place = marked[j]!
    cue[place]! += idf * mark[place]!
  }
  let count = scratch.touchedCount
  for (let j = 0; j < summedCount; j++) {
    const place = summed[j]!
    const said = sum[place]! / NEAR_WHOLE
    if (near[place] === 0 && covered[place] === 0) touched[count++] = place
    near[place]! += (idf * said) / (said + NEAR_SATURATION)
    sum[place] = 0
  }
  scratch.touchedCount = count
}

/** What is covered most: said here or nearby, another form, an akin word. Every mark is taken back. */
function addCovered(
  scratch: Scratch,
  idf: number,
  { stems, akin, isName }: Coverings,
  said: number,
  whole: boolean,
): void {
  const { mark, marked, covered, near, namesMet, touched, wanted } = scratch
  let markedCount = said
  for (let j = 0; stems !== null && j < stems.length; j++) {
    const place = stems[j]!
    if (mark[place]! >= STEM_SHARE || !(whole || wanted[(place >> CELL_BITS) + 1]! & CHOSEN)) continue
    if (mark[place] === 0) marked[markedCount++] = place
    mark[place] = STEM_SHARE
  }
  if (akin !== null) markedCount = markAkin(scratch, akin, idf, markedCount, whole)
  let count = scratch.touchedCount
  for (let j = 0; j < markedCount; j++) {
    const place = marked[j]!
    if (near[place] === 0 && covered[place] === 0) touched[count++] = place
    covered[place]! += idf * mark[place]!
    if (isName && mark[place]! >= NAME_MET) namesMet[place]!++
    mark[place] = 0
  }
  scratch.touchedCount = count
}

/** The part of akin words, and marks where they cover most. */
function markAkin(scratch: Scratch, { places, shares }: Covering, idf: number, from: number, whole: boolean): number {
  const { mark, marked, akin, wanted } = scratch
  let markedCount = from
  for (let j = 0; j < places.length; j++) {
    const place = places[j]!
    if (!(whole || wanted[(place >> CELL_BITS) + 1]! & CHOSEN)) continue
    const share = shares[j]!
    akin[place]! += idf * share
    if (mark[place]! >= share) continue
    if (mark[place] === 0) marked[markedCount++] = place
    mark[place] = share
  }
  return markedCount
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

/**
 * Numbers go from step to step in arrays: what a function that is not inlined returns is an object in V8's heap, and
 * those of 1,500 items were half of what a search left to collect.
 */
export class Scorer {
  /** What each part contributes to the item that was scored last, in the order of PARTS. */
  readonly parts = new Float64Array(PARTS.length)
  /** Of the item that was looked at last: its salience, and how much of the cue it covers. */
  readonly #last = new Float64Array(2)
  readonly #database: Database
  readonly #scratch: Scratch
  readonly #weights: Float64Array
  readonly #salience: SalienceWeights
  readonly #fit: DateFit | null
  readonly #when: boolean
  readonly #asks: number
  readonly #cue: Cue
  readonly #even: number
  readonly #isFirst: boolean
  readonly #names: number
  readonly #askedTotal: number
  /** Per segment: which of its actors the cue names. */
  readonly #named: (Uint8Array | null)[]

  constructor(
    database: Database,
    scratch: Scratch,
    cue: Cue,
    fit: DateFit | null,
    weights: { parts: PartWeights; salience: SalienceWeights },
    names: number,
  ) {
    this.#database = database
    this.#scratch = scratch
    this.#weights = Float64Array.from(PARTS, (part) => weights.parts[part])
    this.#salience = weights.salience
    this.#fit = fit
    this.#when = cue.when
    this.#asks = cue.asks
    this.#cue = cue
    this.#even = evenOf(cue)
    this.#isFirst = cue.isFirst
    this.#names = names
    const who = cue.who.length === 1 ? cue.who[0] : undefined
    const asked = bitsOf(cue.asks) + (cue.when ? 1 : 0) + (cue.isFirst ? 1 : 0)
    this.#askedTotal = scratch.askedTotal + asked * ASKED_WEIGHT + (who === undefined ? 0 : ACTOR_WEIGHT) || 1
    this.#named = database.segments.map((segment) => (who === undefined ? null : namedActors(segment, who)))
  }

  /** Scores item `i` of segment `k`, which is at `place`. The score is put into `scores`, its parts into `parts`. */
  score(k: number, i: number, place: number, scores: Float64Array, at: number): void {
    const scratch = this.#scratch
    const weights = this.#weights
    const segment = this.#database.segments[k]!
    const flags = segment.flags[i]!
    const asked = flags & this.#asks
    const cue = scratch.cue[place]!
    const of = this.#database.cellContext[place >> CELL_BITS]!
    const inContext = scratch.contextBest > 0 ? scratch.contextScore[of]! / scratch.contextBest : 0
    const named = this.#named[k]!
    const fit = this.#fit
    this.#readSalience(k, i, place, of, flags)
    const salience = weights[0]! * this.#last[SALIENT]!
    const said = (weights[1]! * cue) / scratch.idfTotal
    const context = cue > 0 || fit !== null || inContext >= 0.5 ? weights[2]! * inContext : 0
    const actor = named !== null && named[segment.actor[i]!] === 1 ? weights[3]! : 0
    const date = fit === null ? 0 : weights[4]! * fit.of(segment.day[i]!)
    const when = this.#when && flags & FLAG.time ? weights[5]! : 0
    const answer = weights[6]! * scratch.answer[place]!
    const resolved = fit === null ? 0 : weights[7]! * scratch.resolved[place]!
    const near = scratch.nearBest > 0 ? (weights[8]! * scratch.near[place]!) / scratch.nearBest : 0
    const stem = (weights[9]! * scratch.stem[place]!) / scratch.groupTotal
    const where = asked & FLAG.place ? weights[10]! : 0
    const duration = asked & FLAG.duration ? weights[11]! : 0
    const title = asked & FLAG.title ? weights[12]! : 0
    const person = asked & FLAG.person ? weights[13]! : 0
    const akin = (weights[14]! * scratch.akin[place]!) / scratch.idfTotal
    // Of an encoder: added where the few that can be shown are looked at (search.ts).
    const meaning = 0
    let relevance = 0
    if (weights[16] !== 0) {
      this.#readCovered(k, i, place)
      const covered = this.#last[COVERED]!
      relevance =
        weights[16]! * chanceOf(fit === null ? covered : Math.max(covered, this.#dated(k, i, place)), this.#even)
    }
    const { parts } = this
    parts[0] = salience
    parts[1] = said
    parts[2] = context
    parts[3] = actor
    parts[4] = date
    parts[5] = when
    parts[6] = answer
    parts[7] = resolved
    parts[8] = near
    parts[9] = stem
    parts[10] = where
    parts[11] = duration
    parts[12] = title
    parts[13] = person
    parts[14] = akin
    parts[15] = meaning
    parts[16] = relevance
    const surface = salience + said + context + actor + date + when
    scores[at] =
      surface + answer + resolved + near + stem + where + duration + title + person + akin + meaning + relevance
  }

  /** How likely item `i` of segment `k` answers what the cue asks, by its words and dates (relevance.ts). */
  relevance(k: number, i: number, place: number): number {
    this.#readCovered(k, i, place)
    return chanceOf(Math.max(this.#last[COVERED]!, this.#dated(k, i, place)), this.#even)
  }

  /** The same with the cosine of an encoder, whose part and that of the relevance are put into `parts`. */
  addMeaning(k: number, i: number, place: number, cosine: number, parts: number[]): number {
    this.#readCovered(k, i, place)
    const words = this.#last[COVERED]!
    const isAlone = !this.#scratch.isShared(this.#database.cellContext[place >> CELL_BITS]!)
    // The encoder reads English: elsewhere what it finds close is no evidence.
    const evidence = this.#cue.language === 'en' ? evidenceOf(cosine, words, this.#cue) : null
    const relevance = Math.max(
      evidence === null ? 0 : chanceOfEvidence(evidence),
      evidence !== null && isAlone ? 0 : chanceOf(words, this.#even),
      chanceOf(this.#dated(k, i, place), this.#even),
    )
    parts[MEANING] = this.#weights[MEANING]! * meaningOf(cosine, isAlone ? evidence : null)
    parts[RELEVANCE] = this.#weights[RELEVANCE]! * relevance
    return relevance
  }

  #readCovered(k: number, i: number, place: number): void {
    const scratch = this.#scratch
    const segment = this.#database.segments[k]!
    const flags = segment.flags[i]!
    const named = this.#named[k]!
    const isActor = named !== null && named[segment.actor[i]!] === 1
    const covered = scratch.covered[place]!
    this.#last[COVERED] = 0
    if (covered === 0 && !isActor) return
    const shown =
      bitsOf(flags & this.#asks) +
      (this.#when && flags & FLAG.time ? 1 : 0) +
      (this.#isFirst && flags & FLAG.first ? 1 : 0)
    const amount = covered + (isActor ? ACTOR_WEIGHT : 0) + shown * ASKED_WEIGHT
    const words = coveredPart(amount, this.#askedTotal)
    this.#last[COVERED] = scratch.namesMet[place]! < this.#names ? withoutName(words) : words
  }

  #dated(k: number, i: number, place: number): number {
    if (this.#fit === null) return 0
    return Math.max(this.#fit.of(this.#database.segments[k]!.day[i]!), this.#scratch.resolved[place]!)
  }

  /** The same for every cue, and read here all the same: kept per item it would be copied with every change. */
  #readSalience(k: number, i: number, place: number, context: number, flags: number): void {
    const weights = this.#salience
    // What was stored without a contextId is worth the same in whatever order it was stored.
    const isShared = this.#scratch.isShared(context)
    const novel = isShared ? Math.min(this.#database.novel[k]![i]!, CAPS_MAX) : 0
    this.#last[SALIENT] =
      weights.novel * LOG1P[novel]! +
      weights.caps * LOG1P[this.#database.segments[k]!.caps[i]!]! +
      weights.digits * (digitsOf(flags) / 3) +
      // Times 0 or 1: which of them an item has is nothing that a processor could guess.
      weights.question * bitOf(flags, FLAG.question) +
      weights.first * bitOf(flags, FLAG.first) +
      weights.time * bitOf(flags, FLAG.time) +
      weights.you * bitOf(flags, FLAG.you) +
      (isShared ? weights.answers * bitOf(this.#flagsBefore(k, place, context), FLAG.question) : 0)
  }

  /** Flags of the item before it in the context, 0 where there is none. */
  #flagsBefore(k: number, place: number, context: number): number {
    const { cellContext, placeItem, itemAt, segments } = this.#database
    if (place % CELL === 0 && cellContext[(place >> CELL_BITS) - 1] !== context) return 0
    const before = placeItem[place - 1]!
    if (!(before >= 0)) return 0
    const of = segmentOf(itemAt, before, k)
    return segments[of]!.flags[before - itemAt[of]!]!
  }
}

function bitOf(flags: number, flag: number): number {
  return (flags & flag) >>> (31 - Math.clz32(flag))
}

function bitsOf(flags: number): number {
  let count = 0
  for (let left = flags; left !== 0; left &= left - 1) count++
  return count
}
