// Which texts are encoded. Pure.

import { TEXT_LENGTH_MAX } from '../analysis/item.ts'

const LETTER = /\p{L}/gu
const LATIN = /\p{Script=Latin}/u

/**
 * The model knows English; outside Latin script it finds every text alike, and called every question about something
 * that was never stored answered (measured on Chinese). Texts mostly in another script have no vector.
 */
export function isLatin(text: string): boolean {
  let latin = 0
  let other = 0
  for (const [letter] of text.slice(0, TEXT_LENGTH_MAX).matchAll(LETTER)) {
    if (LATIN.test(letter)) latin += 1
    else other += 1
    if (latin + other >= LETTERS_MAX) break
  }
  return latin >= other
}

/** The first so many decide. */
const LETTERS_MAX = 400
