// Rank over HTTP: a partner tells outcomes and asks which tool is next.

import type { LoadResult } from './load.ts'
import { runLoad } from './load.ts'
import { catalogueOf } from './rank-catalogue.ts'
import { median, type RecallWorld, withRecallWorld } from './recall-world.ts'

const TOOLS = 200
const ARRAY = 500
const LIVE_P99_MS = 20
const FIRST_MS = 200
/** Told while ranks are asked for. */
const TOLD_PER_SECOND = 500
const TOLD_EVERY_MS = 40

export function measureHttp({ short }: { short: boolean }): Promise<boolean> {
  const outcomes = short ? 2_000 : 20_000
  const seconds = short ? 5 : 15
  return withRecallWorld({}, async (bench) => {
    const { outcome, intent } = catalogueOf(TOOLS)
    let told = 0
    const tell = (count: number) =>
      post(
        bench,
        '/v1/partner/projections',
        Array.from({ length: count }, () => projectionOf(outcome(), told++)),
      )
    for (let left = outcomes; left > 0; left -= ARRAY) await tell(Math.min(ARRAY, left))
    await settled(bench)
    console.log(`\n${TOOLS} tools, ${outcomes} outcomes told`)
    const requests = Array.from({ length: 500 }, (_, i) =>
      JSON.stringify({
        ...{
          task_class: `class${i % 5}`,
          task_intent: intent(),
          source_event_id: `ask ${i}`,
          run_id: 'bench',
          scope: null,
        },
        explain: false,
      }),
    )
    const ask = () =>
      runLoad({
        ...{ url: bench.daemon().url, method: 'POST', path: '/v1/advice/tools:rank', warmUpSeconds: 1 },
        ...{ connections: 1, seconds, variants: requests.length, body: requests, headers: headersOf(bench) },
      })
    const alone = await ask()
    show('alone', alone)
    const flow = setInterval(() => void tell((TOLD_PER_SECOND * TOLD_EVERY_MS) / 1_000).catch(() => {}), TOLD_EVERY_MS)
    const busy = await ask()
    clearInterval(flow)
    show(`while ${TOLD_PER_SECOND} outcomes a second are told`, busy)
    await bench.judge('p99 of a rank meanwhile', busy.p99Ms, LIVE_P99_MS, 'ms')
    const firsts: number[] = []
    for (let n = 0; n < 3; n++) {
      await bench.restart()
      await new Promise((resolve) => setTimeout(resolve, 1_000))
      const askedAt = performance.now()
      await post(bench, '/v1/advice/tools:rank', JSON.parse(requests[n] ?? '{}'))
      firsts.push(performance.now() - askedAt)
    }
    console.log(`  first ranks after restarts ${firsts.map((ms) => Math.round(ms)).join(', ')} ms`)
    await bench.judge('first rank after a restart', median(firsts), FIRST_MS, 'ms')
  })
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

function headersOf({ tenant }: RecallWorld) {
  return { authorization: `Bearer ${tenant.partner.token}`, 'content-type': 'application/json' }
}

async function post(bench: RecallWorld, path: string, body: unknown): Promise<void> {
  const answer = await fetch(`${bench.daemon().url}${path}`, {
    method: 'POST',
    headers: headersOf(bench),
    body: JSON.stringify(body),
  })
  if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
  await answer.arrayBuffer()
}

/** Snapshots have caught up. */
async function settled(bench: RecallWorld): Promise<void> {
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
