// Makes the tables of daemon/memory/meaning anew; docs/meaning.md says from what and when. Nothing is downloaded.
// `node scripts/meaning.ts --model M.onnx --tokenizer T.json --modules DIR --words DIR --wordnet DIR`

import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { readWords, type TableTerm, text, u8, u16, writeTerms } from './meaning/asset.ts'
import { type Kind, type Nouns, readKinds } from './meaning/kinds.ts'
import { type Near, nearTerms, TERMS_MAX } from './meaning/thesaurus.ts'
import { openEncoder, vectorsOf } from './meaning/vectors.ts'
import { readTerms, type Term } from './meaning/words.ts'

const NAMES = ['model', 'tokenizer', 'modules', 'words', 'wordnet'] as const
const folder = path.join(path.dirname(import.meta.dirname), 'daemon/memory/meaning')

const files = readFiles()
const encoder = await openEncoder(files)
const terms = readTerms(encoder.vocabulary, files.words)
const used = terms.slice(0, TERMS_MAX)
const { kinds, nouns } = readKinds(
  files.wordnet,
  terms.map(({ term }) => term),
)
write('kinds.bin', kindsTable(kinds, nouns))
const vectors = await vectorsOf(encoder, used)
write('thesaurus.bin', thesaurusTable(used, nearTerms(vectors, encoder.width, used.length)))

function readFiles(): Record<(typeof NAMES)[number], string> {
  const { values } = parseArgs({ options: Object.fromEntries(NAMES.map((name) => [name, { type: 'string' }])) })
  const missing = NAMES.filter((name) => typeof values[name] !== 'string')
  if (missing.length > 0) {
    console.error(`missing: ${missing.map((name) => `--${name}`).join(', ')}; docs/meaning.md says what they are`)
    process.exit(2)
  }
  return values as Record<(typeof NAMES)[number], string>
}

function thesaurusTable(terms: readonly Term[], near: readonly Near[][]): Buffer {
  const named = terms.map(({ term, words }) => ({ term, words: words.map(({ word }) => word) }))
  const { bytes, numbers } = writeTerms('loci-the', named)
  // From the order of how common they are to the order of the table.
  const numberOf = (at: number) => numbers.get(terms[at]?.term ?? '') ?? -1
  const lists: Buffer[] = []
  for (const [at, list] of near.entries()) {
    const entries = list.map(({ term, cosine }) => Buffer.concat([u16(numberOf(term)), u8(cosine)]))
    lists[numberOf(at)] = Buffer.concat([u8(list.length), ...entries])
  }
  return Buffer.concat([bytes, ...lists])
}

function kindsTable(kinds: readonly Kind[], nouns: Nouns): Buffer {
  const members: TableTerm[] = [...nouns].map(([term, words]) => ({ term, words }))
  const { bytes, numbers } = writeTerms('loci-kin', members)
  return Buffer.concat([
    bytes,
    u16(kinds.length),
    ...kinds.flatMap(({ asks, members: own }) => [
      ...[u8(asks.length), ...asks.map(text)],
      ...[u16(own.length), ...own.map((term) => u16(numbers.get(term) ?? -1))],
    ]),
  ])
}

function write(name: string, bytes: Buffer): void {
  writeFileSync(path.join(folder, name), bytes)
  console.log(`wrote ${name}: ${bytes.length} bytes, ${readWords(bytes).length} terms`)
}
