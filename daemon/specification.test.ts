// What the specification says of the daemon, statement by statement: `// specification N` names them
// (docs/specification-statements.json), and docs/specification-coverage.md lists which test asserts which. What needs a
// test of its own stands with its feature.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { TestAnswer } from '@loci/chassis/testing/request.ts'
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

// specification 1 4 5 17 18 19 106 113 114 115 192 245
test('live, ready and startup answer anybody, as JSON, under /health and /v1/health', async () => {
  for (const prefix of ['', '/v1']) {
    assert.deepEqual(fields(await daemon.get(`${prefix}/health/live`)), { status: 'ok' })
    assert.equal(fields(await daemon.get(`${prefix}/health/ready`)).status, 'ok')
    const startup = fields(await daemon.get(`${prefix}/health/startup`))
    assert.equal(startup.status, 'ok')
    assert.equal((startup.services as Record<string, string>).kv, 'running')
  }
})

// specification 23 24 25 26 116 117 192
test('health-all and the lifecycle answer anybody, with status, checks, latency and time', async () => {
  const all = fields(await daemon.get('/v1/health/all'))
  assert.equal(all.status, 'ok')
  assert.equal((all.checks as Record<string, { status: string }>).postgres?.status, 'ok')
  assert.equal(typeof all.latencyMs, 'number')
  assert.match(String(all.timestamp), RFC_3339)
  assert.ok(Math.abs(Date.parse(String(all.timestamp)) - Date.now()) < 60_000)
  assert.equal(fields(await daemon.get('/v1/lifecycle/status')).state, 'ready')
})

// specification 6 118 192
test('metrics are a raw answer to anybody', async () => {
  const answer = await daemon.get('/metrics')
  assert.equal(answer.status, 200)
  assert.match(String(answer.headers['content-type']), /^text\/plain/)
  assert.match(answer.text, /^# HELP /m)
})

// specification 7 20 21 22 27 28 108 120 121 122 123 193 247
test('reports, system info and the conductor answer a capability, and nobody without one', async () => {
  const info = fields(await tenant.call('GET /v1/system/info'))
  assert.deepEqual([info.version, info.build], ['0.0.0-test', 'release'])
  assert.ok(typeof info.uptime === 'number' && info.uptime >= 0 && info.uptime < 3_600)
  const { endpoints, total } = fields(await tenant.call('GET /v1/conductor/endpoints')) as {
    endpoints: string[]
    total: number
  }
  assert.equal(total, endpoints.length)
  assert.ok(endpoints.every((path) => path.startsWith('/')) && endpoints.includes('/v1/system/info'))
  assert.equal(fields(await tenant.call('GET /v1/kv/health')).status, 'ok')
  assert.equal(fields(await tenant.call('GET /v1/kv/consistency')).status, 'consistent')
  for (const path of ['/v1/system/info', '/v1/conductor/endpoints', '/v1/kv/health', '/v1/kv/consistency']) {
    const refused = await daemon.get(path)
    assert.deepEqual([refused.status, refused.error.code], [401, 'UNAUTHENTICATED'], path)
  }
})

// specification 10 29 30 31 32 110 125 126 127 129 202 203
test('the administration enables, disables and tells sub-services; success means that none failed', async () => {
  const disabled = fields(await daemon.admin('POST /admin/services/disable', { services: ['mcp'] }))
  assert.equal(disabled.success, true)
  assert.deepEqual(disabled.failed_services, [])
  assert.equal((disabled.updates as { service: string }[])[0]?.service, 'mcp')
  const failed = fields(await daemon.admin('POST /admin/services/enable', { services: ['mcp', 'teapot'] }))
  assert.equal(failed.success, false)
  assert.equal((failed.failed_services as { service: string }[])[0]?.service, 'teapot')
  const { services } = fields(await daemon.admin('GET /admin/services/status')) as { services: { name: string }[] }
  assert.ok(services.some(({ name }) => name === 'kv'))
  for (const line of ['POST /admin/services/enable', 'POST /admin/services/disable']) {
    const bare = await daemon.admin(line)
    assert.deepEqual([bare.status, bare.error.code], [400, 'VALIDATION_ERROR'])
    assert.match(String(bare.error.requestId), /^req_/)
  }
  for (const headers of [{}, { 'x-loci-capability': tenant.mint({ ops: ['operator'], ks: ['*/*'] }) }]) {
    const owner = await daemon.get('/admin/services/status', headers)
    assert.deepEqual([owner.status, owner.error.code], [401, 'UNAUTHENTICATED'])
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
test('an operator’s route refuses a capability without the operation', async () => {
  const refused = await tenant.call('GET /v1/audit')
  assert.deepEqual([refused.status, refused.error.code], [403, 'OPERATOR_REQUIRED'])
  const token = tenant.mint({ ops: ['operator'], ks: ['*/*'] })
  assert.equal((await tenant.call('GET /v1/audit', undefined, { token })).status, 200)
})

// specification 237
test('what a handler refuses is a daemon error, with its code and the request id', async () => {
  const missing = await tenant.call('GET /v1/kv/entries/nobody')
  assert.deepEqual([missing.status, missing.error.code, missing.error.status], [404, 'NOT_FOUND', 404])
  assert.equal(missing.error.requestId, missing.headers['x-request-id'])
})
