// Words that mean nearly what a word of the cue means, or are a kind of it: where they are said, and how much of the
// word they cover. From tables of the release (daemon/memory/meaning), so nothing of them is in a segment.

import { kindsOf } from '../meaning/kinds.ts'
import { akinOf } from '../meaning/thesaurus.ts'
import { KIND_SHARE, shareOfCosine } from '../relevance.ts'
import type { Database } from './database.ts'
import { DamagedSegmentError } from './format.ts'
import { CELL_BITS } from './places.ts'
import { addEvidence, type Scratch } from './scratch.ts'
import { entryOf, type SegmentWords, wordsOf } from './segment-words.ts'
import type { CueTerm } from './terms.ts'
import { NUMBER_OF_AKIN, NUMBER_OF_KIND, wordAt } from './vocabulary.ts'

export interface Covering {
  places: Int32Array
  /** Of each place: how much of the word is covered there. */
  shares: Float64Array
  /** Whether it makes cells candidates. */
  opens: boolean
}

/** Words by their numbers (vocabulary.ts), and how much of the word each of them covers. */
interface Akin {
  numbers: Uint16Array
  shares: Float64Array
}

/** Postings of akin words that are read for one cue, the rarest words of each of its words first. */
const POSTINGS_MAX = 4_096

/** Words whose lists are kept. */
const LISTS_MAX = 512

const lists = new Map<string, Akin>()

/** The words that cover a part of `word`. */
function akinTo(word: string): Akin {
  const known = lists.get(word)
  if (known !== undefined) return known
  const shares = new Map<number, number>()
  for (const kind of kindsOf(word)) shares.set(NUMBER_OF_KIND[kind]!, KIND_SHARE)
  for (const { number: near, cosine } of akinOf(word)) {
    const number = NUMBER_OF_AKIN[near]!
    const share = shareOfCosine(cosine)
    if (share > (shares.get(number) ?? 0)) shares.set(number, share)
  }
  const list = { numbers: Uint16Array.from(shares.keys()), shares: Float64Array.from(shares.values()) }
  if (lists.size === LISTS_MAX) lists.delete(lists.keys().next().value as string)
  lists.set(word, list)
  return list
}

/** The same as terms. */
export function akinTermsOf(word: string): { term: string; share: number }[] {
  const { numbers, shares } = akinTo(word)
  return Array.from(numbers, (number, at) => ({ term: wordAt(number), share: shares[at]! }))
}

/** Of one thread: where akin words were found for the cue, until the next search. At most a place per posting. */
const foundPlaces = new Int32Array(POSTINGS_MAX)
const foundShares = new Float64Array(POSTINGS_MAX)

/** By the cue's words: where words are said that are akin to them, but for the places that have the word itself. */
export function readAkin(
  database: Database,
  scratch: Scratch,
  terms: readonly CueTerm[],
  open: number,
): ReadonlyMap<string, Covering> {
  const coverings = new Map<string, Covering>()
  const segments = database.segments.map(wordsOf)
  const mask = database.mask && wordsOf(database.mask)
  let [postingsLeft, openLeft, from] = [POSTINGS_MAX, open / 4, 0]
  for (const term of terms) {
    const akin = akinTo(term.term)
    if (akin.numbers.length === 0) continue
    const df = countEach(segments, mask, akin)
    const postings = withinBudget(df, akin, postingsLeft)
    if (postings === 0) continue
    postingsLeft -= postings
    const opens = postings <= openLeft
    if (opens) openLeft -= postings
    const own = stampOwn(scratch, term)
    let to = from
    for (const [k, words] of segments.entries()) to = markSegment(database, scratch, k, words, akin, df, own, to)
    takeMarks(scratch, from, to)
    coverings.set(term.term, { places: foundPlaces.subarray(from, to), shares: foundShares.subarray(from, to), opens })
    from = to
  }
  return coverings
}

/** df of each word over all segments, without the masked items: how rows are cut does not show. */
function countEach(segments: readonly SegmentWords[], mask: SegmentWords | null, { numbers }: Akin): Int32Array {
  const df = new Int32Array(numbers.length)
  for (const words of segments) addEach(df, words, numbers, 1)
  if (mask !== null) addEach(df, mask, numbers, -1)
  return df
}

function addEach(df: Int32Array, words: SegmentWords, numbers: Uint16Array, times: number): void {
  for (let n = 0; n < numbers.length; n++) {
    const entry = entryOf(words, numbers[n]!)
    if (entry >= 0) df[n]! += times * words.entries[entry]!
  }
}

/** How many postings are read: the commonest words, which would pass the budget, are taken out of `df`. */
function withinBudget(df: Int32Array, { numbers }: Akin, most: number): number {
  let sum = 0
  for (let n = 0; n < df.length; n++) sum += df[n]!
  if (sum <= most) return sum
  sum = 0
  const rarest = [...df.keys()].filter((n) => df[n]! > 0).sort((a, b) => df[a]! - df[b]! || numbers[a]! - numbers[b]!)
  let isOver = false
  for (const n of rarest) {
    isOver ||= sum + df[n]! > most
    if (isOver) df[n] = 0
    else sum += df[n]!
  }
  return sum
}

/** Puts a stamp on the places that have the word itself. */
function stampOwn(scratch: Scratch, { from, to }: CueTerm): number {
  const { stamp, postingPlace } = scratch
  const tick = scratch.nextTick()
  for (let j = from; j < to; j++) stamp[postingPlace[j]!] = tick
  return tick
}

/** Marks each place with the most that a word of the list covers there. A loop of its own: counts are not needed. */
function markSegment(
  database: Database,
  { mark, stamp }: Scratch,
  k: number,
  words: SegmentWords,
  { numbers, shares }: Akin,
  df: Int32Array,
  own: number,
  from: number,
): number {
  const { postings, run, items } = database.segments[k]!
  const { entries } = words
  const { placeItem } = database
  const shift = database.shift[k]!
  const first = database.itemAt[k]!
  const masked = database.mask !== null
  let to = from
  for (let n = 0; n < numbers.length; n++) {
    const entry = df[n] === 0 ? -1 : entryOf(words, numbers[n]!)
    if (entry < 0) continue
    const share = shares[n]!
    let p = entries[entry + 1]!
    let i = -1
    for (let left = entries[entry]!; left > 0; left--) {
      let x = postings[p++]!
      let value = x & 127
      for (let bits = 7; x > 127; bits += 7) {
        x = postings[p++]!
        value |= (x & 127) << bits
      }
      i += (value >> 1) + 1
      p += value & 1
      const place = i + shift[run[i]!]!
      if (mark[place]! >= share || stamp[place] === own) continue
      if (masked && placeItem[place] !== first + i) continue
      if (mark[place] === 0) foundPlaces[to++] = place
      mark[place] = share
    }
    if (!(i < items)) throw new DamagedSegmentError('a posting without an item')
  }
  return to
}

function takeMarks({ mark }: Scratch, from: number, to: number): void {
  for (let j = from; j < to; j++) {
    const place = foundPlaces[j]!
    foundShares[j] = mark[place]!
    mark[place] = 0
  }
}

/** Evidence of akin words for the cells that have them: of each cell's places the one that covers most. */
export function addAkin(scratch: Scratch, { places, shares, opens }: Covering, worth: number): void {
  const tick = scratch.nextTick()
  // `value` is free until candidates are valued, `summed` until terms are spread.
  const { cellStamp, value: best, evidence, summed: cells } = scratch
  let count = 0
  for (let j = 0; j < places.length; j++) {
    const cell = places[j]! >> CELL_BITS
    const share = shares[j]!
    if (!opens && evidence[cell] === 0) continue
    if (cellStamp[cell] !== tick) {
      cellStamp[cell] = tick
      best[cell] = share
      cells[count++] = cell
    } else if (share > best[cell]!) best[cell] = share
  }
  for (let j = 0; j < count; j++) addEvidence(scratch, cells[j]!, worth * best[cells[j]!]!)
}
