// What is a kind of what: "dutch" of "languag". English terms of the analyser, made by scripts/meaning.ts.

import { readTable, type Table } from './table.ts'

export const KINDS = readTable('kinds.bin', 'loci-kin')
/** Terms that ask, each with the places of its kinds' members: two kinds may be asked for with one word. */
const asked = listAsked(KINDS)

/** The numbers of the terms that are a kind of `term`, the commonest first. */
export function kindsOf(term: string): ReadonlySet<number> {
  const numbers = new Set<number>()
  const { bytes } = KINDS
  for (const place of asked.get(term) ?? []) {
    for (let at = 0; at < bytes.readUInt16LE(place); at++) numbers.add(bytes.readUInt16LE(place + 2 + 2 * at))
  }
  return numbers
}

function listAsked({ bytes, from }: Table): Map<string, number[]> {
  const found = new Map<string, number[]>()
  let at = from + 2
  for (let kinds = bytes.readUInt16LE(from); kinds > 0; kinds--) {
    const asking: string[] = []
    for (let asks = bytes.readUInt8(at++); asks > 0; asks--) {
      const length = bytes.readUInt8(at++)
      asking.push(bytes.toString('latin1', at, at + length))
      at += length
    }
    for (const term of asking) found.set(term, [...(found.get(term) ?? []), at])
    at += 2 + 2 * bytes.readUInt16LE(at)
  }
  return found
}
