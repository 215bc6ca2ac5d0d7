// Which terms mean nearly the same: "bicycl" for "bike". English terms of the analyser, made by scripts/meaning.ts.

import { readTable } from './table.ts'

export const THESAURUS = readTable('thesaurus.bin', 'loci-the')
const ENTRY_LENGTH = 3
const places = listPlaces()

/** Numbers of near terms by falling cosine, from .345 on, at most 255; none for a term that the table does not have. */
export function akinOf(term: string): { number: number; cosine: number }[] {
  const number = THESAURUS.find(term)
  if (number < 0) return []
  const { bytes } = THESAURUS
  const place = places[number] ?? 0
  return Array.from({ length: bytes.readUInt8(place) }, (_, at) => {
    const entry = place + 1 + ENTRY_LENGTH * at
    return { number: bytes.readUInt16LE(entry), cosine: bytes.readUInt8(entry + 2) / 255 }
  })
}

function listPlaces(): Uint32Array {
  const found = new Uint32Array(THESAURUS.count)
  let at = THESAURUS.from
  for (let number = 0; number < THESAURUS.count; number++) {
    found[number] = at
    at += 1 + ENTRY_LENGTH * THESAURUS.bytes.readUInt8(at)
  }
  return found
}
