// LoCoMo with the vectors of an encoder, as `LOCI_ENCODER` names it: what the route would rank and answer, through the
// daemon's own analyser, segments and search. A minute of a core, most of it for the vectors.

import { analyseCue, analyseItem } from '@loci/daemon/memory/analysis/analyse.ts'
import { analyserOf, type Language } from '@loci/daemon/memory/analysis/item.ts'
import { createEncoder, type Encoder } from '@loci/daemon/memory/encoder/encoder.ts'
import { encodedText } from '@loci/daemon/memory/encoder/text.ts'
import { buildSegment } from '@loci/daemon/memory/index/build.ts'
import { type Database, openDatabase } from '@loci/daemon/memory/index/database.ts'
import { openSegment } from '@loci/daemon/memory/index/format.ts'
import { type Ranked, search } from '@loci/daemon/memory/index/search.ts'
import { ENOUGH } from '@loci/daemon/memory/relevance.ts'
import { line, measure, type Question, type QuestionSet, rounded } from './questions.ts'

const PROMISED = { at5: 0.795, at10: 0.862, at20: 0.902 }
const ANSWERABLE_KEPT_MIN = 0.955
const FOREIGN_ANSWERED_MAX = 0.1
const CANDIDATES = 200
const ENCODED_MS = 1_200_000
/** Texts in the queue at once. */
const BATCH = 256

export async function reportWithEncoder(
  folder: string,
  sets: readonly QuestionSet[],
  language: Language,
): Promise<boolean> {
  const encoder = createEncoder({ folder, log: { info() {}, warn() {}, error() {}, debug() {} } as never })
  await encoder.start()
  try {
    const databases = new Map<string, Database>()
    for (const set of sets) databases.set(set.id, await indexed(encoder, set, language))
    const vectors = new Map<string, Int8Array>()
    for (const { text } of sets.flatMap(({ questions }) => questions)) vectors.set(text, await vectorOf(encoder, text))
    const rank = (database: Database | undefined, { text }: Question): Ranked[] => {
      const vector = vectors.get(text)
      if (!database || !vector || !encoder.facts) return []
      const question = { vector, mark: encoder.facts.mark }
      return search(database, analyseCue(text, language, database.names), { limit: CANDIDATES, question }).ranked
    }
    const found = measure(sets, (set, question) => rank(databases.get(set.id), question)).figures()
    console.log(`\n${line('recall with the encoder', found)}`)
    const best = (database: Database | undefined, question: Question) =>
      Math.max(0, ...rank(database, question).map(({ relevance }) => relevance))
    const [answerable, foreign]: [number[], number[]] = [[], []]
    for (const [at, { id, questions }] of sets.entries()) {
      const other = databases.get(sets[(at + 3) % sets.length]?.id ?? '')
      for (const question of questions.filter(({ isAnswerable }) => isAnswerable)) {
        answerable.push(best(databases.get(id), question))
        foreign.push(best(other, question))
      }
    }
    const kept = (values: readonly number[]) => values.filter((value) => value >= ENOUGH).length / values.length
    console.log(`answered: answerable ${rounded(kept(answerable))}, about another dialogue ${rounded(kept(foreign))}`)
    const missed = (Object.keys(PROMISED) as (keyof typeof PROMISED)[]).filter((name) => found[name] < PROMISED[name])
    for (const name of missed) console.log(`MISSED: ${name} ${rounded(found[name])}, promised ${PROMISED[name]}`)
    return missed.length === 0 && kept(answerable) >= ANSWERABLE_KEPT_MIN && kept(foreign) <= FOREIGN_ANSWERED_MAX
  } finally {
    await encoder.close()
  }
}

async function vectorOf(encoder: Encoder, text: string): Promise<Int8Array> {
  for (;;) {
    const vector = await encoder.question(text)
    if (vector) return vector
  }
}

async function indexed(encoder: Encoder, { records }: QuestionSet, language: Language): Promise<Database> {
  const vectors: (Int8Array | null | undefined)[] = []
  for (let from = 0; from < records.length; from += BATCH) {
    const texts = records.slice(from, from + BATCH).map(encodedText)
    vectors.push(...(await encoder.texts(texts, performance.now() + ENCODED_MS)))
  }
  const items = records.map((record, at) => ({ ...analyseItem(record, language), vector: vectors[at] }))
  return openDatabase([openSegment(buildSegment(items, analyserOf(language), encoder.facts))], language)
}
