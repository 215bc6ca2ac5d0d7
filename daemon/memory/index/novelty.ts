// Which item says a term first. An item's novelty is the number of its terms that no item with a lower seq has;
// actors' names are no news. It belongs to the list of segments, not to a segment, so it is derived when they are
// joined and never stored.

import { eachEntry, entryText, findTerm, found } from './dictionary.ts'
import type { Segment } from './format.ts'

export interface FirstItems {
  /** The item that says the term first, -1 for none. */
  find(text: Uint8Array, length: number): number
  readonly byteLength: number
}

/** Terms by 64 bits of hash, each with the item of the lowest seq that has it. */
class TermTable implements FirstItems {
  readonly #hash: Uint32Array
  readonly #check: Uint32Array
  readonly #item: Int32Array

  constructor(termsMax: number) {
    const size = Math.ceil(termsMax * 1.25) + 8
    this.#hash = new Uint32Array(size)
    this.#check = new Uint32Array(size)
    this.#item = new Int32Array(size).fill(-1)
  }

  get byteLength(): number {
    return this.#hash.byteLength + this.#check.byteLength + this.#item.byteLength
  }

  find(text: Uint8Array, length: number): number {
    return this.#item[this.#slot(text, length)]!
  }

  set(text: Uint8Array, length: number, item: number): void {
    this.#item[this.#slot(text, length)] = item
  }

  /** The same in a table of the size that it needs: most terms are in several segments, and room was made for each. */
  compact(): TermTable {
    const smaller = new TermTable(this.#item.reduce((count, item) => (item >= 0 ? count + 1 : count), 0))
    for (let slot = 0; slot < this.#item.length; slot++) {
      if (this.#item[slot]! >= 0) smaller.#put(this.#hash[slot]!, this.#check[slot]!, this.#item[slot]!)
    }
    return smaller
  }

  #put(hash: number, check: number, item: number): void {
    this.#item[this.#slotOf(hash, check)] = item
  }

  /** The slot of a term: its own, or an empty one marked for it. */
  #slot(text: Uint8Array, length: number): number {
    let hash = 0x811c_9dc5
    let check = 5381
    for (let j = 0; j < length; j++) {
      const x = text[j]!
      hash = Math.imul(hash ^ x, 0x0100_0193)
      check = (Math.imul(check, 33) + x) | 0
    }
    hash = (hash ^ (hash >>> 15)) >>> 0
    return this.#slotOf(hash, check >>> 0)
  }

  #slotOf(hash: number, check: number): number {
    const size = this.#item.length
    let slot = hash % size
    while (this.#item[slot]! >= 0 && (this.#hash[slot] !== hash || this.#check[slot] !== check)) {
      if (++slot === size) slot = 0
    }
    if (this.#item[slot]! < 0) {
      this.#hash[slot] = hash
      this.#check[slot] = check
    }
    return slot
  }
}

/** Finds the first item of every term and counts, per segment and item, the terms that it says first. */
export function findFirstItems(
  segments: readonly Segment[],
  itemAt: Int32Array,
  seqOf: (item: number) => number,
): { firsts: FirstItems; novel: Uint16Array[] } {
  const [only] = segments
  if (only !== undefined && segments.length === 1) return firstItemsOf(only)
  const firsts = new TermTable(segments.reduce((sum, { terms }) => sum + terms, 0))
  const counts = new Uint16Array(segments.reduce((sum, { items }) => sum + items, 0))
  for (const [k, segment] of segments.entries()) {
    eachEntry(segment, 0, (length, _df, _at, term) => {
      const item = itemAt[k]! + segment.first[term]!
      const known = firsts.find(entryText, length)
      if (known >= 0 && seqOf(known) < segment.seq[segment.first[term]!]!) return true
      if (known >= 0) counts[known]!--
      counts[item]!++
      firsts.set(entryText, length, item)
      return true
    })
  }
  const novel = segments.map((segment, k) => counts.subarray(itemAt[k]!, itemAt[k]! + segment.items))
  return { firsts: firsts.compact(), novel }
}

/** A segment knows of each term who says it first: a database of one, as most are, needs no table of its own. */
function firstItemsOf(segment: Segment): { firsts: FirstItems; novel: Uint16Array[] } {
  const novel = new Uint16Array(segment.items)
  for (const item of segment.first) novel[item]!++
  const find = (text: Uint8Array, length: number) =>
    findTerm(segment, text.subarray(0, length)) ? segment.first[found.term]! : -1
  return { firsts: { find, byteLength: 0 }, novel: [novel] }
}
