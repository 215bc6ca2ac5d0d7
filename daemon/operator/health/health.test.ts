import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { SUBSERVICE_NAMES } from '@loci/contract/subservices.ts'
import { openPool } from '@loci/postgres/pool.ts'
import { PATIENT, testServer } from '@loci/postgres/testing/database.ts'
import { testDaemon } from '../../testing/daemon.ts'

interface HealthAll {
  status: string
  checks: Record<string, { status: string; latencyMs?: number }>
  latencyMs: number
  timestamp: string
}

test('a daemon that has started is live, ready and started, under both prefixes', async () => {
  await using daemon = await testDaemon()
  for (const prefix of ['', '/v1']) {
    assert.deepEqual((await daemon.get(`${prefix}/health/live`)).json(), { status: 'ok' })
    assert.deepEqual((await daemon.get(`${prefix}/health/ready`)).json(), { status: 'ok' })
    const { status, services } = (await daemon.get(`${prefix}/health/startup`)).json<{
      status: string
      services: object
    }>()
    assert.equal(status, 'ok')
    assert.deepEqual(Object.keys(services).sort(), SUBSERVICE_NAMES.toSorted())
  }
})

test('/v1/health/all checks PostgreSQL and shows each sub-service', async () => {
  await using daemon = await testDaemon()
  const { status, checks } = (await daemon.get('/v1/health/all')).json<HealthAll>()
  assert.equal(status, 'ok')
  assert.equal(checks.postgres?.status, 'ok')
  assert.ok(Number(checks.postgres?.latencyMs) > 0)
  assert.deepEqual(Object.keys(checks).sort(), ['postgres', ...SUBSERVICE_NAMES].sort())
  assert.equal(checks.kv?.status, 'running')
})

// Mutant: no cachedFor() around the ping in app.ts: two hundred latencies.
test('however many ask /v1/health/all at once, PostgreSQL is asked once a second', async () => {
  await using daemon = await testDaemon()
  const startedAt = performance.now()
  const answers = await Promise.all(Array.from({ length: 200 }, () => daemon.get('/v1/health/all')))
  const seconds = (performance.now() - startedAt) / 1000
  const latencies = new Set(answers.map((answer) => answer.json<HealthAll>().checks.postgres?.latencyMs))
  assert.ok(
    latencies.size <= Math.ceil(seconds) + 1,
    `${latencies.size} different latencies in ${seconds.toFixed(1)} s`,
  )
})

test('a sub-service that is switched off is shown as disabled, and the daemon stays ready', async () => {
  await using daemon = await testDaemon()
  await daemon.admin('POST /admin/services/disable', { services: ['mcp'] })
  const { status, checks } = (await daemon.get('/v1/health/all')).json<HealthAll>()
  assert.deepEqual([status, checks.mcp?.status], ['ok', 'disabled'])
  assert.deepEqual((await daemon.get('/health/ready')).json(), { status: 'ok' })
})

test('without its database the daemon is degraded, alive, and refuses by name; with it again it heals by itself', async () => {
  await using daemon = await testDaemon()
  const name = daemon.database.name
  await asAdmin(
    `alter database ${name} allow_connections false`,
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`,
  )

  const ready = await until(async () => {
    const answer = await daemon.get('/health/ready')
    return answer.text.includes('degraded') && answer
  })
  assert.equal(ready.status, 200, 'no other replica would do better')
  assert.equal((await daemon.get('/health/live')).status, 200)
  const all = (await daemon.get('/v1/health/all')).json<HealthAll>()
  assert.deepEqual([all.status, all.checks.postgres?.status], ['degraded', 'down'])
  assert.match((await daemon.get('/metrics')).text, /^loci_degraded 1$/m)
  const refused = await daemon.admin('GET /admin/services/status')
  assert.deepEqual(
    [refused.status, refused.error.code, refused.headers['retry-after']],
    [503, 'STORE_UNAVAILABLE', '1'],
  )
  const { reasons } = (await daemon.get('/v1/lifecycle/status')).json<{ reasons: string[] }>()
  assert.match(String(reasons[0]), /^postgres: /)

  await asAdmin(`alter database ${name} allow_connections true`)
  await until(async () => (await daemon.get('/health/ready')).text === '{"status":"ok"}')
  assert.equal((await daemon.admin('GET /admin/services/status')).status, 200)
})

/** From another database: one that is closed lets not even its superuser in. */
async function asAdmin(...statements: string[]): Promise<void> {
  const { adminUrl } = await testServer()
  const pool = openPool({
    ...PATIENT,
    url: adminUrl,
    applicationName: 'loci-test',
    connectionsMax: 1,
    onError: () => {},
  })
  for (const text of statements) await pool.query({ text })
  await pool.close()
}

async function until<Value>(look: () => Promise<Value | false>, withinMs = 60_000): Promise<Value> {
  const end = Date.now() + withinMs
  for (;;) {
    const found = await look()
    if (found !== false) return found
    if (Date.now() > end) throw new Error(`not within ${withinMs} ms: ${look}`)
    await sleep(50)
  }
}

// Measured from outside: `schema 4 on PostgreSQL 15.18 (Debian 15.18-0+deb12u1)`. Mutant: the version in the reason of
// `warming`.
test('open routes do not reveal the version of the database server', async () => {
  await using daemon = await testDaemon()
  const [{ version } = { version: '' }] = await daemon.sql<{ version: string }>(
    `select current_setting('server_version') as version`,
  )
  for (const path of ['/v1/lifecycle/status', '/v1/health/all', '/health/startup', '/health/ready']) {
    const { text } = await daemon.get(path)
    assert.ok(!text.includes(version) && !/PostgreSQL|Debian/.test(text), `${path}: ${text}`)
  }
  await daemon.logged(({ message, reason }) => message === 'database ready' && String(reason).includes(version))
})

test('the lifecycle shows how the daemon became ready', async () => {
  await using daemon = await testDaemon()
  const status = (await daemon.get('/v1/lifecycle/status')).json<{
    state: string
    acceptingRequests: boolean
    transitions: { to: string }[]
    drain: { deadline: string | null; inFlight: number }
  }>()
  assert.deepEqual([status.state, status.acceptingRequests, status.drain.deadline], ['ready', true, null])
  assert.deepEqual(
    status.transitions.map(({ to }) => to),
    ['starting', 'migrating', 'warming', 'ready'],
  )
  assert.equal(status.drain.inFlight, 1, 'the request that asks')
})

test('metrics count requests by template, and no probe names an id or a tenant', async () => {
  await using daemon = await testDaemon()
  await daemon.get('/v1/nothing/ten_canary')
  await daemon.get('/health/live')
  await daemon.logged(({ route }) => route === 'unmatched')
  const { text } = await daemon.get('/metrics')
  assert.match(text, /route="unmatched"/)
  assert.match(text, /^loci_ready 1$/m)
  assert.match(text, /^loci_degraded 0$/m)
  assert.doesNotMatch(text, /canary/)
})

test('a draining daemon says so, and ends what runs', async () => {
  await using daemon = await testDaemon()
  daemon.daemon.lifecycle.beginDrain('SIGTERM', { graceMs: 60_000, deadlineMs: 60_000 })
  const ready = await daemon.get('/health/ready')
  assert.deepEqual([ready.status, ready.json().status], [503, 'draining'])
  assert.equal((await daemon.admin('GET /admin/services/status')).status, 200, 'still within the grace')
  assert.equal((await daemon.get('/v1/health/all')).json().status, 'draining')
})

test('/openapi.json documents every registered route, and its references resolve', async () => {
  await using daemon = await testDaemon()
  const document = (await daemon.get('/openapi.json')).json<{
    paths: Record<string, Record<string, unknown>>
    components: { schemas: Record<string, unknown>; securitySchemes: Record<string, unknown> }
  }>()
  const documented = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
  )
  const registered = daemon.daemon.routes.map(({ spec }) => `${spec.method} ${spec.path}`)
  assert.deepEqual(documented.sort(), registered.sort())
  for (const [, ref] of JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/([^"]*)"/g))
    assert.ok(document.components.schemas[String(ref)], ref)
  for (const { spec } of daemon.daemon.routes)
    for (const scheme of spec.access.schemes.flat()) assert.ok(document.components.securitySchemes[scheme], scheme)
})

test('/docs has a content security policy that allows nothing', async () => {
  await using daemon = await testDaemon()
  const { status, headers, text } = await daemon.get('/docs')
  assert.equal(status, 200)
  assert.match(String(headers['content-security-policy']), /^default-src 'none'/)
  assert.match(text, /\/admin\/services\/status/)
})
