// What the specification says of the daemon, statement by statement: `// specification N` names them
// (docs/specification-statements.json), and `npm run promises -- specification` lists which test asserts which. What
// needs a test of its own stands with its feature.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { TestAnswer } from '@loci/chassis/testing/request.ts'
import { OPERATION_NAMES } from '@loci/contract/operations.ts'
import { testAuthority } from './testing/authority.ts'
import { wholeAnswer } from './testing/consistency.ts'
import { partnerToken } from './testing/credentials.ts'
import { type TestDaemon, testDaemon } from './testing/daemon.ts'
import { addTenant, type TestTenant } from './testing/tenant.ts'

let daemon: TestDaemon
let tenant: TestTenant
before(async () => {
  daemon = await testDaemon()
  tenant = await addTenant(daemon)
})
after(() => daemon?.[Symbol.asyncDispose]())

const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/

function fields(answer: TestAnswer, status = 200): Record<string, unknown> {
  assert.equal(answer.status, status, answer.text)
  assert.match(String(answer.headers['content-type']), /^application\/json/)
  return answer.json()
}

// specification 1 4 5 106 192
test('live, ready and startup answer anybody, as JSON, under /health and /v1/health', async () => {
  // specification 17 19 113 114 245
  for (const prefix of ['', '/v1']) {
    assert.deepEqual(fields(await daemon.get(`${prefix}/health/live`)), { status: 'ok' })
    assert.equal(fields(await daemon.get(`${prefix}/health/ready`)).status, 'ok')
    // specification 18 115
    const startup = fields(await daemon.get(`${prefix}/health/startup`))
    assert.equal(startup.status, 'ok')
    assert.equal((startup.services as Record<string, string>).kv, 'running')
  }
})

// specification 116 117 192
test('health-all and the lifecycle answer anybody, with status, checks, latency and time', async () => {
  const all = fields(await daemon.get('/v1/health/all'))
  // specification 23 24 25 26
  assert.equal(all.status, 'ok')
  assert.equal((all.checks as Record<string, { status: string }>).postgres?.status, 'ok')
  assert.equal(typeof all.latencyMs, 'number')
  assert.match(String(all.timestamp), RFC_3339)
  assert.ok(Math.abs(Date.parse(String(all.timestamp)) - Date.now()) < 60_000)
  assert.equal(fields(await daemon.get('/v1/lifecycle/status')).state, 'ready')
})

// specification 107
test('a daemon that demands https refuses plain http on every open route', async () => {
  await using strict = await testDaemon({ settings: { requireHttps: true } })
  for (const path of ['/health/live', '/health/ready', '/v1/health/all', '/v1/lifecycle/status', '/metrics'])
    assert.equal((await strict.get(path)).error.code, 'HTTPS_REQUIRED', path)
})

// specification 6 118 192
test('metrics are a raw answer to anybody', async () => {
  const answer = await daemon.get('/metrics')
  assert.equal(answer.status, 200)
  assert.match(String(answer.headers['content-type']), /^text\/plain/)
  assert.match(answer.text, /^# HELP /m)
})

// specification 7 108 193
// Mutants: uptime in milliseconds; the conductor leaves out routes of partners.
test('reports, system info and the conductor answer a capability, and nobody without one', async () => {
  // specification 20 22 122 247
  const info = fields(await tenant.call('GET /v1/system/info'))
  assert.deepEqual([info.version, info.build], ['0.0.0-test', 'release'])
  // specification 21
  const processSeconds = performance.now() / 1_000
  assert.ok(Number(info.uptime) > 0 && Number(info.uptime) < processSeconds, `${info.uptime} of ${processSeconds} s`)
  // specification 27 28 123
  const { endpoints, total } = fields(await tenant.call('GET /v1/conductor/endpoints')) as {
    endpoints: string[]
    total: number
  }
  assert.equal(total, endpoints.length)
  assert.deepEqual(endpoints, [...new Set(daemon.daemon.routes.map(({ spec }) => spec.path))].sort())
  assert.ok(endpoints.includes('/v1/advice/tools:rank') && endpoints.includes('/v1/partner/projections'))
  // specification 120 121
  assert.equal(fields(await tenant.call('GET /v1/kv/health')).status, 'ok')
  assert.equal(fields(await wholeAnswer(() => tenant.call('GET /v1/kv/consistency'))).status, 'consistent')
  for (const path of ['/v1/system/info', '/v1/conductor/endpoints', '/v1/kv/health', '/v1/kv/consistency']) {
    const refused = await daemon.get(path)
    assert.deepEqual([refused.status, refused.error.code], [401, 'UNAUTHENTICATED'], path)
  }
})

// specification 10 110
test('the administration enables, disables and tells sub-services; success means that none failed', async () => {
  // specification 29 30 31 126
  const disabled = fields(await daemon.admin('POST /admin/services/disable', { services: ['mcp'] }))
  assert.equal(disabled.success, true)
  assert.deepEqual(disabled.failed_services, [])
  assert.equal((disabled.updates as { service: string }[])[0]?.service, 'mcp')
  const failed = fields(await daemon.admin('POST /admin/services/enable', { services: ['mcp', 'teapot'] }))
  assert.equal(failed.success, false)
  assert.equal((failed.failed_services as { service: string }[])[0]?.service, 'teapot')
  // specification 32 127
  const { services } = fields(await daemon.admin('GET /admin/services/status')) as { services: { name: string }[] }
  assert.ok(services.some(({ name }) => name === 'kv'))
  // specification 125 126 129
  for (const line of ['POST /admin/services/enable', 'POST /admin/services/disable']) {
    const bare = await daemon.admin(line)
    assert.deepEqual([bare.status, bare.error.code], [400, 'VALIDATION_ERROR'])
    assert.match(String(bare.error.requestId), /^req_/)
  }
  // specification 202 203
  for (const headers of [{}, { 'x-loci-capability': tenant.mint({ ops: ['operator'], ks: ['*/*'] }) }]) {
    const owner = await daemon.get('/admin/services/status', headers)
    assert.deepEqual([owner.status, owner.error.code], [401, 'UNAUTHENTICATED'])
  }
})

// specification 124
// Mutant: /v1/cognitive/health without its sub-service in the route.
test('every route of the runtime service cognitive, its health included, follows its switch and needs a credential', async () => {
  await using own = await testDaemon()
  const ada = await addTenant(own)
  const operator = ada.mint({ ops: ['cycles:run', 'cycles:read', 'operator'], ks: ['*/*'] })
  const routes = own.daemon.routes.filter(({ spec }) => spec.path.startsWith('/v1/cognitive/'))
  assert.ok(routes.length >= 7)
  assert.equal(fields(await ada.call('GET /v1/cognitive/health', undefined, { token: operator })).service, 'cognitive')
  assert.equal((await own.get('/v1/cognitive/health')).status, 401)
  await own.admin('POST /admin/services/disable', { services: ['cognitive'] })
  for (const { spec } of routes) {
    const line = `${spec.method} ${spec.path.replace('{id}', 'cyc_00000000000000000000000000')}`
    const { status, error } = await ada.call(line, spec.method === 'GET' ? undefined : {}, { token: operator })
    assert.deepEqual([status, error.code], [503, 'SUBSERVICE_DISABLED'], line)
  }
})

// specification 109 195 196 197 198
test('a capability is for its operations and keyspaces; a body namespace and other headers grant nothing', async () => {
  const token = tenant.mint({ ops: ['kv:read', 'kv:write'], ks: ['kv/own'] })
  const put = (db: string, headers: Record<string, string> = {}, more = {}) =>
    tenant.call('PUT /v1/kv/entries/k', { value: 1, ...more }, { db, token, headers })
  assert.equal((await put('own')).status, 200)
  assert.equal((await put('other')).error.code, 'DATABASE_MISMATCH')
  assert.equal((await put('other', {}, { namespace: 'org/ten/svc/other' })).error.code, 'DATABASE_MISMATCH')
  const loud = { 'x-loci-keyspaces': 'kv/*', 'x-loci-operations': 'operator', 'x-loci-namespace': 'other' }
  assert.equal((await put('other', loud)).error.code, 'DATABASE_MISMATCH')
  const deletion = await tenant.call('DELETE /v1/kv/entries/k', undefined, { db: 'own', token, headers: loud })
  assert.deepEqual([deletion.status, deletion.error.code], [403, 'OPERATION_NOT_ALLOWED'])
})

// specification 112 204
// Mutant: GET /v1/cognitive/config for cycles:read.
test('each operator’s route refuses a capability that has every other operation', async () => {
  const every = OPERATION_NAMES.filter((operation) => operation !== 'operator')
  const configs = ['/v1/cognitive/config', '/v1/working-memory/config']
  for (const line of [...configs.flatMap((path) => [`GET ${path}`, `PUT ${path}`]), 'GET /v1/audit']) {
    const body = line.startsWith('PUT') ? {} : undefined
    const refused = await tenant.call(line, body, { token: tenant.mint({ ops: every, ks: ['*/*'] }) })
    assert.deepEqual([refused.status, refused.error.code], [403, 'OPERATOR_REQUIRED'], line)
    const token = tenant.mint({ ops: ['operator'], ks: ['*/*'] })
    assert.equal((await tenant.call(line, body, { token })).status, 200, line)
  }
})

// specification 205 206
// Mutants: a partner needs a capability too; a capability opens a partner's route.
test('a partner’s route asks for its bearer credential alone, and looks at no capability', async () => {
  await using authority = await testAuthority(daemon)
  const instance = await authority.addInstance()
  const bearer = { authorization: `Bearer ${await partnerToken(authority, instance, ['event'])}` }
  const capability = instance.root({ ops: ['memory:write', 'advice:read'], ks: ['*/*'] })
  const rank = { task_class: 'c', task_intent: 'i', source_event_id: 'e', run_id: 'r', scope: null }
  for (const [path, body] of [
    ['/v1/partner/projections', { projection_class: 'event', source_event_id: 'e' }],
    ['/v1/advice/tools:rank', rank],
  ] as const) {
    for (const headers of [bearer, { ...bearer, 'x-loci-capability': 'junk' }])
      assert.equal((await daemon.post(path, body, headers)).status, 200, path)
    for (const headers of [{}, { 'x-loci-capability': capability }, { authorization: `Bearer ${capability}` }])
      assert.equal((await daemon.post(path, body, headers)).status, 401, path)
  }
})

// specification 237
test('what a handler refuses is a daemon error, with its code and the request id', async () => {
  const missing = await tenant.call('GET /v1/kv/entries/nobody')
  assert.deepEqual([missing.status, missing.error.code, missing.error.status], [404, 'NOT_FOUND', 404])
  assert.equal(missing.error.requestId, missing.headers['x-request-id'])
})
