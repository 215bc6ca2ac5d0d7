// Searches databases and remembers what it joined. One engine runs in the worker thread and one in the main thread;
// both are sent only what they do not have yet. What an engine holds is decided by the cache of recall-index.ts: an
// engine forgets nothing unless it is told to.

import { analyseCue, analyseItem } from '../analysis/analyse.ts'
import { analyserOf, type Cue, type Language, type RecordText } from '../analysis/item.ts'
import type { EncoderFacts } from '../encoder/folder.ts'
import { buildSegment, extractItems, mergeSegments } from './build.ts'
import { withChanges } from './changes.ts'
import { type Base, type Database, openDatabase } from './database.ts'
import { eachEntry, entryString } from './dictionary.ts'
import { DamagedSegmentError, openSegment, type Segment } from './format.ts'
import { type Listed, listItems, type Page } from './listing.ts'
import { signBytesOf } from './meaning.ts'
import { type Found, type SearchOptions, type SearchWork, search } from './search.ts'
import { wordBytesOf } from './segment-words.ts'

export interface EngineRequest {
  /** Names the database over all instances. */
  key: string
  language: Language
  /** The database's segments, in the order of their seqs, and the bodies of those that the engine does not have. */
  segmentIds: readonly string[]
  bodies: readonly { id: string; bytes: Uint8Array }[]
  /** Whose vectors the texts have. */
  encoder?: EncoderFacts | undefined
  /** The rows behind the segments, and the texts of those that the engine does not have, or not with their vectors. */
  tailSeqs: readonly number[]
  texts: readonly RecordText[]
  /** Seqs of items in the segments that do not count. */
  masked: readonly number[]
  /** Null: what is looked for are the terms of `fresh` and of `words`. */
  query: string | null
  words?: readonly string[]
  /** Rows of this search alone, with seqs above all others: nothing is kept of them. */
  fresh?: readonly RecordText[]
  options: SearchOptions
  /** Of a list. */
  page?: Page
}

export interface EngineAnswer extends Found {
  /** What the engine holds of the database beside the bodies of its segments. */
  derivedBytes: number
  work: SearchWork
}

export interface Engine {
  search(request: EngineRequest): EngineAnswer
  /** Numbers of items. */
  list(request: EngineRequest & { page: Page }): Listed & { derivedBytes: number }
  /** Takes what a request brings, which later ones rely on, and leaves the search. */
  accept(request: EngineRequest): void
  forget(key: string): void
}

/** The engine was not sent all that it needs: whoever sent it believes that it has what it has forgotten. */
export class MissingPartError extends Error {
  readonly problem: string
  constructor(part: string) {
    super(`the search engine does not have ${part}`)
    this.name = 'MissingPartError'
    this.problem = part
  }
}

interface Held {
  language: Language
  segmentIds: readonly string[]
  segments: Map<string, Segment>
  base: Base
  /** None; one; or a larger one, and one of the latest rows. */
  tails: readonly Segment[]
  mask: Segment | null
  /** The base with tails and mask laid over it, from the first search that needs it so. */
  database: Database | null
}

export function createEngine(): Engine {
  const databases = new Map<string, Held>()

  function accept(request: EngineRequest): Held {
    try {
      const held = update(databases.get(request.key), request)
      databases.set(request.key, held)
      return held
    } catch (error) {
      databases.delete(request.key)
      throw error
    }
  }

  return {
    accept,
    search(request) {
      const held = accept(request)
      const { fresh: rows = [], language, options } = request
      const fresh = rows.length === 0 ? null : openSegment(buildFrom(rows, language))
      const database = databaseOf(held, fresh)
      const work = { postings: 0, candidates: 0, scored: 0 }
      const found = search(database, cueOf(request, database, fresh), options, work)
      return { ...found, derivedBytes: derivedBytesOf(held), work }
    },
    list(request) {
      const held = accept(request)
      const listed = listItems(databaseOf(held, null), request.page)
      return { ...listed, derivedBytes: derivedBytesOf(held) }
    },
    forget: (key) => databases.delete(key),
  }
}

/** Terms that are looked for at most: each is a look into every dictionary. */
const TERMS_MAX = 1_024

/** The terms of what is fresh and of these texts, and nothing that only a question has: names, dates, what is asked. */
function cueOf({ query, words = [], language }: EngineRequest, { names }: Database, fresh: Segment | null): Cue {
  if (query !== null) return analyseCue(query, language, names)
  const terms = new Set(words.flatMap((text) => analyseCue(text, language, names).terms))
  if (fresh !== null) {
    eachEntry(fresh, 0, (length) => {
      const term = entryString(length)
      if (!names.terms.has(term)) terms.add(term)
      return terms.size < TERMS_MAX
    })
  }
  const asksNothing = { groups: [], who: [], when: false, date: null, asks: 0, names: [], isFirst: false }
  return { ...asksNothing, terms: [...terms], language: 'other' }
}

export function buildFrom(records: readonly RecordText[], language: Language, encoder?: EncoderFacts): Uint8Array {
  const items = records.values().map((record) => ({ ...analyseItem(record, language), vector: record.vector }))
  return buildSegment(items, analyserOf(language), encoder)
}

function update(before: Held | undefined, request: EngineRequest): Held {
  const held = sameList(before, request) ? before : join(before, request)
  const tails = updateTails(held, request)
  const mask = updateMask(held, request.masked)
  if (held === before && tails === held.tails && mask === held.mask) return held
  return { ...held, tails, mask, database: null }
}

/** What is searched; rows of this search alone are laid over it with the others. */
function databaseOf(held: Held, fresh: Segment | null): Database {
  if (fresh !== null) return withChanges(held.base, [...held.tails, fresh], held.mask)
  held.database ??= withChanges(held.base, held.tails, held.mask)
  return held.database
}

function sameList(held: Held | undefined, { segmentIds, language }: EngineRequest): held is Held {
  if (held === undefined || held.language !== language || held.segmentIds.length !== segmentIds.length) return false
  return held.segmentIds.every((id, index) => id === segmentIds[index])
}

function join(before: Held | undefined, { segmentIds, bodies, language }: EngineRequest): Held {
  const sent = new Map(bodies.map(({ id, bytes }) => [id, bytes]))
  const segments = new Map<string, Segment>()
  for (const id of segmentIds) {
    const bytes = sent.get(id)
    const segment = bytes === undefined ? before?.segments.get(id) : openSegment(bytes)
    if (segment === undefined) throw new MissingPartError(`segment ${id}`)
    if (segment.analyser !== analyserOf(language)) {
      throw new DamagedSegmentError(`made by analyser ${segment.analyser}, this database needs ${analyserOf(language)}`)
    }
    segments.set(id, segment)
  }
  const base = openDatabase([...segments.values()], language)
  // Another language makes other terms of the tail.
  const tails = before?.language === language ? before.tails : []
  return { language, segmentIds, segments, base, tails, mask: null, database: base }
}

/** Rows of the smaller tail: each new row is merged with these, and with the others once for so many. */
const LATEST_MAX = 16

/** The tail as segments: rows that are new are analysed and merged with the latest. */
function updateTails({ tails }: Held, { tailSeqs, texts, language, encoder }: EngineRequest): readonly Segment[] {
  const wanted = new Set(tailSeqs)
  const had = new Set(tails.flatMap(({ seq }) => [...seq]))
  const fresh = texts.filter(({ seq }) => wanted.has(seq))
  // One that comes again has a vector now.
  const again = new Set(fresh.map(({ seq }) => seq))
  const gone = new Set([...had].filter((seq) => !wanted.has(seq) || again.has(seq)))
  if (had.size - gone.size + fresh.length !== wanted.size) throw new MissingPartError('a row of the tail')
  if (fresh.length === 0 && gone.size === 0) return tails
  if (wanted.size === 0) return []
  const built = fresh.length === 0 ? [] : [buildFrom(fresh, language, encoder)]
  const left = (tail: Segment) => (gone.size === 0 ? tail.bytes : mergeSegments([tail.bytes], gone, { encoder }))
  const kept = had.size === gone.size ? [] : tails.map(left)
  const latest = kept.length === 2 ? tails[1]!.items : 0
  const isOne = kept.length === 0 || gone.size > 0 || latest + fresh.length > LATEST_MAX
  const merged = isOne ? kept : kept.slice(1)
  const bodies = [...merged, ...built]
  const made = openSegment(bodies.length === 1 ? bodies[0]! : mergeSegments(bodies, new Set(), { encoder }))
  return isOne ? [made] : [tails[0]!, made]
}

/** The masked items as a segment. Seqs that no segment has are masked already. */
function updateMask({ mask, segments }: Held, masked: readonly number[]): Segment | null {
  const wanted = new Set(masked)
  const had = new Set(mask?.seq)
  const isSame = [...had].every((seq) => wanted.has(seq))
  const fresh = new Set([...wanted].filter((seq) => !had.has(seq)))
  if (isSame && fresh.size === 0) return mask
  const made = openSegment(extractItems([...segments.values()], isSame ? fresh : wanted))
  if (!isSame) return made.items === 0 ? null : made
  if (made.items === 0) return mask
  return mask === null ? made : openSegment(mergeSegments([mask.bytes, made.bytes]))
}

/** Of V8's heap, for a database and for each segment: views, maps, names. Measured: 13 KB with one, 47 with eight. */
const OBJECT_BYTES = { database: 8_000, segment: 5_000 }

function derivedBytesOf({ base, database, segments, tails, mask }: Held): number {
  const views = segments.size + tails.length + (mask === null ? 0 : 1)
  let bytes = base.derivedBytes + (mask?.bytes.byteLength ?? 0)
  bytes += OBJECT_BYTES.database + views * OBJECT_BYTES.segment
  for (const tail of tails) bytes += tail.bytes.byteLength
  for (const segment of [...segments.values(), ...tails]) bytes += signBytesOf(segment) + wordBytesOf(segment)
  if (mask !== null) bytes += wordBytesOf(mask)
  if (database === null || database === base) return bytes
  for (const copied of [database.placeItem, database.cellItems, database.cellContext, database.contextItems]) {
    bytes += copied.byteLength
  }
  return bytes + database.contextLength.byteLength
}
