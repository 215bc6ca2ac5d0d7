// npm run bench -- services [--only list|create] [--services N] [--requests N] [--seconds N] [--rounds N]: the list of
// an organization that has a tenth of 10^6 services, against the same list in a database of 10^3; and a creation
// through HTTP as a ratio of pgbench that runs the same SQL bare. PostgreSQL is on disk, over the same socket, in
// turns.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startThrowaway } from '@loci/postgres/testing/throwaway.ts'
import { plainClient } from '@loci/tests/robustness/plain-client.ts'
import { addCallers, type WorldCaller } from '@loci/tests/world/callers.ts'
import type { LociProcess } from '@loci/tests/world/process.ts'
import { runSql } from '@loci/tests/world/sql.ts'
import { startWorld, type World } from '@loci/tests/world/world.ts'
import { runLoad } from './load.ts'
import { prepareParties, runBareCreations } from './services-bare.ts'
import { fillServices } from './services-data.ts'

const RATIO_MAX = 1.5
const FAR_MS_MAX = 40
const CREATE_RATIO_MIN = 0.5
const CLIENTS = [8, 16, 32]
const SMALL = 1_000
/** Those who create: as many as keep 32 clients from waiting for each other most of the time. */
const ORGANIZATIONS = 128
const KEYS_EACH = 2
const WARM_UP_SECONDS = 10
const LIMITED = 'three tenants of a limited key'

const { values: options } = parseArgs({
  options: {
    services: { type: 'string', default: '1000000' },
    requests: { type: 'string', default: '200' },
    seconds: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '5' },
    only: { type: 'string' },
  },
})
const services = Number(options.services)
const requests = Number(options.requests)
const seconds = Number(options.seconds)
const rounds = Number(options.rounds)

const directory = mkdtempSync(join(tmpdir(), 'loci-bench-'))
let passed = 0
let failed = 0
const worlds: World[] = []
try {
  const large = await openWorld('large')
  if (options.only !== 'create') await lists(large)
  if (options.only !== 'list') await creations(large)
  console.log(`${passed} passed, ${failed} failed`)
  process.exitCode = failed === 0 ? 0 : 1
} finally {
  await Promise.all(worlds.map((world) => world.stop()))
  rmSync(directory, { recursive: true, force: true })
}

async function openWorld(name: string): Promise<World> {
  const postgres = await startThrowaway({ directory: `${directory}-${name}` })
  const world = await startWorld({ asShipped: true, replicas: 0, postgres, settings: { LOCI_LOG_LEVEL: 'info' } })
  worlds.push(world)
  return world
}

function verdict(isGood: boolean, line: string): void {
  if (isGood) passed += 1
  else failed += 1
  console.log(`${isGood ? 'ok    ' : 'FAILED'} ${line}`)
}

// ── lists
// ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────

interface Party {
  world: World
  callers: WorldCaller[]
  tenants: string[]
}

async function lists(world: World): Promise<void> {
  const small = await openParty(await openWorld('small'), SMALL, 1, 10)
  const startedAt = performance.now()
  const large = await openParty(world, services, 10, 128)
  console.log(`${services} services in ${((performance.now() - startedAt) / 1000).toFixed(0)} s`)
  const filters: [string, (tenants: string[]) => Record<string, string>][] = [
    ['no filter', () => ({})],
    ['tenant', ([tenant]) => ({ tenant_id: tenant as string })],
    ['type memory', () => ({ service_type: 'memory' })],
    ['type kv', () => ({ service_type: 'kv' })],
    ['status active', () => ({ status: 'active' })],
    ['status failed', () => ({ status: 'failed' })],
    ['status deleted', () => ({ status: 'deleted' })],
    ['type, status', () => ({ service_type: 'memory', status: 'active' })],
    ['type, status, rare', () => ({ service_type: 'kv', status: 'failed' })],
    ['tenant, type', ([, tenant]) => ({ tenant_id: tenant as string, service_type: 'kv' })],
    ['tenant, status', ([, tenant]) => ({ tenant_id: tenant as string, status: 'suspended' })],
    [LIMITED, () => ({})],
    ['tenant, type, status', ([, tenant]) => ({ tenant_id: tenant as string, service_type: 'kv', status: 'active' })],
  ]
  for (const [at, [name, filterOf]] of filters.entries()) {
    const askers: Asker[] = []
    for (const party of [large, small]) {
      const only = name === LIMITED ? party.tenants.slice(0, 3) : undefined
      if (only) await limitKey(party, at, only)
      askers.push(askerOf(party, at, filterOf(party.tenants), only))
    }
    const [ofLarge, ofSmall] = (await alternate(askers)) as [Times, Times]
    const ratio = ofLarge.p50Ms / ofSmall.p50Ms
    verdict(
      ratio <= RATIO_MAX,
      `list, ${name}: p50 ${ofLarge.p50Ms.toFixed(2)} ms (p95 ${ofLarge.p95Ms.toFixed(2)}) of ${ofLarge.total}, ${ofSmall.p50Ms.toFixed(2)} ms of ${ofSmall.total}; ratio ${ratio.toFixed(2)} (target ${RATIO_MAX})`,
    )
  }
  const far: [string, Record<string, string>][] = [
    ['no filter', {}],
    ['type', { service_type: 'memory' }],
    ['status', { status: 'active' }],
    ['type, status', { service_type: 'memory', status: 'active' }],
  ]
  for (const [at, [name, filter]] of far.entries()) {
    const offset = String(services / 20)
    const [times] = (await alternate([askerOf(large, filters.length + at, { ...filter, offset })])) as [Times]
    verdict(
      times.p50Ms <= FAR_MS_MAX && times.p95Ms <= FAR_MS_MAX,
      `list from ${offset}, ${name}: p50 ${times.p50Ms.toFixed(1)} ms, p95 ${times.p95Ms.toFixed(1)} ms (target ${FAR_MS_MAX} ms)`,
    )
  }
}

/** A key for each measurement: the limit of a minute's reads stays in force. */
async function openParty(world: World, count: number, oneIn: number, tenantCount: number): Promise<Party> {
  const callers = await addCallers(world, { organizations: 1, each: 20, name: 'lists' })
  const [another] = await addCallers(world, { organizations: 1, each: 1, name: 'another' })
  const { organizationId } = callers[0] as WorldCaller
  const fill = { services: count, oneIn, tenants: tenantCount, organizationId }
  const tenants = await fillServices(world.postgres, oneIn === 1 || !another ? fill : { ...fill, another })
  return { world, callers, tenants }
}

async function limitKey({ world, callers }: Party, at: number, tenants: string[]): Promise<void> {
  const url = world.postgres.adminUrl('loci_control')
  await runSql(url, 'update loci.api_keys set tenant_ids = $2 where id = $1', [callers[at]?.id, tenants])
}

interface Times {
  p50Ms: number
  p95Ms: number
  total: number
}

interface Asker {
  ask(): Promise<number>
  /** Of the table itself. */
  expected(): Promise<number>
}

function askerOf({ world, callers }: Party, at: number, query: Record<string, string>, only?: string[]): Asker {
  const { apiKey, organizationId } = callers[at] as WorldCaller
  const client = plainClient()
  const path = `/api/v1/services?${new URLSearchParams({ limit: '20', ...query })}`
  return {
    async ask() {
      const outcome = await client.send(world.management?.url as string, {
        method: 'GET',
        path,
        headers: { 'x-api-key': apiKey },
      })
      if (outcome.kind !== 'answer' || outcome.status !== 200) throw new Error(`${path}: ${JSON.stringify(outcome)}`)
      const { services: page, pagination } = JSON.parse(outcome.body)
      if (page.length !== Math.min(20, pagination.total))
        throw new Error(`${path}: ${page.length} services in the page`)
      return pagination.total as number
    },
    async expected() {
      const { offset: _, ...filter } = query
      const conditions = Object.entries(filter).map(([column, value]) => `${column} = '${value}'`)
      if (only) conditions.push(`tenant_id in ('${only.join(`','`)}')`)
      if (!filter.status) conditions.push(`status <> 'deleted'`)
      const [row] = await runSql<{ count: number }>(
        world.postgres.adminUrl('loci_control'),
        `select count(*)::int as count from loci.services where organization_id = $1 and ${conditions.join(' and ')}`,
        [organizationId],
      )
      return row?.count as number
    },
  }
}

/** One request of each in turn, after some that are not counted. Throws when a total is not exact. */
async function alternate(askers: Asker[]): Promise<Times[]> {
  const times = askers.map(() => [] as number[])
  const totals = await Promise.all(askers.map(({ expected }) => expected()))
  for (let n = -20; n < requests; n += 1) {
    for (const [at, { ask }] of askers.entries()) {
      const startedAt = performance.now()
      const total = await ask()
      if (n >= 0) times[at]?.push(performance.now() - startedAt)
      if (total !== totals[at]) throw new Error(`the total is ${total} where there are ${totals[at]}`)
    }
  }
  return times.map((of, at) => {
    const sorted = of.toSorted((a, b) => a - b)
    const share = (part: number) => sorted[Math.floor(sorted.length * part)] as number
    return { p50Ms: share(0.5), p95Ms: share(0.95), total: totals[at] as number }
  })
}

// ── creations
// ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

async function creations(world: World): Promise<void> {
  const callers = await addCallers(world, { organizations: ORGANIZATIONS, each: KEYS_EACH, name: 'makers' })
  const control = world.postgres.adminUrl('loci_control')
  // Room for all of them, so that placing them costs what it costs.
  await runSql(control, 'update loci.cells set capacity = 100000000')
  await prepareParties(control, callers)
  // A process that has just started compiles as it goes, and a creation is long.
  await create(world, callers, 16, 'warm-up', WARM_UP_SECONDS)
  await settled(control)
  const bare: number[] = []
  const ours: number[] = []
  console.log('\ncreate   round   clients   bare/s   clients   ours/s   p50 ms   p99 ms   ratio')
  for (let round = 1; round <= rounds; round += 1) {
    let bestBare = { clients: 0, perSecond: 0 }
    let bestOurs = { clients: 0, perSecond: 0, p50Ms: 0, p99Ms: 0 }
    for (const clients of CLIENTS) {
      const perSecond = await runBareCreations(world.postgres, directory, { clients, seconds, parties: ORGANIZATIONS })
      if (perSecond > bestBare.perSecond) bestBare = { clients, perSecond }
      const own = await create(world, callers, clients, `${round}-${clients}`)
      if (own.perSecond > bestOurs.perSecond) bestOurs = { ...own, clients }
      await settled(control)
    }
    bare.push(bestBare.perSecond)
    ours.push(bestOurs.perSecond)
    const cells = [
      round,
      bestBare.clients,
      Math.round(bestBare.perSecond),
      bestOurs.clients,
      Math.round(bestOurs.perSecond),
      bestOurs.p50Ms.toFixed(2),
      bestOurs.p99Ms.toFixed(2),
      (bestOurs.perSecond / bestBare.perSecond).toFixed(2),
    ]
    console.log(`         ${cells.map((cell) => String(cell).padStart(8)).join(' ')}`)
  }
  const ratio = median(ours) / median(bare)
  verdict(
    ratio >= CREATE_RATIO_MIN,
    `create: medians bare ${Math.round(median(bare))}/s, ours ${Math.round(median(ours))}/s; ratio ${ratio.toFixed(2)} (target ${CREATE_RATIO_MIN})`,
  )
}

async function create(world: World, callers: WorldCaller[], connections: number, name: string, forSeconds = seconds) {
  // The limit of a caller stays in force; each run begins with all of it.
  await runSql(world.postgres.adminUrl('loci_control'), 'truncate loci.rate_limits')
  const result = await runLoad({
    url: (world.management as LociProcess).url,
    method: 'POST',
    path: '/api/v1/services',
    variants: 20_000,
    once: true,
    headers: {
      'x-api-key': callers.map(({ apiKey }) => apiKey),
      'idempotency-key': `${name}-{n}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify({ service_type: 'memory', name: 'bench', plan: 'pro' }),
    connections,
    seconds: forSeconds,
    warmUpSeconds: 0.3,
  })
  if (result.errors > 0 || result.requests !== result.statuses['202'])
    throw new Error(`not every answer was a 202: ${JSON.stringify(result)}`)
  return result
}

/** What was created is being placed in the background; the next run must not pay for it. */
async function settled(control: string): Promise<void> {
  for (;;) {
    const [row] = await runSql<{ count: number }>(
      control,
      `select count(*)::int as count from loci.services s join loci.due_services d on d.service_id = s.id
      where s.status = 'provisioning' and s.cell_id is null and d.due_at < now() + interval '1 minute'`,
    )
    if (row?.count === 0) return
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] as number
}
