// Which tools had a term or a pair, and how often: the counts of counts.ts by term, in halves too.

import assert from 'node:assert/strict'
import { PIECE } from './sorting.ts'

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
  /** [slot, tool, halves, …] of a snapshot that is being opened; null: all of it stands in the lists. */
  #arriving: Int32Array | null = null
  #arrived = 0

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

  /**
   * Before a snapshot is added, tool by tool; settle() is behind it. So the length of each list is known before the
   * first number is written: to add them one by one took 1.4 to 1.5 times as long.
   */
  expect(keys: number, entries: number): void {
    assert(this.#end === 0)
    let length = this.#slots.length
    while (keys * SLOT * 2 >= length) length *= 2
    this.#slots = new Int32Array(length)
    this.#arriving = new Int32Array(Math.max(96, entries * 3))
  }

  *settle(): Generator<void, void> {
    for (let slot = 0; slot < this.#slots.length; slot += PIECE * SLOT) {
      this.#layOut(slot, Math.min(slot + PIECE * SLOT, this.#slots.length))
      yield
    }
    // Lists that grow move to the end: about as much as they take.
    this.#numbers = new Int32Array(Math.max(64, this.#end * 2))
    const arriving = this.#arriving as Int32Array
    for (let at = 0; at < this.#arrived; at += PIECE * 3) {
      this.#place(arriving, at, Math.min(at + PIECE * 3, this.#arrived))
      yield
    }
    this.#arriving = null
  }

  #layOut(from: number, to: number): void {
    const slots = this.#slots
    for (let slot = from; slot < to; slot += SLOT) {
      slots[slot + 1] = this.#end
      this.#end += slots[slot + 3] as number
    }
  }

  #place(arriving: Int32Array, from: number, to: number): void {
    const slots = this.#slots
    const numbers = this.#numbers
    for (let at = from; at < to; at += 3) {
      const slot = arriving[at] as number
      const tool = arriving[at + 1] as number
      const halves = arriving[at + 2] as number
      const length = slots[slot + 2] as number
      const end = (slots[slot + 1] as number) + length
      if (length > 0 && numbers[end - 2] === tool) {
        // Its name says it too.
        numbers[end - 1] = (numbers[end - 1] as number) + halves
        continue
      }
      numbers[end] = tool
      numbers[end + 1] = halves
      slots[slot + 2] = length + 2
      this.#entries += 1
      if (length === 0) this.#keys += 1
    }
  }

  #arrive(key: number, tool: number, halves: number): void {
    const slot = this.#find(key)
    const slots = this.#slots
    if (slots[slot + 3] === 0) {
      this.#slotsTaken += 1
      assert(this.#slotsTaken * SLOT < slots.length, 'a snapshot of advice has more words than its head says')
      slots[slot] = key
    }
    slots[slot + 3] = (slots[slot + 3] as number) + 2
    let arriving = this.#arriving as Int32Array
    if (this.#arrived === arriving.length) {
      arriving = new Int32Array(this.#arrived * 2)
      arriving.set(this.#arriving as Int32Array)
      this.#arriving = arriving
    }
    arriving[this.#arrived] = slot
    arriving[this.#arrived + 1] = tool
    arriving[this.#arrived + 2] = halves
    this.#arrived += 3
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
    if (this.#arriving !== null) {
      this.#arrive(key, tool, by * 2)
      return
    }
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
