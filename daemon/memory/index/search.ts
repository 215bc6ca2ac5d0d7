// Recall's search: a cue against a joined database. The answer is a function of the rows, the cue and the options; how
// the rows are cut into segments, tail and masked items never shows, down to the last bit of a score.

import { type Cue, FLAG } from '../analysis/item.ts'
import { PART_WEIGHTS, type PartWeights, SALIENCE_WEIGHTS, type SalienceWeights } from '../weights.ts'
import { Buckets } from './buckets.ts'
import { chooseCells, isScoredWhole, type Pruning, pruningOf, valueCandidates } from './cells.ts'
import type { Database } from './database.ts'
import { collectDays, collectRanges, DateFit } from './dates.ts'
import { readLabels, type Segment } from './format.ts'
import { findNearBest, Scorer, spread } from './parts.ts'
import { CELL, segmentOf } from './places.ts'
import { dropScratch, type Scratch, scratchFor } from './scratch.ts'
import { isNearCopy } from './sketch.ts'
import { collectEvidence, findBestContext, readStemGroups, readTerms } from './terms.ts'

export interface SearchOptions {
  limit: number
  weights?: PartWeights
  salience?: SalienceWeights
  /** Items that may be ranked; df, contexts and neighbours count all items. */
  filter?: Filter
  /** Null scores every item. By default chosen by the number of items and actors. */
  pruning?: Pruning | null
  /** Near copies by one actor in the answer. The others are left out, or one actor's copies could fill it. */
  copiesMax?: number
}

export interface Filter {
  /** Folded names. */
  actors?: readonly string[]
  /** One of these kinds, and all of these tags. */
  kinds?: readonly string[]
  tags?: readonly string[]
  /** Days since 1970, both included. */
  dayMin?: number
  dayMax?: number
  /** Only these. */
  seqs?: ReadonlySet<number>
  /** All but these. */
  without?: ReadonlySet<number>
}

export interface Ranked {
  seq: number
  score: number
  day: number
  isHinted: boolean
  /** What each of PARTS contributes: part times weight. Their sum is the score. */
  parts: number[]
}

/** What a search read: what it is charged by. */
export interface SearchWork {
  postings: number
  candidates: number
  scored: number
}

const COPIES_MAX = 3
const EVERYTHING: Pruning = { cells: Infinity, open: Infinity, visit: Infinity, contexts: 0 }

export function search(database: Database, cue: Cue, options: SearchOptions, work?: SearchWork): Ranked[] {
  const scratch = scratchFor(database)
  try {
    return searchIn(database, scratch, cue, options, work)
  } catch (error) {
    dropScratch()
    throw error
  }
}

function searchIn(database: Database, scratch: Scratch, cue: Cue, options: SearchOptions, work?: SearchWork): Ranked[] {
  const weights = { parts: options.weights ?? PART_WEIGHTS, salience: options.salience ?? SALIENCE_WEIGHTS }
  const pruning = options.pruning === null ? EVERYTHING : (options.pruning ?? pruningOf(database))
  const whole = isScoredWhole(database, pruning)
  const { terms, dropped } = readTerms(database, scratch, cue.terms, pruning)
  for (const term of terms) collectEvidence(database, scratch, term, weights.parts.cue)
  findBestContext(scratch)
  const groups = cue.groups.filter((word) => !dropped.has(word))
  const stems = readStemGroups(database, scratch, groups, terms, weights.parts.stem)
  const fit = cue.date === null ? null : new DateFit(cue.date, database)
  if (fit !== null && !whole) collectDays(database, scratch, fit, weights.parts.date)
  const resolved = fit === null ? [] : collectRanges(database, scratch, fit, weights.parts.resolved)
  const accept = acceptorOf(database, options.filter)
  if (!whole) {
    const who = cue.who.length === 1 ? cue.who[0] : undefined
    const speaks = who === undefined ? null : database.itemsOfActor(who)
    valueCandidates(database, scratch, pruning, weights.parts, speaks)
    chooseCells(database, scratch, pruning.cells, accept && ((cell) => hasAccepted(database, cell, accept)))
  }
  for (const term of terms) spread(database, scratch, term, whole)
  findNearBest(database, scratch, whole)
  const scorer = new Scorer(database, scratch, cue, fit, weights)
  if (whole) scorePlaces(database, scratch, scorer, accept, 0, database.placeItem.length)
  else {
    for (let j = 0; j < scratch.chosenCount; j++) {
      const from = scratch.chosen[j]! * CELL
      scorePlaces(database, scratch, scorer, accept, from, from + CELL)
    }
  }
  const ranked = rank(database, scratch, scorer, options)
  if (work) {
    Object.assign(work, { postings: scratch.postings, candidates: scratch.candidateCount, scored: scratch.scoredCount })
  }
  for (const places of stems) for (const place of places) scratch.stem[place] = 0
  for (const place of resolved) scratch.resolved[place] = 0
  scratch.clean()
  return ranked
}

type Accept = ((k: number, i: number) => boolean) | null

function acceptorOf(database: Database, filter: Filter | undefined): Accept {
  if (filter === undefined) return null
  const { actors, dayMin = -Infinity, dayMax = Infinity, seqs, without } = filter
  const allowed = actors && database.segments.map((segment) => segment.actors.map((name) => actors.includes(name)))
  const labelled = filter.kinds || filter.tags ? database.segments.map((segment) => labelledAs(segment, filter)) : null
  return (k, i) => {
    const segment = database.segments[k]!
    if (labelled && !labelled[k]![segment.label[i]!]) return false
    const day = segment.day[i]!
    const seq = segment.seq[i]!
    if (day < dayMin || day > dayMax || without?.has(seq)) return false
    return (!allowed || allowed[k]![segment.actor[i]!] === true) && (!seqs || seqs.has(seq))
  }
}

function labelledAs(segment: Segment, { kinds, tags }: Filter): boolean[] {
  return readLabels(segment).map(
    ([kind = '', ...own]) => (!kinds || kinds.includes(kind)) && (!tags || tags.every((tag) => own.includes(tag))),
  )
}

function hasAccepted({ placeItem, itemAt }: Database, cell: number, accept: NonNullable<Accept>): boolean {
  for (let place = cell * CELL; place < (cell + 1) * CELL; place++) {
    const item = placeItem[place]!
    if (item < 0) continue
    const k = segmentOf(itemAt, item, 0)
    if (accept(k, item - itemAt[k]!)) return true
  }
  return false
}

function scorePlaces(
  { placeItem, itemAt }: Database,
  scratch: Scratch,
  scorer: Scorer,
  accept: Accept,
  from: number,
  to: number,
): void {
  const { scoredPlace, score } = scratch
  let k = 0
  let count = scratch.scoredCount
  for (let place = from; place < to; place++) {
    const item = placeItem[place]!
    if (item < 0) continue
    k = segmentOf(itemAt, item, k)
    const i = item - itemAt[k]!
    if (accept !== null && !accept(k, i)) continue
    score[count] = scorer.score(k, i, place)
    scoredPlace[count++] = place
  }
  scratch.scoredCount = count
}

const buckets = new Buckets()

/**
 * The best by score, the older first among equals, without more than `copiesMax` near copies by one actor. Items
 * without an actor are nobody's: templated records of a program are told apart by what differs.
 */
function rank(database: Database, scratch: Scratch, scorer: Scorer, options: SearchOptions): Ranked[] {
  const { placeItem, itemAt, segments } = database
  const { score, scoredPlace } = scratch
  const { limit, copiesMax = COPIES_MAX } = options
  const ranked: Ranked[] = []
  if (limit <= 0) return ranked
  const sketches = new Map<string, number[]>()
  let k = 0
  const seqAt = (index: number) => {
    const item = placeItem[scoredPlace[index]!]!
    k = segmentOf(itemAt, item, k)
    return segments[k]!.seq[item - itemAt[k]!]!
  }
  const byAge = (a: number, b: number) => seqAt(a) - seqAt(b)
  buckets.eachDescending(score, scratch.scoredCount, byAge, (index) => {
    const place = scoredPlace[index]!
    const seq = seqAt(index)
    const segment = segments[k]!
    const i = placeItem[place]! - itemAt[k]!
    if (isOneCopyTooMany(sketches, segment.actors[segment.actor[i]!]!, segment.sketch[i]!, copiesMax)) return true
    const parts: number[] = []
    const isHinted = (segment.flags[i]! & FLAG.hinted) !== 0
    ranked.push({ seq, score: scorer.score(k, i, place, parts), day: segment.day[i]!, isHinted, parts })
    return ranked.length < limit
  })
  return ranked
}

function isOneCopyTooMany(kept: Map<string, number[]>, actor: string, sketch: number, copiesMax: number): boolean {
  if (actor === '') return false
  const others = kept.get(actor)
  if (others === undefined) {
    kept.set(actor, [sketch])
    return false
  }
  let copies = 0
  for (const other of others) if (isNearCopy(sketch, other) && ++copies === copiesMax) return true
  others.push(sketch)
  return false
}
