// How often tools had a term or a pair: by tool (Counts) and by term (Postings). Counts are multiples of a half and are
// kept as whole numbers of halves: exact, without a heap object for each, and in a third of the bytes of maps.

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
    for (let at = 0; at < this.#size; at++) {
      if (at % PIECE === PIECE - 1) yield
      key += reader.whole()
      const halves = reader.whole()
      each(key, halves)
      if (!isPacked) this.#put(key, halves)
    }
    if (isPacked) this.#packed = reader.since(from)
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

/** Numbers of a slot: the key, where its list begins, how many numbers it has, and for how many there is room. */
const SLOT = 4

/**
 * `[tool, halves, tool, halves, …]` by key, in the order of the tools. All lists stand in one array, without a heap
 * object for each: a snapshot with 10^6 entries is opened in a tenth of the time, and the collector has nothing to
 * visit. A list that has no room left moves to the end; what it leaves is lost until the array grows.
 */
export class Postings {
  /**
   * By open addressing. No room: a free slot; room and no numbers: a list that has become empty.
   */
  #slots = new Int32Array(SLOT * 16)
  #slotsTaken = 0
  #numbers = new Int32Array(64)
  #end = 0
  #entries = 0
  #keys = 0

  /** In all lists together. */
  get entries(): number {
    return this.#entries
  }

  get keys(): number {
    return this.#keys
  }

  get bytes(): number {
    return this.#slots.byteLength + this.#numbers.byteLength
  }

  /** Room where it is known what comes. Lists that grow leave about as much behind as they take. */
  reserve(keys: number, entries: number): void {
    assert(this.#end === 0)
    this.#numbers = new Int32Array(Math.max(64, entries * 4))
    let length = this.#slots.length
    while (keys * SLOT * 2 >= length) length *= 2
    this.#slots = new Int32Array(length)
  }

  /** As it is now: no longer that of the key once something is added. */
  get(key: number): Int32Array | undefined {
    const slot = this.#find(key)
    const length = this.#slots[slot + 2] as number
    if (length === 0) return undefined
    const from = this.#slots[slot + 1] as number
    return this.#numbers.subarray(from, from + length)
  }

  add(key: number, tool: number, by: number): void {
    if (by === 0) return
    let slot = this.#find(key)
    if (this.#slots[slot + 3] === 0) {
      if (this.#slotsTaken * SLOT * 2 >= this.#slots.length) {
        this.#growSlots()
        slot = this.#find(key)
      }
      this.#slotsTaken += 1
      this.#slots[slot] = key
    }
    const from = this.#slots[slot + 1] as number
    const length = this.#slots[slot + 2] as number
    const at = placeOf(this.#numbers, from, length, tool)
    if (at === from + length || this.#numbers[at] !== tool) {
      this.#insert(slot, at - from, tool, by * 2)
      return
    }
    const halves = (this.#numbers[at + 1] as number) + by * 2
    this.#numbers[at + 1] = halves
    if (halves !== 0) return
    this.#entries -= 1
    this.#numbers.copyWithin(at, at + 2, from + length)
    this.#slots[slot + 2] = length - 2
    if (length === 2) this.#keys -= 1
  }

  #insert(slot: number, offset: number, tool: number, halves: number): void {
    const length = this.#slots[slot + 2] as number
    if (length === this.#slots[slot + 3]) this.#move(slot, Math.max(2, length + ((length >> 2) << 1) + 2))
    const from = this.#slots[slot + 1] as number
    const at = from + offset
    if (offset < length) this.#numbers.copyWithin(at + 2, at, from + length)
    this.#numbers[at] = tool
    this.#numbers[at + 1] = halves
    this.#slots[slot + 2] = length + 2
    this.#entries += 1
    if (length === 0) this.#keys += 1
  }

  /** To the end, with room for so many numbers. */
  #move(slot: number, room: number): void {
    if (this.#end + room > this.#numbers.length) this.#growNumbers(room)
    copy(this.#numbers, this.#slots[slot + 1] as number, this.#slots[slot + 2] as number, this.#numbers, this.#end)
    this.#slots[slot + 1] = this.#end
    this.#slots[slot + 3] = room
    this.#end += room
  }

  /** Twice what the lists have room for, so that what is lost is at most as much; they move together. */
  #growNumbers(room: number): void {
    const before = this.#numbers
    const slots = this.#slots
    let live = room
    for (let slot = 0; slot < slots.length; slot += SLOT) {
      // A list that has become empty keeps its slot until there are more of them, and no more room than it began with.
      if (slots[slot + 2] === 0 && slots[slot + 3] !== 0) slots[slot + 3] = 2
      live += slots[slot + 3] as number
    }
    this.#numbers = new Int32Array(live * 2)
    this.#end = 0
    for (let slot = 0; slot < slots.length; slot += SLOT) {
      if (slots[slot + 3] === 0) continue
      copy(before, slots[slot + 1] as number, slots[slot + 2] as number, this.#numbers, this.#end)
      slots[slot + 1] = this.#end
      this.#end += slots[slot + 3] as number
    }
  }

  /** Of the key, or of the free slot where it belongs. */
  #find(key: number): number {
    const slots = this.#slots
    const last = slots.length - 1
    // Stirred: a snapshot brings the keys of a tool in order, and in order they would fill one corner of the table.
    let slot = (Math.imul(key, 0x9e3779b1) >>> (Math.clz32(last) + 2)) << 2
    while (slots[slot + 3] !== 0 && slots[slot] !== (key | 0)) slot = (slot + SLOT) & last
    return slot
  }

  /** Without lists that have become empty: words that come and go take the room of those that are there. */
  #growSlots(): void {
    const before = this.#slots
    this.#slots = new Int32Array(this.#keys * SLOT * 4 >= before.length ? before.length * 2 : before.length)
    this.#slotsTaken = this.#keys
    for (let from = 0; from < before.length; from += SLOT) {
      if (before[from + 2] === 0) continue
      const slot = this.#find(before[from] as number)
      for (let n = 0; n < SLOT; n++) this.#slots[slot + n] = before[from + n] as number
    }
  }
}

/** Most lists are short: for a few numbers a call of copyWithin() takes longer than they do. */
function copy(from: Int32Array, begin: number, length: number, to: Int32Array, at: number): void {
  if (length > 64) to.set(from.subarray(begin, begin + length), at)
  else for (let n = 0; n < length; n++) to[at + n] = from[begin + n] as number
}

/** Where the tool stands, or would. */
function placeOf(numbers: Int32Array, from: number, length: number, tool: number): number {
  // What is read from a snapshot comes tool by tool.
  if (length === 0 || (numbers[from + length - 2] as number) < tool) return from + length
  let low = 0
  let high = length / 2
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((numbers[from + 2 * middle] as number) < tool) low = middle + 1
    else high = middle
  }
  return from + 2 * low
}
