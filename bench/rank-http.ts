// Rank over HTTP: a partner tells outcomes and asks which tool is next.

import type { LoadResult } from './load.ts'
import { runLoad } from './load.ts'
import { catalogueOf } from './rank-catalogue.ts'
import { median, type RecallWorld, withRecallWorld } from './recall-world.ts'

const ARRAY = 500
const LIVE_P99_MS = 20
const FLAT_MAX = 1.3
/** By tools: of a rank, and of the first one of a new process. */
const BOUNDS_MS = { 200: { rank: 1, first: 200 }, 4000: { rank: 5, first: 600 } } as const
/** Told while ranks are asked for. */
const TOLD_PER_SECOND = 500
const TOLD_EVERY_MS = 40
const OTHER_EVERY_MS = 10

export function measureHttp({ short }: { short: boolean }): Promise<boolean> {
  const outcomes = short ? 2_000 : 20_000
  const seconds = short ? 4 : 8
  return withRecallWorld({}, async (bench) => {
    // One for each, for tools that are told of stay; both before the first restart, which leaves a daemon that is gone.
    const large = await bench.newTenant('bench-4000')
    await measureTools(bench, 200, outcomes, seconds)
    await measureTools({ ...bench, tenant: large }, 4_000, outcomes, seconds)
  })
}

async function measureTools(bench: Bench, tools: 200 | 4000, outcomes: number, seconds: number): Promise<void> {
  const { outcome, intent } = catalogueOf(tools)
  let told = 0
  const tell = (count: number) =>
    post(
      bench,
      '/v1/partner/projections',
      Array.from({ length: count }, () => projectionOf(outcome(), told++)),
    )
  const requests = Array.from({ length: 500 }, (_, i) =>
    JSON.stringify({
      ...{ task_class: `class${i % 5}`, task_intent: intent(), source_event_id: `ask ${i}`, run_id: 'bench' },
      ...{ scope: null, explain: false },
    }),
  )
  const ask = () =>
    runLoad({
      ...{ url: bench.daemon().url, method: 'POST', path: '/v1/advice/tools:rank', warmUpSeconds: 1 },
      ...{ connections: 1, seconds, variants: requests.length, body: requests, headers: headersOf(bench) },
    })
  await untilTaken(() => tell(1))
  const medians: number[] = []
  for (const count of [1_000, outcomes]) {
    while (told < count) await tell(Math.min(ARRAY, count - told))
    await settled(bench)
    const alone = await ask()
    show(`of ${tools} tools after ${count} outcomes`, alone)
    medians.push(alone.p50Ms)
  }
  const [few = 1, many = 0] = medians
  await bench.judge(`p50 of a rank, ${tools} tools`, many, BOUNDS_MS[tools].rank, 'ms')
  await bench.judge(`from 1000 to ${outcomes} outcomes`, many / few, FLAT_MAX, '×')
  const flow = setInterval(() => void tell((TOLD_PER_SECOND * TOLD_EVERY_MS) / 1_000).catch(() => {}), TOLD_EVERY_MS)
  const busy = await ask()
  clearInterval(flow)
  show(`while ${TOLD_PER_SECOND} outcomes a second are told`, busy)
  await bench.judge('p99 of a rank meanwhile', busy.p99Ms, LIVE_P99_MS, 'ms')
  await settled(bench)
  const firsts: number[] = []
  const longest: number[] = []
  for (let n = 0; n < 3; n++) {
    await bench.restart()
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    const others = pingOthers(bench)
    const askedAt = performance.now()
    await post(bench, '/v1/advice/tools:rank', JSON.parse(requests[n] ?? '{}'))
    firsts.push(performance.now() - askedAt)
    longest.push(await others())
  }
  console.log(
    `  first ranks after restarts ${firsts.map(Math.round).join(', ')} ms; others waited at most ${longest.map(Math.round).join(', ')} ms meanwhile`,
  )
  await bench.judge('first rank after a restart', median(firsts), BOUNDS_MS[tools].first, 'ms')
}

type Bench = Pick<RecallWorld, 'daemon' | 'restart' | 'sql' | 'judge' | 'tenant'>

/** What the others of a replica notice: answers the longest of small requests, one every ten milliseconds. */
function pingOthers({ daemon }: Bench): () => Promise<number> {
  let [isOver, longest] = [false, 0]
  const pinging = (async () => {
    while (!isOver) {
      const startedAt = performance.now()
      await (await fetch(`${daemon().url}/health/live`)).arrayBuffer()
      longest = Math.max(longest, performance.now() - startedAt)
      await new Promise((resolve) => setTimeout(resolve, OTHER_EVERY_MS))
    }
  })()
  return async () => {
    isOver = true
    await pinging
    return longest
  }
}

/** The cell hears of a credential by the feed. */
async function untilTaken(tell: () => Promise<void>): Promise<void> {
  for (let tries = 0; ; tries++) {
    const failure = await tell().then(
      () => null,
      (error: unknown) => error,
    )
    if (failure === null) return
    if (tries === 100) throw failure
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

function projectionOf(
  { tool, outcome, intent, taskClass }: ReturnType<ReturnType<typeof catalogueOf>['outcome']>,
  n: number,
) {
  return {
    ...{
      projection_class: 'tool_outcome',
      source_event_id: `outcome ${n}`,
      task_class: taskClass,
      task_intent: intent,
    },
    tools: [{ tool_id: tool, outcome }],
  }
}

function headersOf({ tenant }: Bench) {
  return { authorization: `Bearer ${tenant.partner.token}`, 'content-type': 'application/json' }
}

async function post(bench: Bench, path: string, body: unknown): Promise<void> {
  for (let tries = 0; ; tries++) {
    const answer = await fetch(`${bench.daemon().url}${path}`, {
      method: 'POST',
      headers: headersOf(bench),
      body: JSON.stringify(body),
    })
    const text = await answer.text()
    if (answer.status === 200) return
    // A busy machine may overtake a deadline; what is told twice is known.
    if (answer.status !== 503 || tries === 20) throw new Error(`${path}: ${answer.status} ${text}`)
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
}

/** Snapshots have caught up. */
async function settled(bench: Bench): Promise<void> {
  for (;;) {
    const due = await bench.sql(`select 1 from loci.due where kind = 'advice'`)
    if (due.length === 0) break
    await new Promise((resolve) => setTimeout(resolve, 250))
  }
  await bench.sql('vacuum analyze')
}

function show(what: string, { p50Ms, p99Ms, requests, errors }: LoadResult): void {
  console.log(
    `  rank ${what}: p50 ${p50Ms.toFixed(2)}, p99 ${p99Ms.toFixed(2)} ms, ${requests} requests, ${errors} errors`,
  )
}
