// Search by meaning: how close the items of a database are to a question, and the closest of them. Everything here is
// a function of the vectors and the question, whatever segments the items lie in.
//
// All vectors are compared where they are few. Beyond that a coarse pass looks at one bit of each number, its sign, and
// the best of it are compared in full: of what a full comparison finds first it misses fewer than one in a thousand
// (npm run bench -- recall), at an eighth of the time.

import type { Database } from './database.ts'
import type { Segment } from './format.ts'
import { CELL_BITS, segmentOf } from './places.ts'
import { vectorAt } from './vectors.ts'

export interface Question {
  vector: Int8Array
  /** Of its encoder: vectors of another one count as absent. */
  mark: number
}

type Accept = ((k: number, i: number) => boolean) | null

/** Items whose vectors are all compared: .4 us each. */
const WHOLE_MAX = 1_024
/** Items that the coarse pass leaves, and as many more as are equal to the last. */
const COARSE_KEEP = 512
/** Shares of the neighbours in an item's smoothed vector: of those before it and of the next. */
const BESIDE = [
  [-1, 0.6],
  [-2, 0.3],
  [1, 0.3],
] as const
/** Cosines are rounded: two kinds of processors may make of one question vectors that differ in a last bit. */
const ROUNDING = 1_000

/** Signs of the vectors, eight to a byte, and the squares of their lengths; 0: there is none. */
interface Signs {
  bits: Uint8Array
  squares: Int32Array
}

const known = new WeakMap<Segment, Signs>()

export class Meaning {
  readonly #database: Database
  readonly #question: Int8Array
  readonly #length: number
  /** Per segment; null where it has no vectors of this encoder. */
  readonly #signs: (Signs | null)[]

  constructor(database: Database, { vector, mark }: Question) {
    this.#database = database
    this.#question = vector
    this.#length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0))
    this.#signs = database.segments.map((segment) => {
      const isSame = segment.mark === mark && segment.vectors.length === segment.items * vector.length
      return isSame ? signsOf(segment) : null
    })
  }

  /** Of item `i` of segment `k`; null without a vector. */
  cosine(k: number, i: number): number | null {
    const square = this.#signs[k]?.squares[i] ?? 0
    if (square === 0) return null
    return round(this.#dot(k, i) / (Math.sqrt(square) * this.#length))
  }

  /** With those beside it in its context: what was said before an answer belongs to it. */
  smoothed(place: number): number | null {
    const { placeItem, cellContext, itemAt } = this.#database
    const item = placeItem[place]!
    const k = segmentOf(itemAt, item, 0)
    const square = this.#signs[k]?.squares[item - itemAt[k]!] ?? 0
    if (square === 0) return null
    const sum = new Float64Array(this.#question.length)
    this.#add(sum, k, item - itemAt[k]!, 1)
    for (const [offset, share] of BESIDE) {
      const beside = place + offset
      const other = placeItem[beside] ?? -1
      if (other < 0 || cellContext[beside >> CELL_BITS] !== cellContext[place >> CELL_BITS]) continue
      const of = segmentOf(itemAt, other, k)
      this.#add(sum, of, other - itemAt[of]!, share)
    }
    let dot = 0
    let squares = 0
    for (let d = 0; d < sum.length; d++) {
      dot += sum[d]! * this.#question[d]!
      squares += sum[d]! * sum[d]!
    }
    return round(dot / (Math.sqrt(squares) * this.#length))
  }

  /** Places of the closest items that pass the filter, the closest first; of equals the older. */
  nearest(limit: number, accept: Accept): number[] {
    const { itemAt, segments, shift } = this.#database
    const found = this.#candidates(accept).map((item) => {
      const k = segmentOf(itemAt, item, 0)
      const i = item - itemAt[k]!
      const segment = segments[k]!
      const cosine = this.#dot(k, i) / Math.sqrt(this.#signs[k]!.squares[i]!)
      return { place: i + shift[k]![segment.run[i]!]!, cosine, seq: segment.seq[i]! }
    })
    found.sort((one, other) => other.cosine - one.cosine || one.seq - other.seq)
    return found.slice(0, limit).map(({ place }) => place)
  }

  #candidates(accept: Accept): number[] {
    const items = this.#comparable(accept)
    if (items.length <= WHOLE_MAX) return [...items]
    const values = coarseValues(this.#database, this.#signs, this.#question, items)
    const least = leastOf(values, COARSE_KEEP)
    const kept: number[] = []
    for (let j = 0; j < items.length; j++) if (values[j]! >= least) kept.push(items[j]!)
    return kept
  }

  /** The items that count, pass and have a vector. */
  #comparable(accept: Accept): Int32Array {
    const { segments, itemAt, placeItem, shift } = this.#database
    const items = new Int32Array(segments.reduce((sum, segment, k) => sum + (this.#signs[k] ? segment.items : 0), 0))
    let count = 0
    for (const [k, segment] of segments.entries()) {
      const squares = this.#signs[k]?.squares
      if (!squares) continue
      const first = itemAt[k]!
      const shifts = shift[k]!
      for (let i = 0; i < segment.items; i++) {
        if (squares[i] === 0 || placeItem[i + shifts[segment.run[i]!]!] !== first + i) continue
        if (accept === null || accept(k, i)) items[count++] = first + i
      }
    }
    return items.subarray(0, count)
  }

  #dot(k: number, i: number): number {
    return dotOf(this.#database.segments[k]!.vectors, i * this.#question.length, this.#question)
  }

  #add(sum: Float64Array, k: number, i: number, share: number): void {
    const square = this.#signs[k]?.squares[i] ?? 0
    if (square === 0) return
    const scale = share / Math.sqrt(square)
    const { vectors } = this.#database.segments[k]!
    for (let d = 0, at = i * sum.length; d < sum.length; d++, at++) sum[d]! += scale * vectors[at]!
  }
}

function round(cosine: number): number {
  return Math.round(cosine * ROUNDING) / ROUNDING
}

function dotOf(vectors: Int8Array, from: number, question: Int8Array): number {
  let dot = 0
  for (let d = 0, at = from; d < question.length; d++, at++) dot += vectors[at]! * question[d]!
  return dot
}

/** Bytes beside a segment that a search by meaning keeps. */
export function signBytesOf(segment: Segment): number {
  const signs = known.get(segment)
  return signs ? signs.bits.byteLength + signs.squares.byteLength : 0
}

function signsOf(segment: Segment): Signs {
  const before = known.get(segment)
  if (before) return before
  const { vectors, items } = segment
  const dimensions = vectors.length / items
  const signs: Signs = { bits: new Uint8Array(vectors.length / 8), squares: new Int32Array(items) }
  for (let i = 0; i < items; i++) {
    if (!vectorAt(segment, i)) continue
    let square = 0
    for (let at = i * dimensions, end = at + dimensions; at < end; at++) {
      const value = vectors[at]!
      square += value * value
      if (value > 0) signs.bits[at >> 3]! |= 1 << (at & 7)
    }
    signs.squares[i] = square
  }
  known.set(segment, signs)
  return signs
}

const BYTE_VALUES = 256

/**
 * The question's numbers, each added where the item's is above zero and taken away where it is not. Eight of them are
 * looked up at once: the table says what each byte of signs is worth.
 */
function coarseValues(
  { itemAt }: Database,
  signs: readonly (Signs | null)[],
  question: Int8Array,
  items: Int32Array,
): Int32Array {
  const bytes = question.length / 8
  const table = new Int16Array(bytes * BYTE_VALUES)
  for (let b = 0; b < bytes; b++) {
    for (let signed = 0; signed < BYTE_VALUES; signed++) {
      let sum = 0
      for (let bit = 0; bit < 8; bit++) sum += (signed >> bit) & 1 ? question[b * 8 + bit]! : -question[b * 8 + bit]!
      table[b * BYTE_VALUES + signed] = sum
    }
  }
  const values = new Int32Array(items.length)
  let k = 0
  for (let j = 0; j < items.length; j++) {
    k = segmentOf(itemAt, items[j]!, k)
    values[j] = lookUp(table, signs[k]!.bits, (items[j]! - itemAt[k]!) * bytes, bytes)
  }
  return values
}

function lookUp(table: Int16Array, bits: Uint8Array, from: number, bytes: number): number {
  let sum = 0
  for (let b = 0, at = 0; b < bytes; b++, at += BYTE_VALUES) sum += table[at + bits[from + b]!]!
  return sum
}

/** Values are told apart by sixteens: a range of 100,000 becomes a few thousand counts. */
const STEP_BITS = 4

/** The value that at least `keep` reach: all that are equal to the last are kept, whatever their order. */
function leastOf(values: Int32Array, keep: number): number {
  let min = Number.POSITIVE_INFINITY
  let max = Number.NEGATIVE_INFINITY
  for (const value of values) {
    if (value < min) min = value
    if (value > max) max = value
  }
  const counts = new Int32Array(((max - min) >> STEP_BITS) + 1)
  for (const value of values) counts[(value - min) >> STEP_BITS]!++
  let step = counts.length - 1
  for (let kept = counts[step]!; kept < keep && step > 0; kept += counts[step]!) step--
  return min + (step << STEP_BITS)
}
