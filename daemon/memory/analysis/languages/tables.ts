// What a language's file tells the analyser. To add a language: write such a file, name it in item.ts (LANGUAGES) and
// in languages.ts, and give it thirty questions in eval/recall-own.

import type { TimeWords } from '../days.ts'

export interface LanguageTables {
  /** Folded words that carry no meaning of their own. */
  stop: ReadonlySet<string>
  /** Characters of an unspaced script that only hold a sentence together; a run of characters ends there. */
  stopCharacters: ReadonlySet<string>
  /** Folded form to base, looked up before stemming. */
  bases: ReadonlyMap<string, string>
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
