// The terms at the head of a table of meaning, searched where they lie: no map, no string that nobody asks for. The
// format is written down beside the writer, scripts/meaning/asset.ts.

import { readFileSync } from 'node:fs'
import path from 'node:path'

export interface Table {
  bytes: Buffer
  /** Where what belongs to the terms begins. */
  from: number
  count: number
  termAt(number: number): string
  /** Its number, or -1. */
  find(term: string): number
}

const NAME_LENGTH = 8

/** From the folder of this file: a program may be started in any other. */
export function readTable(file: string, name: string): Table {
  const bytes = readFileSync(path.join(import.meta.dirname, file))
  if (bytes.toString('latin1', 0, NAME_LENGTH) !== name) throw new Error(`${file} is not the table '${name}'`)
  const count = bytes.readUInt32LE(NAME_LENGTH)
  const places = new Uint32Array(count)
  let at = NAME_LENGTH + 4
  for (let number = 0; number < count; number++) {
    places[number] = at
    at += 1 + bytes.readUInt8(at)
    // The words that became the term are not needed here.
    for (let words = bytes.readUInt8(at++); words > 0; words--) at += 2 + bytes.readUInt8(at + 1)
  }
  // One string of which all others are slices: to decode each of them took twice as long.
  const text = bytes.toString('latin1', 0, at)
  const termAt = (number: number) => {
    const place = places[number] ?? 0
    return text.slice(place + 1, place + 1 + (bytes[place] ?? 0))
  }
  return { bytes, from: at, count, termAt, find: (term) => search(term, count, termAt) }
}

/** Terms of a table are of a-z alone, so their order as strings is the order of their bytes. */
function search(term: string, count: number, termAt: (number: number) => string): number {
  let [low, high] = [0, count - 1]
  while (low <= high) {
    const middle = (low + high) >> 1
    const found = termAt(middle)
    if (found === term) return middle
    if (found < term) low = middle + 1
    else high = middle - 1
  }
  return -1
}
