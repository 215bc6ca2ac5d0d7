// With PostgreSQL silent, refusing or resetting, or management silent, everything is answered within its deadline, as
// what it is: never 401, no empty list, a write under way as 500 OUTCOME_UNKNOWN and nothing else as 500; no connection
// is cut by us, and a refused write has no effect. Healed within a second.

import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Fault, startFaultProxy } from '../robustness/fault-proxy.ts'
import { type Outcome, type PlainRequest, plainClient } from '../robustness/plain-client.ts'
import { startProbe } from '../robustness/probe.ts'
import { starvation } from '../robustness/starvation.ts'
import { plantMutant } from '../world/mutant.ts'
import { type LociProcess, untilReady } from '../world/process.ts'
import { type Report, reportOn } from '../world/report.ts'
import { addTenant, type WorldTenant } from '../world/tenants.ts'
import { startWorld, type World } from '../world/world.ts'

const isShort = process.argv.includes('--short')
const FAULTS: Fault[] = isShort ? ['hole', 'refuse'] : ['hole', 'refuse', 'reset', 'hole']
const FAULT_MS = isShort ? 5_500 : 9_000
const ANSWER_MS_MAX = 3_500
const LIVE_MS_MAX = 100
const DEGRADED_MS_MAX = 5_000
const HEALED_MS_MAX = 1_000
const CLIENTS = isShort ? 24 : 48
/** A client sends up to 50 requests a second, that is 200 units with the consistency calls; a plan pays for 5,000. */
const CLIENTS_PER_TENANT = 12
const LISTED = 50
const UNKNOWN = '500 OUTCOME_UNKNOWN'

interface Asked {
  name: string
  isWrite: boolean
  startedAt: number
  ms: number
  /** Of that, how long the daemon or this process was ready to run and other work of the machine had the processor. */
  starvedMs: number
  outcome: Outcome
  /** Of a write that can be looked up afterwards. */
  key?: string
  tenant: WorldTenant
}

interface Fixture {
  daemon: LociProcess
  tenants: [WorldTenant, ...WorldTenant[]]
  adminToken: string
}

await reportOn(async (report) => {
  const toManagement = await startFaultProxy(() => Number(new URL(world.management?.url as string).port))
  const managementUrl = `http://127.0.0.1:${toManagement.port}`
  const settings = { LOCI_PUBLIC_URL: managementUrl, LOCI_MANAGEMENT_URL: managementUrl }
  const world: World = await startWorld({ asShipped: true, replicas: 0, settings })
  const toPostgres = await startFaultProxy(() => world.postgres.port)
  const database = { LOCI_DATABASE_URL: `postgres://loci_daemon@127.0.0.1:${toPostgres.port}/loci_cell` }
  try {
    const daemon = await world.startDaemon(database)
    const tenants: Fixture['tenants'] = [await addTenant(world, { name: 'acme', plan: 'enterprise' })]
    while (tenants.length < CLIENTS / CLIENTS_PER_TENANT)
      tenants.push(await addTenant(world, { name: `acme-${tenants.length}`, plan: 'enterprise' }))
    const fixture = { daemon, tenants, adminToken: world.adminToken }
    for (const tenant of tenants) await fill(daemon, tenant)
    for (const fault of FAULTS) await storePartitioned(report, fixture, toPostgres, fault)
    await managementPartitioned(report, fixture, toManagement)
    await mutants(report, world, fixture, toPostgres, database)
  } finally {
    await toPostgres.set('pass')
    await world.stop()
    await toPostgres.close()
    await toManagement.close()
  }
})

async function storePartitioned(
  report: Report,
  fixture: Fixture,
  proxy: Awaited<ReturnType<typeof startFaultProxy>>,
  fault: Fault,
): Promise<void> {
  const { asked, degradedMs, healed, live } = await suffer(fixture, proxy, fault, FAULT_MS)
  const inMs = await bounds(report)
  const faults = faultsOf(asked, inMs.answer.ms)
  for (const line of [...new Set(faults)].slice(0, 8)) report.note(line)
  const kinds = Object.entries(Object.groupBy(asked, ({ outcome }) => kindOf(outcome)))
  report.note(`${fault}: ${kinds.map(([kind, list]) => `${list?.length} × ${kind}`).join(', ')}`)
  const slowest = asked.toSorted((a, b) => b.ms - a.ms)[0]
  report.promise(
    `${fault}: every route answers as what it is`,
    faults.length === 0,
    `${faults.length} wrong of ${asked.length}, slowest ${Math.round(slowest?.ms ?? 0)} ms (${slowest?.name}; ${inMs.answer.text})`,
  )
  const cut = asked.filter(({ outcome }) => outcome.kind !== 'answer').length
  const unknown = asked.filter(({ outcome }) => kindOf(outcome) === UNKNOWN).length
  report.promise(
    `P2, ${fault}: every write is answered, those under way as of unknown outcome; no connection is cut by us`,
    cut === 0,
    `${cut} connections cut, ${unknown} writes answered ${UNKNOWN}`,
  )
  const risen = await lookUp(fixture, asked)
  report.promise(`${fault}: a refused write has no effect`, risen.length === 0, `${risen.length} of them are there`)
  report.promise(
    `${fault}: the live probe`,
    live.failed === 0 && live.p99Ms <= inMs.live.ms,
    `p99 ${live.p99Ms} ms (${inMs.live.text}), worst ${live.worstMs} ms, ${live.failed} of ${live.count} failed`,
  )
  if (degradedMs > DEGRADED_MS_MAX / 2) {
    const status = await fetch(`${fixture.daemon.url}/v1/lifecycle/status`)
    report.note(JSON.stringify(((await status.json()) as { transitions: unknown[] }).transitions.slice(-4)))
  }
  report.promise(
    `${fault}: readiness says degraded`,
    degradedMs <= inMs.degraded.ms,
    `after ${Math.round(degradedMs)} ms (${inMs.degraded.text})`,
  )
  report.promise(
    `${fault}: healed`,
    Object.values(healed).every((ms) => ms <= inMs.healed.ms),
    `${Object.entries(healed)
      .map(([what, ms]) => `${what} ${Math.round(ms)} ms`)
      .join(', ')} (${inMs.healed.text})`,
  )
}

async function suffer(
  fixture: Fixture,
  proxy: Awaited<ReturnType<typeof startFaultProxy>>,
  fault: Fault,
  forMs: number,
) {
  const { url, pid } = fixture.daemon
  const asked: Asked[] = []
  let isOver = false
  const clients = Array.from({ length: CLIENTS }, async (_, number) => {
    const client = plainClient()
    const tenant = nth(fixture.tenants, number)
    for (let turn = number; !isOver; turn += 1) {
      const one = nth(requestsOf(tenant, fixture.adminToken), turn)
      const startedAt = performance.now()
      const starved = starvation([pid, process.pid])
      const outcome = await client.send(url, one.request)
      asked.push({ ...one, tenant, startedAt, ms: performance.now() - startedAt, starvedMs: starved(), outcome })
      await sleep(20)
    }
    client.close()
  })
  await sleep(300)
  const live = startProbe(url, pid, { method: 'GET', path: '/health/live' })
  const brokenAt = performance.now()
  await proxy.set(fault)
  const degradedMs = await until(fixture, { method: 'GET', path: '/health/ready' }, /"degraded"/, forMs)
  await sleep(Math.max(0, forMs - (performance.now() - brokenAt)))
  isOver = true
  await proxy.set('pass')
  const { read, write } = named(fixture)
  const [ready, reads, writes] = await Promise.all([
    until(fixture, { method: 'GET', path: '/health/ready' }, /"ok"/, 10_000),
    until(fixture, read, /"version"/, 10_000),
    until(fixture, write, /"version"/, 10_000),
  ])
  await Promise.all(clients)
  const during = asked.filter(({ startedAt, ms }) => startedAt + ms > brokenAt)
  return { asked: during, degradedMs, healed: { ready, reads, writes }, live: await live.stop() }
}

/** The promises about time, by how busy the machine is with other work now that ours rests. */
async function bounds(report: Report) {
  const answer = await report.within(ANSWER_MS_MAX)
  const live = await report.within(LIVE_MS_MAX)
  const degraded = await report.within(DEGRADED_MS_MAX)
  return { answer, live, degraded, healed: await report.within(HEALED_MS_MAX) }
}

function faultsOf(asked: Asked[], msMax: number): string[] {
  return asked.flatMap(({ name, ms, starvedMs, isWrite, outcome }) => {
    const wrong = wrongOf(name, outcome, isWrite) ?? (ms - starvedMs > msMax ? `took ${Math.round(ms)} ms` : undefined)
    return wrong === undefined ? [] : [`${name}: ${wrong}`]
  })
}

function wrongOf(name: string, outcome: Outcome, isWrite: boolean): string | undefined {
  if (outcome.kind !== 'answer') return `ended without an answer (${kindOf(outcome)})`
  if (isWrite && kindOf(outcome) === UNKNOWN) return undefined
  const { status, headers, body } = outcome
  if (status === 503) {
    const code = /"code":"(\w+)"/.exec(body)?.[1] ?? ''
    if (!['STORE_UNAVAILABLE', 'OVERLOADED'].includes(code)) return `503 ${code}`
    return headers['retry-after'] ? undefined : '503 without Retry-After'
  }
  // A deletion of unknown outcome may have been done: then there is nothing left to delete.
  if (status === 404 && name === 'delete') return undefined
  if (status !== 200) return `${status} ${body.slice(0, 120)}`
  if (name === 'list' && (JSON.parse(body) as { entries: unknown[] }).entries.length !== LISTED)
    return 'the list is not whole'
  return undefined
}

function kindOf(outcome: Outcome): string {
  if (outcome.kind !== 'answer') return outcome.kind === 'silence' ? `no answer (${outcome.reason})` : outcome.kind
  return `${outcome.status} ${outcome.status === 200 ? '' : (/"code":"(\w+)"/.exec(outcome.body)?.[1] ?? '')}`.trim()
}

/** The keys of writes that were told 503 and are there all the same. */
async function lookUp({ daemon }: Fixture, asked: Asked[]): Promise<string[]> {
  // What the partition held back has arrived by now, if it ever does.
  await sleep(500)
  const client = plainClient()
  const risen: string[] = []
  for (const { key, outcome, tenant } of asked) {
    if (key === undefined || outcome.kind !== 'answer' || outcome.status !== 503) continue
    const found = await client.send(daemon.url, {
      method: 'GET',
      path: `/v1/kv/entries/${key}`,
      headers: { 'x-loci-capability': tenant.capability.token, 'x-loci-database': 'written' },
    })
    if (found.kind !== 'answer' || found.status !== 404) risen.push(`${key}: ${kindOf(found)}`)
  }
  client.close()
  return risen
}

async function until({ daemon }: Fixture, request: PlainRequest, fits: RegExp, withinMs: number): Promise<number> {
  const startedAt = performance.now()
  const client = plainClient()
  for (;;) {
    const outcome = await client.send(daemon.url, request)
    const ms = performance.now() - startedAt
    if ((outcome.kind === 'answer' && fits.test(outcome.body)) || ms > withinMs) {
      client.close()
      return ms
    }
    await sleep(20)
  }
}

function named({ tenants: [tenant] }: Fixture) {
  const headers = { 'x-loci-capability': tenant.capability.token }
  return {
    read: { method: 'GET', path: '/v1/kv/entries/k1', headers },
    write: {
      method: 'PUT',
      path: '/v1/kv/entries/healed',
      headers: { ...headers, 'x-loci-database': 'written' },
      body: '{"value":1}',
    },
  }
}

function requestsOf(
  tenant: WorldTenant,
  adminToken: string,
): { name: string; isWrite: boolean; request: PlainRequest; key?: string }[] {
  const headers = { 'x-loci-capability': tenant.operator.token }
  const written = { ...headers, 'x-loci-database': 'written' }
  const admin = { 'x-loci-admin-token': adminToken }
  const key = randomUUID()
  const get = (name: string, path: string, sent: Record<string, string> = {}) => ({
    name,
    isWrite: false,
    request: { method: 'GET', path, headers: sent },
  })
  return [
    get('read', '/v1/kv/entries/k1', headers),
    {
      name: 'put',
      isWrite: true,
      key,
      request: { method: 'PUT', path: `/v1/kv/entries/${key}`, headers: written, body: '{"value":1}' },
    },
    get('list', '/v1/kv/entries?limit=100', headers),
    {
      name: 'batch',
      isWrite: true,
      key,
      request: {
        method: 'POST',
        path: '/v1/kv/entries/batch',
        headers: { ...written, 'idempotency-key': key },
        body: JSON.stringify({ operations: [{ op: 'put', key, value: 2 }] }),
      },
    },
    get('read again', '/v1/kv/entries/k2', headers),
    {
      name: 'delete',
      isWrite: true,
      request: { method: 'DELETE', path: '/v1/kv/entries/healed', headers: { ...written, 'x-loci-database': 'gone' } },
    },
    get('kv health', '/v1/kv/health', headers),
    get('kv consistency', '/v1/kv/consistency', headers),
    get('audit', '/v1/audit', headers),
    get('system info', '/v1/system/info', headers),
    get('health all', '/v1/health/all'),
    get('ready', '/health/ready'),
    get('startup', '/health/startup'),
    get('switches', '/admin/services/status', admin),
    {
      name: 'revoke',
      isWrite: true,
      request: {
        method: 'POST',
        path: '/admin/revocations',
        headers: admin,
        body: JSON.stringify({ jti: `cap_${'0'.repeat(26)}` }),
      },
    },
  ]
}

async function fill(daemon: LociProcess, tenant: WorldTenant): Promise<void> {
  const client = plainClient()
  const operations = Array.from({ length: LISTED }, (_, n) => ({ op: 'put', key: `k${n}`, value: n }))
  for (const [database, list] of [
    ['default', operations],
    ['written', operations.slice(0, 1)],
    ['gone', [...operations.slice(0, 1), { op: 'put', key: 'healed', value: 1 }]],
  ] as const) {
    const outcome = await client.send(daemon.url, {
      method: 'POST',
      path: '/v1/kv/entries/batch',
      headers: { 'x-loci-capability': tenant.capability.token, 'x-loci-database': database },
      body: JSON.stringify({ operations: list }),
    })
    if (outcome.kind !== 'answer' || outcome.status !== 200) throw new Error(`filling: ${JSON.stringify(outcome)}`)
  }
  client.close()
}

async function managementPartitioned(
  report: Report,
  fixture: Fixture,
  proxy: Awaited<ReturnType<typeof startFaultProxy>>,
): Promise<void> {
  const client = plainClient()
  const { url } = fixture.daemon
  const { read, write } = named(fixture)
  await proxy.set('hole')
  const kinds = new Map<string, number>()
  const startedAt = performance.now()
  while (performance.now() - startedAt < (isShort ? 2_000 : 25_000)) {
    for (const request of [read, write, { method: 'GET', path: '/health/ready' }]) {
      const kind = kindOf(await client.send(url, request))
      kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
    }
    await sleep(20)
  }
  report.promise(
    'management silent: the cell goes on',
    [...kinds.keys()].join() === '200',
    [...kinds].map(([kind, count]) => `${count} × ${kind}`).join(', '),
  )
  const token = fixture.tenants[0].capability.token
  const { jti } = JSON.parse(Buffer.from(token.split('~')[0]?.split('.')[1] ?? '', 'base64url').toString('utf8'))
  const revoked = await client.send(url, {
    method: 'POST',
    path: '/admin/revocations',
    headers: { 'x-loci-admin-token': fixture.adminToken },
    body: JSON.stringify({ jti }),
  })
  const revokedAt = performance.now()
  let after = ''
  while (!after.startsWith('401') && performance.now() - revokedAt < 5_000) after = kindOf(await client.send(url, read))
  report.promise(
    'management silent: a revocation by the administration holds',
    kindOf(revoked) === '200' && after === '401 CAPABILITY_REVOKED',
    `${kindOf(revoked)}, then ${after} after ${Math.round(performance.now() - revokedAt)} ms`,
  )
  await proxy.set('pass')
  client.close()
}

async function mutants(
  report: Report,
  world: World,
  fixture: Fixture,
  proxy: Awaited<ReturnType<typeof startFaultProxy>>,
  database: Record<string, string>,
): Promise<void> {
  await using mutant = await plantMutant([
    { file: 'libs/postgres/pool.ts', from: '    connectionTimeoutMillis: connectMs,\n', to: '' },
    {
      file: 'libs/postgres/pool.ts',
      from: '    ...(statementMs > 0 && { statement_timeout: statementMs, query_timeout: statementMs + SILENCE_MS }),\n',
      to: '',
    },
  ])
  const daemon = await mutant.startProgram('daemon', world.daemonSettings(database))
  await untilReady(daemon.url)
  const { asked, degradedMs } = await suffer({ ...fixture, daemon }, proxy, 'hole', 5_500)
  const faults = faultsOf(asked, ANSWER_MS_MAX)
  report.mutant(
    'the driver’s own timeouts',
    faults.length > 0
      ? `${faults.length} wrong of ${asked.length}, e.g. ${faults[0]}; degraded ${Math.round(degradedMs)} ms`
      : undefined,
  )
  await daemon.kill()
}

function nth<Item>(items: Item[], turn: number): Item {
  return items[turn % items.length] as Item
}
