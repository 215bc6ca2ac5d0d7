// What of a record is encoded. Pure.

import { type RecordText, TEXT_LENGTH_MAX } from '../analysis/item.ts'

/** Who said it belongs to what was said: "I moved to Ghent" is about somebody. */
export function encodedText({ actor, content, media }: Pick<RecordText, 'actor' | 'content' | 'media'>): string {
  return `${actor ? `${actor}: ` : ''}${content}${media ? ` [${media}]` : ''}`
}

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
