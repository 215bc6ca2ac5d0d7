// What a filter costs, and what several databases in one recall cost, over HTTP: processor time of the whole request,
// of the daemon and of PostgreSQL, against the same questions without it, in turns in the same run.

import { corpusOf } from './recall-corpus.ts'
import { askQuestions, holdUntil, median, type RecallWorld, restOf, storeAll, withRecallWorld } from './recall-world.ts'

/** A narrowed recall as a multiple of the same without a filter. */
const FILTERED = 1.1
const SEVERAL = 8
const SEVERAL_ITEMS = 1_000
/** One for all cases: two seconds of it in each visit differed by as much as the cases did. */
const REST_MS = 10_000
const metadataOf = (seq: number) => ({ metadata: { half: seq % 2, message: `m${seq}` }, tags: [`t${seq % 3}`] })

interface FilterOptions {
  short: boolean
  /** What is loaded is measured when there is such a file. */
  hold?: string | undefined
}

interface Cost {
  /** Processor time of each request. */
  ms: number
  multiple: number
  multiples: number[]
}

/**
 * What each of the cases costs: in every round all of them are asked, and each begins one. Each stands once at every
 * place as often as at any other, because what is asked first after a rest pays for the rest. A multiple is that of the
 * first case in the same round; the median of them counts.
 */
async function costs(
  bench: RecallWorld,
  asked: { databases: string[]; also?: object }[],
  { items, seconds, rounds = 2 * asked.length }: { items: number; seconds: number; rounds?: number },
): Promise<Cost[]> {
  const corpus = corpusOf(items)
  const measured: number[][] = []
  const rest = await restOf(bench, REST_MS)
  for (let n = 0; n < rounds; n += 1) {
    const round: number[] = []
    for (let place = 0; place < asked.length; place += 1) {
      const at = (n + place) % asked.length
      const load = { ...(asked[at] as (typeof asked)[number]), connections: 1, seconds, rest }
      const { daemonMs, postgresMs } = await askQuestions(bench, bench.tenant, corpus, load)
      round[at] = daemonMs + postgresMs
    }
    measured.push(round)
  }
  return asked.map((_, at) => {
    const multiples = measured.map((round) => (round[at] as number) / (round[0] as number))
    return { ms: median(measured.map((round) => round[at] as number)), multiple: median(multiples), multiples }
  })
}

const shownMultiples = (multiples: number[]) => multiples.map((one) => one.toFixed(2)).join(', ')

export async function measureFilters(items: number, { short, hold }: FilterOptions): Promise<boolean> {
  return withRecallWorld({}, async (bench) => {
    const corpus = corpusOf(items)
    await storeAll(bench, bench.tenant, 'large', corpus, metadataOf)
    const middle = corpus.records.map(({ occurredAt }) => occurredAt).sort((a, b) => a - b)[items >> 1] as number
    const filters: [name: string, also: object][] = [
      ['metadata that every second has', { metadata: { half: 0 } }],
      ['a tag that every third has', { tags: ['t0'] }],
      ['the later half of the time', { since: new Date(middle).toISOString() }],
      ['one conversation', { contextIds: [`chat ${corpus.records[items >> 1]?.context}`] }],
    ]
    const asked = [{}, ...filters.map(([, also]) => also)].map((also) => ({ databases: ['large'], also }))
    await holdUntil(hold)
    const [bare, ...narrowed] = await costs(bench, asked, { items, seconds: short ? 1 : 4 })
    console.log(`\n${items} records, without a filter: ${bare?.ms.toFixed(2)} ms of processor each`)
    for (const [at, { multiple, multiples }] of narrowed.entries()) {
      const [name] = filters[at] as (typeof filters)[number]
      await bench.judge(`narrowed to ${name} (${shownMultiples(multiples)})`, multiple, FILTERED, 'of that')
    }
  })
}

export async function measureSeveral({ short, hold }: FilterOptions): Promise<boolean> {
  return withRecallWorld({}, async (bench) => {
    const names = Array.from({ length: SEVERAL }, (_, n) => `team-${n}`)
    for (const name of names) await storeAll(bench, bench.tenant, name, corpusOf(SEVERAL_ITEMS))
    const asked = [{ databases: names }, { databases: names, also: { databases: names } }]
    await holdUntil(hold)
    const load = { items: SEVERAL_ITEMS, seconds: short ? 1 : 4, rounds: short ? 2 : 12 }
    const [one, eight] = (await costs(bench, asked, load)) as [Cost, Cost]
    console.log(
      `\ndatabases of ${SEVERAL_ITEMS} records, one: ${one.ms.toFixed(2)} ms of processor each, eight ${eight.ms.toFixed(2)}`,
    )
    await bench.judge(
      `eight databases in one recall (${shownMultiples(eight.multiples)})`,
      eight.multiple,
      SEVERAL,
      'of one',
    )
  })
}
