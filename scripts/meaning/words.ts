// The words that the tables of meaning are made of, and the terms they become. Two sources: the whole words of the
// encoder's vocabulary, which is numbered by how common they are, and SCOWL's lists, whose number says the same.

import { readFileSync } from 'node:fs'
import path from 'node:path'
import { ENGLISH } from '@loci/daemon/memory/analysis/languages/en.ts'
import { termOf } from '@loci/daemon/memory/analysis/terms.ts'

export interface Word {
  word: string
  /** How likely a short record has it; only the order and rough size matter. */
  share: number
}

/** One term of the analyser. Its words are in the order of their share; the first of them speaks for it. */
export interface Term {
  term: string
  words: Word[]
  share: number
}

const PLAIN_WORD = /^[a-z]{2,}$/
/** Lists up to this number hold the words of a good dictionary; those above it hold what few people have met. */
const LISTS = [10, 20, 35, 40, 50]
const VARIETIES = ['english', 'american', 'british']
/** By Zipf's law, with the share of "the" and the shift that fit English text. */
const ZIPF = { share: 0.11, shift: 3.7 }
const WORDS_PER_RECORD = 12
/** For words that are no piece of the vocabulary: all rarer than its rarest. */
const RARE_SHARE = 1e-4

/** `vocabulary`: pieces in the order of their numbers. `lists`: the folder of the SCOWL lists as JSON. */
export function readTerms(vocabulary: readonly string[], lists: string): Term[] {
  const terms = new Map<string, Term>()
  const first = vocabulary.indexOf('the')
  for (const [at, piece] of vocabulary.entries()) {
    if (at < first || !PLAIN_WORD.test(piece)) continue
    const ofWords = ZIPF.share / (at - first + ZIPF.shift)
    add(terms, { word: piece, share: 1 - (1 - ofWords) ** WORDS_PER_RECORD })
  }
  const known = new Set(terms.keys())
  for (const { word, share } of listedWords(lists)) if (!known.has(termOf(word, ENGLISH))) add(terms, { word, share })
  for (const term of terms.values()) {
    // The vocabulary has the common forms of its words. Of a term that only the lists have, one form is enough.
    term.words.sort((a, b) => b.share - a.share || a.word.length - b.word.length || order(a.word, b.word))
    if (!known.has(term.term)) term.words.length = 1
    term.share = term.words.reduce((sum, { share }) => sum + share, 0)
  }
  return [...terms.values()].sort((a, b) => b.share - a.share || order(a.term, b.term))
}

/** Not localeCompare: the machine's collation must not decide which bytes are written. */
export function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

function add(terms: Map<string, Term>, word: Word): void {
  const term = termOf(word.word, ENGLISH)
  if (!PLAIN_WORD.test(term)) return
  const found = terms.get(term)
  if (found) found.words.push(word)
  else terms.set(term, { term, words: [word], share: 0 })
}

function listedWords(folder: string): Word[] {
  const words = new Map<string, Word>()
  for (const list of LISTS) {
    for (const variety of VARIETIES) {
      const file = path.join(folder, `${variety}-words-${list}.json`)
      for (const word of JSON.parse(readFileSync(file, 'utf8')) as string[]) {
        const plain = word.toLowerCase()
        if (PLAIN_WORD.test(plain) && !words.has(plain)) words.set(plain, { word: plain, share: RARE_SHARE / list })
      }
    }
  }
  return [...words.values()]
}
