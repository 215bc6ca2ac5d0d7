// H5: one tenant of the free plan sends the dearest requests that we know of, each kind at the plan's full rate; what a
// quiet tenant and the live probe feel of it. Requests differ 300-fold in cost, so a rate that counts requests alone
// lets one tenant take a replica away.
//
// The quiet tenant is measured alone and beside the greedy one in turns, in many short windows. The figure of a kind is
// the median p99 of its windows by the median p99 of the quiet windows around them: a moment at which somebody else had
// the machine spoils one window and not the verdict. A kind above its bound is measured in more rounds, and all of them
// count.
//
// The plan's rate bounds how often a dear request is let in, not how long one holds the thread: that is bounded by what
// a page or an array may have, and by doing the rest in turns (libs/chassis/turn.ts). On a quiet machine, where p99 is
// 3 ms, a list of 4 MiB was 5.5 ×, a cycle that held the thread for 68 ms 9.2 ×.

import { attenuate, seal } from '@loci/capability/capability.ts'
import { plantMutant } from '../world/mutant.ts'
import { type LociProcess, untilReady } from '../world/process.ts'
import type { Report } from '../world/report.ts'
import { addTenant, type WorldTenant } from '../world/tenants.ts'
import type { World } from '../world/world.ts'
import { setLimits, setRate } from './cell-limits.ts'
import { type CostlyKind, dearCosts, type Measured, unpaid } from './dear-costs.ts'
import { dearMinds } from './dear-minds.ts'
import { type LoadResult, runLoad } from './open-loop.ts'
import { type PlainRequest, plainClient } from './plain-client.ts'
import { startProbe } from './probe.ts'

/** Of the free plan (management/plans.json). */
const PLAN_PER_SECOND = 20
const FILL_PER_SECOND = 1_000_000
const RATIO_MAX = 3
const LIVE_P99_MS_MAX = 100
const QUIET_PER_SECOND = 200
/** The greedy one begins so long before a window: its burst is part of what others feel, its first moment is not. */
const AHEAD_S = 0.5
/** One below the bound of libs/chassis/json.ts, with room for the members around them. */
const MEMBERS = 19_900
const LISTS = 'lists of 1 MiB'
const VALUE_BYTES_MAX = 256 * 1024
const ENTRY_BODY_BYTES_MAX = 800 * 1024
const BODY_BYTES_MAX = 1_048_576

/** `--kind=lists`: only the kinds whose name has that in it. */
const CHOSEN = process.argv.find((given) => given.startsWith('--kind='))?.slice('--kind='.length) ?? ''

interface Lengths {
  rounds: number
  roundsMax: number
  seconds: number
  /** Of the greedy tenant, of 9 KB each. */
  records: number
}

type Kind = CostlyKind

interface Window {
  kind: Kind
  /** Just before and just after it. */
  aloneMs: [number, number]
  besideMs: number
  liveMs: number
  failed: number
  greedy: LoadResult
}

export async function dearRequests(
  report: Report,
  world: World,
  daemon: LociProcess,
  quiet: WorldTenant,
  isShort: boolean,
): Promise<void> {
  const lengths = isShort
    ? { rounds: 3, roundsMax: 7, seconds: 2, records: 2_000 }
    : { rounds: 5, roundsMax: 11, seconds: 4, records: 9_900 }
  await setRate(world, [quiet], FILL_PER_SECOND)
  await fill(daemon, quiet, 1_000, 100)
  const kinds = await makeKinds(world, daemon, lengths.records)
  const measured = await dearCosts(report, world, daemon, kinds, PLAN_PER_SECOND)
  const list = measured.find(({ kind }) => kind.name === LISTS)
  if (process.argv.includes('--costs')) return list && costMutant(report, world, list)
  const windows = await measure(report, daemon, quiet, kinds, lengths)
  const live = await report.within(LIVE_P99_MS_MAX)
  for (const kind of kinds) {
    const own = windows.filter((window) => window.kind === kind)
    const { isKept, figure } = verdictOf(own, live)
    report.promise(`a quiet tenant beside ${kind.name}`, isKept, figure)
  }
  await mutants(
    report,
    world,
    quiet,
    kinds.filter(({ name }) => name === LISTS),
    lengths,
  )
}

/** Rounds over all kinds, so that the debt of a kind's last window is worked off before its next one. */
async function measure(
  report: Report,
  daemon: LociProcess,
  quiet: WorldTenant,
  kinds: Kind[],
  { rounds, roundsMax, seconds }: Lengths,
): Promise<Window[]> {
  const windows: Window[] = []
  let left = kinds
  for (let round = 0; left.length > 0 && round < roundsMax; round += 1) {
    let before = await alone(daemon, quiet, seconds)
    for (const kind of left) {
      const { felt, live, greedy: told } = await beside(daemon, quiet, kind, seconds)
      const after = await alone(daemon, quiet, seconds)
      windows.push({
        kind,
        aloneMs: [before.accepted.p99Ms, after.accepted.p99Ms],
        besideMs: felt.accepted.p99Ms,
        liveMs: live.p99Ms,
        failed: felt.errors + live.failed + Object.values(felt.refusals).reduce((sum, count) => sum + count, 0),
        greedy: told,
      })
      before = after
    }
    const ratios = left.map((kind) => ratioOf(windows.filter((one) => one.kind === kind)).ratio.toFixed(1))
    report.note(`round ${round + 1}: ${ratios.join(' ')} × of quiet so far, for ${left.length} kinds`)
    if (round + 1 >= rounds)
      left = left.filter((kind) => ratioOf(windows.filter((one) => one.kind === kind)).ratio > RATIO_MAX)
  }
  return windows
}

function verdictOf(windows: Window[], live: { ms: number; text: string }): { isKept: boolean; figure: string } {
  const { ratio, aloneMs, besideMs } = ratioOf(windows)
  const besides = windows.map((one) => one.besideMs)
  const liveMs = median(windows.map((one) => one.liveMs))
  const failed = windows.reduce((sum, one) => sum + one.failed, 0)
  const told: Record<string, number> = {}
  for (const { greedy } of windows)
    for (const [status, count] of Object.entries(greedy.statuses)) told[status] = (told[status] ?? 0) + count
  return {
    isKept: ratio <= RATIO_MAX && liveMs <= live.ms && failed === 0 && (told['200'] ?? 0) > 0,
    figure: `p99 ${ratio.toFixed(1)} × of quiet (at most ${RATIO_MAX}; ${aloneMs.toFixed(1)} → ${besideMs.toFixed(1)} ms), the medians of ${windows.length} windows from ${Math.min(...besides).toFixed(1)} to ${Math.max(...besides).toFixed(1)} ms; live p99 ${liveMs} ms (${live.text}); ${failed} failed; the greedy one was told ${JSON.stringify(told)}`,
  }
}

async function alone({ url }: LociProcess, quiet: WorldTenant, seconds: number): Promise<LoadResult> {
  return runLoad({
    url,
    method: 'GET',
    path: '/v1/kv/entries/k{n}',
    variants: 1_000,
    tokens: [quiet.capability.token],
    connections: 16,
    perSecond: QUIET_PER_SECOND,
    seconds,
  })
}

async function beside(daemon: LociProcess, quiet: WorldTenant, kind: Kind, seconds: number) {
  const { url, pid } = daemon
  const { method, path, body, tokens, variants = 1, isPartner = false } = kind
  const load = { url, method, path, variants, tokens, isPartner, connections: 16, perSecond: PLAN_PER_SECOND }
  const noise = runLoad({
    ...load,
    ...(body === undefined ? {} : { body }),
    warmUpSeconds: 0,
    seconds: seconds + 2 * AHEAD_S + 0.5,
  })
  await sleep(AHEAD_S * 1_000)
  const probe = startProbe(url, pid, { method: 'GET', path: '/health/live' })
  const felt = await alone(daemon, quiet, seconds)
  const live = await probe.stop()
  return { felt, live, greedy: await noise }
}

/** As many services as an organization of the free plan may have. */
const SERVICES_MAX = 10

/** Each kind has a service of its own: the debt of one would keep the next from being sent. */
async function makeKinds(world: World, daemon: LociProcess, records: number): Promise<Kind[]> {
  const kinds: Kind[] = []
  let owner: WorldTenant | undefined
  const addService = async () => {
    const isFirst = kinds.length % SERVICES_MAX === 0
    const name = `greedy${Math.floor(kinds.length / SERVICES_MAX)}`
    const service = await addTenant(world, { name, plan: 'free', ...(isFirst || !owner ? {} : { of: owner }) })
    if (isFirst) owner = service
    return service
  }
  for (const wanted of wantedKinds().filter(({ name }) => name.includes(CHOSEN))) {
    const service = await addService()
    if (wanted.method === 'GET') {
      await setRate(world, [service], FILL_PER_SECOND)
      await fill(daemon, service, wanted.isLarge ? records : 1_000, 9_000)
      await setRate(world, [service], PLAN_PER_SECOND)
    }
    const { token, delegation } = service.capability
    const chain = () => seal(attenuate(attenuate(attenuate(delegation))))
    kinds.push({ ...wanted, tokens: wanted.isChained ? Array.from({ length: 500 }, chain) : [token], service })
  }
  for (const { fill: prepare, ...wanted } of dearMinds(records).filter(({ name }) => name.includes(CHOSEN))) {
    const service = await addService()
    // More records than its plan has, or what writes would be refused before it was measured.
    const room = { records: 10_000_000, bytes: 100_000_000_000 }
    await setLimits(world, [service], { ...room, requests_per_second: FILL_PER_SECOND, burst: FILL_PER_SECOND })
    await prepare(daemon.url, service)
    await setRate(world, [service], PLAN_PER_SECOND)
    kinds.push({ ...wanted, service, tokens: [wanted.isPartner ? service.partner.token : service.capability.token] })
  }
  return kinds
}

interface WantedKind extends Omit<Kind, 'tokens' | 'service'> {
  isLarge?: boolean
  isChained?: boolean
}

function wantedKinds(): WantedKind[] {
  const put = (name: string, body: string): WantedKind => ({ name, method: 'PUT', path: '/v1/kv/entries/dear', body })
  const batch = (name: string, bytes: number): WantedKind => ({
    name,
    method: 'POST',
    path: '/v1/kv/entries/batch',
    body: JSON.stringify({
      operations: Array.from({ length: 100 }, (_, n) => ({ op: 'put', key: `k${n}`, value: 'x'.repeat(bytes) })),
    }),
  })
  const get = (name: string, path: string): WantedKind => ({ name, method: 'GET', path })
  const listing = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }
  const mcp: WantedKind = {
    ...{ name: 'MCP batches of twenty messages', method: 'POST', path: '/mcp' },
    body: JSON.stringify(Array.from({ length: 20 }, (_, n) => ({ ...listing, id: n + 1 }))),
  }
  const members = Array.from({ length: MEMBERS }, (_, n) => `"k${n}":0`).join()
  const ignored = `{"value":1,${members}}`
  const value = `{${members}}`
  if (value.length > VALUE_BYTES_MAX) throw new Error('the value of many members is larger than an entry may be')
  return [
    get('plain reads', '/v1/kv/entries/k1'),
    put('plain writes', '{"value":1}'),
    get('reads of all slots', '/v1/working-memory/slots'),
    mcp,
    put(`${MEMBERS} ignored members`, ignored),
    put(`${MEMBERS} ignored members in 800 KiB`, ignored + ' '.repeat(ENTRY_BODY_BYTES_MAX - ignored.length)),
    put(
      `${MEMBERS} empty arrays that are ignored`,
      `{"value":1,"a":[${Array(MEMBERS / 2)
        .fill('[]')
        .join()}]}`,
    ),
    put(`a value of ${MEMBERS} members`, `{"value":${value}}`),
    batch('batches of 100 puts, 1 MiB', Math.floor(BODY_BYTES_MAX / 100) - 60),
    batch('batches of 100 small puts', 1),
    get(LISTS, '/v1/kv/entries?limit=1000'),
    { ...get('full consistency walks', '/v1/kv/consistency?mode=full'), isLarge: true, isTold: true },
    { ...get('new chains of five links', '/v1/kv/entries/k1'), isChained: true },
  ]
}

/** Entries k0, k1, … of so many bytes each. */
async function fill({ url }: LociProcess, tenant: WorldTenant, records: number, bytes: number): Promise<void> {
  const client = plainClient()
  for (let at = 0; at < records; at += 100) {
    const operations = Array.from({ length: 100 }, (_, n) => ({
      op: 'put',
      key: `k${at + n}`,
      value: 'x'.repeat(bytes),
    }))
    const request: PlainRequest = {
      method: 'POST',
      path: '/v1/kv/entries/batch',
      headers: { 'x-loci-capability': tenant.capability.token },
      body: JSON.stringify({ operations }),
    }
    const outcome = await client.send(url, request)
    if (outcome.kind !== 'answer' || outcome.status !== 200) throw new Error(`filling: ${JSON.stringify(outcome)}`)
  }
  client.close()
}

/** A request is 1, whatever it costs. */
const plantCounting = () =>
  plantMutant([
    {
      file: 'libs/chassis/bill.ts',
      from: 'measured >= SMALL_UNITS ? measured : 0',
      to: 'this.#taken',
    },
  ])

async function costMutant(report: Report, world: World, list: Measured): Promise<void> {
  await using mutant = await plantCounting()
  const lax = await mutant.startProgram('daemon', world.daemonSettings())
  await untilReady(lax.url)
  report.mutant('the rate counts requests', await unpaid(world, lax, list))
  await lax.stop()
}

async function mutants(
  report: Report,
  world: World,
  quiet: WorldTenant,
  lists: Kind[],
  lengths: Lengths,
): Promise<void> {
  if (lists.length === 0) return
  await using mutant = await plantCounting()
  const lax = await mutant.startProgram('daemon', world.daemonSettings())
  await untilReady(lax.url)
  const windows = await measure(report, lax, quiet, lists, { ...lengths, roundsMax: lengths.rounds })
  await lax.stop()
  const { isKept, figure } = verdictOf(windows, await report.within(LIVE_P99_MS_MAX))
  report.mutant('the rate counts requests', isKept ? undefined : figure)
}

function ratioOf(windows: Window[]): { ratio: number; aloneMs: number; besideMs: number } {
  const aloneMs = median(windows.flatMap((one) => one.aloneMs))
  const besideMs = median(windows.map((one) => one.besideMs))
  return { ratio: besideMs / aloneMs, aloneMs, besideMs }
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] as number
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
