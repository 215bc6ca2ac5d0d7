// Recall's search: a cue against a joined database. The answer is a function of the rows, the cue and the options; how
// the rows are cut into segments, tail and masked items never shows, down to the last bit of a score.

import { type Cue, FLAG } from '../analysis/item.ts'
import { PART_WEIGHTS, PARTS, type PartWeights, SALIENCE_WEIGHTS, type SalienceWeights } from '../weights.ts'
import { addAkin, type Covering, readAkin } from './akin.ts'
import { Buckets } from './buckets.ts'
import { chooseCells, isScoredWhole, type Pruning, pruningOf, takeCells, valueCandidates } from './cells.ts'
import type { Database } from './database.ts'
import { collectDays, collectRanges, DateFit } from './dates.ts'
import { type Accept, type Accepted, acceptedOf, type Filter, fewPlaces } from './filter.ts'
import { Meaning, type Question } from './meaning.ts'
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
  /** Seqs that are in the answer whatever they score, before the others and beyond the limit. */
  always?: readonly number[]
  /** Others only with at least this share of the cue's idf in their own words. */
  ownMin?: number
  /** Only so many of the cue's terms count, the rarest. */
  termsMax?: number
  /** Words that no item has count nothing: shares are of what can be found. */
  knownTermsOnly?: boolean
  /** Among equals the newer first: what was said last is what holds. */
  newestFirst?: boolean
  /** The closest to it are in the answer as well, behind the others, and each has its cosine. */
  question?: Question | undefined
  /**
   * Of a cycle: records without a contextId are each other's context where they were stored soon after each other, and
   * neither akin words nor relevance count. Of a question they are not, and both do.
   */
  attends?: boolean
}

export interface Ranked {
  seq: number
  score: number
  day: number
  isHinted: boolean
  /** Whether the cue has to do with it at all, by a word or by what an encoder says; not by its own worth. */
  hasEvidence: boolean
  /** The share of the cue's idf that its own words have. */
  own: number
  /** How much of what the cue asks it covers, 0 to 1. */
  relevance: number
  /** Of its words (sketch.ts). */
  sketch: number
  /** How close it is to the question, alone and with those beside it; null without vectors. */
  cosine: number | null
  smoothed: number | null
  /** What each of PARTS contributes: part times weight. Their sum is the score. */
  parts: number[]
}

export interface Found {
  ranked: Ranked[]
  /** The cue's terms that count, the rarest first. */
  terms: { term: string; idf: number }[]
  /** What shares of the cue are shares of. */
  idfTotal: number
}

/** What a search read: what it is charged by. */
export interface SearchWork {
  postings: number
  candidates: number
  scored: number
}

const COPIES_MAX = 3
/** Items that are in the answer because they are close to the question, though their words score less than others'. */
const NEAREST = 64
const EVERYTHING: Pruning = { cells: Infinity, open: Infinity, visit: Infinity, contexts: 0 }

export function search(database: Database, cue: Cue, options: SearchOptions, work?: SearchWork): Found {
  const scratch = scratchFor(database)
  try {
    return searchIn(database, scratch, cue, options, work)
  } catch (error) {
    dropScratch()
    throw error
  }
}

function searchIn(database: Database, scratch: Scratch, cue: Cue, options: SearchOptions, work?: SearchWork): Found {
  const parts = options.weights ?? PART_WEIGHTS
  // What a cycle attends to is no question that something could answer.
  const weights = {
    parts: options.attends ? { ...parts, relevance: 0 } : parts,
    salience: options.salience ?? SALIENCE_WEIGHTS,
  }
  const pruning = options.pruning === null ? EVERYTHING : (options.pruning ?? pruningOf(database))
  const whole = isScoredWhole(database, pruning)
  const limits = { ...pruning, terms: options.termsMax ?? Infinity, countsUnknown: options.knownTermsOnly !== true }
  scratch.named = options.attends ? null : database.contextNamed
  const { terms, unknown, dropped } = readTerms(database, scratch, cue.terms, limits)
  for (const term of terms) collectEvidence(database, scratch, term, weights.parts.cue)
  findBestContext(scratch)
  const groups = cue.groups.filter((word) => !dropped.has(word))
  const stems = readStemGroups(database, scratch, groups, terms, weights.parts.stem)
  const asked = [...terms, ...unknown]
  const akin = options.attends || cue.language !== 'en' ? NO_AKIN : readAkin(database, scratch, asked, pruning.open)
  for (const { term, idf } of asked) {
    const covering = akin.get(term)
    if (covering) addAkin(scratch, covering, (weights.parts.akin * idf) / scratch.idfTotal)
  }
  const fit = cue.date === null ? null : new DateFit(cue.date, database)
  if (fit !== null && !whole) collectDays(database, scratch, fit, weights.parts.date)
  const resolved = fit === null ? [] : collectRanges(database, scratch, fit, weights.parts.resolved)
  const accepted = acceptedOf(database, options.filter)
  const accept: Accept = accepted && ((k, i) => accepted.passed[database.itemAt[k]! + i] === accepted.stage)
  const always = placesOf(database, options.always ?? [])
  const meaning = options.question ? new Meaning(database, options.question) : null
  const nearest = meaning?.nearest(NEAREST, accept) ?? []
  // Of a narrow filter everything is scored that passes it, whatever the words of the question open.
  const few = accepted && !whole ? fewPlaces(database, scratch, accepted, pruning.cells) : null
  if (few) takeCells(database, scratch, [...few, ...always])
  else if (!whole) {
    const who = cue.who.length === 1 ? cue.who[0] : undefined
    const speaks = who === undefined ? null : database.itemsOfActor(who)
    valueCandidates(database, scratch, pruning, weights.parts, speaks)
    chooseCells(database, scratch, pruning.cells, accepted && ((cell) => hasAccepted(database, cell, accepted)))
    takeCells(database, scratch, [...always, ...nearest])
  }
  const names = new Set(cue.names.filter((name) => !dropped.has(name)))
  for (const term of asked) {
    const coverings = {
      stems: stems.get(term.term) ?? null,
      akin: akin.get(term.term) ?? null,
      isName: names.has(term.term),
    }
    spread(database, scratch, term, coverings, whole)
  }
  findNearBest(database, scratch, whole)
  const scorer = new Scorer(database, scratch, cue, fit, weights, names.size)
  const ownLeast = (options.ownMin ?? 0) * scratch.idfTotal
  if (whole) scorePlaces(database, scratch, scorer, accepted, ownLeast, 0, database.placeItem.length)
  else {
    for (let j = 0; j < scratch.chosenCount; j++) {
      const from = scratch.chosen[j]! * CELL
      scorePlaces(database, scratch, scorer, accepted, ownLeast, from, from + CELL)
    }
  }
  const at = (place: number) => rankedAt(database, scratch, scorer, meaning, place)
  const ranked = always.map(at)
  rank(database, scratch, at, options, new Set(options.always), ranked)
  if (options.limit > 0 && nearest.length > 0) addNearest(nearest.map(at), ranked)
  // By the words alone until here: what each is worth with its meaning is known of those that can be shown.
  if (meaning !== null) ranked.sort((a, b) => b.score - a.score || a.seq - b.seq)
  const { idfTotal } = scratch
  if (work) {
    Object.assign(work, { postings: scratch.postings, candidates: scratch.candidateCount, scored: scratch.scoredCount })
  }
  for (const places of stems.values()) for (const place of places) scratch.stem[place] = 0
  for (const place of resolved) scratch.resolved[place] = 0
  scratch.clean()
  return { ranked, terms: terms.map(({ term, idf }) => ({ term, idf })), idfTotal }
}

const NO_AKIN: ReadonlyMap<string, Covering> = new Map()

function hasAccepted({ placeItem }: Database, cell: number, { passed, stage }: Accepted): boolean {
  for (let place = cell * CELL; place < (cell + 1) * CELL; place++) {
    // Of a place without an item, -1, there is no entry.
    if (passed[placeItem[place]!] === stage) return true
  }
  return false
}

function scorePlaces(
  { placeItem, itemAt }: Database,
  scratch: Scratch,
  scorer: Scorer,
  accepted: Accepted | null,
  ownLeast: number,
  from: number,
  to: number,
): void {
  const { scoredPlace, score, own } = scratch
  let k = 0
  let count = scratch.scoredCount
  for (let place = from; place < to; place++) {
    const item = placeItem[place]!
    if (item < 0 || own[place]! < ownLeast) continue
    if (accepted !== null && accepted.passed[item] !== accepted.stage) continue
    k = segmentOf(itemAt, item, k)
    const i = item - itemAt[k]!
    scorer.score(k, i, place, score, count)
    scoredPlace[count++] = place
  }
  scratch.scoredCount = count
}

const buckets = new Buckets()

/** Where these items lie; those that are not there are left out. */
function placesOf({ segments, itemAt, shift, placeItem }: Database, seqs: readonly number[]): number[] {
  const places: number[] = []
  const wanted = new Set(seqs)
  for (const [k, segment] of segments.entries()) {
    const { seq, run, seqMin, seqMax } = segment
    if (!seqs.some((one) => one >= seqMin && one <= seqMax)) continue
    for (let i = 0; i < seq.length; i++) {
      if (!wanted.has(seq[i]!)) continue
      const place = i + shift[k]![run[i]!]!
      if (placeItem[place] === itemAt[k]! + i) places.push(place)
    }
  }
  return places
}

const scoreOfOne = new Float64Array(1)
const SALIENCE = PARTS.indexOf('salience')
const MEANING = PARTS.indexOf('meaning')

function rankedAt(
  database: Database,
  scratch: Scratch,
  scorer: Scorer,
  meaning: Meaning | null,
  place: number,
): Ranked {
  const { placeItem, itemAt, segments } = database
  const k = segmentOf(itemAt, placeItem[place]!, 0)
  const i = placeItem[place]! - itemAt[k]!
  const { seq, day, flags, sketch } = segments[k]!
  scorer.score(k, i, place, scoreOfOne, 0)
  const parts: number[] = []
  for (let part = 0; part < scorer.parts.length; part++) parts.push(scorer.parts[part]!)
  const cosine = meaning?.cosine(k, i) ?? null
  const smoothed = meaning?.smoothed(place) ?? null
  const relevance = smoothed === null ? scorer.relevance(k, i, place) : scorer.addMeaning(k, i, place, smoothed, parts)
  const score = smoothed === null ? scoreOfOne[0]! : parts.reduce((sum, part) => sum + part, 0)
  return {
    seq: seq[i]!,
    score,
    day: day[i]!,
    isHinted: (flags[i]! & FLAG.hinted) !== 0,
    hasEvidence: cosine !== null || score - parts[SALIENCE]! - parts[MEANING]! > 0,
    own: scratch.own[place]! / scratch.idfTotal,
    relevance,
    sketch: sketch[i]!,
    cosine,
    smoothed,
    parts,
  }
}

function addNearest(nearest: Ranked[], ranked: Ranked[]): void {
  const seqs = new Set(ranked.map(({ seq }) => seq))
  for (const one of nearest) if (!seqs.has(one.seq)) ranked.push(one)
}

/**
 * The best by score, the older first among equals unless the newer are asked for, without more than `copiesMax` near
 * copies by one actor. Items without an actor are nobody's: templated records of a program are told apart by what
 * differs. Those that are in the answer anyway are passed over.
 */
function rank(
  database: Database,
  scratch: Scratch,
  at: (place: number) => Ranked,
  options: SearchOptions,
  always: ReadonlySet<number>,
  ranked: Ranked[],
): void {
  const { placeItem, itemAt, segments } = database
  const { score, scoredPlace } = scratch
  const { copiesMax = COPIES_MAX, newestFirst = false } = options
  const limit = ranked.length + options.limit
  if (options.limit <= 0) return
  const sketches = new Map<string, number[]>()
  let k = 0
  const seqAt = (index: number) => {
    const item = placeItem[scoredPlace[index]!]!
    k = segmentOf(itemAt, item, k)
    return segments[k]!.seq[item - itemAt[k]!]!
  }
  const byAge = (a: number, b: number) => (newestFirst ? seqAt(b) - seqAt(a) : seqAt(a) - seqAt(b))
  buckets.eachDescending(score, scratch.scoredCount, byAge, (index) => {
    const place = scoredPlace[index]!
    if (always.has(seqAt(index))) return true
    const segment = segments[k]!
    const i = placeItem[place]! - itemAt[k]!
    if (isOneCopyTooMany(sketches, segment.actors[segment.actor[i]!]!, segment.sketch[i]!, copiesMax)) return true
    ranked.push(at(place))
    return ranked.length < limit
  })
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
