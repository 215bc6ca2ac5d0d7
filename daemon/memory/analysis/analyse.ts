// The analyser: a record becomes an item of the index, a question becomes a cue. Pure, without a clock: the same text
// gives the same answer on every replica and in every release with the same ANALYSER_VERSION.

import { DAY_MS, rangesOf, todayOf } from './days.ts'
import { fold, foldName, visible } from './fold.ts'
import {
  type ActorNames,
  CAPS_MAX,
  CUE_LENGTH_MAX,
  CUE_TERMS_MAX,
  type Cue,
  type CueDate,
  DIGITS_SHIFT,
  FLAG,
  type IndexItem,
  ITEM_TERMS_MAX,
  ITEM_WORDS_MAX,
  type Language,
  type RecordText,
  TERM_COUNT_MAX,
  TEXT_LENGTH_MAX,
} from './item.ts'
import { languageOf, tablesFor } from './languages/languages.ts'
import { ASKED, type LanguageTables } from './languages/tables.ts'
import { findNames, properNames } from './names.ts'
import { termOf } from './terms.ts'
import { eachWord, isUnspaced } from './words.ts'

const QUESTION = /[?？؟]\s*$/
const LENGTH_MAX = 65_535

/** What the text itself shows, before its words are looked at: a third of what an item costs. */
export function analyseSurface(content: string, language: Language) {
  const text = visible(content).slice(0, TEXT_LENGTH_MAX)
  // Cut again: an ß is two letters.
  const folded = fold(text).slice(0, TEXT_LENGTH_MAX)
  const tables = tablesFor(folded, language)
  // The first letter is a capital anyway.
  const caps = tables.names === null ? 0 : countOf(text.slice(1), tables.names, CAPS_MAX)
  return { folded, tables, flags: flagsOf(text, folded, tables), caps }
}

export function analyseItem(record: RecordText, language: Language): IndexItem {
  const { folded, tables, flags, caps } = analyseSurface(record.content, language)
  const media = record.media ? fold(visible(record.media)).slice(0, TEXT_LENGTH_MAX) : ''
  const terms = new Map<string, number>()
  let length = 0
  let words = 0
  eachWord(media === '' ? folded : `${folded} ${media}`, tables.stopCharacters, (word) => {
    if (words === ITEM_WORDS_MAX) {
      length++
      return
    }
    words++
    const term = termOf(word, tables)
    if (term === '') return
    length++
    const count = terms.get(term) ?? 0
    if (count < TERM_COUNT_MAX && (count > 0 || terms.size < ITEM_TERMS_MAX)) terms.set(term, count + 1)
  })
  const day = Math.floor(record.occurredAt / DAY_MS)
  return {
    seq: record.seq,
    context: record.context,
    position: record.position,
    actor: record.actor === null ? '' : foldName(record.actor),
    day,
    time: record.occurredAt - day * DAY_MS,
    contextFacet: record.contextFacet ?? 0,
    facets: record.facets ?? [],
    labels: JSON.stringify([record.kind ?? '', ...(record.tags ?? []).toSorted()]),
    flags:
      flags |
      (media === '' ? 0 : FLAG.media) |
      (record.isHinted ? FLAG.hinted : 0) |
      (record.hasContextId ? FLAG.named : 0),
    length: Math.min(length, LENGTH_MAX),
    caps,
    past: tables.past === null ? 0 : countOf(folded, tables.past, CAPS_MAX),
    terms,
    ranges: rangesOf(folded, todayOf(record.occurredAt), tables.time),
  }
}

/** `actors`: the names of the database's actors, from actorNames(). They say who is meant, not what. */
export function analyseCue(text: string, language: Language, actors: ActorNames): Cue {
  // Cut twice: of one character compatibility forms can make 18.
  const written = visible(text.slice(0, CUE_LENGTH_MAX)).slice(0, CUE_LENGTH_MAX)
  const folded = fold(written).slice(0, CUE_LENGTH_MAX)
  const tables = tablesFor(folded, language)
  const { who, rest } = findNames(folded, actors)
  const terms = new Set<string>()
  const groups = new Map<string, string>()
  eachWord(rest, tables.stopCharacters, (word) => {
    const term = termOf(word, tables)
    if (term === '' || terms.size >= CUE_TERMS_MAX) return
    terms.add(term)
    if (!actors.terms.has(term) && !isUnspaced(word)) groups.set(word, term)
  })
  const when = tables.when.test(folded)
  return {
    terms: [...terms],
    groups: [...groups.values()],
    who,
    when,
    date: dateOf(folded, when, tables),
    asks: ASKED.reduce((asks, each) => (tables.asks[each].test(folded) ? asks | FLAG[each] : asks), 0),
    names: properNames(written, tables).filter((term) => terms.has(term)),
    isFirst: tables.firstAsked.test(folded),
    language: languageOf(folded, tables),
  }
}

function flagsOf(text: string, folded: string, tables: LanguageTables): number {
  let flags = 0
  if (QUESTION.test(folded) || tables.question?.test(folded)) flags |= FLAG.question
  const isFirst = tables.first.test(text)
  if (isFirst) flags |= FLAG.first
  if (tables.timeWord.test(folded)) flags |= FLAG.time
  if (tables.greeting.test(folded)) flags |= FLAG.greet
  if (countOf(folded, /[!！]/g, 2) === 2) flags |= FLAG.exclaim
  if (!isFirst && tables.you.test(folded)) flags |= FLAG.you
  for (const each of ASKED) if (tables.gives[each].test(text)) flags |= FLAG[each]
  return flags | (countOf(folded, /[0-9]/g, 3) << DIGITS_SHIFT)
}

function dateOf(folded: string, when: boolean, tables: LanguageTables): CueDate | null {
  const written =
    /(?<!\d)(?<year>\d{4})-(?<month>\d{1,2})-(?<day>\d{1,2})(?!\d)/.exec(folded) ??
    /(?<!\d)(?<day>\d{1,2})\.(?<month>\d{1,2})\.(?<year>(?:19|20)\d\d)(?!\d)/.exec(folded)
  if (written?.groups) {
    const [day, month, year] = [written.groups.day, written.groups.month, written.groups.year].map(Number)
    if (month && month <= 12 && day && day <= 31 && year) return { day, months: [month], year, exact: true }
  }
  const months = tables.months.flatMap((month, index) => (month.test(folded) ? [index + 1] : []))
  // "When did we meet in May?" asks for a date; what it names is not the answer's.
  if (months.length === 0 || when) return null
  const year = /(?<!\d)((?:19|20)\d\d)(?!\d)/.exec(folded)
  const day = tables.dayOfMonth.exec(folded)?.slice(1).find(Boolean)
  return { day: day === undefined ? 0 : Number(day), months, year: Number(year?.[1] ?? 0), exact: false }
}

/** Counts matches of a global pattern up to `max`: no text makes a long list. */
function countOf(text: string, pattern: RegExp, max: number): number {
  pattern.lastIndex = 0
  let count = 0
  while (count < max && pattern.test(text)) count++
  pattern.lastIndex = 0
  return count
}
