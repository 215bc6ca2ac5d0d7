// Search by meaning: how close the items of a database are to a question, and the closest of them. Everything here is
// a function of the vectors and the question, whatever segments the items lie in.
//
// All vectors are compared where they are few. Beyond that a coarse pass counts in how many of its numbers an item has
// another sign than the question, and those with the fewest are compared in full: of the ten closest of 10^5 it finds
// .997, of 15,000 all (npm run bench -- recall --only encoder), in an eighth of the time.

import { FLAG } from '../analysis/item.ts'
import type { Database } from './database.ts'
import type { Accept } from './filter.ts'
import type { Segment } from './format.ts'
import { CELL_BITS, segmentOf } from './places.ts'
import { vectorAt } from './vectors.ts'

export interface Question {
  vector: Int8Array
  /** Of its encoder: vectors of another one count as absent. */
  mark: number
}

/** Items whose vectors are all compared, and those that the coarse pass leaves at least: .7 us each. */
const WHOLE_MAX = 1_024
/** One in so many is left where that is more: of 10^5 that are much alike, 1,024 had .975 of the ten closest. */
const COARSE_SHARE = 48
/** Shares of the neighbours in an item's smoothed vector: of those before it and of the next. */
const BESIDE = [
  [-1, 0.6],
  [-2, 0.3],
  [1, 0.3],
] as const
/** Cosines are rounded: two kinds of processors may make of one question vectors that differ in a last bit. */
const ROUNDING = 1_000

/** Signs of the vectors, 32 to a word, and the squares of their lengths; 0: there is none. */
interface Signs {
  bits: Int32Array
  squares: Int32Array
}

/** Words of an item's signs: three are counted at once. */
const wordsOf = (dimensions: number) => 3 * Math.ceil(dimensions / 96)

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

  /**
   * With those beside it, where its context has a name: what was said before an answer belongs to it. Elsewhere it is
   * the cosine, because records that came one after the other have nothing to do with each other.
   */
  smoothed(place: number): number | null {
    const { placeItem, cellContext, itemAt, segments } = this.#database
    const item = placeItem[place]!
    const k = segmentOf(itemAt, item, 0)
    const i = item - itemAt[k]!
    if (!this.#signs[k]?.squares[i]) return null
    if ((segments[k]!.flags[i]! & FLAG.named) === 0) return this.cosine(k, i)
    const own = this.#scaled(k, i, 1)
    const others = BESIDE.map(([offset, share]) => {
      const beside = place + offset
      const other = placeItem[beside] ?? -1
      if (other < 0 || cellContext[beside >> CELL_BITS] !== cellContext[place >> CELL_BITS]) return { ...own, scale: 0 }
      const of = segmentOf(itemAt, other, k)
      return this.#scaled(of, other - itemAt[of]!, share)
    })
    return round(cosineOfSum(own, others as [Scaled, Scaled, Scaled], this.#question) / this.#length)
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

  /** As many as are compared in full, and those that are equal to the last: whatever their order, they are the same. */
  #candidates(accept: Accept): number[] {
    const { segments, itemAt, items } = this.#database
    const kept: number[] = []
    if (items <= WHOLE_MAX) {
      for (const k of segments.keys()) this.#eachComparable(k, accept, (i) => kept.push(itemAt[k]! + i))
      return kept
    }
    const own = signsOfVector(this.#question)
    // One more than the signs that differ; 0: it is not compared.
    const differing = segments.map((segment) => new Uint16Array(segment.items))
    const counts = new Int32Array(this.#question.length + 1)
    let comparable = 0
    for (const [k, found] of differing.entries()) {
      const bits = this.#signs[k]?.bits
      if (!bits) continue
      this.#eachComparable(k, accept, (i) => {
        const count = countDiffering(bits, i * own.length, own)
        counts[count]!++
        comparable++
        found[i] = count + 1
      })
    }
    const wanted = Math.min(comparable, Math.max(WHOLE_MAX, comparable / COARSE_SHARE))
    let most = 0
    for (let sum = counts[0]!; sum < wanted; sum += counts[most]!) most++
    for (const [k, found] of differing.entries()) {
      for (let i = 0; i < found.length; i++) if (found[i] !== 0 && found[i]! <= most + 1) kept.push(itemAt[k]! + i)
    }
    return kept
  }

  /** The items of a segment that count, pass and have a vector. */
  #eachComparable(k: number, accept: Accept, each: (i: number) => void): void {
    const { segments, itemAt, placeItem, shift, mask } = this.#database
    const squares = this.#signs[k]?.squares
    if (!squares) return
    const { run, items } = segments[k]!
    const shifts = shift[k]!
    const first = itemAt[k]!
    for (let i = 0; i < items; i++) {
      if (squares[i] === 0) continue
      if (mask !== null && placeItem[i + shifts[run[i]!]!] !== first + i) continue
      if (accept === null || accept(k, i)) each(i)
    }
  }

  #dot(k: number, i: number): number {
    return dotOf(this.#database.segments[k]!.vectors, i * this.#question.length, this.#question)
  }

  /** A vector without a length has a scale of 0. */
  #scaled(k: number, i: number, share: number): Scaled {
    const square = this.#signs[k]?.squares[i] ?? 0
    const { vectors } = this.#database.segments[k]!
    return { vectors, from: i * this.#question.length, scale: square === 0 ? 0 : share / Math.sqrt(square) }
  }
}

interface Scaled {
  vectors: Int8Array
  from: number
  scale: number
}

/** The cosine, times the length of the question, of the sum of four vectors. In one pass: 200 items are asked for. */
function cosineOfSum(own: Scaled, [one, two, three]: [Scaled, Scaled, Scaled], question: Int8Array): number {
  const [a, b, c, d] = [own.vectors, one.vectors, two.vectors, three.vectors]
  let dot = 0
  let square = 0
  for (let n = 0; n < question.length; n++) {
    const sum =
      own.scale * a[own.from + n]! +
      // Of segments without vectors nothing is added: an empty array has no number there.
      (one.scale === 0 ? 0 : one.scale * b[one.from + n]!) +
      (two.scale === 0 ? 0 : two.scale * c[two.from + n]!) +
      (three.scale === 0 ? 0 : three.scale * d[three.from + n]!)
    dot += sum * question[n]!
    square += sum * sum
  }
  return dot / Math.sqrt(square)
}

function round(cosine: number): number {
  return Math.round(cosine * ROUNDING) / ROUNDING
}

/** In 32 bits: a sum of 1,024 products of bytes is below 2^24. */
function dotOf(vectors: Int8Array, from: number, question: Int8Array): number {
  const { length } = question
  let dot = 0
  for (let d = 0; d < length; d++) dot = (dot + Math.imul(vectors[from + d]!, question[d]!)) | 0
  return dot
}

/** Bits in which the words from `from` on differ from the others: of three words by nibbles, of all by bytes. */
function countDiffering(bits: Int32Array, from: number, others: Int32Array): number {
  let bytes = 0
  for (let w = 0; w < others.length; w += 3) {
    const nibbles =
      bitsByNibble(bits[from + w]! ^ others[w]!) +
      bitsByNibble(bits[from + w + 1]! ^ others[w + 1]!) +
      bitsByNibble(bits[from + w + 2]! ^ others[w + 2]!)
    bytes = (bytes + (nibbles & 0x0f0f_0f0f) + ((nibbles >>> 4) & 0x0f0f_0f0f)) | 0
  }
  return (bytes & 0xff) + ((bytes >>> 8) & 0xff) + ((bytes >>> 16) & 0xff) + (bytes >>> 24)
}

function bitsByNibble(word: number): number {
  const pairs = word - ((word >>> 1) & 0x5555_5555)
  return (pairs & 0x3333_3333) + ((pairs >>> 2) & 0x3333_3333)
}

function signsOfVector(vector: Int8Array): Int32Array {
  const bits = new Int32Array(wordsOf(vector.length))
  readSigns(vector, 0, vector.length, bits, 0)
  return bits
}

/** Puts a bit for each number above zero; answers the sum of the squares. */
function readSigns(vectors: Int8Array, from: number, dimensions: number, bits: Int32Array, at: number): number {
  let square = 0
  for (let d = 0; d < dimensions; d++) {
    const value = vectors[from + d]!
    square = (square + Math.imul(value, value)) | 0
    bits[at + (d >> 5)]! |= (-value >>> 31) << (d & 31)
  }
  return square
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
  const words = wordsOf(dimensions)
  const signs: Signs = { bits: new Int32Array(items * words), squares: new Int32Array(items) }
  for (let i = 0; i < items; i++) {
    // Most have one: to ask for it would make an object of each.
    if (vectors[i * dimensions]! <= 0 && !vectorAt(segment, i)) continue
    signs.squares[i] = readSigns(vectors, i * dimensions, dimensions, signs.bits, i * words)
  }
  known.set(segment, signs)
  return signs
}
