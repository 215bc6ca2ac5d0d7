// Reading a segment's dictionary and postings. Terms are sorted by their UTF-8 bytes and front-coded in blocks.

import { BLOCK, DamagedSegmentError, type Segment, TERM_BYTES_MAX } from './format.ts'

const encoder = new TextEncoder()

/** The term being read by eachEntry: one buffer, overwritten by the next term. */
export const entryText = Buffer.alloc(2 * TERM_BYTES_MAX + 32)

/** Where findTerm found the term; overwritten by the next call. */
export const found = { df: 0, at: 0, term: 0 }

export function termBytes(term: string): Uint8Array {
  return encoder.encode(term)
}

/**
 * Walks the dictionary from a block on: each(length, df, at, term index), the term in entryText[0, length), its
 * postings at byte `at`. Ends when `each` returns false.
 */
export function eachEntry(
  segment: Segment,
  block: number,
  each: (length: number, df: number, at: number, term: number) => boolean,
): void {
  const { dictionary, terms } = segment
  if (block >= segment.blockText.length) return
  let p = segment.blockText[block]!
  let at = segment.blockPosting[block]!
  for (let t = block * BLOCK; t < terms; t++) {
    const shared = dictionary[p++]!
    const own = dictionary[p++]!
    if (!(shared + own <= TERM_BYTES_MAX)) throw new DamagedSegmentError('a term is too long')
    for (let j = 0; j < own; j++) entryText[shared + j] = dictionary[p + j]!
    p += own
    let x = dictionary[p++]!
    let df = x & 127
    for (let shift = 7; x > 127; shift += 7) {
      x = dictionary[p++]!
      df |= (x & 127) << shift
    }
    x = dictionary[p++]!
    let size = x & 127
    for (let shift = 7; x > 127; shift += 7) {
      x = dictionary[p++]!
      size |= (x & 127) << shift
    }
    if (p > dictionary.length) throw new DamagedSegmentError('the dictionary ends inside a term')
    if (!each(shared + own, df, at, t)) return
    at += size
  }
}

/** Every term, as a function that decodes it when asked. */
export function eachTerm(segment: Segment, each: (term: () => string, df: number, at: number) => void): void {
  eachEntry(segment, 0, (length, df, at) => {
    let text: string | undefined
    each(() => (text ??= entryString(length)), df, at)
    return true
  })
}

export function entryString(length: number): string {
  return entryText.toString('utf8', 0, length)
}

/** The last block whose first term is not above `key`: the one that holds `key`, if any does. */
export function blockOf(segment: Segment, key: Uint8Array): number {
  const { dictionary, blockText } = segment
  let low = 0
  let high = blockText.length - 1
  let block = 0
  while (low <= high) {
    const middle = (low + high) >> 1
    const at = blockText[middle]! + 2
    const length = dictionary[at - 1]!
    let order = 0
    for (let j = 0; order === 0 && j < length && j < key.length; j++) order = dictionary[at + j]! - key[j]!
    if (order === 0) order = length - key.length
    if (order <= 0) {
      block = middle
      low = middle + 1
    } else high = middle - 1
  }
  return block
}

/** Whether the segment has the term; its number, df and postings are in `found`. */
export function findTerm(segment: Segment, key: Uint8Array): boolean {
  if (segment.terms === 0) return false
  const { dictionary } = segment
  const block = blockOf(segment, key)
  let p = segment.blockText[block]!
  let at = segment.blockPosting[block]!
  // Letters of the key that the term before has: entries that share fewer are past it, those that share more before it.
  let same = 0
  for (let t = block * BLOCK, end = Math.min(segment.terms, t + BLOCK); t < end; t++) {
    const shared = dictionary[p++]!
    const own = dictionary[p++]!
    if (shared < same) return false
    let order = -1
    if (shared === same) {
      let j = 0
      while (j < own && same < key.length && dictionary[p + j] === key[same]) {
        j++
        same++
      }
      if (j < own) order = same < key.length ? dictionary[p + j]! - key[same]! : 1
      else order = same < key.length ? -1 : 0
    }
    p += own
    let x = dictionary[p++]!
    let df = x & 127
    for (let shift = 7; x > 127; shift += 7) {
      x = dictionary[p++]!
      df |= (x & 127) << shift
    }
    x = dictionary[p++]!
    let size = x & 127
    for (let shift = 7; x > 127; shift += 7) {
      x = dictionary[p++]!
      size |= (x & 127) << shift
    }
    if (order === 0) {
      found.df = df
      found.at = at
      found.term = t
      return true
    }
    if (order > 0) return false
    at += size
  }
  return false
}

/** The `df` postings at byte `at`. The search has its own loop (postings.ts), without a call per posting. */
export function eachPosting(
  segment: Segment,
  df: number,
  at: number,
  each: (item: number, count: number) => void,
): void {
  const { postings, items } = segment
  let p = at
  let item = -1
  for (let k = 0; k < df; k++) {
    let x = postings[p++]!
    let value = x & 127
    for (let shift = 7; x > 127; shift += 7) {
      x = postings[p++]!
      value |= (x & 127) << shift
    }
    item += (value >> 1) + 1
    if (!(item < items)) throw new DamagedSegmentError('a posting without an item')
    each(item, value & 1 ? postings[p++]! : 1)
  }
}
