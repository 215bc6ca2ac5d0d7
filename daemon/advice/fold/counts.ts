// How often a tool had each term or pair. Counts are multiples of a half and are kept as whole numbers of halves:
// exact, without a heap object for each, and in a third of the bytes of maps. postings.ts has the same by term.

import assert from 'node:assert/strict'
import { ByteReader, type ByteWriter } from './bytes.ts'
import { PIECE, sortNumbers } from './sorting.ts'

/** Who asks for the first one of those that are packed waits for all: 10^6 took 150 to 400 ms. */
const PACKED_MAX = 4_096

/**
 * Counts by keys of 32 bits: open addressing, a key and its halves side by side. Those of a snapshot stay as they were
 * stored until somebody asks for one, unless they are many: a state is opened for a few tools and has thousands.
 */
export class Counts {
  /** [key, halves, …]; no halves: a free slot. */
  #slots = new Int32Array(8)
  #size = 0
  /** As they were read; null: they stand in the slots. */
  #packed: Buffer | null = null

  get size(): number {
    return this.#size
  }

  get(key: number): number {
    this.#unpack()
    return (this.#slots[this.#find(key) + 1] as number) / 2
  }

  has(key: number): boolean {
    this.#unpack()
    return this.#slots[this.#find(key) + 1] !== 0
  }

  /** Keys as the steps between them, counts as halves. Nothing may change before it is done. */
  *write(writer: ByteWriter): Generator<void, void> {
    writer.whole(this.#size)
    if (this.#packed !== null) {
      writer.bytes(this.#packed)
      return
    }
    const keys = yield* sortNumbers(yield* this.#listKeys())
    let before = 0
    for (let at = 0; at < keys.length; at++) {
      if (at % PIECE === PIECE - 1) yield
      const key = keys[at] as number
      writer.whole(key - before)
      writer.whole(this.#slots[this.#find(key) + 1] as number)
      before = key
    }
  }

  *read(reader: ByteReader, each: (key: number, halves: number) => void): Generator<void, void> {
    assert(this.#size === 0)
    this.#size = reader.whole()
    const from = reader.at
    const isPacked = this.#size <= PACKED_MAX
    if (!isPacked) this.#reserve()
    let key = 0
    for (let left = this.#size; left > 0; left -= PIECE) {
      if (left < this.#size) yield
      key = this.#readPiece(reader, key, Math.min(left, PIECE), each, !isPacked)
    }
    if (isPacked) this.#packed = reader.since(from)
  }

  /**
   * No generator, here and in postings.ts: what loops in one is compiled late, and a state is opened when the process
   * is new. Keys as signed numbers of 32 bits, which take no heap object.
   */
  #readPiece(
    reader: ByteReader,
    before: number,
    count: number,
    each: (key: number, halves: number) => void,
    isKept: boolean,
  ): number {
    let key = before
    for (let left = count; left > 0; left--) {
      key = (key + reader.whole()) | 0
      const halves = reader.whole()
      each(key, halves)
      if (isKept) this.#put(key, halves)
    }
    return key
  }

  #unpack(): void {
    if (this.#packed === null) return
    const reader = new ByteReader(this.#packed)
    this.#packed = null
    this.#reserve()
    let key = 0
    for (let left = this.#size; left > 0; left--) {
      key += reader.whole()
      this.#put(key, reader.whole())
    }
  }

  /** Room for as many as there are. */
  #reserve(): void {
    let { length } = this.#slots
    while (this.#size * 8 > length * 3) length *= 2
    this.#slots = new Int32Array(length)
  }

  #put(key: number, halves: number): void {
    const at = this.#find(key)
    this.#slots[at] = key
    this.#slots[at + 1] = halves
  }

  add(key: number, by: number): void {
    if (by === 0) return
    this.#unpack()
    let at = this.#find(key)
    if (this.#slots[at + 1] === 0) {
      this.#size += 1
      // At most three of four are taken, or a search would not end soon.
      if (this.#size * 8 > this.#slots.length * 3) {
        this.#resize(this.#slots.length * 2)
        at = this.#find(key)
      }
      this.#slots[at] = key
    }
    this.#slots[at + 1] = (this.#slots[at + 1] as number) + by * 2
    if (this.#slots[at + 1] === 0) this.#free(at)
  }

  /** In no order. */
  *#listKeys(): Generator<void, Uint32Array> {
    const keys = new Uint32Array(this.#size)
    let next = 0
    for (let at = 0; at < this.#slots.length; at += 2) {
      if (at % (PIECE * 8) === 0) yield
      if (this.#slots[at + 1] !== 0) keys[next++] = this.#slots[at] as number
    }
    return keys
  }

  *[Symbol.iterator](): Generator<[key: number, count: number]> {
    this.#unpack()
    for (let at = 0; at < this.#slots.length; at += 2)
      if (this.#slots[at + 1] !== 0) yield [(this.#slots[at] as number) >>> 0, (this.#slots[at + 1] as number) / 2]
  }

  /** Of the key, or of the free slot where it belongs. */
  #find(key: number): number {
    const slots = this.#slots
    const last = slots.length - 1
    let at = this.#homeOf(key)
    while (slots[at + 1] !== 0 && slots[at] !== (key | 0)) at = (at + 2) & last
    return at
  }

  #homeOf(key: number): number {
    return (Math.imul(key, 0x9e3779b1) >>> 7) & (this.#slots.length - 2)
  }

  #resize(length: number): void {
    const before = this.#slots
    this.#slots = new Int32Array(length)
    for (let from = 0; from < before.length; from += 2) {
      if (before[from + 1] === 0) continue
      const at = this.#find(before[from] as number)
      this.#slots[at] = before[from] as number
      this.#slots[at + 1] = before[from + 1] as number
    }
  }

  /** Those behind a freed slot that would not be found across it move up. */
  #free(freed: number): void {
    const slots = this.#slots
    const last = slots.length - 1
    this.#size -= 1
    let hole = freed
    for (let at = (hole + 2) & last; slots[at + 1] !== 0; at = (at + 2) & last) {
      const fromHome = (at - this.#homeOf(slots[at] as number)) & last
      if (fromHome < ((at - hole) & last)) continue
      slots[hole] = slots[at] as number
      slots[hole + 1] = slots[at + 1] as number
      slots[at + 1] = 0
      hole = at
    }
    if (this.#size * 16 <= slots.length && slots.length > 8) this.#resize(slots.length / 2)
  }
}
