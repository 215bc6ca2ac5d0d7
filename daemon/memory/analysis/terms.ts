// From words to terms: stop words out, irregular forms to their base, stems, one spelling of them.

import { TERM_LENGTH_MAX } from './item.ts'
import { tablesForWord } from './languages/languages.ts'
import type { LanguageTables } from './languages/tables.ts'

/** Words remembered per language; a text says few words often. Forgetting them changes nothing but the time. */
const REMEMBERED_MAX = 20_000
const remembered = new Map<LanguageTables, Map<string, string>>()

/** Empty for a stop word. */
export function termOf(word: string, tables: LanguageTables): string {
  let known = remembered.get(tables)
  if (known === undefined) {
    known = new Map()
    remembered.set(tables, known)
  }
  let term = known.get(word)
  if (term === undefined) {
    term = makeTerm(cut(word), tablesForWord(word, tables))
    if (known.size >= REMEMBERED_MAX) known.clear()
    if (word.length <= TERM_LENGTH_MAX) known.set(word, term)
  }
  return term
}

function makeTerm(written: string, tables: LanguageTables): string {
  const word = tables.elided === null ? written : written.replace(tables.elided, '')
  if (tables.stop.has(word)) return ''
  // Numbers, versions, ids: endings of words mean nothing there.
  if (/[0-9]/.test(word)) return word
  const stem = tables.stem(tables.bases.get(word) ?? word)
  return tables.spellings.get(stem) ?? stem
}

function cut(word: string): string {
  if (word.length <= TERM_LENGTH_MAX) return word
  const end = word.charCodeAt(TERM_LENGTH_MAX - 1)
  // Never half of a character: it could not be written to the dictionary and read back.
  return word.slice(0, end >= 0xd800 && end <= 0xdbff ? TERM_LENGTH_MAX - 1 : TERM_LENGTH_MAX)
}
