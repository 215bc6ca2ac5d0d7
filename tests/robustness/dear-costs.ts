// What the dearest requests cost and what they are charged: processor time of the daemon and of PostgreSQL for each
// unit of the plan's rate, beside that of a plain read in the same run. Processor time is what a tenant takes from
// others, and a busy machine hardly changes it; how long others wait is measured in dear-requests.ts.
//
// The units are learnt as a client learns them: on an instance of one unit per second the next request is told how long
// to wait, and that is the debt.

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
  /** That it needs to be let in, where a debt is looked at again after its body was charged. */
  burst?: number
  tokens: string[]
  service: WorldTenant
}

/** A free instance that sends nothing else, at its full rate: of one core. */
const CORE_PART_MAX = 0.15
/** The least counts: whatever else the machine does, it can only add. */
const ROUNDS_MAX = 3
const WITHOUT_LIMIT = 1_000_000
/** Linux counts processor time in hundredths of a second: so much is measured to a few per cent. */
const MEASURED_US = 600_000
const REQUESTS_MIN = 5
const REQUESTS_MAX = 2_000
const IDLE_MS = 2_000
/** Of a core. */
const IDLE_PART_MAX = 0.05
const REST_TRIES_MAX = 10
const BURST = 2
/** Before a replica has heard of the new rate, every one is let in. */
const READS_MAX = 10_000
const MEASURE_TRIES_MAX = 10

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
    const units = await unitsOf(world, daemon, kind)
    for (let round = 1; round < ROUNDS_MAX && partOf(cost, units, perSecond) > CORE_PART_MAX; round += 1) {
      await setRate(world, [kind.service], WITHOUT_LIMIT)
      const again = await processorTime(world, daemon, kind)
      if (again.sum < cost.sum) cost = again
    }
    await setRate(world, [kind.service], perSecond)
    const part = partOf(cost, units, perSecond)
    report.promise(`the price of ${kind.name}`, part <= CORE_PART_MAX, figureOf(cost, units, perSecond))
    measured.push({ kind, cost })
  }
  return measured
}

/** For a daemon that charges otherwise: undefined when what was measured is paid all the same. */
export async function unpaid(
  world: World,
  daemon: LociProcess,
  { kind, cost }: Measured,
  perSecond: number,
): Promise<string | undefined> {
  const units = await unitsOf(world, daemon, kind)
  return partOf(cost, units, perSecond) > CORE_PART_MAX ? figureOf(cost, units, perSecond) : undefined
}

const partOf = ({ sum }: Total, units: number, perSecond: number) => (sum / units) * perSecond * 1e-6

function figureOf(cost: Total, units: number, perSecond: number): string {
  const part = partOf(cost, units, perSecond)
  return `${(part * 100).toFixed(1)} % of a core at the plan's full rate (at most ${CORE_PART_MAX * 100}): ${ms(cost.sum)} ms of processor (daemon ${ms(cost.daemon)}, PostgreSQL ${ms(cost.postgres)}) for ${units.toFixed(1)} units`
}

function plainRead({ service }: CostlyKind): CostlyKind {
  return {
    ...{ name: 'a plain read', method: 'GET', path: '/v1/kv/entries/none', service },
    tokens: [service.capability.token],
  }
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
  // The first one may read what is kept from then on.
  await sendOne(client, url, kind, numbers())
  const idlePart = await rest(world)
  const before = sample(world)
  let count = 0
  let after = before
  while (
    count < REQUESTS_MIN ||
    (after.daemon + after.postgres - before.daemon - before.postgres < MEASURED_US && count < REQUESTS_MAX)
  ) {
    count += 1
    await sendOne(client, url, kind, numbers())
    if (count >= REQUESTS_MIN) after = sample(world)
  }
  client.close()
  const us = after.atUs - before.atUs
  const daemon = (after.daemon - before.daemon - idlePart.daemon * us) / count
  const postgres = (after.postgres - before.postgres - idlePart.postgres * us) / count
  return { daemon, postgres, sum: daemon + postgres }
}

interface Cost {
  daemon: number
  postgres: number
}

type Total = Cost & { sum: number }

function sample(world: World): Cost & { atUs: number } {
  const { daemonUs, postgresUs } = cpuTime(world)
  return { daemon: daemonUs, postgres: postgresUs, atUs: performance.now() * 1_000 }
}

/** To a tenth or two: the clock goes on while the requests are under way. */
async function unitsOf(world: World, { url }: LociProcess, kind: CostlyKind): Promise<number> {
  const { service, burst = BURST } = kind
  const client = plainClient()
  const read = plainRead(kind)
  await setRate(world, [service], 1, burst)
  for (let tries = 1; tries <= MEASURE_TRIES_MAX; tries += 1) {
    const owed = await waitOf(client, url, read)
    // Until nothing is owed, so that what is owed afterwards is of the one request.
    await sleep(owed.waitMs + (owed.admitted + burst) * 1_000)
    const outcome = await client.send(url, requestOf(kind, numbers()))
    const answeredAt = performance.now()
    // A busy replica refused it, and may have charged some of it.
    if (outcome.kind !== 'answer' || outcome.status >= 429) continue
    const { waitMs, at, admitted } = await waitOf(client, url, read)
    client.close()
    return (waitMs + at - answeredAt) / 1_000 + (burst - 1) - admitted
  }
  throw new Error(`${kind.name}: no answer at one unit a second`)
}

/** Plain reads until one is refused: how many were let in, and how long that one is to wait. */
async function waitOf(client: PlainClient, url: string, read: CostlyKind) {
  for (let admitted = 0; admitted < READS_MAX; admitted += 1) {
    const outcome = await client.send(url, requestOf(read, 0))
    const at = performance.now()
    if (outcome.kind !== 'answer') throw new Error(`a plain read: ${JSON.stringify(outcome)}`)
    if (outcome.status !== 429) continue
    const { error } = JSON.parse(outcome.body) as { error: { retryAfterMs: number } }
    return { admitted, waitMs: error.retryAfterMs, at }
  }
  throw new Error(`the rate of ${read.service.serviceId} did not change`)
}

/** Again where the replica is busy, or something is still owed: that was no answer to measure. */
async function sendOne(client: PlainClient, url: string, kind: CostlyKind, n: number): Promise<void> {
  for (;;) {
    const outcome = await client.send(url, requestOf(kind, n))
    if (outcome.kind === 'answer' && (outcome.status === 200 || outcome.status === 404)) return
    if (outcome.kind === 'answer' && (outcome.status === 503 || outcome.status === 429)) {
      await sleep(Number(outcome.headers['retry-after'] ?? 1) * 1_000)
      continue
    }
    throw new Error(`${kind.name}: ${JSON.stringify(outcome).slice(0, 500)}`)
  }
}

function requestOf({ method, path, body, isPartner, tokens }: CostlyKind, n: number) {
  const token = tokens[n % tokens.length] as string
  return {
    ...{ method, path },
    headers: isPartner ? { authorization: `Bearer ${token}` } : { 'x-loci-capability': token },
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
