import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask, eventually } from '@loci/chassis/testing/request.ts'
import { loggedIn, testLog } from '@loci/chassis/testing/server.ts'
import { openPool } from '@loci/postgres/pool.ts'
import { PATIENT, testServer } from '@loci/postgres/testing/database.ts'
import { createDaemon } from '../../app.ts'
import { testDaemon, testSettings } from '../../testing/daemon.ts'
import { addTenant } from '../../testing/tenant.ts'

interface HealthAll {
  status: string
  checks: Record<string, { status: string; detail?: string }>
}

// Measured from outside: 500 "The request failed" and a stack for each poll, for as long as PostgreSQL was away.
// Mutants: states.of() without isRead(); isStarted of a process that only drains.
test('a daemon whose database is away from the very start answers every open route, without an error line', async () => {
  const { lines, log } = testLog()
  const settings = testSettings('postgres://loci_daemon@127.0.0.1:1/loci_cell', `loci_adm_${'x'.repeat(43)}`)
  const daemon = await createDaemon({ settings, log, version: '0.0.0-test', verifyAnswers: true })
  const started = daemon.start()
  await using _ = {
    async [Symbol.asyncDispose]() {
      await Promise.all(daemon.servers.map((server) => server.close(0)))
      await daemon.close()
      await started
    },
  }
  const { url } = (await loggedIn(lines, ({ message }) => message === 'listening')) as unknown as { url: string }
  // Documents may wait: they need no store, and nobody needs them to mend one.
  const isDocument = ({ tag, path }: { tag: string; path: string }) =>
    tag === 'documents' || path.startsWith('/.well-known/')
  const open = daemon.routes.filter(({ spec }) => spec.access.class === 'open' && !isDocument(spec))
  assert.ok(open.length >= 9, String(open.length))

  const statuses = Object.fromEntries(
    await Promise.all(
      open.map(async ({ spec }) => [spec.path, (await ask(url, `${spec.method} ${spec.path}`)).status] as const),
    ),
  )
  assert.deepEqual(
    Object.entries(statuses).filter(([, status]) => status !== 200),
    Object.entries(statuses).filter(([path]) => /\/health\/(ready|startup)$/.test(path)),
    'all but ready and startup are 200',
  )
  const all = (await ask(url, 'GET /v1/health/all')).json<HealthAll>()
  assert.deepEqual([all.status, all.checks.postgres?.status], ['starting', 'down'])
  assert.deepEqual([all.checks.kv?.status, all.checks.mcp?.status], ['unknown', 'unknown'])
  const startup = await ask(url, 'GET /health/startup')
  assert.deepEqual([startup.status, startup.error.code], [503, 'STARTING'])
  for (const line of ['GET /v1/system/info', 'GET /v1/kv/health', 'GET /admin/services/status'])
    assert.deepEqual((await ask(url, line)).error.code, 'STARTING', line)

  // It was told to stop and has never served: it knows no part.
  daemon.lifecycle.beginDrain('SIGTERM', { graceMs: 0, deadlineMs: 1_000 })
  assert.equal((await ask(url, 'GET /health/startup')).status, 503)
  assert.deepEqual(
    lines.map((line) => JSON.parse(line)).filter(({ level }) => level === 'error'),
    [],
  )
})

// Measured from outside: with PostgreSQL stopped all three were 503, `failed` of kv health could not be seen. Mutants:
// knownSuffices left out of either route; findInstance in place of knownInstance; failedReport() throws.
test('without its database a daemon tells a known caller who it is, and that key-value has failed', async () => {
  await using daemon = await testDaemon()
  const ada = await addTenant(daemon)
  const token = ada.mint()
  for (const path of ['/v1/system/info', '/v1/kv/health'])
    assert.equal((await daemon.get(path, { 'x-loci-capability': token })).status, 200)
  const name = daemon.database.name
  await asAdmin(
    `alter database ${name} allow_connections false`,
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`,
  )
  const get = (path: string, capability = token) => daemon.get(path, { 'x-loci-capability': capability })
  // What is served must be the same before and after the replica's knowledge is too old to decide anything else.
  await eventually(async () => (await get('/v1/kv/entries')).status === 503)
  await eventually(async () => {
    const { text } = await daemon.get('/metrics')
    return Number(/^loci_authority_age_seconds (\S+)$/m.exec(text)?.[1]) > 3
  })

  const info = await get('/v1/system/info')
  assert.deepEqual([info.status, info.json<{ product: string }>().product], [200, 'loci'])
  assert.equal((await get('/v1/conductor/endpoints')).status, 200)
  const health = await get('/v1/kv/health')
  const { status, detail, engineVersion, databases } = health.json<Record<string, unknown>>()
  assert.deepEqual(
    [health.status, status, detail, engineVersion, databases],
    [200, 'failed', 'PostgreSQL: does not answer', null, []],
  )
  const refused = [
    await get('/v1/kv/entries'),
    await get('/v1/kv/consistency'),
    await get('/v1/system/info', (await addKeyless(token)) as string),
  ]
  assert.deepEqual(
    refused.map((answer) => answer.status),
    [503, 503, 401],
  )
  await asAdmin(`alter database ${name} allow_connections true`)
  await eventually(async () => (await get('/v1/kv/health')).json<{ status: string }>().status === 'ok')
})

/** The same claims under a signature that does not verify. */
async function addKeyless(token: string): Promise<string> {
  const [head, ...rest] = token.split('~')
  const broken = `${(head as string).slice(0, -8)}AAAAAAAA`
  return [broken, ...rest].join('~')
}

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
