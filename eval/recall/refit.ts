// npm run eval -- refit --file <file>: weights for an operator's own data, from the numbers 0, .5, 1, 2 and 4. One part
// is changed at a time, as long as that helps; every second question is kept back, and what the fit gains on those is
// what to believe. Few numbers and few steps on purpose: with some hundred questions anything finer fits their chance.
//
// The file: { "language": "auto", "records": [{ "id", "content", "contextId"?, "actor"?, "occurredAt"?, "media"? }],
// "questions": [{ "text", "answers": ["<record's id>"] }] }, records in the order in which they were stored.

import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { analyseCue, analyseItem } from '@loci/daemon/memory/analysis/analyse.ts'
import { LANGUAGES, type Language, type RecordText } from '@loci/daemon/memory/analysis/item.ts'
import { actorNames } from '@loci/daemon/memory/analysis/names.ts'
import { PART_WEIGHTS, PARTS, type PartWeights, SALIENCE_WEIGHTS } from '@loci/daemon/memory/weights.ts'
import { line, measure, type Question, type QuestionSet } from './questions.ts'
import { ReferenceIndex } from './reference.ts'

const NUMBERS = [0, 0.5, 1, 2, 4]
const ROUNDS_MAX = 8
/** A gain below this is chance. */
const GAIN_MIN = 0.001
/** Items kept per question beside its answers: what is far below under the hand-set weights stays there. */
const KEPT = 200

export interface RefitFile {
  language?: string
  records: {
    id: string
    content: string
    contextId?: string | null
    actor?: string | null
    occurredAt?: string | null
    media?: string | null
  }[]
  questions: { text: string; answers: string[] }[]
}

export async function refit(args: string[]): Promise<void> {
  const { values } = parseArgs({ args, options: { file: { type: 'string' } } })
  if (values.file === undefined) {
    console.error('usage: npm run eval -- refit --file <records and questions, see eval/recall/refit.ts>')
    process.exitCode = 2
    return
  }
  const file: RefitFile = JSON.parse(readFileSync(values.file, 'utf8'))
  const { weights, lines } = fitWeights(file)
  for (const each of lines) console.log(each)
  console.log(`\nfor the service's configuration:\n${JSON.stringify({ weights })}`)
}

/** Without `meaning`: what an encoder counts is no matter of an operator's words. */
export function fitWeights(file: RefitFile): { weights: Omit<PartWeights, 'meaning'>; lines: string[] } {
  const language = LANGUAGES.find((each) => each === (file.language ?? 'auto'))
  if (language === undefined) throw new Error(`language '${file.language}' is none of ${LANGUAGES.join(', ')}`)
  const set = setOfFile(file)
  const candidates = candidatesOf(set, language)
  const halves = [0, 1].map((half) => ({ ...set, questions: set.questions.filter((_, i) => i % 2 === half) }))
  const [fitted, keptBack] = halves as [QuestionSet, QuestionSet]
  const figures = (half: QuestionSet, weights: PartWeights) =>
    measure([half], (_, { id }) => rank(candidates.get(id) ?? [], weights)).figures()
  const worth = (weights: PartWeights) => {
    const { at10, mrr } = figures(fitted, weights)
    return at10 + mrr
  }
  const { meaning, ...weights } = climb(PART_WEIGHTS, worth)
  const lines = [
    `${set.records.length} records, ${set.questions.length} questions`,
    line('hand-set weights, questions fitted on', figures(fitted, PART_WEIGHTS)),
    line('fitted weights, questions fitted on', figures(fitted, { ...weights, meaning })),
    line('hand-set weights, questions kept back', figures(keptBack, PART_WEIGHTS)),
    line('fitted weights, questions kept back', figures(keptBack, { ...weights, meaning })),
  ]
  return { weights, lines }
}

/** Coordinate ascent: each part in turn takes the number that is worth most, until a round gains nothing. */
function climb(start: PartWeights, worth: (weights: PartWeights) => number): PartWeights {
  let weights = start
  let best = worth(weights)
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const before = best
    for (const part of PARTS) {
      for (const number of NUMBERS) {
        if (number === weights[part]) continue
        const tried = { ...weights, [part]: number }
        const value = worth(tried)
        if (value > best + GAIN_MIN) {
          weights = tried
          best = value
        }
      }
    }
    if (best === before) break
  }
  return weights
}

interface Candidate {
  seq: number
  parts: number[]
}

function rank(candidates: readonly Candidate[], weights: PartWeights) {
  const numbers = PARTS.map((part) => weights[part])
  const scored = candidates.map(({ seq, parts }) => {
    let score = 0
    for (const [p, part] of parts.entries()) score += part * (numbers[p] ?? 0)
    return { seq, score }
  })
  return scored.sort((a, b) => b.score - a.score || a.seq - b.seq)
}

function candidatesOf(set: QuestionSet, language: Language): Map<string, Candidate[]> {
  const items = set.records.map((record) => analyseItem(record, language))
  const names = actorNames(new Set(items.map(({ actor }) => actor)), language)
  const index = new ReferenceIndex(items, language, { parts: PART_WEIGHTS, salience: SALIENCE_WEIGHTS })
  return new Map(
    set.questions.map(({ id, text, gold }) => {
      const all = index.partsOf(analyseCue(text, language, names)).map((parts, i) => ({ seq: i + 1, parts }))
      const kept = new Set(
        rank(all, PART_WEIGHTS)
          .slice(0, KEPT)
          .map(({ seq }) => seq),
      )
      return [id, all.filter(({ seq }) => kept.has(seq) || gold.has(seq))]
    }),
  )
}

function setOfFile({ records, questions }: RefitFile): QuestionSet {
  const seqs = new Map(records.map(({ id }, i) => [id, i + 1]))
  const contexts = new Map<string, number>()
  const positions = new Map<number, number>()
  const made = records.map((record, i): RecordText => {
    const key = record.contextId ?? ''
    const context = contexts.get(key) ?? contexts.size + 1
    contexts.set(key, context)
    const position = positions.get(context) ?? 0
    positions.set(context, position + 1)
    const occurredAt = record.occurredAt ? Date.parse(record.occurredAt) : 0
    if (Number.isNaN(occurredAt)) throw new Error(`record ${record.id}: occurredAt is no time`)
    const { content, actor = null, media = null } = record
    return { seq: i + 1, context, position, actor, occurredAt, content, media, hasContextId: record.contextId != null }
  })
  const asked = questions.flatMap(({ text, answers }, i): Question[] => {
    const gold = new Set(answers.map((id) => seqs.get(id) ?? fail(`question '${text}': there is no record '${id}'`)))
    return gold.size === 0 ? [] : [{ id: String(i), text, gold, isAnswerable: true }]
  })
  return { id: 'file', records: made, questions: asked }
}

function fail(message: string): never {
  throw new Error(message)
}
