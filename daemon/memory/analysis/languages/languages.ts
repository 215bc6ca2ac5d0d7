// Which tables a text is read with. The script of a word decides first; the configured language decides for words in
// Latin letters and for the sentence patterns.

import type { Language } from '../item.ts'
import { ARABIC } from './ar.ts'
import { ENGLISH } from './en.ts'
import { DUTCH } from './nl.ts'
import type { LanguageTables } from './tables.ts'
import { CHINESE } from './zh.ts'

const TABLES: Readonly<Record<Exclude<Language, 'auto'>, LanguageTables>> = {
  en: ENGLISH,
  nl: DUTCH,
  zh: CHINESE,
  ar: ARABIC,
}

const NON_ASCII = /[^\0-\x7f]/
const HAN = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/gu
const ARABIC_LETTER = /\p{Script=Arabic}/gu
const LATIN_LETTER = /\p{Script=Latin}/gu
/** Enough of a text to know its language. */
const SAMPLE_LENGTH = 400

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
  let lead = 0
  for (const word of sample.match(/[a-z]+/g) ?? []) {
    if (DUTCH.stop.has(word)) lead++
    if (ENGLISH.stop.has(word)) lead--
  }
  return lead > 0 ? DUTCH : ENGLISH
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
