// What a language's file tells the analyser. To add a language: write such a file, name it in item.ts (LANGUAGES) and
// in languages.ts, and give it thirty questions in eval/recall/own. For one in Latin letters latin.ts needs less.

import type { TimeWords } from '../days.ts'
import type { KnownLanguage } from '../item.ts'

export interface LanguageTables {
  language: KnownLanguage
  /** Folded words that carry no meaning of their own. */
  stop: ReadonlySet<string>
  /** Folded words that are said often in this language: beside its stop words they tell it from others. */
  telling: ReadonlySet<string>
  /** Characters of an unspaced script that only hold a sentence together; a run of characters ends there. */
  stopCharacters: ReadonlySet<string>
  /** Folded form to base, looked up before stemming. */
  bases: ReadonlyMap<string, string>
  /** Stem to stem, looked up after stemming: two spellings of one word. */
  spellings: ReadonlyMap<string, string>
  /** The start of a word that is a word of its own and lost its vowel: the l' of "l'eau". */
  elided: RegExp | null
  stem: (word: string) => string
  /** Over folded text, January first. */
  months: readonly RegExp[]
  /** Over folded text: the day of the month beside a month's name, in whichever group matches. */
  dayOfMonth: RegExp
  time: TimeWords
  /** Over folded text: speaks of time at all. */
  timeWord: RegExp
  /** Over the text as written. A language without capitals has none. */
  names: RegExp | null
  /** Over the text as written. */
  first: RegExp
  /** Over folded cues: asks about whoever asks. */
  firstAsked: RegExp
  /** Over folded text. */
  you: RegExp
  greeting: RegExp
  past: RegExp | null
  /** A question without a question mark, over folded text. */
  question: RegExp | null
  /** Over folded cues. */
  when: RegExp
  asks: Readonly<Record<Asked, RegExp>>
  /** Over the text as written: shows that the item could answer. */
  gives: Readonly<Record<Asked, RegExp>>
}

/** What a cue can ask for. Each is a flag of an item and a part of the score. */
export const ASKED = ['place', 'duration', 'title', 'person'] as const
export type Asked = (typeof ASKED)[number]

export function wordSet(...lines: string[]): ReadonlySet<string> {
  return new Set(lines.flatMap((line) => line.split(' ')))
}

/** Groups `base form form`: every form becomes the base before it is stemmed. */
export function basesOf(...groups: string[]): ReadonlyMap<string, string> {
  const bases = new Map<string, string>()
  for (const group of groups) {
    const [base = '', ...forms] = group.split(' ')
    for (const form of forms) bases.set(form, base)
  }
  return bases
}
