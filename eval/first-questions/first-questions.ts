// npm run eval -- first-questions [--test]: what recall answers to somebody's first questions, in stores of 1 to 200
// records, through the route of a real daemon on PostgreSQL, beside BM25 over the same words and, where LOCI_ENCODER
// names an encoder, plain cosine. Tune on `dev` alone.
//
// Each question has a store of its own, made as a newcomer makes it: one text after the other, no contextId, no actor.

import { parseArgs } from 'node:util'
import { analyseCue, analyseItem } from '@loci/daemon/memory/analysis/analyse.ts'
import { actorNames } from '@loci/daemon/memory/analysis/names.ts'
import { createEncoder } from '@loci/daemon/memory/encoder/encoder.ts'
import { testDaemon } from '@loci/daemon/testing/daemon.ts'
import { memoryOf, type TestRecall } from '@loci/daemon/testing/records.ts'
import { addTenant, type TestTenant } from '@loci/daemon/testing/tenant.ts'
import { cosineOf } from '../fresh-questions/fresh-questions.ts'
import { Bm25 } from '../recall/baselines.ts'
import { type Outcome, printAnswers, printCalibration, printOrder } from './figures.ts'
import {
  type Asked,
  type FirstQuestions,
  type Half,
  readFirstQuestions,
  SIZES,
  type Store,
  storeOf,
} from './questions.ts'

const ENCODER = process.env.LOCI_ENCODER

/** Asked at once: what two cores have to do beside PostgreSQL. */
const AT_ONCE = 8
const LIMITS = { databases: 1e6, records: 1e8, bytes: 2 ** 40, requests_per_second: 1e6, burst: 1e6 }

export async function evaluateFirstQuestions(args: string[]): Promise<void> {
  const { values } = parseArgs({ args, options: { test: { type: 'boolean', default: false } } })
  const data = readFirstQuestions()
  if (data === null) {
    console.log(
      'skipped: the questions are not here (shared/data/first-questions.json beside the checkout, or LOCI_EVAL_FIRST_QUESTIONS)',
    )
    return
  }
  await using daemon = await testDaemon({
    settings: { databaseConnectionsMax: AT_ONCE, logLevel: 'warn', ...(ENCODER ? { encoder: ENCODER } : {}) },
  })
  // An instance has a few recalls at once.
  const tenants = await Promise.all(Array.from({ length: AT_ONCE }, () => addTenant(daemon, LIMITS)))
  for (const half of values.test ? (['dev', 'test'] as const) : (['dev'] as const)) await report(data, half, tenants)
}

async function report(data: FirstQuestions, half: Half, tenants: TestTenant[]): Promise<void> {
  const asked = [...data.questions, ...data.unknown].filter((one) => one.half === half)
  const cases = SIZES.flatMap((size) => asked.map((one) => ({ asked: one, size, store: storeOf(data, one, size) })))
  const answers = await eachAtOnce(cases, (one, at) => {
    const tenant = tenants[at % tenants.length] as TestTenant
    return ask(one, memoryOf(tenant, `${half}-${at}`))
  })
  printAnswers(
    `${half}: first/five/silent, %`,
    answers.map(({ answered }) => answered),
  )
  console.log('\nthe order alone, without abstaining: right first/in five, %')
  printOrder(
    'recall',
    answers.map(({ ordered }) => ordered),
  )
  printOrder('BM25', cases.map(bm25Of))
  if (ENCODER) printOrder('plain cosine', await byCosine(ENCODER, cases))
  printCalibration(answers.map(({ ordered }) => ordered))
}

interface Case {
  asked: Asked
  size: number
  store: Store
}

async function ask({ asked, size, store }: Case, memory: ReturnType<typeof memoryOf>) {
  const gold = (await storeAll(memory, store.texts))[store.gold]
  const outcome = ({ results, abstained }: TestRecall): Outcome => ({
    ...{ asked, size, abstained, hits: results.length },
    at: gold === undefined ? -1 : results.findIndex(({ id }) => id === gold),
  })
  const answered = outcome(await memory.recall(asked.text))
  const every = await memory.recall({ query: asked.text, abstain: false })
  const ordered = { ...outcome(every), abstained: every.results.length === 0 }
  const relevance = Math.max(0, ...every.results.map((one) => one.relevance))
  return { answered, ordered: { ...ordered, relevance } }
}

const BATCH = 100
const RETRIES_MAX = 20

/** Ids in the order of the texts. A batch that a busy machine did not answer in time is sent again under its key. */
async function storeAll(memory: ReturnType<typeof memoryOf>, texts: readonly string[]): Promise<string[]> {
  const ids: string[] = []
  for (let from = 0; from < texts.length; from += BATCH) {
    const records = texts.slice(from, from + BATCH).map((content) => ({ content }))
    const send = () => memory.call('POST /v1/memory/records/batch', { records }, { 'idempotency-key': `batch-${from}` })
    let answer = await send()
    for (let times = 0; answer.status >= 500 && times < RETRIES_MAX; times += 1) answer = await send()
    if (answer.status !== 200) throw new Error(answer.text)
    ids.push(...answer.json<{ records: { id: string }[] }>().records.map(({ id }) => id))
  }
  return ids
}

const NOBODY = actorNames([], 'auto')

function bm25Of({ asked, size, store }: Case): Outcome {
  const items = store.texts.map((content, at) =>
    analyseItem({ seq: at, context: 1, position: at, actor: null, occurredAt: 0, content }, 'auto'),
  )
  const ranked = new Bm25(items).search(analyseCue(asked.text, 'auto', NOBODY).terms)
  const at = ranked.findIndex(({ seq }) => seq === store.gold)
  return { asked, size, abstained: ranked.length === 0, at, hits: ranked.length }
}

const ENCODED_MS = 600_000

/** What somebody would take in its place: the same encoder, nothing else. */
async function byCosine(folder: string, cases: readonly Case[]): Promise<Outcome[]> {
  const encoder = createEncoder({ folder, log: { info() {}, warn() {}, error() {}, debug() {} } as never })
  await encoder.start()
  try {
    const texts = [...new Set(cases.flatMap(({ store }) => store.texts))]
    const made = await encoder.texts(texts, performance.now() + ENCODED_MS)
    const vectors = new Map(texts.map((text, at) => [text, made[at]]))
    const outcomes: Outcome[] = []
    for (const { asked, size, store } of cases) {
      const cue = await encoder.question(asked.text)
      const near = store.texts.map((text, at) => ({ at, cosine: cosineOf(cue, vectors.get(text)) }))
      near.sort((a, b) => b.cosine - a.cosine || a.at - b.at)
      const at = near.findIndex((one) => one.at === store.gold)
      outcomes.push({ asked, size, abstained: false, at, hits: near.length })
    }
    return outcomes
  } finally {
    await encoder.close()
  }
}

async function eachAtOnce<T, U>(list: readonly T[], work: (one: T, at: number) => Promise<U>): Promise<U[]> {
  const made: U[] = []
  let next = 0
  const worker = async () => {
    for (let at = next++; at < list.length; at = next++) made[at] = await work(list[at] as T, at)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  return made
}
