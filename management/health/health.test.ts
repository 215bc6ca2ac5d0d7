import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testManagement } from '../testing/management.ts'

test('management that has started is live, ready and started, and tells its parts', async () => {
  await using management = await testManagement()
  assert.deepEqual((await management.get('/health/live')).json(), { status: 'ok' })
  assert.deepEqual((await management.get('/health/ready')).json(), { status: 'ok' })
  assert.deepEqual((await management.get('/health/startup')).json(), {
    status: 'ok',
    services: { postgres: 'running' },
  })
})

test('its lifecycle speaks snake_case and tells no version of the database server', async () => {
  await using management = await testManagement()
  assert.doesNotMatch((await management.get('/health/lifecycle')).text, /PostgreSQL|Debian/)
  const status = (await management.get('/health/lifecycle')).json<{
    state: string
    accepting_requests: boolean
    drain: { in_flight: number }
  }>()
  assert.deepEqual([status.state, status.accepting_requests, status.drain.in_flight], ['ready', true, 1])
})

test('its refusals speak snake_case, those of the router too', async () => {
  await using management = await testManagement()
  for (const [line, code, status] of [
    ['GET /nothing', 'NOT_FOUND', 404],
    ['POST /health/live', 'METHOD_NOT_ALLOWED', 405],
    ['GET /v1/health/live', 'NOT_FOUND', 404],
  ] as const) {
    const answer = await management.ask(line)
    const { message: _, ...error } = answer.error
    assert.deepEqual(error, { code, status, request_id: answer.headers['x-request-id'], retryable: false })
  }
})

test('metrics, document and page are there, and the document has every route', async () => {
  await using management = await testManagement()
  assert.match((await management.get('/metrics')).text, /^loci_ready 1$/m)
  assert.match(String((await management.get('/docs')).headers['content-security-policy']), /^default-src 'none'/)
  const { paths } = (await management.get('/openapi.json')).json<{ paths: Record<string, unknown> }>()
  // A tail parameter has no name for it in OpenAPI: `{path...}` is `{path}` there. A path with a slash at its end is
  // documented as the same without.
  const known = management.management.routes.map(({ spec }) => spec.path.replace('...}', '}').replace(/(?<=.)\/$/, ''))
  assert.deepEqual(Object.keys(paths), [...new Set(known)].sort())
})

test('a draining management says so', async () => {
  await using management = await testManagement()
  management.management.lifecycle.beginDrain('SIGTERM', { graceMs: 0, deadlineMs: 0 })
  const { status, headers, text } = await management.get('/health/ready')
  assert.deepEqual([status, headers['retry-after'], text], [503, '1', '{"status":"draining"}'])
  assert.equal((await management.get('/openapi.json')).error.code, 'DRAINING')
})
