// npm run eval -- fresh-questions: 100 facts and questions, twelve facts each of two people, and 40 questions that
// nothing stored answers, written by somebody who had read neither this code nor what it was tuned on. Through the
// route of a real daemon; beside BM25, and beside plain cosine where LOCI_ENCODER names an encoder. For acceptance:
// what was tuned on it would say nothing any more.

import { readFileSync } from 'node:fs'
import { eventually } from '@loci/chassis/testing/request.ts'
import { analyseCue, analyseItem } from '@loci/daemon/memory/analysis/analyse.ts'
import { actorNames } from '@loci/daemon/memory/analysis/names.ts'
import { createEncoder } from '@loci/daemon/memory/encoder/encoder.ts'
import { testDaemon } from '@loci/daemon/testing/daemon.ts'
import { memoryOf, type TestMemory } from '@loci/daemon/testing/records.ts'
import { addTenant } from '@loci/daemon/testing/tenant.ts'
import { Bm25 } from '../recall/baselines.ts'

interface Fresh {
  pairs: { id: string; fact: string; question: string; person: 'first' | 'third'; words: 'same' | 'other' }[]
  people: { name: string; facts: string[]; questions: { question: string; fact: number }[] }[]
  unknown: { id: string; question: string; kind: 'far' | 'near' }[]
}

/** A question, asked of a store. `gold`: which text answers it; -1 for none. */
interface Case {
  group: string
  question: string
  texts: readonly string[]
  gold: number
}

/** Best first, as places in the store; `best` is how sure the first one is, where the ranking says so. */
interface Answer {
  ranked: number[]
  best: number
  isSilent: boolean
}

interface Recalled {
  results: { content: string; relevance?: number }[]
  abstained: boolean
}

const LIMITS = { databases: 1e6, records: 1e8, bytes: 2 ** 40, requests_per_second: 1e6, burst: 1e6 }
const ENCODED_MS = 600_000

export async function evaluateFreshQuestions(): Promise<void> {
  const encoder = process.env.LOCI_ENCODER
  const fresh = JSON.parse(readFileSync(new URL('questions.json', import.meta.url), 'utf8')) as Fresh
  const cases = casesOf(fresh)
  await using daemon = await testDaemon({ settings: { logLevel: 'warn', ...(encoder ? { encoder } : {}) } })
  const tenant = await addTenant(daemon, LIMITS)
  const stores = new Map<readonly string[], TestMemory>()
  const asked: { one: Case; answered: Answer; ordered: Answer }[] = []
  for (const { texts } of cases)
    if (!stores.has(texts)) stores.set(texts, await filled(memoryOf(tenant, `db-${stores.size}`), texts))
  // Vectors come behind the commit; how far behind is a matter of `bench -- recall --only encoder`.
  await eventually(async () => !/^loci_encoder_waiting [1-9]/m.test((await daemon.get('/metrics')).text), ENCODED_MS)
  for (const one of cases) {
    const memory = stores.get(one.texts) as TestMemory
    const answered = answerOf(one, await memory.recall(one.question))
    const ordered = answerOf(one, await memory.recall({ query: one.question, abstain: false }))
    asked.push({ one, answered, ordered })
  }
  console.log(
    `${'right first/in five, %; silent, %'.padEnd(38)}${encoder ? '' : 'no encoder: LOCI_ENCODER is not set'}`,
  )
  print(
    'recall, as it answers',
    asked.map(({ one, answered }) => ({ one, answer: answered })),
  )
  print(
    'recall, the order alone',
    asked.map(({ one, ordered }) => ({ one, answer: ordered })),
  )
  print(
    'BM25',
    cases.map((one) => ({ one, answer: byBm25(one) })),
  )
  const cosines = encoder ? await byCosine(encoder, cases) : undefined
  if (cosines) print('plain cosine', cosines)
  printUnknown(asked, cosines)
  printCalibration(asked.map(({ one, ordered }) => ({ one, answer: ordered })))
}

function casesOf({ pairs, people, unknown }: Fresh): Case[] {
  const facts = pairs.map(({ fact }) => fact)
  const whole = [...facts, ...people.flatMap((person) => person.facts)]
  const grouped = (pair: Fresh['pairs'][number]) => `${pair.person} person, ${pair.words} words`
  return [
    ...pairs.map((pair) => ({
      group: `alone: ${grouped(pair)}`,
      question: pair.question,
      texts: [pair.fact],
      gold: 0,
    })),
    ...pairs.map((pair, at) => ({
      group: `together: ${grouped(pair)}`,
      question: pair.question,
      texts: facts,
      gold: at,
    })),
    ...people.flatMap(({ facts: own, questions }) =>
      questions.map(({ question, fact }) => ({
        group: 'one person of twelve facts',
        question,
        texts: own,
        gold: fact,
      })),
    ),
    ...unknown.map(({ kind, question }) => ({ group: `unknown: ${kind}`, question, texts: whole, gold: -1 })),
  ]
}

async function filled(memory: TestMemory, texts: readonly string[]): Promise<TestMemory> {
  await memory.storeAll(texts.map((content) => ({ content })))
  return memory
}

function answerOf({ texts }: Case, recalled: unknown): Answer {
  const { results, abstained } = recalled as Recalled
  return {
    ranked: results.map(({ content }) => texts.indexOf(content)),
    best: results[0]?.relevance ?? 0,
    isSilent: abstained || results.length === 0,
  }
}

const NOBODY = actorNames([], 'auto')

function byBm25({ texts, question }: Case): Answer {
  const items = texts.map((content, at) =>
    analyseItem({ seq: at, context: 1, position: at, actor: null, occurredAt: 0, content }, 'auto'),
  )
  const ranked = new Bm25(items).search(analyseCue(question, 'auto', NOBODY).terms)
  return { ranked: ranked.map(({ seq }) => seq), best: 0, isSilent: ranked.length === 0 }
}

/** What somebody would take in its place: the same encoder, nothing else. */
async function byCosine(folder: string, cases: readonly Case[]): Promise<{ one: Case; answer: Answer }[]> {
  const encoder = createEncoder({ folder, log: SILENT })
  await encoder.start()
  try {
    const texts = [...new Set(cases.flatMap((one) => [...one.texts]))]
    const made = await encoder.texts(texts, performance.now() + ENCODED_MS)
    const vectors = new Map(texts.map((text, at) => [text, made[at]]))
    const answers: { one: Case; answer: Answer }[] = []
    for (const one of cases) {
      const cue = await encoder.question(one.question)
      const near = one.texts.map((text, at) => ({ at, cosine: cosineOf(cue, vectors.get(text)) }))
      near.sort((a, b) => b.cosine - a.cosine || a.at - b.at)
      answers.push({ one, answer: { ranked: near.map(({ at }) => at), best: near[0]?.cosine ?? 0, isSilent: false } })
    }
    return answers
  } finally {
    await encoder.close()
  }
}

const SILENT = { info() {}, warn() {}, error() {}, debug() {} } as never

export function cosineOf(one: Int8Array | null | undefined, other: Int8Array | null | undefined): number {
  if (!one || !other) return 0
  let [dot, own, their] = [0, 0, 0]
  for (let at = 0; at < one.length; at += 1) {
    const [a, b] = [one[at] as number, other[at] as number]
    dot += a * b
    own += a * a
    their += b * b
  }
  return dot / Math.sqrt(own * their || 1)
}

type Asked = { one: Case; answer: Answer }[]

const percent = (rows: Asked, counts: (row: Asked[number]) => boolean) =>
  rows.length === 0 ? '-' : `${Math.round((100 * rows.filter(counts).length) / rows.length)}`
const isRight = ({ one, answer }: Asked[number]) => !answer.isSilent && answer.ranked[0] === one.gold
const isInFive = ({ one, answer }: Asked[number]) => !answer.isSilent && answer.ranked.slice(0, 5).includes(one.gold)

function print(title: string, rows: Asked): void {
  console.log(`\n${title}`)
  const known = rows.filter(({ one }) => one.gold >= 0)
  const groups = [...new Set(known.map(({ one }) => one.group))]
  const heads = [...new Set(groups.map((group) => group.split(':')[0] as string))]
  for (const name of heads.flatMap((head) => [head, ...groups.filter((group) => group.startsWith(`${head}:`))])) {
    const own = known.filter(({ one }) => one.group === name || one.group.startsWith(`${name}:`))
    const cells = [percent(own, isRight), percent(own, isInFive), percent(own, ({ answer }) => answer.isSilent)]
    console.log(
      `  ${name.padEnd(36)}${String(own.length).padStart(4)}   ${cells.slice(0, 2).join('/').padStart(7)}${(cells[2] as string).padStart(6)}`,
    )
  }
}

/** Unknown ones that are answered; of plain cosine, by the threshold that answers as many of the known. */
function printUnknown(asked: readonly { one: Case; answered: Answer }[], cosines: Asked | undefined): void {
  const rows = asked.map(({ one, answered }) => ({ one, answer: answered }))
  const isStored = ({ one }: Asked[number]) => one.group.startsWith('together') || one.group.startsWith('one person')
  const known = rows.filter(isStored)
  const share = known.filter(({ answer }) => !answer.isSilent).length / known.length
  console.log(`\nunknown, answered, %, where ${Math.round(100 * share)} % of the known in the same stores are`)
  const bests =
    cosines
      ?.filter(isStored)
      .map(({ answer }) => answer.best)
      .sort((a, b) => b - a) ?? []
  const threshold = bests[Math.max(0, Math.ceil(share * bests.length) - 1)] ?? 0
  for (const kind of ['far', 'near']) {
    const of = ({ one }: Asked[number]) => one.group === `unknown: ${kind}`
    const own = percent(rows.filter(of), ({ answer }) => !answer.isSilent)
    const their = cosines ? percent(cosines.filter(of), ({ answer }) => answer.best >= threshold) : '-'
    console.log(
      `  ${kind.padEnd(8)} recall ${own.padStart(3)}   plain cosine ${their.padStart(3)} (from ${threshold.toFixed(2)})`,
    )
  }
}

/** How often the first is right where relevance says so; every question of a store with more than one record. */
function printCalibration(rows: Asked): void {
  const rated = rows.filter(({ one }) => one.texts.length > 1)
  let error = 0
  const cells = Array.from({ length: 10 }, (_, from) => {
    const own = rated.filter(({ answer }) => Math.min(9, Math.floor(answer.best * 10)) === from)
    const right = own.filter(({ one, answer }) => answer.ranked[0] === one.gold).length
    const mean = own.reduce((sum, { answer }) => sum + answer.best, 0)
    error += Math.abs(right - mean) / rated.length
    return `${right}/${own.length}`
  })
  console.log(
    `\nright first by relevance, from 0 in tenths: ${cells.join(' ')}\nmean distance from relevance: ${error.toFixed(3)}`,
  )
}
