// Which tables a text is read with. The script of a word decides first; the configured language decides for words in
// Latin letters and for the sentence patterns.

import type { KnownLanguage, Language } from '../item.ts'
import { ARABIC } from './ar.ts'
import { GERMAN } from './de.ts'
import { ENGLISH } from './en.ts'
import { SPANISH } from './es.ts'
import { FRENCH } from './fr.ts'
import { ITALIAN } from './it.ts'
import { DUTCH } from './nl.ts'
import { PORTUGUESE } from './pt.ts'
import type { LanguageTables } from './tables.ts'
import { CHINESE } from './zh.ts'

/** The first of them that has most says what a text in Latin letters is: without any small word it is English. */
const LATIN = [ENGLISH, DUTCH, SPANISH, GERMAN, FRENCH, ITALIAN, PORTUGUESE]
const TABLES = Object.fromEntries([...LATIN, CHINESE, ARABIC].map((tables) => [tables.language, tables])) as Readonly<
  Record<KnownLanguage, LanguageTables>
>

const NON_ASCII = /[^\0-\x7f]/
const HAN = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/gu
const ARABIC_LETTER = /\p{Script=Arabic}/gu
const LATIN_LETTER = /\p{Script=Latin}/gu
const LETTER = /\p{L}/gu
/** Enough of a text to know its language. */
const SAMPLE_LENGTH = 400

/** Small words of another language that English texts have too: people, AUS, "get 'em", "see ya". */
const NO_VOTE = new Set(['al', 'aus', 'ben', 'ella', 'em', 'mia', 'uma', 'ya'])
/** A small word to the languages of LATIN that have it. */
const VOTES = countVotes()

/** Takes folded text. `auto`: the script with most letters; for Latin letters the language with most stop words. */
export function tablesFor(folded: string, language: Language): LanguageTables {
  if (language !== 'auto') return TABLES[language]
  const sample = folded.slice(0, SAMPLE_LENGTH)
  if (NON_ASCII.test(sample)) {
    // A Han character says about as much as three letters.
    const han = count(sample, HAN) * 3
    const arabic = count(sample, ARABIC_LETTER)
    const latin = count(sample, LATIN_LETTER)
    if (han > latin && han > arabic) return CHINESE
    if (arabic > latin) return ARABIC
  }
  return latinTablesFor(sample)
}

/** Takes folded text, and the tables that it is read with. */
export function languageOf(folded: string, tables: LanguageTables): KnownLanguage | 'other' {
  const sample = folded.slice(0, SAMPLE_LENGTH)
  if (!NON_ASCII.test(sample)) return tables.language
  const known = count(sample, HAN) + count(sample, ARABIC_LETTER) + count(sample, LATIN_LETTER)
  return 2 * known < count(sample, LETTER) ? 'other' : tables.language
}

function latinTablesFor(sample: string): LanguageTables {
  const sums = LATIN.map(() => 0)
  for (const word of sample.match(/[a-z]+/g) ?? []) {
    for (const at of VOTES.get(word) ?? []) sums[at] = (sums[at] ?? 0) + 1
  }
  return LATIN[sums.indexOf(Math.max(...sums))] ?? ENGLISH
}

function countVotes(): ReadonlyMap<string, readonly number[]> {
  const votes = new Map<string, number[]>()
  for (const [at, { stop, telling }] of LATIN.entries()) {
    for (const word of new Set([...stop, ...telling]))
      if (!NO_VOTE.has(word)) votes.set(word, [...(votes.get(word) ?? []), at])
  }
  return votes
}

/** The tables for one word: Arabic words are Arabic in every text. */
export function tablesForWord(word: string, tables: LanguageTables): LanguageTables {
  if (isArabic(word)) return ARABIC
  return tables === ARABIC ? ENGLISH : tables
}

function isArabic(word: string): boolean {
  const code = word.charCodeAt(0)
  return code >= 0x600 && code <= 0x6ff
}

function count(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0
}
