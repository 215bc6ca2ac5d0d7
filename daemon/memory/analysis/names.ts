// Names in cues: of actors, and whatever else is written as a name or a number.

import { fold } from './fold.ts'
import type { ActorNames, Language } from './item.ts'
import { tablesFor } from './languages/languages.ts'
import type { LanguageTables } from './languages/tables.ts'
import { termOf } from './terms.ts'
import { eachWord, isUnspaced } from './words.ts'

/** An actor called so is named by the word, but the word stays a word: nearly every record has such an actor. */
const ROLES = new Set(['user', 'assistant', 'agent', 'system', 'tool', 'bot', 'human', 'customer', 'operator'])
const NAME_WORDS_MAX = 4
/** A longer name in a script without spaces is found only as a whole word: no actor makes every cue of others dear. */
const UNSPACED_NAME_MAX = 16

/** What the search hands to analyseCue, made once per list of segments from the actors of their items. */
export function actorNames(actors: Iterable<string>, language: Language): ActorNames {
  const names = new Set<string>()
  const terms = new Set<string>()
  let unspacedLengthMax = 0
  for (const actor of actors) {
    if (actor === '') continue
    names.add(actor)
    if (ROLES.has(actor)) continue
    const isLookedUp = actor.length <= UNSPACED_NAME_MAX && isUnspaced(actor)
    if (isLookedUp) unspacedLengthMax = Math.max(unspacedLengthMax, actor.length)
    const first = actor.split(' ', 1)[0] ?? actor
    // The first word of a longer name is a name of its own, unless it is a role or a mere letter: "agent 7", "a smith".
    if (first.length > 1 && !ROLES.has(first)) names.add(first)
    const tables = tablesFor(actor, language)
    eachWord(ROLES.has(first) ? '' : actor, tables.stopCharacters, (word) => {
      const term = termOf(word, tables)
      if (term !== '' && !/^[0-9]+$/.test(term)) terms.add(term)
    })
  }
  return { names, terms, unspacedLengthMax }
}

/** The names in a folded cue, and the cue without them. */
export function findNames(folded: string, actors: ActorNames): { who: string[]; rest: string } {
  if (actors.names.size === 0) return { who: [], rest: folded }
  const who = new Set<string>()
  const rest = withoutUnspacedNames(folded, actors, who)
  const words = [...rest.matchAll(/[\p{L}\p{M}\p{N}]+/gu)]
  let kept = ''
  let from = 0
  for (let i = 0; i < words.length; i++) {
    const found = longestName(words, i, actors.names)
    if (found === null) continue
    who.add(found.name)
    const last = words[i + found.length - 1]
    const to = (last?.index ?? 0) + (last?.[0].length ?? 0)
    kept += rest.slice(from, ROLES.has(found.name) ? to : words[i]?.index)
    from = to
    i += found.length - 1
  }
  return { who: [...who], rest: kept + rest.slice(from) }
}

function longestName(words: RegExpExecArray[], at: number, names: ReadonlySet<string>) {
  const first = words[at]?.[0] ?? ''
  // Every longer name is also known by its first word, but for those that begin with a role or a mere letter.
  const isLikely = names.has(first) || ROLES.has(first) || first.length === 1 || /^[وفبل]/.test(first)
  if (!isLikely) return null
  for (let length = Math.min(NAME_WORDS_MAX, words.length - at); length > 0; length--) {
    const name = words
      .slice(at, at + length)
      .map(([word]) => word)
      .join(' ')
    if (names.has(name)) return { name, length }
    // Arabic writes "and", "so", "by", "to" to the front of a name.
    if (length === 1 && /^[وفبل]/.test(name) && names.has(name.slice(1))) return { name: name.slice(1), length }
  }
  return null
}

function withoutUnspacedNames(folded: string, actors: ActorNames, who: Set<string>): string {
  if (actors.unspacedLengthMax === 0 || !isUnspaced(folded)) return folded
  let rest = ''
  for (let at = 0; at < folded.length; ) {
    let length = Math.min(actors.unspacedLengthMax, folded.length - at)
    while (length > 1 && !isNameAt(folded.slice(at, at + length), actors)) length--
    if (length > 1) {
      who.add(folded.slice(at, at + length))
      rest += ' '
      at += length
    } else {
      rest += folded[at] ?? ''
      at++
    }
  }
  return rest
}

function isNameAt(text: string, actors: ActorNames): boolean {
  return actors.names.has(text) && isUnspaced(text)
}

// Not the first letter of the cue or of a sentence: it is a capital anyway. "I" is no name.
const CAPITAL = /(?<=.)(?<![.!?]\s)(?<![\p{Script=Latin}\p{M}\p{N}])\p{Lu}\p{Ll}+/gu
/** Orders, versions, years: three digits, or digits among letters. */
const NUMBER =
  /(?<![\p{Script=Latin}\p{M}\p{N}])(?:\d{3,}|(?=[a-z]*\d)(?=\d*[a-z])[a-z\d]{3,})(?![\p{Script=Latin}\p{M}\p{N}])/giu
/** The 5th and half past 5pm are read as dates and times. */
const MOMENT = /^\d{1,2}(?:st|nd|rd|th|am|pm)$/

/** Terms of the words that are written as a name or a number, in a cue as it was written. */
export function properNames(written: string, tables: LanguageTables): string[] {
  const names = new Set<string>()
  const add = (word: string) => eachWord(word, tables.stopCharacters, (each) => names.add(termOf(each, tables)))
  // German writes every noun with a capital.
  for (const [word] of tables.language === 'de' ? [] : written.matchAll(CAPITAL)) {
    const folded = fold(word)
    if (!tables.months.some((month) => month.test(folded)) && !Object.hasOwn(tables.time.weekdays, folded)) add(folded)
  }
  for (const [word] of written.matchAll(NUMBER)) if (!MOMENT.test(fold(word))) add(fold(word))
  return [...names]
}
