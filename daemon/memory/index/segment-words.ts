// Which words of the tables of meaning a segment has, by their numbers. A cue has some 200 akin words: to look each of
// them up in the dictionary of each segment took a quarter of a search. The dictionary is read once instead, when the
// segment is first searched for akin words.

import { eachEntry, entryText } from './dictionary.ts'
import type { Segment } from './format.ts'
import { findWord, VOCABULARY_SIZE } from './vocabulary.ts'

export interface SegmentWords {
  /** A bit per word of the vocabulary, and how many are set before each 32 of them. */
  bits: Int32Array
  before: Uint16Array
  /** Of those that are set: df, and where the postings begin. */
  entries: Uint32Array
}

const known = new WeakMap<Segment, SegmentWords>()

export function wordsOf(segment: Segment): SegmentWords {
  const words = known.get(segment) ?? readWords(segment)
  known.set(segment, words)
  return words
}

/** Bytes beside a segment. */
export function wordBytesOf(segment: Segment): number {
  const words = known.get(segment)
  return words ? words.bits.byteLength + words.before.byteLength + words.entries.byteLength : 0
}

function readWords(segment: Segment): SegmentWords {
  const bits = new Int32Array(Math.ceil(VOCABULARY_SIZE / 32))
  const entries: number[] = []
  // Both are in the order of their bytes, so the entries are in the order of their numbers.
  eachEntry(segment, 0, (length, df, at) => {
    const number = findWord(entryText, length)
    if (number >= 0) {
      bits[number >> 5]! |= 1 << (number & 31)
      entries.push(df, at)
    }
    return true
  })
  const before = new Uint16Array(bits.length)
  for (let at = 1; at < bits.length; at++) before[at] = before[at - 1]! + bitsOf(bits[at - 1]!)
  return { bits, before, entries: Uint32Array.from(entries) }
}

/** Where df and postings of a word are in `entries`; -1 if the segment does not have it. */
export function entryOf({ bits, before }: SegmentWords, number: number): number {
  const word = bits[number >> 5]!
  const bit = 1 << (number & 31)
  return word & bit ? 2 * (before[number >> 5]! + bitsOf(word & (bit - 1))) : -1
}

function bitsOf(word: number): number {
  const pairs = word - ((word >>> 1) & 0x5555_5555)
  const nibbles = (pairs & 0x3333_3333) + ((pairs >>> 2) & 0x3333_3333)
  return Math.imul((nibbles + (nibbles >>> 4)) & 0x0f0f_0f0f, 0x0101_0101) >>> 24
}
