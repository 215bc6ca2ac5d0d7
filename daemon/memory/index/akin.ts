// Words that mean nearly what a word of the cue means, or are a kind of it: where they are said, and how much of the
// word they cover. From tables of the release (daemon/memory/meaning), so nothing of them is in a segment.

import { kindsOf } from '../meaning/kinds.ts'
import { akinOf } from '../meaning/thesaurus.ts'
import { KIND_SHARE, shareOfCosine } from '../relevance.ts'
import type { Database } from './database.ts'
import { eachEntry, entryString, findTerm, found, termBytes } from './dictionary.ts'
import type { Segment } from './format.ts'
import { CELL_BITS } from './places.ts'
import { addEvidence, type Scratch } from './scratch.ts'
import { countItems, decode } from './terms.ts'

export interface Covering {
  places: Int32Array
  /** Of each place: how much of the word is covered there. */
  shares: Float64Array
  /** Whether it makes cells candidates. */
  opens: boolean
}

interface Akin {
  term: string
  key: Uint8Array
  share: number
}

/** Postings of akin words that are read for one cue, the rarest words of each of its words first. */
const POSTINGS_MAX = 4_096

/** Words whose lists are kept. */
const LISTS_MAX = 512
/** A longer list is a kind: 1,400 words for "job". What a segment has of it is kept, of so many kinds. */
const SHORT_LIST = 64
const SEGMENT_KINDS_MAX = 32

const lists = new Map<string, readonly Akin[]>()

/** The words that cover a part of `word`. */
export function akinTo(word: string): readonly Akin[] {
  const known = lists.get(word)
  if (known !== undefined) return known
  const shares = new Map(kindsOf(word).map((term) => [term, KIND_SHARE]))
  for (const { term, cosine } of akinOf(word)) {
    const share = shareOfCosine(cosine)
    if (share > (shares.get(term) ?? 0)) shares.set(term, share)
  }
  shares.delete(word)
  const list = [...shares].map(([term, share]) => ({ term, key: termBytes(term), share }))
  remember(lists, word, list, LISTS_MAX)
  return list
}

/** An akin word that a segment has. */
interface Member extends Akin {
  df: number
  at: number
}

const present = new WeakMap<Segment, Map<string, readonly Member[]>>()

function membersIn(segment: Segment, word: string, list: readonly Akin[]): readonly Member[] {
  if (list.length <= SHORT_LIST) return look(segment, list)
  const words = present.get(segment) ?? new Map<string, readonly Member[]>()
  present.set(segment, words)
  const known = words.get(word)
  if (known !== undefined) return known
  const members = segment.terms < list.length ? walk(segment, list) : look(segment, list)
  remember(words, word, members, SEGMENT_KINDS_MAX)
  return members
}

function look(segment: Segment, list: readonly Akin[]): Member[] {
  const members: Member[] = []
  for (const { term, key, share } of list)
    if (findTerm(segment, key)) members.push({ term, key, share, df: found.df, at: found.at })
  return members
}

/** A kind may have a thousand members, a short tail a hundred terms. */
function walk(segment: Segment, list: readonly Akin[]): Member[] {
  const wanted = new Map(list.map((akin) => [akin.term, akin]))
  const members: Member[] = []
  eachEntry(segment, 0, (length, df, at) => {
    const akin = wanted.get(entryString(length))
    if (akin !== undefined) members.push({ ...akin, df, at })
    return true
  })
  return members
}

function remember<Value>(map: Map<string, Value>, key: string, value: Value, max: number): void {
  if (map.size === max) map.delete(map.keys().next().value as string)
  map.set(key, value)
}

export interface AkinBudget {
  postings: number
  open: number
}

export function akinBudget(open: number): AkinBudget {
  return { postings: POSTINGS_MAX, open: open / 4 }
}

/** Where akin words of `word` are said, but for the places that have the word itself: those with the stamp `own`. */
export function readAkin(
  database: Database,
  scratch: Scratch,
  word: string,
  own: number,
  budget: AkinBudget,
): Covering | null {
  const list = akinTo(word)
  if (list.length === 0) return null
  const bySegment = database.segments.map((segment) => membersIn(segment, word, list))
  let postings = 0
  for (const members of bySegment) for (const { df } of members) postings += df
  if (postings === 0) return null
  const unread =
    postings > budget.postings || database.mask !== null ? beyond(database, bySegment, budget.postings) : null
  if (unread !== null) postings = unread.postings
  budget.postings -= postings
  const opens = postings <= budget.open
  if (opens) budget.open -= postings
  return { ...placesOf(database, scratch, bySegment, unread?.terms ?? null, own), opens }
}

/** The commonest words, which would pass the budget, counted without masked items: how rows are cut does not show. */
function beyond(database: Database, bySegment: readonly (readonly Member[])[], most: number) {
  const keys = new Map<string, Uint8Array>()
  for (const members of bySegment) for (const { term, key } of members) keys.set(term, key)
  const counted = [...keys].map(([term, key]) => ({ term, df: countItems(database, key) }))
  counted.sort((a, b) => a.df - b.df || (a.term < b.term ? -1 : 1))
  const terms = new Set<string>()
  let postings = 0
  for (const { term, df } of counted) {
    if (terms.size > 0 || postings + df > most) terms.add(term)
    else postings += df
  }
  return { terms, postings }
}

function placesOf(
  database: Database,
  scratch: Scratch,
  bySegment: readonly (readonly Member[])[],
  unread: ReadonlySet<string> | null,
  own: number,
): Omit<Covering, 'opens'> {
  const { mark, marked, stamp } = scratch
  const start = scratch.postings
  let count = 0
  for (const [k, members] of bySegment.entries()) {
    for (const { term, share, df, at } of members) {
      if (unread?.has(term)) continue
      scratch.postings = start
      decode(database, scratch, k, df, at)
      const { postingPlace, postings } = scratch
      for (let j = start; j < postings; j++) {
        const place = postingPlace[j]!
        if (mark[place]! >= share || stamp[place] === own) continue
        if (mark[place] === 0) marked[count++] = place
        mark[place] = share
      }
    }
  }
  scratch.postings = start
  const places = marked.slice(0, count)
  const shares = new Float64Array(count)
  for (let j = 0; j < count; j++) {
    shares[j] = mark[places[j]!]!
    mark[places[j]!] = 0
  }
  return { places, shares }
}

/** Evidence of akin words for the cells that have them: of each cell's places the one that covers most. */
export function addAkin(scratch: Scratch, { places, shares, opens }: Covering, worth: number): void {
  const tick = scratch.nextTick()
  // `value` is free until candidates are valued.
  const { cellStamp, value: best, evidence } = scratch
  const cells: number[] = []
  for (let j = 0; j < places.length; j++) {
    const cell = places[j]! >> CELL_BITS
    const share = shares[j]!
    if (cellStamp[cell] !== tick) {
      cellStamp[cell] = tick
      best[cell] = share
      cells.push(cell)
    } else if (share > best[cell]!) best[cell] = share
  }
  for (const cell of cells) if (opens || evidence[cell] !== 0) addEvidence(scratch, cell, worth * best[cell]!)
}
