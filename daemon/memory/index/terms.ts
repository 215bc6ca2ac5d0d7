// What a cue's words find: postings of its terms, evidence per cell, contexts as documents, and stem groups.

import { PRIOR_ITEMS } from '../relevance.ts'
import { UNKNOWN_TERM_IDF } from '../weights.ts'
import type { Database } from './database.ts'
import { blockOf, eachEntry, entryString, entryText, findTerm, found, termBytes } from './dictionary.ts'
import { DamagedSegmentError } from './format.ts'
import { CELL_BITS } from './places.ts'
import { addEvidence, type Scratch } from './scratch.ts'

export interface CueTerm {
  term: string
  key: Uint8Array
  df: number
  idf: number
  /** Its postings in the scratch. */
  from: number
  to: number
  /** Whether it makes cells candidates. A common term only adds to cells that rarer ones opened. */
  opens: boolean
}

/** Saturation and length normalisation of a context as one document (BM25). */
const K1 = 0.9
const B = 0.4
/** idf of a cue's word that no item has. */
const UNKNOWN_IDF = 6
/** A stem group shares at least this many letters, and this share of the longer word. */
const STEM_LETTERS_MIN = 4
const STEM_SHARE_MIN = 0.65
/** Dictionary entries read for one stem group: a database of invented words must not make recall slow. */
const STEM_ENTRIES_MAX = 2_048

/** Rarity among the items of a database and PRIOR_ITEMS imagined ones that do not have the term. */
function idfOf(items: number, df: number): number {
  return rarity(items + PRIOR_ITEMS, df)
}

function rarity(all: number, df: number): number {
  return Math.log(1 + (all - df + 0.5) / (df + 0.5))
}

/**
 * The cue's terms: those that the database has, rarest first, with their postings read, and those that it has not. The
 * two rarest always count; a term is dropped when it is not among the rarest `terms`, or the postings read before it
 * would pass `visit`, and opens no cells when they would pass `open`.
 */
export function readTerms(
  database: Database,
  scratch: Scratch,
  terms: readonly string[],
  limits: { open: number; visit: number; terms: number; countsUnknown: boolean },
): { terms: CueTerm[]; unknown: CueTerm[]; dropped: Set<string> } {
  const known: CueTerm[] = []
  const unknown: CueTerm[] = []
  for (const term of terms) {
    const key = termBytes(term)
    const df = countItems(database, key)
    const list = df > 0 ? known : unknown
    list.push({ term, key, df, idf: idfOf(database.items, df), from: 0, to: 0, opens: true })
  }
  known.sort((a, b) => a.df - b.df || (a.term < b.term ? -1 : 1))
  const kept: CueTerm[] = []
  const dropped = new Set<string>()
  let sum = 0
  let idfTotal = 0
  for (const [rank, term] of known.entries()) {
    sum += term.df
    if (rank >= limits.terms || (rank > 1 && sum > limits.visit)) {
      dropped.add(term.term)
      continue
    }
    term.opens = rank < 2 || sum <= limits.open
    term.from = scratch.postings
    readPostings(database, scratch, term.key)
    term.to = scratch.postings
    idfTotal += term.idf
    kept.push(term)
  }
  // A word that no item has is a part of the question all the same: without it one common word would be a full match.
  const missing = limits.countsUnknown ? unknown.length * UNKNOWN_TERM_IDF : 0
  scratch.idfTotal = idfTotal + missing || 1
  scratch.askedTotal = unknown.reduce((sum, { idf }) => sum + idf, idfTotal)
  return { terms: kept, unknown, dropped }
}

/** df of a term over all segments, without the masked items. */
function countItems({ segments, mask }: Database, key: Uint8Array): number {
  let df = mask !== null && findTerm(mask, key) ? -found.df : 0
  for (const segment of segments) if (findTerm(segment, key)) df += found.df
  return df
}

/** Appends a term's postings of all segments to the scratch. */
function readPostings(database: Database, scratch: Scratch, key: Uint8Array): void {
  for (const [k, segment] of database.segments.entries()) {
    if (findTerm(segment, key)) decode(database, scratch, k, found.df, found.at)
  }
}

function decode(database: Database, scratch: Scratch, k: number, df: number, at: number): void {
  scratch.roomForPostings(df)
  const { postings, run, flags, items } = database.segments[k]!
  const { postingPlace, postingCount, postingAsks } = scratch
  const { placeItem } = database
  const shift = database.shift[k]!
  const first = database.itemAt[k]!
  const masked = database.mask !== null
  let p = at
  let i = -1
  let out = scratch.postings
  for (let n = 0; n < df; n++) {
    let x = postings[p++]!
    let value = x
    if (x > 127) {
      value = x & 127
      for (let bits = 7; x > 127; bits += 7) {
        x = postings[p++]!
        value |= (x & 127) << bits
      }
    }
    i += (value >> 1) + 1
    const count = value & 1 ? postings[p++]! : 1
    const place = i + shift[run[i]!]!
    if (masked && placeItem[place] !== first + i) continue
    postingPlace[out] = place
    postingCount[out] = count
    postingAsks[out++] = flags[i]! & 1
  }
  if (!(i < items)) throw new DamagedSegmentError('a posting without an item')
  scratch.postings = out
}

/** Evidence of a term for the cells that have it, and its part of the contexts' scores. */
export function collectEvidence(database: Database, scratch: Scratch, term: CueTerm, weight: number): void {
  const { postingPlace, postingCount, cellStamp, evidence, candidates, contextCount, contextSeen } = scratch
  const { cellContext } = database
  const tick = scratch.nextTick()
  const add = (weight * term.idf) / scratch.idfTotal
  let seen = 0
  let last = -1
  let count = scratch.candidateCount
  for (let j = term.from; j < term.to; j++) {
    const cell = postingPlace[j]! >> CELL_BITS
    const context = cellContext[cell]!
    if (scratch.isShared(context)) {
      if (contextCount[context] === 0) contextSeen[seen++] = context
      contextCount[context]! += postingCount[j]!
    }
    if (cell === last || cellStamp[cell] === tick) continue
    last = cell
    cellStamp[cell] = tick
    if (evidence[cell] !== 0) evidence[cell]! += add
    else if (term.opens) {
      candidates[count++] = cell
      evidence[cell] = add
    }
  }
  scratch.candidateCount = count
  addContexts(database, scratch, seen)
}

function addContexts(database: Database, scratch: Scratch, seen: number): void {
  const { contextLength } = database
  const all = scratch.named === null ? database.contexts : database.namedContexts
  const lengthTotal = scratch.named === null ? database.lengthTotal : database.namedLengthTotal
  const { contextCount, contextSeen, contextScore, scoredContexts } = scratch
  const idf = rarity(all, seen)
  const mean = lengthTotal / (all || 1)
  for (let j = 0; j < seen; j++) {
    const context = contextSeen[j]!
    const count = contextCount[context]!
    contextCount[context] = 0
    if (contextScore[context] === 0) scoredContexts[scratch.scoredContextCount++] = context
    contextScore[context]! += (idf * count * (K1 + 1)) / (count + K1 * (1 - B + (B * contextLength[context]!) / mean))
  }
}

export function findBestContext(scratch: Scratch): void {
  const { scoredContexts, contextScore } = scratch
  for (let j = 0; j < scratch.scoredContextCount; j++) {
    const score = contextScore[scoredContexts[j]!]!
    if (score > scratch.contextBest) scratch.contextBest = score
  }
}

/** By the cue's words: places with a word of its stem group, but not that word. */
export function readStemGroups(
  database: Database,
  scratch: Scratch,
  groups: readonly string[],
  terms: readonly CueTerm[],
  weight: number,
): Map<string, Int32Array> {
  const known = new Map(terms.map((term) => [term.term, term]))
  let total = 0
  for (const word of groups) total += known.get(word)?.idf ?? UNKNOWN_IDF
  scratch.groupTotal = total || 1
  const lists = new Map<string, Int32Array>()
  for (const word of groups) {
    if (word.length < STEM_LETTERS_MIN) continue
    const members = stemGroup(database, word)
    if (members.length === 0) continue
    const { places, df } = groupPlaces(database, scratch, known.get(word), members)
    if (places.length === 0) continue
    lists.set(word, places)
    addStems(scratch, places, idfOf(database.items, df), weight)
  }
  return lists
}

/** Where the members are said; `df` counts the places of the word itself too. A word that no item has is undefined. */
function groupPlaces(database: Database, scratch: Scratch, word: CueTerm | undefined, members: readonly Member[]) {
  const { stamp } = scratch
  const start = scratch.postings
  const tick = scratch.nextTick()
  const { from, to } = word ?? NOWHERE
  for (let j = from; j < to; j++) stamp[scratch.postingPlace[j]!] = tick
  for (const { segment, df, at } of members) decode(database, scratch, segment, df, at)
  let count = 0
  const found = new Int32Array(scratch.postings - start)
  for (let j = start; j < scratch.postings; j++) {
    const place = scratch.postingPlace[j]!
    if (stamp[place] === tick) continue
    stamp[place] = tick
    found[count++] = place
  }
  scratch.postings = start
  return { places: found.subarray(0, count), df: count + to - from }
}

const NOWHERE = { from: 0, to: 0 }

function addStems(scratch: Scratch, places: Int32Array, idf: number, weight: number): void {
  const tick = scratch.nextTick()
  for (const place of places) {
    scratch.stem[place]! += idf
    const cell = place >> CELL_BITS
    if (scratch.cellStamp[cell] === tick) continue
    scratch.cellStamp[cell] = tick
    addEvidence(scratch, cell, (weight * idf) / scratch.groupTotal)
  }
}

interface Member {
  term: string
  segment: number
  df: number
  at: number
}

/** The other terms of a word's stem group in every segment's dictionary. */
function stemGroup(database: Database, word: string): Member[] {
  const letters = Math.max(STEM_LETTERS_MIN, Math.ceil(STEM_SHARE_MIN * word.length))
  const prefix = termBytes(word.slice(0, letters).isWellFormed() ? word.slice(0, letters) : word.slice(0, letters - 1))
  const members: Member[] = []
  const entriesMax = STEM_ENTRIES_MAX + (database.mask?.terms ?? 0)
  let read = 0
  for (const [k, segment] of database.segments.entries()) {
    let entries = 0
    eachEntry(segment, blockOf(segment, prefix), (length, df, at) => {
      const order = comparePrefix(length, prefix)
      if (order < 0) return true
      if (order > 0 || entries === entriesMax) return false
      entries++
      const term = entryString(length)
      if (isStemMate(term, word) && !database.names.terms.has(term)) members.push({ term, segment: k, df, at })
      return true
    })
    read += entries
  }
  return read > STEM_ENTRIES_MAX ? firstMembers(database, prefix, entriesMax, members) : members
}

/** Less than 0: the entry sorts before all terms with the prefix; 0: it has the prefix. */
function comparePrefix(length: number, prefix: Uint8Array): number {
  for (let j = 0; j < prefix.length; j++) {
    if (j >= length) return -1
    const order = entryText[j]! - prefix[j]!
    if (order !== 0) return order
  }
  return 0
}

export function isStemMate(term: string, word: string): boolean {
  let same = 0
  while (same < term.length && same < word.length && term[same] === word[same]) same++
  if (same === term.length && same === word.length) return false
  return same >= Math.max(STEM_LETTERS_MIN, STEM_SHARE_MIN * Math.max(term.length, word.length))
}

/**
 * The members among the first STEM_ENTRIES_MAX distinct terms with the prefix. Each segment's first ones were read (and
 * as many more as masked items may have had to themselves), so the first ones of all are among them: the same set
 * however the rows are cut.
 */
function firstMembers(database: Database, prefix: Uint8Array, entriesMax: number, members: readonly Member[]) {
  const entries = new Set<string>()
  for (const segment of database.segments) {
    let read = 0
    eachEntry(segment, blockOf(segment, prefix), (length) => {
      const order = comparePrefix(length, prefix)
      if (order < 0) return true
      if (order > 0 || read === entriesMax) return false
      read++
      entries.add(entryText.toString('latin1', 0, length))
      return true
    })
  }
  const { mask } = database
  const first = new Set<string>()
  for (const entry of [...entries].sort()) {
    const key = Buffer.from(entry, 'latin1')
    if (mask !== null && findTerm(mask, key) && countItems(database, key) === 0) continue
    if (first.size === STEM_ENTRIES_MAX) break
    first.add(entry)
  }
  return members.filter(({ term }) => first.has(Buffer.from(term).toString('latin1')))
}
