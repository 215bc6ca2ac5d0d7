// Whether what is charged is true: the part of the daemon's processor time that is somebody's under a mixed load, what
// the same requests cost on a machine that others keep busy, and what small requests cost in a process that has just
// started. Everything is a ratio of the same run, so that it holds on a busy machine.

import { spawn } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { processUs } from '../world/cpu-time.ts'
import { type LociProcess, untilReady } from '../world/process.ts'
import type { Report } from '../world/report.ts'
import type { WorldTenant } from '../world/tenants.ts'
import type { World } from '../world/world.ts'
import { setRate } from './cell-limits.ts'
import { unmeteredUs } from './dear-costs.ts'
import { median, sleep } from './dear-windows.ts'
import { runLoad } from './open-loop.ts'
import { type PlainClient, type PlainRequest, plainClient } from './plain-client.ts'

const METERED_MIN = 0.85
const BUSIER_MAX = 1.5
const SMALL_SHARE_MIN = 0.99
const WITHOUT_LIMIT = 1_000_000
/** While a route is new to the process, the compiler is paid by nobody. */
const COLD_REQUESTS = 25

export async function trueCosts(
  report: Report,
  world: World,
  daemon: LociProcess,
  tenant: WorldTenant,
  isShort: boolean,
): Promise<void> {
  await setRate(world, [tenant], WITHOUT_LIMIT)
  await fill(daemon, tenant)
  await mixed(report, daemon, tenant, isShort ? 10 : 30)
  await besideBusy(report, daemon, tenant, isShort ? 15 : 40)
  await newProcess(report, world, tenant)
}

const BATCH = JSON.stringify({
  operations: Array.from({ length: 100 }, (_, n) => ({ op: 'put', key: `k${n}`, value: 'x'.repeat(8_000) })),
})
const LIST = { method: 'GET', path: '/v1/kv/entries?limit=100' }
const RECALL = { method: 'POST', path: '/v1/memory/recall', body: '{"query":"which pump was checked","limit":50}' }
const RECORDS = JSON.stringify({
  records: Array.from({ length: 100 }, (_, n) => ({ content: `The pump of hall ${n} was checked by shift ${n % 7}.` })),
})
const LISTING = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }
const MCP = { method: 'POST', path: '/mcp', body: JSON.stringify(Array.from({ length: 20 }, () => LISTING)) }
/** By how often each comes in a second. */
const MIX: { perSecond: number; request: PlainRequest }[] = [
  { perSecond: 100, request: { method: 'GET', path: '/v1/kv/entries/k1' } },
  { perSecond: 40, request: { method: 'PUT', path: '/v1/kv/entries/k1', body: '{"value":1}' } },
  { perSecond: 5, request: LIST },
  { perSecond: 3, request: { method: 'POST', path: '/v1/kv/entries/batch', body: BATCH } },
  { perSecond: 10, request: RECALL },
  { perSecond: 3, request: MCP },
]

async function mixed(report: Report, { url, pid }: LociProcess, tenant: WorldTenant, seconds: number): Promise<void> {
  const client = plainClient()
  const usedBefore = processUs(pid)
  const unmeteredBefore = await unmeteredUs(client, url)
  await Promise.all(
    MIX.map(({ perSecond, request }) =>
      runLoad({
        ...{
          url,
          variants: 1,
          connections: 4,
          warmUpSeconds: 0,
          tokens: [tenant.capability.token],
          perSecond,
          seconds,
        },
        ...request,
        headers: {},
      }),
    ),
  )
  const unmetered = (await unmeteredUs(client, url)) - unmeteredBefore
  const used = processUs(pid) - usedBefore
  client.close()
  const metered = 1 - unmetered / used
  report.promise(
    'the meter sees a mixed load',
    metered >= METERED_MIN,
    `${metered.toFixed(2)} of ${(used / 1e6).toFixed(1)} s of the daemon's processor time (at least ${METERED_MIN})`,
  )
}

/** Alone and beside in turns: each comparison is of one moment. */
async function besideBusy(report: Report, { url }: LociProcess, tenant: WorldTenant, count: number): Promise<void> {
  const client = plainClient()
  for (const { name, request } of [
    { name: 'lists', request: LIST },
    { name: 'recalls', request: RECALL },
    { name: 'MCP batches', request: MCP },
    { name: 'batches of 100 records', request: { method: 'POST', path: '/v1/memory/records/batch', body: RECORDS } },
  ]) {
    const costs: [number[], number[]] = [[], []]
    for (let n = 0; n < COLD_REQUESTS; n += 1) await costOf(client, url, tenant, request)
    for (let round = 0; round < 3; round += 1)
      for (const [at, own] of costs.entries()) {
        const end = at === 1 ? startBusy(2 * availableParallelism()) : () => {}
        if (at === 1) await sleep(200)
        for (let n = 0; n < count; n += 1) own.push(await costOf(client, url, tenant, request))
        end()
      }
    const [quiet, busy] = costs.map(median) as [number, number]
    report.promise(
      `${name} on a busier machine`,
      busy <= BUSIER_MAX * quiet,
      `${busy.toFixed(1)} units, ${quiet.toFixed(1)} as it was: ${(busy / quiet).toFixed(2)} × (at most ${BUSIER_MAX}), medians of ${costs[0].length}`,
    )
  }
  client.close()
}

function startBusy(count: number): () => void {
  const children = Array.from({ length: count }, () =>
    spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }),
  )
  return () => {
    for (const child of children) child.kill('SIGKILL')
  }
}

async function newProcess(report: Report, world: World, tenant: WorldTenant): Promise<void> {
  const fresh = await world.startDaemon({})
  await untilReady(fresh.url)
  const client = plainClient()
  const costs: number[] = []
  for (let n = 0; n < 200; n += 1)
    costs.push(await costOf(client, fresh.url, tenant, { method: 'GET', path: `/v1/kv/entries/k${n % 100}` }))
  client.close()
  await fresh.stop()
  const ones = costs.filter((cost) => cost === 1).length / costs.length
  report.promise(
    'a small read in a process that has just started',
    ones >= SMALL_SHARE_MIN,
    `costs 1 in ${(100 * ones).toFixed(1)} of 100 (at least ${100 * SMALL_SHARE_MIN}), at most ${Math.max(...costs)}`,
  )
}

async function costOf(
  client: PlainClient,
  url: string,
  { capability }: WorldTenant,
  request: PlainRequest,
): Promise<number> {
  const outcome = await client.send(url, { ...request, headers: { 'x-loci-capability': capability.token } })
  if (outcome.kind !== 'answer' || outcome.status !== 200)
    throw new Error(`${request.path}: ${JSON.stringify(outcome).slice(0, 500)}`)
  return Number(outcome.headers['x-loci-cost'])
}

async function fill({ url }: LociProcess, tenant: WorldTenant): Promise<void> {
  const client = plainClient()
  await costOf(client, url, tenant, { method: 'POST', path: '/v1/kv/entries/batch', body: BATCH })
  for (let n = 0; n < 10; n += 1)
    await costOf(client, url, tenant, {
      ...{ method: 'POST', path: '/v1/memory/records/batch' },
      body: RECORDS.replaceAll('hall', `hall ${n}.`),
    })
  client.close()
}
