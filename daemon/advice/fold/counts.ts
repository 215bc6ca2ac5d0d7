// How often tools had a term or a pair: by tool (Counts) and by term (Postings). Counts are multiples of a half and are
// kept as whole numbers of halves: exact, without a heap object for each, and in a third of the bytes of maps.

import assert from 'node:assert/strict'

/** Counts by keys of 32 bits: open addressing, a key and its halves side by side. */
export class Counts {
  /** [key, halves, …]; no halves: a free slot. */
  #slots = new Int32Array(8)
  #size = 0

  /** Room for so many: what is read from a snapshot says how many there are. */
  reserve(size: number): void {
    assert(this.#size === 0)
    while (size * 8 > this.#slots.length * 3) this.#slots = new Int32Array(this.#slots.length * 2)
  }

  get size(): number {
    return this.#size
  }

  get(key: number): number {
    return (this.#slots[this.#find(key) + 1] as number) / 2
  }

  has(key: number): boolean {
    return this.#slots[this.#find(key) + 1] !== 0
  }

  add(key: number, by: number): void {
    if (by === 0) return
    let at = this.#find(key)
    if (this.#slots[at + 1] === 0) {
      this.#size += 1
      // At most three of four are taken, or a search would not end soon.
      if (this.#size * 8 > this.#slots.length * 3) {
        this.#grow()
        at = this.#find(key)
      }
      this.#slots[at] = key
    }
    this.#slots[at + 1] = (this.#slots[at + 1] as number) + by * 2
    if (this.#slots[at + 1] === 0) this.#free(at)
  }

  /** In no order. */
  keys(): Uint32Array {
    const keys = new Uint32Array(this.#size)
    let next = 0
    for (let at = 0; at < this.#slots.length; at += 2)
      if (this.#slots[at + 1] !== 0) keys[next++] = this.#slots[at] as number
    return keys
  }

  *[Symbol.iterator](): Generator<[key: number, count: number]> {
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

  #grow(): void {
    const before = this.#slots
    this.#slots = new Int32Array(before.length * 2)
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
  }
}

/** In numbers, two for each tool. */
const SHORT = 16

/** `[tool, halves, tool, halves, …]` by key, in the order of the tools. */
export class Postings {
  readonly #lists = new Map<number, number[]>()
  #entries = 0

  /** In all lists together. */
  get entries(): number {
    return this.#entries
  }

  get keys(): number {
    return this.#lists.size
  }

  get(key: number): readonly number[] | undefined {
    return this.#lists.get(key | 0)
  }

  add(key: number, tool: number, by: number): void {
    if (by === 0) return
    const list = this.#lists.get(key | 0)
    if (list === undefined) {
      this.#lists.set(key | 0, [tool, by * 2])
      this.#entries += 1
      return
    }
    const at = placeOf(list, tool)
    if (list[at] !== tool) {
      this.#entries += 1
      // Most lists are short, and the first push makes room for eight more: a short list is made anew, without any.
      if (list.length < SHORT) this.#lists.set(key | 0, list.toSpliced(at, 0, tool, by * 2))
      else if (at === list.length) list.push(tool, by * 2)
      else list.splice(at, 0, tool, by * 2)
      return
    }
    const halves = (list[at + 1] as number) + by * 2
    if (halves !== 0) {
      list[at + 1] = halves
      return
    }
    this.#entries -= 1
    list.splice(at, 2)
    if (list.length === 0) this.#lists.delete(key | 0)
  }
}

/** Where the tool stands, or would. */
function placeOf(list: readonly number[], tool: number): number {
  // What is loaded from a snapshot comes tool by tool.
  if ((list[list.length - 2] as number) < tool) return list.length
  let low = 0
  let high = list.length / 2
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((list[2 * middle] as number) < tool) low = middle + 1
    else high = middle
  }
  return 2 * low
}
