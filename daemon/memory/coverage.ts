// Which words of a question a memory covers, in the words that were typed: what `explain` says of a result, and why a
// recall abstained. Read from the texts alone; how much that is worth is decided by the index (relevance.ts).

import { analyseCue, analyseItem, analyseSurface } from './analysis/analyse.ts'
import { foldName } from './analysis/fold.ts'
import type { Language } from './analysis/item.ts'
import { actorNames } from './analysis/names.ts'
import { akinTermsOf } from './index/akin.ts'
import { isStemMate } from './index/terms.ts'
import type { RecordBody } from './records.ts'
import { NAME_MET, STEM_SHARE } from './relevance.ts'

export interface CoveredWord {
  word: string
  covered: number
  /** The memory's word that covers it. */
  by: string | null
}

const NOBODY = actorNames([], 'auto')
const WORD = /[\p{L}\p{M}\p{N}]+(?:['’]\p{L}+)?/gu
/** Words of a text that are looked at: what is shown is a sentence, not a book. */
const WORDS_MAX = 1_000

export function coverageOf(query: string, language: Language, body: RecordBody): CoveredWord[] {
  const asked = analyseCue(query, language, NOBODY)
  const spoken = asked.language === 'other' ? language : asked.language
  const said = wordsOf(body.content, analyseSurface(body.content, language).tables.language)
  const { terms } = analyseItem(
    { seq: 0, context: 0, position: 0, actor: null, occurredAt: 0, content: body.content, media: body.media },
    language,
  )
  const actor = body.actor === null ? [] : foldName(body.actor).split(' ')
  return [...wordsOf(query, spoken)].flatMap(([term, word]) => {
    if (!asked.terms.includes(term)) return []
    if (actor.includes(foldName(word))) return [{ word, covered: 1, by: body.actor }]
    const { covered, by } = coveringOf(term, terms, asked.language === 'en')
    return [{ word, covered: Math.round(covered * 100) / 100, by: by === null ? null : (said.get(by) ?? by) }]
  })
}

function coveringOf(word: string, terms: ReadonlyMap<string, number>, hasTables: boolean) {
  if (terms.has(word)) return { covered: 1, by: word }
  let best: { covered: number; by: string | null } = { covered: 0, by: null }
  const mate = terms.keys().find((term) => isStemMate(term, word))
  if (mate !== undefined) best = { covered: STEM_SHARE, by: mate }
  for (const { term, share } of hasTables ? akinTermsOf(word) : [])
    if (share > best.covered && terms.has(term)) best = { covered: share, by: term }
  return best
}

/** Terms to the words that they were made of, as they were typed first. */
function wordsOf(text: string, language: Language): Map<string, string> {
  const words = new Map<string, string>()
  for (const [word] of text.matchAll(WORD).take(WORDS_MAX)) {
    for (const term of analyseCue(word, language, NOBODY).terms) if (!words.has(term)) words.set(term, word)
  }
  return words
}

const NAMED_MAX = 5

interface Abstention {
  query: string
  language: Language
  /** Whether the database has a memory that the filters let pass. */
  hasMemories: boolean
  isNarrowed: boolean
  nearest: { body: RecordBody; relevance: number } | undefined
  enough: number
}

/** Why nothing is answered, in a sentence for somebody who has just begun. */
export function reasonOf({ query, language, hasMemories, isNarrowed, nearest, enough }: Abstention): string {
  if (!hasMemories) return isNarrowed ? 'No memory passes the filters.' : 'Nothing is stored in this database yet.'
  const cue = analyseCue(query, language, NOBODY)
  if (cue.terms.length === 0) return 'The question has no word that a memory could be found by.'
  if (nearest === undefined) return 'No memory has anything to do with the question.'
  const lacking = coverageOf(query, language, nearest.body).filter(({ covered }) => covered < NAME_MET)
  const far = `relevance ${nearest.relevance.toFixed(2)}, at least ${enough.toFixed(2)} is an answer`
  if (lacking.length === 0) return `The nearest memory has too little to do with the question (${far}).`
  const words = lacking.slice(0, NAMED_MAX).map(({ word }) => `“${word}”`)
  return `The nearest memory says nothing of ${words.join(', ')} (${far}).`
}
