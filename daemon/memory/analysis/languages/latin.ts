// A language in Latin letters whose tables are small: its small words, its question words and its words for days.
// Endings are taken off as in English, which is what these texts were read as before: a plural s goes, a name stays the
// same term in every language, and a text whose language was guessed wrong loses no more than its stop words.

import type { KnownLanguage } from '../item.ts'
import { stemEnglish } from '../stems/english.ts'
import { type LanguageTables, wordSet } from './tables.ts'

/** All patterns are parts of regular expressions over folded words: lower case, no accents. */
interface SmallTables {
  language: KnownLanguage
  stop: readonly string[]
  telling: readonly string[]
  /** Words that lose their vowel and stand before an apostrophe: l'eau. */
  elided?: string
  /** January first, each with its short forms. */
  months: readonly string[]
  /** Sunday first. */
  weekdays: readonly string[]
  /** Between day and month. */
  of: string
  yesterday: string
  today: string
  tomorrow: string
  /** Before or after a weekday that lies ahead. */
  next: string
  /** Other words that speak of time. */
  time: string
  first: string
  you: string
  greeting: string
  when: string
  place: string
  duration: string
  title: string
  person: string
  /** Before the name of a place, and the articles between. */
  at: string
  /** Languages: after such a word they name no place. */
  tongues: string
  often: string
  kin: string
  /** Nouns are written with a capital, so capitals tell nothing. */
  hasCapitalNouns?: boolean
}

export function latinTables(small: SmallTables): LanguageTables {
  const months = small.months.map((names) => `(?:${names})`)
  const weekdays = small.weekdays.join('|')
  const month = months.join('|')
  const capital = small.hasCapitalNouns ? null : /(?<![.!?]\s)\b[A-Z][a-z]+/g
  return {
    language: small.language,
    stop: wordSet(...small.stop),
    telling: wordSet(...small.telling),
    stopCharacters: new Set(),
    bases: new Map(),
    spellings: new Map(),
    elided: small.elided === undefined ? null : new RegExp(`^(?:${small.elided})'`),
    stem: stemEnglish,
    months: months.map((each) => new RegExp(`\\b${each}\\b`)),
    dayOfMonth: new RegExp(`\\b(\\d{1,2})\\.?(?: ${small.of})? (?:${month})\\b|\\b(?:${month}) (\\d{1,2})\\b`),
    time: {
      pattern: new RegExp(
        `\\b(?:(?<yesterday>${small.yesterday})|(?<today>${small.today})|(?<tomorrow>${small.tomorrow})|` +
          `(?<next>(?:${small.next}) )?(?<weekday>${weekdays}))\\b`,
        'g',
      ),
      counts: {},
      units: {},
      weekdays: Object.fromEntries(small.weekdays.map((name, weekday) => [name, weekday])),
    },
    timeWord: new RegExp(
      `\\b(?:${small.yesterday}|${small.today}|${small.tomorrow}|${small.time}|${weekdays}|${month}|(?:19|20)\\d\\d)\\b`,
    ),
    names: capital,
    first: new RegExp(`\\b(?:${small.first})\\b`, 'i'),
    firstAsked: new RegExp(`\\b(?:${small.first})\\b`),
    you: new RegExp(`\\b(?:${small.you})\\b`),
    greeting: new RegExp(`^\\W*(?:${small.greeting})\\b`),
    past: null,
    question: null,
    when: new RegExp(`^\\W*(?:${small.when})\\b`),
    asks: {
      place: new RegExp(`^\\W*(?:${small.place})\\b`),
      duration: new RegExp(`\\b(?:${small.duration})\\b`),
      title: new RegExp(`\\b(?:${small.title})\\b`),
      person: new RegExp(`^\\W*(?:${small.person})\\b`),
    },
    gives: {
      place: new RegExp(`\\b(?:${small.at})\\s+(?!(?:${small.tongues})\\b)[A-Z]`),
      duration: new RegExp(`\\b(?:${small.often})\\b`, 'i'),
      title: small.hasCapitalNouns ? /["“„][^"“„”]{2,200}["“”]/ : /["“«][^"“”«»]{2,200}["”»]|(?<=[a-z,] )[A-Z][a-z]+/,
      person: new RegExp(`${capital === null ? '' : '(?<![.!?]\\s)(?<=\\s)[A-Z][a-z]+|'}\\b(?:${small.kin})\\b`),
    },
  }
}
