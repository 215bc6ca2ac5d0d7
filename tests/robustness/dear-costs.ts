// What requests cost and what they are charged: processor time of the daemon and of PostgreSQL for each unit that
// x-loci-cost names, and the part of the daemon's own time that is charged to somebody. Processor time is what a tenant
// takes from others, and a busy machine hardly changes it; how long others wait is measured in dear-requests.ts.

import { cpuTime } from '../world/cpu-time.ts'
import type { LociProcess } from '../world/process.ts'
import type { Report } from '../world/report.ts'
import type { WorldTenant } from '../world/tenants.ts'
import type { World } from '../world/world.ts'
import { setRate } from './cell-limits.ts'
import { type PlainClient, plainClient } from './plain-client.ts'

export interface CostlyKind {
  name: string
  method: string
  path: string
  /** `{n}` stands for a number below `variants`. */
  body?: string
  variants?: number
  isPartner?: boolean
  /** Its price is told and not measured, because its statements read much and say little. */
  isTold?: boolean
  /** Besides the credential. */
  headers?: Record<string, string>
  /** A stream without an end: what it costs is not known when its headers are sent. */
  streamMs?: number
  /** Nobody is asked who he is, and its address pays. */
  isOpen?: boolean
  tokens: string[]
  service: WorldTenant
}

/** Milliseconds of processor that one unit buys, of requests that cost more than SMALL_UNITS. */
const UNIT_MS = { min: 1, max: 3 }
const SMALL_UNITS = 3
const SMALL_MS_MAX = 4.5
/** Of the daemon's processor time: what the meter has seen. */
const METERED_MIN = 0.75
/** Whatever else the machine does can only add: the least counts. */
const ROUNDS_MAX = 3
const WITHOUT_LIMIT = 1_000_000
/** Linux counts processor time in hundredths of a second: so much is measured to a few per cent. */
const MEASURED_US = 600_000
/** While a route is new to the process, the compiler is paid by nobody. */
const COLD_REQUESTS = 25
const REQUESTS_MIN = 5
const REQUESTS_MAX = 2_000
const IDLE_MS = 2_000
/** Of a core. */
const IDLE_PART_MAX = 0.05
const REST_TRIES_MAX = 10

export interface Measured {
  kind: CostlyKind
  /** Of one request, in microseconds of processor. */
  cost: Total
}

export async function dearCosts(
  report: Report,
  world: World,
  daemon: LociProcess,
  kinds: CostlyKind[],
  perSecond: number,
): Promise<Measured[]> {
  const measured: Measured[] = []
  for (const kind of kinds) {
    await setRate(world, [kind.service], WITHOUT_LIMIT)
    let cost = await processorTime(world, daemon, kind)
    for (let round = 1; round < ROUNDS_MAX && !isTrue(kind, cost); round += 1) {
      const again = await processorTime(world, daemon, kind)
      if (Math.abs(Math.log(again.sum / again.units / 1_500)) < Math.abs(Math.log(cost.sum / cost.units / 1_500)))
        cost = again
    }
    await setRate(world, [kind.service], perSecond)
    if (!kind.streamMs) report.promise(`the price of ${kind.name}`, isTrue(kind, cost), figureOf(kind, cost))
    report.promise(
      `the meter sees ${kind.name}`,
      cost.metered >= METERED_MIN,
      `${cost.metered.toFixed(2)} of the daemon's processor time (at least ${METERED_MIN})`,
    )
    measured.push({ kind, cost })
  }
  return measured
}

/** For a daemon that charges otherwise: undefined when what was measured is paid all the same. */
export async function unpaid(world: World, daemon: LociProcess, { kind }: Measured): Promise<string | undefined> {
  await setRate(world, [kind.service], WITHOUT_LIMIT)
  const cost = await processorTime(world, daemon, kind)
  return isTrue(kind, cost) ? undefined : figureOf(kind, cost)
}

function isTrue({ isTold, streamMs }: CostlyKind, { sum, units }: Total): boolean {
  if (isTold || streamMs) return true
  const ms = sum / units / 1_000
  return units > SMALL_UNITS ? ms >= UNIT_MS.min && ms <= UNIT_MS.max : ms <= SMALL_MS_MAX
}

function figureOf({ isTold }: CostlyKind, { sum, daemon, postgres, units }: Total): string {
  const asked = isTold ? 'told' : units > SMALL_UNITS ? `${UNIT_MS.min} to ${UNIT_MS.max}` : `at most ${SMALL_MS_MAX}`
  return `one unit buys ${ms(sum / units)} ms (${asked}): ${ms(sum)} ms of processor (daemon ${ms(daemon)}, PostgreSQL ${ms(postgres)}) for ${units.toFixed(1)} units`
}

/** Waits for the end of what was begun; what the programs use then: microseconds of processor for one of the clock. */
async function rest(world: World): Promise<Cost> {
  for (let tries = 1; ; tries += 1) {
    const before = sample(world)
    await sleep(IDLE_MS)
    const after = sample(world)
    const us = after.atUs - before.atUs
    const part = { daemon: (after.daemon - before.daemon) / us, postgres: (after.postgres - before.postgres) / us }
    if (part.daemon + part.postgres < IDLE_PART_MAX || tries === REST_TRIES_MAX) return part
  }
}

/** For each request, one after the other, without what an idle world uses. */
async function processorTime(world: World, { url }: LociProcess, kind: CostlyKind): Promise<Total> {
  const client = plainClient()
  for (let n = 0; n < COLD_REQUESTS; n += 1) await sendOne(client, url, kind, numbers())
  const idlePart = await rest(world)
  const unmeteredBefore = await unmeteredUs(client, url)
  const before = sample(world)
  let count = 0
  let units = 0
  let after = before
  while (
    count < REQUESTS_MIN ||
    (after.daemon + after.postgres - before.daemon - before.postgres < MEASURED_US && count < REQUESTS_MAX)
  ) {
    count += 1
    units += await sendOne(client, url, kind, numbers())
    if (count >= REQUESTS_MIN) after = sample(world)
  }
  const unmetered = (await unmeteredUs(client, url)) - unmeteredBefore
  client.close()
  const us = after.atUs - before.atUs
  const used = after.daemon - before.daemon
  const daemon = (used - idlePart.daemon * us) / count
  const postgres = (after.postgres - before.postgres - idlePart.postgres * us) / count
  const metered = Math.min(1, (used - unmetered) / (daemon * count))
  return { daemon, postgres, sum: daemon + postgres, units: units / count, metered }
}

/** What the daemon has used for nobody so far. */
export async function unmeteredUs(client: PlainClient, url: string): Promise<number> {
  const outcome = await client.send(url, { method: 'GET', path: '/metrics', headers: {} })
  const found = outcome.kind === 'answer' ? /^loci_unmetered_seconds ([\d.e+-]+)$/m.exec(outcome.body) : null
  if (!found) throw new Error('the metrics have no loci_unmetered_seconds')
  return Number(found[1]) * 1e6
}

interface Cost {
  daemon: number
  postgres: number
}

type Total = Cost & { sum: number; units: number; metered: number }

function sample(world: World): Cost & { atUs: number } {
  const { daemonUs, postgresUs } = cpuTime(world)
  return { daemon: daemonUs, postgres: postgresUs, atUs: performance.now() * 1_000 }
}

/** What it cost. Again where the replica is busy: that was no answer to measure. */
async function sendOne(client: PlainClient, url: string, kind: CostlyKind, n: number): Promise<number> {
  for (;;) {
    const outcome = await client.send(url, requestOf(kind, n))
    if (outcome.kind === 'answer' && (outcome.status === 200 || outcome.status === 404))
      return Number(outcome.headers['x-loci-cost'])
    if (outcome.kind === 'answer' && (outcome.status === 503 || outcome.status === 429)) {
      await sleep(Number(outcome.headers['retry-after'] ?? 1) * 1_000)
      continue
    }
    throw new Error(`${kind.name}: ${JSON.stringify(outcome).slice(0, 500)}`)
  }
}

function requestOf({ method, path, body, isPartner, headers, tokens }: CostlyKind, n: number) {
  const token = tokens[n % tokens.length] as string
  return {
    ...{ method, path },
    headers: { ...headers, ...(isPartner ? { authorization: `Bearer ${token}` } : { 'x-loci-capability': token }) },
    ...(body === undefined ? {} : { body: body.replaceAll('{n}', `cost ${n}`) }),
  }
}

/** Another one each time, so that nothing is a repeat. */
let number = 0
const numbers = () => {
  number += 1
  return number
}

const ms = (us: number) => (us / 1_000).toFixed(2)

function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}
