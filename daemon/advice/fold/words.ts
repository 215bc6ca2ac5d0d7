// The words of an intent, of a tool's name and of its description, by the analyser of memory. Pure, without a clock:
// the same text gives the same numbers on every replica.

import { fold, visible } from '../../memory/analysis/fold.ts'
import { CUE_LENGTH_MAX } from '../../memory/analysis/item.ts'
import { tablesFor } from '../../memory/analysis/languages/languages.ts'
import { termOf } from '../../memory/analysis/terms.ts'
import { eachWord } from '../../memory/analysis/words.ts'
import { FRAME_WORDS } from './frames.ts'
import { hashText } from './hash.ts'

/** Distinct terms of a text; the rest is not read. What an outcome teaches, and what it costs, has a bound. */
const TERMS_MAX = 128
/** Pairs of words fall into so many buckets: a bound on what a tool can grow to. */
const PAIR_BUCKETS = 2 ** 16

export interface Term {
  /** The term as a number. What a state keeps are these: it holds no word that somebody said. */
  key: number
  /** As it was written first, folded, not stemmed. */
  word: string
  count: number
  /** Frames a request ("help", "find", "latest") and says little about what it is about. */
  isFrame: boolean
}

export interface Words {
  terms: Term[]
  /** Neighbouring terms, without a stop word between them; each once. */
  pairs: number[]
}

const framesOf = new Map(
  FRAME_WORDS.map(({ language, words }) => {
    const tables = tablesFor('', language)
    return [tables, new Set(words.map((word) => termOf(word, tables)))]
  }),
)

export function wordsOf(text: string): Words {
  // Cut twice: of one character compatibility forms can make 18.
  const folded = fold(visible(text.slice(0, CUE_LENGTH_MAX))).slice(0, CUE_LENGTH_MAX)
  const tables = tablesFor(folded, 'auto')
  const frames = framesOf.get(tables)
  const terms = new Map<string, Term>()
  const pairs = new Set<number>()
  let before = ''
  eachWord(folded, tables.stopCharacters, (word) => {
    const term = termOf(word, tables)
    const known = terms.get(term)
    if (known !== undefined) known.count++
    else if (term !== '' && terms.size < TERMS_MAX)
      terms.set(term, { key: hashText(term), word, count: 1, isFrame: frames?.has(term) ?? false })
    if (term !== '' && before !== '' && pairs.size < TERMS_MAX) pairs.add(hashText(`${before} ${term}`) % PAIR_BUCKETS)
    before = term
  })
  return { terms: [...terms.values()], pairs: [...pairs] }
}

/** AusPetrolPrices, create_qr_code, PDFTool: names of tools are words written together. */
export function wordsOfName(name: string): Words {
  const apart = name
    .replace(/([\p{Ll}\p{N}])(\p{Lu})/gu, '$1 $2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, ' ')
  return wordsOf(apart)
}

const GRAM_LENGTH = 4

/** The runs of four characters of a word, with its beginning and end marked; none of a word of one character. */
export function gramsOf(word: string): string[] {
  const marked = `^${word}$`
  const grams: string[] = []
  for (let i = 0; i + GRAM_LENGTH <= marked.length; i++) grams.push(marked.slice(i, i + GRAM_LENGTH))
  return grams
}
