// How the tables are written, and the words in them that the program skips. Little-endian integers throughout:
//   8 bytes name, u32 count of terms
//   per term, in the order of their bytes: u8 length, term; u8 count of its words, per word: u8 letters that it begins
//   with the term, u8 length of the rest, the rest
//   thesaurus: per term u8 count, per near one: u16 number of the term, u8 cosine (255 is 1)
//   kinds: u16 count; per kind: u8 count of asking terms, each u8 length and term; u16 count, per member: u16 number
// The words are there for the test that makes their terms again: a changed analyser needs new tables.

import { order } from './words.ts'

export interface TableTerm {
  term: string
  words: readonly string[]
}

const NAME_LENGTH = 8

/** The terms in the order of the table, and the bytes up to where their numbers are used. */
export function writeTerms(name: string, terms: readonly TableTerm[]): { bytes: Buffer; numbers: Map<string, number> } {
  const sorted = terms.toSorted((a, b) => order(a.term, b.term))
  const head = Buffer.alloc(NAME_LENGTH + 4)
  head.write(name, 'latin1')
  head.writeUInt32LE(sorted.length, NAME_LENGTH)
  const parts = sorted.map(({ term, words }) =>
    Buffer.concat([text(term), u8(words.length), ...words.map((word) => ending(word, term))]),
  )
  return {
    bytes: Buffer.concat([head, ...parts]),
    numbers: new Map(sorted.map(({ term }, number) => [term, number])),
  }
}

export function text(term: string): Buffer {
  return Buffer.concat([u8(term.length), Buffer.from(term, 'latin1')])
}

export function u8(value: number): Buffer {
  return Buffer.from([checked(value, 255)])
}

export function u16(value: number): Buffer {
  return Buffer.from([checked(value, 65_535) & 255, value >> 8])
}

/** Every term of a table with the words that became it. */
export function readWords(bytes: Buffer): TableTerm[] {
  let at = NAME_LENGTH + 4
  const next = (length: number) => {
    at += length
    return bytes.toString('latin1', at - length, at)
  }
  const byte = () => bytes.readUInt8(at++)
  return Array.from({ length: bytes.readUInt32LE(NAME_LENGTH) }, () => {
    const term = next(byte())
    return { term, words: Array.from({ length: byte() }, () => term.slice(0, byte()) + next(byte())) }
  })
}

function ending(word: string, term: string): Buffer {
  let shared = 0
  while (shared < term.length && word[shared] === term[shared]) shared++
  return Buffer.concat([u8(shared), text(word.slice(shared))])
}

function checked(value: number, max: number): number {
  if (!Number.isInteger(value) || value < 0 || value > max) throw new RangeError(`${value} is not in 0..${max}`)
  return value
}
