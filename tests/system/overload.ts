// Ten times the load leaves nearly all of the capacity to those who are let in, a bounded process, and a probe that
// answers. And below capacity, one instance far beyond its plan is not felt by another, nor one that sends the dearest
// requests there are, nor strangers at the doors that need no credential.
//
// Arrivals do not wait for answers, but a client has only so many connections: on one that waits for its answer or its
// refusal nothing new can be sent, and that is what the daemon defends itself by. What was really sent is told.
//
// Generator, daemon and PostgreSQL share the machine with whatever else runs there, so one capacity for all storms is
// noise: goodput was 84 to 105 % of it. Storms are short and many, each is compared with the capacity just before and
// just after it, and the median of these ratios is the figure. Its spread is printed beside it.

import { loadavg } from 'node:os'
import { setRate } from '../robustness/cell-limits.ts'
import { slotsTaken } from '../robustness/crowd-taken.ts'
import { dearRequests } from '../robustness/dear-requests.ts'
import { median } from '../robustness/dear-windows.ts'
import { doors } from '../robustness/doors.ts'
import { drawnRequests } from '../robustness/drawn-requests.ts'
import { type LoadOptions, type LoadResult, runLoad } from '../robustness/open-loop.ts'
import { plainClient } from '../robustness/plain-client.ts'
import { startProbe } from '../robustness/probe.ts'
import { scheduledOthers } from '../robustness/scheduled-others.ts'
import { trueCosts } from '../robustness/true-costs.ts'
import { plantMutant } from '../world/mutant.ts'
import { type LociProcess, untilReady } from '../world/process.ts'
import { type Report, reportOn } from '../world/report.ts'
import { addTenant, type WorldTenant } from '../world/tenants.ts'
import { startWorld, type World } from '../world/world.ts'
import { PEOPLE } from '../world/world-file.ts'

const isShort = process.argv.includes('--short')
/** Only a part: dear requests, which take longest and are a ratio, or what they cost; the storms; the doors. */
const isDear = ['--dear', '--costs'].some((flag) => process.argv.includes(flag))
const isStorms = process.argv.includes('--storms')
const isDoors = process.argv.includes('--doors')
/** Runs of their own: cycles beside many scheduled databases, whether charges are true, requests drawn by lot. */
const OWN_RUNS = { '--schedules': scheduledOthers, '--truth': trueCosts, '--drawn': drawnRequests }
const ROUNDS = isShort ? 3 : 9
const CAPACITY_S = isShort ? 1 : 2
const STORM_S = isShort ? 2 : 3
const TIMES = 10
/** As many as may wait or work, and then three times as many that must be refused. */
const CONNECTIONS = 1_000
/** Beyond what the limiter lets wait for a refusal, and enough to be felt by a daemon that takes everyone in. */
const CROWD = 3_000
const CROWD_PER_SECOND = 40_000
const CAPACITY_CONNECTIONS = 64
const GOODPUT_MIN = 0.85
const ACCEPTED_P99_MS_MAX = 500
const LIVE_P99_MS_MAX = 100
const RSS_MB_MAX = 256
const RECOVERY_MS_MAX = 2_000
const KEYS = 1_000
const BODY = JSON.stringify({
  value: { text: 'a value of about a hundred bytes, as agents like to keep them: names, dates, small facts' },
})
const UNLIMITED = 1_000_000

type Kind = 'writes' | 'reads'

interface Storm {
  capacityPerSecond: number
  goodput: number
  /** The lowest and the highest of all storms. */
  goodputs: [number, number]
  /** Of the storm in the middle, by the p99 of accepted answers. */
  usual: LoadResult
  worstP99Ms: number
  /** Of all storms. */
  refusals: Set<string>
  errors: number
  live: Awaited<ReturnType<ReturnType<typeof startProbe>['stop']>>
  recoveryMs: number
}

await reportOn(async (report) => {
  const world = await startWorld({ asShipped: true, replicas: 1, people: PEOPLE })
  try {
    const tenants = [
      await addTenant(world, { name: 'acme', plan: 'enterprise' }),
      await addTenant(world, { name: 'globex', plan: 'enterprise' }),
    ] as [WorldTenant, WorldTenant]
    await setRate(world, tenants, UNLIMITED)
    const [daemon] = world.daemons as [LociProcess]
    const own = Object.entries(OWN_RUNS).find(([flag]) => process.argv.includes(flag))
    if (own) return await own[1](report, world, daemon, tenants[1], isShort)
    if (!isStorms && !isDear) await doors(report, world, tenants[1], isShort)
    if (isDoors) return
    if (!isStorms) await dearRequests(report, world, daemon, tenants[1], isShort)
    if (isDear) return
    for (const kind of ['writes', 'reads'] as const) await overload(report, daemon, tenants, kind)
    await crowd(report, daemon, tenants)
    await fairness(report, world, daemon, tenants)
    await mutants(report, world, tenants)
  } finally {
    await world.stop()
  }
})

async function overload(report: Report, daemon: LociProcess, tenants: WorldTenant[], kind: Kind): Promise<void> {
  const storm = await storms(daemon, tenants, kind, ROUNDS)
  const { capacityPerSecond, goodput, goodputs, usual, worstP99Ms, refusals, errors, live, recoveryMs } = storm
  report.note(
    `${kind}: capacity ${Math.round(capacityPerSecond)}/s; ${TIMES} times as many arrivals, of which ${Math.round(usual.offeredPerSecond)}/s (${(usual.offeredPerSecond / capacityPerSecond).toFixed(1)}×) found one of ${CONNECTIONS} connections idle and ${Math.round(usual.turnedAway / STORM_S)}/s none; generator ${Math.round(usual.cpu * 100)} % of a core; load ${loadavg()[0]?.toFixed(1)}`,
  )
  const { accepted } = usual
  const [acceptedBound, liveBound, recoveryBound] = await boundsOf(report)
  report.promise(
    `${kind}: goodput`,
    goodput >= GOODPUT_MIN,
    `${Math.round(goodput * 100)} % of capacity (at least ${GOODPUT_MIN * 100}), the median of ${ROUNDS} storms from ${Math.round(goodputs[0] * 100)} to ${Math.round(goodputs[1] * 100)} %`,
  )
  report.promise(
    `${kind}: accepted answers`,
    accepted.p99Ms <= acceptedBound.ms,
    `p50 ${Math.round(accepted.p50Ms)} ms, p99 ${Math.round(accepted.p99Ms)} ms (${acceptedBound.text}), ${Math.round(worstP99Ms)} ms in the worst storm`,
  )
  report.promise(
    `${kind}: refusals are 503 OVERLOADED with Retry-After`,
    [...refusals].join() === '503 OVERLOADED' && errors === 0,
    `${[...refusals].join(', ')}, p99 ${Math.round(usual.refused.p99Ms)} ms, ${errors} connections cut`,
  )
  report.promise(
    `${kind}: the live probe`,
    live.p99Ms <= liveBound.ms && live.failed === 0,
    `p99 ${live.p99Ms} ms (${liveBound.text}), worst ${live.worstMs} ms, ${live.failed} of ${live.count} failed`,
  )
  report.promise(`${kind}: memory`, live.rssMbMax <= RSS_MB_MAX, `${live.rssMbMax} MB (at most ${RSS_MB_MAX})`)
  report.promise(
    `${kind}: recovery`,
    recoveryMs <= recoveryBound.ms,
    `the last refusal or taken slot ${Math.round(recoveryMs)} ms after the storm (${recoveryBound.text})`,
  )
}

/** More clients than may wait for anything: then not the goodput is promised but what keeps the process alive. */
async function crowd(report: Report, daemon: LociProcess, tenants: WorldTenant[]): Promise<void> {
  const { faults, figure } = await crowded(report, daemon, tenants)
  report.promise(`${CROWD} clients at once`, faults.length === 0, figure)
}

async function crowded(
  report: Report,
  daemon: LociProcess,
  tenants: WorldTenant[],
): Promise<{ faults: string[]; figure: string }> {
  const probe = startProbe(daemon.url, daemon.pid, { method: 'GET', path: '/health/live' })
  const { accepted, refusals } = await runLoad({
    ...loadOf(daemon, tenants, 'writes'),
    connections: CROWD,
    perSecond: CROWD_PER_SECOND,
    seconds: STORM_S,
    warmUpSeconds: 1.5,
  })
  const { rssMbMax } = await probe.stop()
  const bound = await report.within(ACCEPTED_P99_MS_MAX)
  const faults = [
    ...(accepted.p99Ms > bound.ms ? [`accepted p99 ${Math.round(accepted.p99Ms)} ms`] : []),
    ...(rssMbMax > RSS_MB_MAX ? [`${rssMbMax} MB`] : []),
  ]
  const figure = `accepted ${Math.round(accepted.perSecond)}/s, p99 ${Math.round(accepted.p99Ms)} ms (${bound.text}), ${rssMbMax} MB (at most ${RSS_MB_MAX}), ${JSON.stringify(refusals)}`
  return { faults, figure }
}

async function faultsOf(report: Report, { goodput, usual, live, recoveryMs }: Storm): Promise<string[]> {
  const [acceptedBound, liveBound, recoveryBound] = await boundsOf(report)
  return [
    ...(goodput < GOODPUT_MIN ? [`goodput ${Math.round(goodput * 100)} %`] : []),
    ...(usual.accepted.p99Ms > acceptedBound.ms ? [`accepted p99 ${Math.round(usual.accepted.p99Ms)} ms`] : []),
    ...(live.p99Ms > liveBound.ms ? [`live p99 ${live.p99Ms} ms`] : []),
    ...(live.rssMbMax > RSS_MB_MAX ? [`${live.rssMbMax} MB`] : []),
    ...(recoveryMs > recoveryBound.ms ? [`recovery ${Math.round(recoveryMs)} ms`] : []),
  ]
}

type Bound = Awaited<ReturnType<Report['within']>>

async function boundsOf(report: Report): Promise<[Bound, Bound, Bound]> {
  return [
    await report.within(ACCEPTED_P99_MS_MAX),
    await report.within(LIVE_P99_MS_MAX),
    await report.within(RECOVERY_MS_MAX),
  ]
}

async function storms(daemon: LociProcess, tenants: WorldTenant[], kind: Kind, rounds: number): Promise<Storm> {
  const options = loadOf(daemon, tenants, kind)
  const calm = async () =>
    (await runLoad({ ...options, connections: CAPACITY_CONNECTIONS, seconds: CAPACITY_S })).accepted.perSecond
  const capacities = [await calm()]
  const results: LoadResult[] = []
  const lives: Storm['live'][] = []
  const recoveries: number[] = []
  for (let round = 0; round < rounds; round += 1) {
    const probe = startProbe(daemon.url, daemon.pid, { method: 'GET', path: '/health/live' })
    const perSecond = TIMES * (capacities.at(-1) as number)
    results.push(await runLoad({ ...options, connections: CONNECTIONS, perSecond, seconds: STORM_S }))
    recoveries.push(await recovery(daemon, tenants[0] as WorldTenant))
    lives.push(await probe.stop())
    capacities.push(await calm())
  }
  const goodputs = results.map(({ accepted }, at) => {
    const [before, after] = capacities.slice(at, at + 2) as [number, number]
    return accepted.perSecond / ((before + after) / 2)
  })
  const bySpeed = results.toSorted((a, b) => a.accepted.p99Ms - b.accepted.p99Ms)
  return {
    capacityPerSecond: median(capacities),
    goodput: median(goodputs),
    goodputs: [Math.min(...goodputs), Math.max(...goodputs)],
    usual: bySpeed[results.length >> 1] as LoadResult,
    worstP99Ms: bySpeed.at(-1)?.accepted.p99Ms as number,
    refusals: new Set(results.flatMap(({ refusals }) => Object.keys(refusals))),
    errors: results.reduce((sum, { errors }) => sum + errors, 0),
    live: {
      count: lives.reduce((sum, { count }) => sum + count, 0),
      failed: lives.reduce((sum, { failed }) => sum + failed, 0),
      p99Ms: worstButOne(lives.map(({ p99Ms }) => p99Ms)),
      worstMs: Math.max(...lives.map(({ worstMs }) => worstMs)),
      rssMbMax: Math.max(...lives.map(({ rssMbMax }) => rssMbMax)),
    },
    recoveryMs: worstButOne(recoveries),
  }
}

function loadOf(
  { url }: LociProcess,
  tenants: WorldTenant[],
  kind: Kind,
): Omit<LoadOptions, 'connections' | 'seconds'> {
  return {
    url,
    method: kind === 'writes' ? 'PUT' : 'GET',
    path: '/v1/kv/entries/k{n}',
    variants: KEYS,
    tokens: tenants.map(({ capability }) => capability.token),
    ...(kind === 'writes' ? { body: BODY } : {}),
  }
}

/** How long after the storm a plain client is refused or slots are taken; asks for a little longer than it may take. */
async function recovery({ url }: LociProcess, { capability }: WorldTenant): Promise<number> {
  const client = plainClient()
  const startedAt = performance.now()
  let lastRefusedMs = 0
  for (let goodInARow = 0; goodInARow < 20 && performance.now() - startedAt < 2 * RECOVERY_MS_MAX; ) {
    const outcome = await client.send(url, {
      method: 'PUT',
      path: '/v1/kv/entries/recovery',
      headers: { 'x-loci-capability': capability.token },
      body: BODY,
    })
    goodInARow = outcome.kind === 'answer' && outcome.status === 200 ? goodInARow + 1 : 0
    if (goodInARow === 0) lastRefusedMs = performance.now() - startedAt
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  client.close()
  return Math.max(lastRefusedMs, await slotsTakenMs(url))
}

/** How long slots are taken although nobody asks any more: a fast daemon serves well with a few of them lost. */
async function slotsTakenMs(url: string): Promise<number> {
  const startedAt = performance.now()
  for (;;) {
    const ms = performance.now() - startedAt
    if ((await slotsTaken(url)) === 0) return ms
    if (ms > 2 * RECOVERY_MS_MAX) return ms
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

/** The greedy one is offered half of what the daemon can do, which is ten times what its plan grants. */
async function fairness(
  report: Report,
  world: World,
  daemon: LociProcess,
  [greedy, quiet]: [WorldTenant, WorldTenant],
): Promise<void> {
  const calm = { ...loadOf(daemon, [greedy], 'reads'), connections: CAPACITY_CONNECTIONS, seconds: 1 }
  const offered = Math.round((await runLoad(calm)).accepted.perSecond / 2)
  const plan = Math.max(1, Math.round(offered / TIMES))
  await setRate(world, [greedy], plan)
  // Alone and beside in turns: each comparison is of one moment, and the one in the middle counts.
  const rounds = []
  for (let round = 0; round < 3; round += 1) rounds.push(await besides(daemon, greedy, quiet, offered))
  const { alone, beside, loud, boundMs } = rounds.toSorted((a, b) => ratioOf(a) - ratioOf(b))[1] as Beside
  const refused = rounds.flatMap((round) => Object.keys(round.beside.refusals))
  report.promise(
    'a quiet instance beside one at ten times its plan',
    beside.accepted.p99Ms <= boundMs && refused.length === 0,
    `p99 ${beside.accepted.p99Ms.toFixed(1)} ms, alone ${alone.accepted.p99Ms.toFixed(1)} ms (at most ${boundMs.toFixed(1)}), the middle of ${rounds.length} comparisons, ${refused.join(', ') || 'nothing'} refused`,
  )
  report.promise(
    'the greedy instance gets its plan and 429 with Retry-After',
    Object.keys(loud.refusals).join() === '429 RATE_LIMITED' && isWithinPlan(loud, plan),
    `${Math.round(loud.accepted.perSecond)}/s of a plan of ${plan}/s at ${Math.round(loud.offeredPerSecond)}/s offered, ${JSON.stringify(loud.refusals)}`,
  )
  if (!isShort) await withoutRates(report, world, greedy, quiet, offered, plan)
  await setRate(world, [greedy], UNLIMITED)
}

async function withoutRates(
  report: Report,
  world: World,
  greedy: WorldTenant,
  quiet: WorldTenant,
  offered: number,
  plan: number,
): Promise<void> {
  await using mutant = await plantMutant([
    {
      file: 'daemon/access/rates.ts',
      from: 'if (due - at > burstMs) throw limited(payer.id, due - at - burstMs, whose, headersOf(payer))',
      to: '',
    },
  ])
  const lax = await mutant.startProgram('daemon', world.daemonSettings())
  await untilReady(lax.url)
  const result = await besides(lax, greedy, quiet, offered)
  await lax.stop()
  report.mutant(
    'no limit per instance',
    isWithinPlan(result.loud, plan)
      ? undefined
      : `${Math.round(result.loud.accepted.perSecond)}/s of ${plan}/s granted`,
  )
  await setRate(world, [greedy], UNLIMITED)
}

/** Its burst is in the first second; a quarter is for the clock. */
function isWithinPlan({ accepted }: LoadResult, plan: number): boolean {
  return accepted.perSecond <= plan * 1.25 && accepted.perSecond >= plan * 0.75
}

type Beside = Awaited<ReturnType<typeof besides>>

function ratioOf({ beside, boundMs }: Beside): number {
  return beside.accepted.p99Ms / boundMs
}

async function besides(daemon: LociProcess, greedy: WorldTenant, quiet: WorldTenant, offered: number) {
  const seconds = isShort ? 2 : 4
  const few = { ...loadOf(daemon, [quiet], 'reads'), connections: 8, perSecond: 100, seconds, warmUpSeconds: 0.5 }
  const many = { ...loadOf(daemon, [greedy], 'reads'), connections: 200, perSecond: offered, warmUpSeconds: 2.5 }
  const alone = await runLoad(few)
  const noise = runLoad({ ...many, seconds: seconds + 1 })
  await new Promise((resolve) => setTimeout(resolve, 2_500))
  const beside = await runLoad(few)
  const { p99Ms } = alone.accepted
  return { alone, beside, loud: await noise, boundMs: Math.max(2 * p99Ms, p99Ms + 50) }
}

async function mutants(report: Report, world: World, tenants: WorldTenant[]): Promise<void> {
  const unbounded = await world.startDaemon({
    LOCI_CONCURRENCY_MAX: '10000',
    LOCI_QUEUE_MAX: '100000',
    LOCI_QUEUE_MS: '5000',
  })
  const { faults } = await crowded(report, unbounded, tenants)
  report.mutant('no limiter', faults.length > 0 ? faults.join(', ') : undefined)
  await unbounded.stop()
  if (isShort) return
  await using mutant = await plantMutant([
    {
      file: 'libs/chassis/limiter.ts',
      from: 'if (refused.length >= REFUSALS_WAITING_MAX || (refused.length === 0 && mayRefuse(since))) throw refusal',
      to: 'throw refusal',
    },
  ])
  const hasty = await mutant.startProgram('daemon', world.daemonSettings())
  await untilReady(hasty.url)
  await caught(report, 'every refusal at once', hasty, tenants)
  await hasty.stop()
  await using leaky = await plantMutant([
    {
      file: 'libs/chassis/exchange.ts',
      from: 'if (!this.holdsSlot || !this.#handlerEnded) return',
      to: 'if (!this.holdsSlot || !this.#handlerEnded || this.#aborted) return',
    },
  ])
  const leaking = await leaky.startProgram('daemon', world.daemonSettings())
  await untilReady(leaking.url)
  await caught(report, 'a client that leaves while it waits keeps its slot', leaking, tenants)
  await leaking.stop()
}

async function caught(report: Report, name: string, daemon: LociProcess, tenants: WorldTenant[]): Promise<void> {
  const faults = await faultsOf(report, await storms(daemon, tenants, 'writes', 3))
  report.mutant(name, faults.length > 0 ? faults.join(', ') : undefined)
}

/** Of many short storms one may meet a moment at which somebody else had the machine. */
function worstButOne(values: number[]): number {
  return values.toSorted((a, b) => b - a)[1] as number
}
