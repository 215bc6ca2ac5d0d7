// Writing segments: from items, or from other segments. Both give the same bytes for the same items.

import type { DayRange, IndexItem } from '../analysis/item.ts'
import type { EncoderFacts } from '../encoder/folder.ts'
import { eachPosting, eachTerm } from './dictionary.ts'
import {
  BLOCK,
  halvesOf,
  ITEMS_MAX,
  openSegment,
  packSegment,
  readLabels,
  type Segment,
  TERM_BYTES_MAX,
} from './format.ts'
import { sketchOf } from './sketch.ts'
import { encoderOf, packVectors, type Vector, vectorAt } from './vectors.ts'

const NUMBER_MAX = 0xffff_ffff
const COUNT_MAX = 255

/** Everything of an item but its terms. */
type Row = Omit<IndexItem, 'terms'> & { sketch: number; vector?: Vector | undefined }
/** Items, and per term its postings: index of the row times 256 plus the count. */
interface Gathered {
  rows: Row[]
  postings: Map<string, number[]>
}

/** Each item is read once and its terms let go: what a build holds of them is one entry for each distinct one. */
export function buildSegment(
  items: Iterable<IndexItem & { vector?: Vector | undefined }>,
  analyser: number,
  encoder?: EncoderFacts,
): Uint8Array {
  const gathered: Gathered = { rows: [], postings: new Map() }
  for (const { terms, ...item } of items) {
    const row = gathered.rows.length
    gathered.rows.push({ ...item, sketch: sketchOf(terms.keys()) })
    for (const [term, count] of terms) addPosting(gathered.postings, term.toWellFormed(), row, count)
  }
  return encode(gathered, analyser, encoder)
}

export interface MergeOptions {
  /** Whose vectors are kept, those of others being as good as none; without one, the encoder that made the latest. */
  encoder?: EncoderFacts | undefined
  /** Vectors that were made since, by seq. */
  vectors?: ReadonlyMap<number, Vector>
}

/** One segment of all items of the given ones but those whose seq is dropped. */
export function mergeSegments(
  bodies: readonly Uint8Array[],
  drop: ReadonlySet<number> = new Set(),
  { encoder, vectors }: MergeOptions = {},
): Uint8Array {
  const segments = bodies.map(openSegment)
  const kept = encoder ?? encoderOf(segments.findLast(({ mark }) => mark !== 0))
  return select(segments, (seq) => !drop.has(seq), kept, vectors)
}

/** A segment of the items with these seqs alone, without vectors. What masks them out of a database (changes.ts). */
export function extractItems(segments: readonly Segment[], seqs: ReadonlySet<number>): Uint8Array {
  return select(
    segments.filter((segment) => overlaps(segment, seqs)),
    (seq) => seqs.has(seq),
  )
}

function overlaps({ seqMin, seqMax }: Segment, seqs: ReadonlySet<number>): boolean {
  for (const seq of seqs) if (seq >= seqMin && seq <= seqMax) return true
  return false
}

function select(
  segments: readonly Segment[],
  keep: (seq: number) => boolean,
  encoder?: EncoderFacts,
  vectors?: MergeOptions['vectors'],
): Uint8Array {
  const analyser = segments[0]?.analyser ?? 0
  const gathered: Gathered = { rows: [], postings: new Map() }
  for (const segment of segments) {
    if (segment.analyser !== analyser) throw new Error('cannot merge segments of different analysers')
    const rowOf = gatherRows(segment, keep, gathered.rows, encoder, vectors)
    if (rowOf === undefined) continue
    eachTerm(segment, (term, df, at) =>
      eachPosting(segment, df, at, (item, count) => {
        if (rowOf[item]! >= 0) addPosting(gathered.postings, term(), rowOf[item]!, count)
      }),
    )
  }
  return encode(gathered, analyser, encoder)
}

/** Where each item went in `rows`, -1 for those left out; undefined when none was kept. */
function gatherRows(
  segment: Segment,
  keep: (seq: number) => boolean,
  rows: Row[],
  encoder?: EncoderFacts,
  vectors?: MergeOptions['vectors'],
): Int32Array | undefined {
  const rowOf = new Int32Array(segment.items).fill(-1)
  const ranges = new Map<number, DayRange[]>()
  for (const [j, item] of segment.rangeItem.entries()) {
    const range: DayRange = [segment.rangeFrom[j]!, segment.rangeTo[j]!]
    const known = ranges.get(item)
    if (known) known.push(range)
    else ranges.set(item, [range])
  }
  const facets = new Map<number, number[]>()
  for (const [j, item] of segment.facetItem.entries()) {
    const known = facets.get(item)
    if (known) known.push(segment.facet[j]!)
    else facets.set(item, [segment.facet[j]!])
  }
  const labels = readLabels(segment).map((one) => JSON.stringify(one))
  const before = rows.length
  for (let i = 0; i < segment.items; i++) {
    if (!keep(segment.seq[i]!)) continue
    const r = segment.run[i]!
    rowOf[i] = rows.length
    rows.push({
      seq: segment.seq[i]!,
      context: segment.runContext[r]!,
      position: segment.runPosition[r]! + i - segment.runStart[r]!,
      actor: segment.actors[segment.actor[i]!]!,
      labels: labels[segment.label[i]!]!,
      day: segment.day[i]!,
      time: segment.time[i]!,
      contextFacet: segment.runFacet[r]!,
      facets: facets.get(i) ?? [],
      flags: segment.flags[i]!,
      length: segment.length[i]!,
      caps: segment.caps[i]!,
      past: segment.past[i]!,
      sketch: segment.sketch[i]!,
      ranges: ranges.get(i) ?? [],
      vector: vectors?.get(segment.seq[i]!) ?? (segment.mark === encoder?.mark ? vectorAt(segment, i) : undefined),
    })
  }
  return rows.length > before ? rowOf : undefined
}

function addPosting(postings: Map<string, number[]>, term: string, row: number, count: number): void {
  const counted = Math.min(count, COUNT_MAX)
  const list = postings.get(term)
  if (list === undefined) postings.set(term, [row * 256 + counted])
  // Two terms that differ in a broken surrogate pair alone are one in the dictionary.
  else if (list.at(-1)! >> 8 === row)
    list[list.length - 1] = row * 256 + Math.min((list.at(-1)! & 255) + count, COUNT_MAX)
  else list.push(row * 256 + counted)
}

function encode({ rows, postings }: Gathered, analyser: number, encoder?: EncoderFacts): Uint8Array {
  const order = orderOf(rows)
  const placed = new Uint32Array(rows.length)
  for (const [to, from] of order.entries()) placed[from] = to
  const sorted = order.map((index) => rows[index]!)
  const actors = numbered(sorted.map((row) => row.actor))
  const labels = numbered(sorted.map((row) => row.labels))
  const column = <T>(View: { from: (rows: Row[], of: (row: Row) => number) => T }, of: (row: Row) => number): T =>
    View.from(sorted, of)
  const ranges = sorted.flatMap((row, item) => row.ranges.map(([from, to]) => ({ item, from, to })))
  const { pending, mark, ...vectors } = packVectors(sorted, encoder)
  return packSegment(
    { analyser, items: rows.length, terms: postings.size, mark, pending },
    {
      ...halvesOf(sorted.map((row) => row.seq)),
      day: column(Int32Array, (row) => row.day),
      time: column(Uint32Array, (row) => row.time),
      sketch: column(Uint32Array, (row) => row.sketch),
      actor: column(Uint16Array, (row) => actors.get(row.actor)!),
      label: column(Uint16Array, (row) => labels.get(row.labels)!),
      flags: column(Uint16Array, (row) => row.flags),
      length: column(Uint16Array, (row) => row.length),
      caps: column(Uint8Array, (row) => row.caps),
      past: column(Uint8Array, (row) => row.past),
      ...encodeRuns(sorted),
      rangeItem: Uint16Array.from(ranges, ({ item }) => item),
      rangeFrom: Int32Array.from(ranges, ({ from }) => from),
      rangeTo: Int32Array.from(ranges, ({ to }) => to),
      ...encodeFacets(sorted),
      names: Buffer.from(JSON.stringify([...actors.keys()])),
      labels: Buffer.from(`[${[...labels.keys()].join(',')}]`),
      ...encodeTerms(rows, placed, postings),
      ...vectors,
    },
  )
}

/** The distinct texts, sorted, with their numbers. */
function numbered(texts: readonly string[]): Map<string, number> {
  return new Map([...new Set(texts)].sort().map((text, index) => [text, index]))
}

function orderOf(rows: readonly Row[]): number[] {
  if (rows.length > ITEMS_MAX) throw new RangeError(`a segment holds at most ${ITEMS_MAX} items, not ${rows.length}`)
  for (const { seq, context, position } of rows) {
    if (!Number.isSafeInteger(seq) || seq < 0) throw new RangeError(`item ${seq}: seq must be a whole number`)
    for (const value of [context, position]) {
      if (!Number.isInteger(value) || value < 0 || value > NUMBER_MAX) {
        throw new RangeError(`item ${seq}: context and position must be whole numbers below 2^32, not ${value}`)
      }
    }
  }
  const order = Array.from(rows, (_, index) => index).sort((a, b) => {
    const one = rows[a]!
    const other = rows[b]!
    return one.context - other.context || one.position - other.position
  })
  for (let i = 1; i < order.length; i++) {
    const one = rows[order[i - 1]!]!
    const other = rows[order[i]!]!
    if (one.context === other.context && one.position === other.position) {
      throw new RangeError(`items ${one.seq} and ${other.seq} have the same position in context ${one.context}`)
    }
  }
  return order
}

function encodeRuns(sorted: readonly Row[]) {
  const run = new Uint16Array(sorted.length)
  const starts: number[] = []
  for (const [i, { context, position }] of sorted.entries()) {
    const before = sorted[i - 1]
    if (before === undefined || before.context !== context || before.position + 1 !== position) starts.push(i)
    run[i] = starts.length - 1
  }
  return {
    run,
    runStart: Uint16Array.from(starts),
    runContext: Uint32Array.from(starts, (i) => sorted[i]!.context),
    runPosition: Uint32Array.from(starts, (i) => sorted[i]!.position),
    runFacet: Uint32Array.from(starts, (i) => sorted[i]!.contextFacet),
  }
}

/** By facet, then by item: who has one is found by halving. */
function encodeFacets(sorted: readonly Row[]) {
  const pairs = Float64Array.from(sorted.flatMap((row, item) => row.facets.map((facet) => facet * 65_536 + item)))
  pairs.sort()
  return {
    facet: Uint32Array.from(pairs, (pair) => Math.floor(pair / 65_536)),
    facetItem: Uint16Array.from(pairs, (pair) => pair % 65_536),
  }
}

function encodeTerms(rows: readonly Row[], placed: Uint32Array, postings: Map<string, number[]>) {
  const terms = Array.from(postings, ([term, list]) => ({ text: Buffer.from(term), list }))
  terms.sort((a, b) => Buffer.compare(a.text, b.text))
  const dictionary = new Bytes(terms.length * 12)
  const lists = new Bytes(rows.length * 32)
  const first = new Uint16Array(terms.length)
  const blockText = new Uint32Array(Math.ceil(terms.length / BLOCK))
  const blockPosting = new Uint32Array(blockText.length)
  let before: Uint8Array = new Uint8Array(0)
  for (const [t, { text, list }] of terms.entries()) {
    if (text.length > TERM_BYTES_MAX) throw new RangeError(`a term of ${text.length} bytes`)
    let shared = 0
    if (t % BLOCK === 0) {
      blockText[t / BLOCK] = dictionary.length
      blockPosting[t / BLOCK] = lists.length
    } else while (shared < before.length && shared < text.length && before[shared] === text[shared]) shared++
    const start = lists.length
    first[t] = placed[firstOf(rows, list)]!
    encodePostings(
      lists,
      list.map((posting) => placed[posting >> 8]! * 256 + (posting & 255)),
    )
    dictionary.byte(shared)
    dictionary.byte(text.length - shared)
    dictionary.append(text.subarray(shared))
    dictionary.number(list.length)
    dictionary.number(lists.length - start)
    before = text
  }
  return { dictionary: dictionary.taken(), postings: lists.taken(), first, blockText, blockPosting }
}

function firstOf(rows: readonly Row[], list: readonly number[]): number {
  let row = list[0]! >> 8
  for (const posting of list) if (rows[posting >> 8]!.seq < rows[row]!.seq) row = posting >> 8
  return row
}

function encodePostings(out: Bytes, list: number[]): void {
  list.sort((a, b) => a - b)
  let last = -1
  for (const posting of list) {
    const item = posting >> 8
    const count = posting & 255
    out.number((item - last - 1) * 2 + (count > 1 ? 1 : 0))
    if (count > 1) out.byte(count)
    last = item
  }
}

/** A buffer that grows. */
class Bytes {
  #bytes: Uint8Array
  length = 0

  constructor(size: number) {
    this.#bytes = new Uint8Array(size + 256)
  }

  byte(value: number): void {
    if (this.length === this.#bytes.length) this.#grow(1)
    this.#bytes[this.length++] = value
  }

  /** Seven bits per byte, the lowest first; the last byte is below 128. */
  number(value: number): void {
    let rest = value
    while (rest > 127) {
      this.byte((rest & 127) | 128)
      rest >>>= 7
    }
    this.byte(rest)
  }

  append(bytes: Uint8Array): void {
    if (this.length + bytes.length > this.#bytes.length) this.#grow(bytes.length)
    this.#bytes.set(bytes, this.length)
    this.length += bytes.length
  }

  taken(): Uint8Array {
    return this.#bytes.subarray(0, this.length)
  }

  #grow(by: number): void {
    const larger = new Uint8Array((this.length + by) * 2)
    larger.set(this.taken())
    this.#bytes = larger
  }
}
