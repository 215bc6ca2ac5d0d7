// The terms of both tables of meaning as one list, numbered in the order of their bytes: what covers a word is a list
// of numbers, and a segment keeps by number which of them it has. No string is made or compared in a search.

import { KINDS } from '../meaning/kinds.ts'
import type { Table } from '../meaning/table.ts'
import { THESAURUS } from '../meaning/thesaurus.ts'

interface Vocabulary {
  /** All terms, one behind the other, and where each begins. */
  text: Buffer
  starts: Uint32Array
  /** Of each table: the numbers here of its terms. */
  ofThesaurus: Uint16Array
  ofKinds: Uint16Array
}

const { text, starts, ofThesaurus, ofKinds } = joinTables(THESAURUS, KINDS)

export const VOCABULARY_SIZE = starts.length - 1
export const NUMBER_OF_AKIN: ArrayLike<number> = ofThesaurus
export const NUMBER_OF_KIND: ArrayLike<number> = ofKinds

/** Numbers, from one on, by the hash of their terms; a third of the slots is used. */
const SLOTS = 1 << 16
const slots = fillSlots()

export function wordAt(number: number): string {
  return text.toString('latin1', starts[number], starts[number + 1])
}

/** The number of the term in bytes[0, length), or -1. */
export function findWord(bytes: Uint8Array, length: number): number {
  for (let slot = hashOf(bytes, 0, length); ; slot = (slot + 1) & (SLOTS - 1)) {
    const number = slots[slot]! - 1
    if (number < 0) return -1
    const from = starts[number]!
    if (starts[number + 1]! - from !== length) continue
    let at = 0
    while (at < length && text[from + at] === bytes[at]) at++
    if (at === length) return number
  }
}

function fillSlots(): Uint16Array {
  const filled = new Uint16Array(SLOTS)
  for (let number = 0; number < VOCABULARY_SIZE; number++) {
    let slot = hashOf(text, starts[number]!, starts[number + 1]!)
    while (filled[slot] !== 0) slot = (slot + 1) & (SLOTS - 1)
    filled[slot] = number + 1
  }
  return filled
}

function hashOf(bytes: Uint8Array, from: number, to: number): number {
  let hash = 0x811c_9dc5
  for (let at = from; at < to; at++) hash = Math.imul(hash ^ bytes[at]!, 0x0100_0193)
  return (hash ^ (hash >>> 16)) & (SLOTS - 1)
}

/** Both tables are sorted, and many terms are in both. */
function joinTables(thesaurus: Table, kinds: Table): Vocabulary {
  const joined: string[] = []
  const numbers = [new Uint16Array(thesaurus.count), new Uint16Array(kinds.count)] as const
  for (let [one, other] = [0, 0]; one < thesaurus.count || other < kinds.count; ) {
    const near = one < thesaurus.count ? thesaurus.termAt(one) : null
    const kind = other < kinds.count ? kinds.termAt(other) : null
    const term = near !== null && (kind === null || near <= kind) ? near : (kind as string)
    if (near === term) numbers[0][one++] = joined.length
    if (kind === term) numbers[1][other++] = joined.length
    joined.push(term)
  }
  const starts = new Uint32Array(joined.length + 1)
  for (const [number, { length }] of joined.entries()) starts[number + 1] = starts[number]! + length
  return { text: Buffer.from(joined.join(''), 'latin1'), starts, ofThesaurus: numbers[0], ofKinds: numbers[1] }
}
