// The requests that an agent's system sends to loci, from many clients at once. Every benchmark that measures several
// operations side by side sends these.

import { mapWidth } from '@loci/tests/world/report.ts'
import type { LoadOptions } from './load.ts'
import { catalogueOf } from './rank-catalogue.ts'
import { copyDatabases, requireConsistent } from './recall-copies.ts'
import { corpusOf } from './recall-corpus.ts'
import { type RecallWorld, send, storeAll } from './recall-world.ts'

export const CLIENTS = 16
export const DATABASES = 64
/** In each database where records are searched. */
export const RECORDS = 1_000
const TOOLS = 200
/** Projections in one request. */
export const ARRAY = 20
export const SLOTS = 7
export const KEYS = 9_900
export const TEXT = 'Anna said that the meeting about the new flat is on Friday at ten; bring the signed papers.'

const corpus = corpusOf(RECORDS + 4_000)
const stored = { records: corpus.records.slice(0, RECORDS) }
const said = corpus.records.slice(RECORDS)
const questions: readonly string[] = corpus.questions.map(({ text }) => text)
let run = 0

/** A partner's agent reports how a tool did on a task. */
export function outcomeOf(event: string): string {
  return `{"projection_class":"tool_outcome","source_event_id":"${event}","run_id":"run-1","task_class":"class1","task_intent":"refund the last order of a customer","tools":[{"tool_id":"refund","outcome":"success","latency_ms":120}]}`
}

export type Name =
  | 'kv read'
  | 'kv write'
  | 'slots read'
  | 'slot written'
  | 'slot written, 256 of 1 KiB'
  | 'record stored'
  | 'recall'
  | 'cycle without a focus'
  | 'cycle of a small database'
  | 'cycle with a focus'
  | 'projection'
  | 'projection of an array'
  | 'tools ranked'

/** Each call is a run of its own: what is to be new is new in it. `searched`: databases `m…` that hold records. */
export function operations(
  { tenant, daemon }: RecallWorld,
  { seconds, searched = DATABASES }: { seconds: number; searched?: number },
): Record<Name, () => LoadOptions> {
  const own = (database: string) => ({
    'x-loci-capability': tenant.operator.token,
    'x-loci-database': database,
    'content-type': 'application/json',
  })
  const small = own(`d{n%${DATABASES}}`)
  const large = own(`m{n%${searched}}`)
  const partner = { authorization: `Bearer ${tenant.partner.token}`, 'content-type': 'application/json' }
  const of = (method: string, path: string, also: Partial<LoadOptions> = {}): LoadOptions => {
    const { url } = daemon()
    return { url, method, path, headers: small, variants: KEYS, connections: CLIENTS, seconds, ...also }
  }
  const cycle = (headers: Record<string, string>, focus: boolean) =>
    of('POST', '/v1/cognitive/cycles', {
      ...{ headers, once: true },
      body: said.map(({ content, actor }, n) =>
        JSON.stringify({
          ...(focus ? { focus: questions[n % questions.length] } : {}),
          limits: { queueMs: 10_000 },
          observations: [{ content: `${content} (${run}.{n})`, actor: actor ?? 'Ada', contextId: 'chat' }],
        }),
      ),
    })
  const project = (variants: number, body: (n: number) => string) =>
    of('POST', '/v1/partner/projections', { headers: partner, variants, once: true, body: body(0) })
  const { intent } = catalogueOf(TOOLS)
  const loads: Record<Name, () => LoadOptions> = {
    'kv read': () => of('GET', '/v1/kv/entries/k{n}'),
    'kv write': () => of('PUT', '/v1/kv/entries/k{n}', { body: `{"value":"${TEXT}"}` }),
    'slots read': () => of('GET', '/v1/working-memory/slots'),
    'slot written': () => of('PUT', `/v1/working-memory/slots/k{n%${SLOTS}}`, { body: `{"value":"${TEXT} {n}"}` }),
    'slot written, 256 of 1 KiB': () =>
      of('PUT', `/v1/working-memory/slots/k{n%${SLOTS}}`, {
        headers: own('large{n%16}'),
        body: `{"value":"${'x'.repeat(1_016)}{n}"}`,
      }),
    'record stored': () =>
      of('POST', '/v1/memory/records', {
        body: said.map(({ content, actor }, n) =>
          JSON.stringify({ content, actor: actor ?? 'Ada', contextId: `chat ${n % 100}` }),
        ),
      }),
    recall: () =>
      of('POST', '/v1/memory/recall', {
        headers: large,
        variants: questions.length,
        body: questions.map((query) => JSON.stringify({ query })),
      }),
    'cycle without a focus': () => cycle(small, false),
    'cycle of a small database': () => cycle(own(`e${run}-{n%${DATABASES}}`), false),
    'cycle with a focus': () => cycle(large, true),
    projection: () => project(60_000, () => outcomeOf(`r${run}-{n}`)),
    'projection of an array': () =>
      project(6_000, () => `[${Array.from({ length: ARRAY }, (_, n) => outcomeOf(`r${run}-{n}-${n}`)).join(',')}]`),
    'tools ranked': () =>
      of('POST', '/v1/advice/tools:rank', {
        ...{ headers: partner, variants: 500 },
        body: Array.from({ length: 500 }, (_, n) =>
          JSON.stringify({
            ...{ task_class: `class${n % 5}`, task_intent: intent(), source_event_id: `ask ${n}`, run_id: 'bench' },
            ...{ scope: null, explain: false },
          }),
        ),
      }),
  }
  const counted = ([name, load]: [string, () => LoadOptions]) => {
    const counting = () => {
      run += 1
      return load()
    }
    return [name, counting]
  }
  return Object.fromEntries(Object.entries(loads).map(counted)) as Record<Name, () => LoadOptions>
}

/** Fills the databases. One of those with records is stored; the others are copies of it, or stored too. */
export async function fill(
  bench: RecallWorld,
  { searched = DATABASES, isCopied = true }: { searched?: number; isCopied?: boolean } = {},
): Promise<void> {
  const { tenant } = bench
  const puts = Array.from({ length: SLOTS }, (_, n) => ({ op: 'put', key: `k${n}`, value: TEXT }))
  for (let n = 0; n < DATABASES; n += 1)
    await send(bench, tenant, `d${n}`, 'POST /v1/working-memory/slots/batch', { operations: puts })
  // A read that finds nothing is not what is to be measured.
  await mapWidth(
    Array.from({ length: KEYS }, (_, n) => n),
    16,
    (n) => send(bench, tenant, `d${n % DATABASES}`, `PUT /v1/kv/entries/k${n}`, { value: TEXT }),
  )
  for (let n = 0; n < (isCopied ? 1 : searched); n += 1) await storeAll(bench, tenant, `m${n}`, stored)
  if (isCopied) {
    await copyDatabases(bench, { m: searched })
    await requireConsistent(bench, `m${searched - 1}`)
  }
  const { outcome } = catalogueOf(TOOLS)
  for (let from = 0; from < 4_000; from += 500) {
    const told = Array.from({ length: 500 }, (_, n) => {
      const { tool, outcome: result, intent, taskClass } = outcome()
      return {
        ...{ projection_class: 'tool_outcome', source_event_id: `outcome ${from + n}`, task_class: taskClass },
        ...{ task_intent: intent, tools: [{ tool_id: tool, outcome: result }] },
      }
    })
    await tell(bench, told)
  }
}

/** The cell hears of the credential by the feed. */
async function tell({ daemon, tenant }: RecallWorld, told: object[]): Promise<void> {
  for (let tries = 0; ; tries += 1) {
    const answer = await fetch(`${daemon().url}/v1/partner/projections`, {
      method: 'POST',
      headers: { authorization: `Bearer ${tenant.partner.token}`, 'content-type': 'application/json' },
      body: JSON.stringify(told),
    })
    const text = await answer.text()
    if (answer.status === 200) return
    if (tries === 100) throw new Error(`${answer.status} ${text}`)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}
