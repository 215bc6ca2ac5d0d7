import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLifecycle } from './lifecycle.ts'
import { createMetrics } from './metrics.ts'
import { documentRoutes, probeRoutes } from './probes.ts'
import { testHttpServer } from './testing/server.ts'

async function probed() {
  const lifecycle = createLifecycle()
  const metrics = createMetrics({ version: 'x' })
  const parts = () => ({ kv: 'running' })
  const server = await testHttpServer(probeRoutes({ lifecycle, metrics, prefixes: ['', '/v1'], parts }), {
    lifecycle,
    metrics,
  })
  return Object.assign(server, { lifecycle, metrics })
}

test('live answers in every state, under each prefix', async () => {
  await using server = await probed()
  for (const state of [undefined, 'migrating', 'warming', 'ready', 'degraded', 'draining', 'stopped'] as const) {
    if (state) server.lifecycle.move(state, 'test')
    for (const line of ['GET /health/live', 'GET /v1/health/live']) {
      const { status, text } = await server.ask(line)
      assert.deepEqual([status, text], [200, '{"status":"ok"}'], state)
    }
  }
})

test('ready is 503 until the process serves and from the moment it drains, with the time to come back', async () => {
  await using server = await probed()
  const expected = [
    [undefined, 503, 'starting'],
    ['migrating', 503, 'starting'],
    ['warming', 503, 'starting'],
    ['ready', 200, 'ok'],
    ['degraded', 200, 'degraded'],
    ['draining', 503, 'draining'],
    ['stopped', 503, 'draining'],
  ] as const
  for (const [state, status, word] of expected) {
    if (state) server.lifecycle.move(state, 'test')
    const answer = await server.ask('GET /health/ready')
    assert.deepEqual([answer.status, answer.json()], [status, { status: word }])
    assert.equal(answer.headers['retry-after'], status === 503 ? '1' : undefined)
  }
})

test('startup is 503 STARTING until the process has started, and tells its parts from then on', async () => {
  await using server = await probed()
  server.lifecycle.move('warming', 'test')
  const before = await server.ask('GET /health/startup')
  assert.deepEqual([before.status, before.error.code, before.headers['retry-after']], [503, 'STARTING', '1'])
  server.lifecycle.move('ready', 'test')
  const after = await server.ask('GET /v1/health/startup')
  assert.deepEqual([after.status, after.json()], [200, { status: 'ok', services: { kv: 'running' } }])

  server.lifecycle.move('warming', 'its database was restored')
  const [started, ready] = [await server.ask('GET /health/startup'), await server.ask('GET /health/ready')]
  assert.deepEqual([started.status, ready.status, ready.json()], [200, 503, { status: 'starting' }])
})

test('a process that failed is alive and neither ready nor started', async () => {
  await using server = await probed()
  server.lifecycle.move('failed', 'test')
  const statuses = await Promise.all(['live', 'ready', 'startup'].map((name) => server.ask(`GET /health/${name}`)))
  assert.deepEqual(
    statuses.map(({ status }) => status),
    [200, 503, 503],
  )
})

// specification 119 234
test('metrics are Prometheus text, and 500 without the reason when they cannot be collected', async () => {
  await using server = await probed()
  const { status, headers, text } = await server.ask('GET /metrics')
  assert.equal(status, 200)
  assert.match(String(headers['content-type']), /^text\/plain/)
  assert.match(text, /^# HELP loci_/m)

  await using unwell = await probed()
  unwell.metrics.gauge('loci_test_broken', 'x', () => {
    throw new Error('canary')
  })
  const broken = await unwell.ask('GET /metrics')
  assert.deepEqual([broken.status, broken.error.code], [500, 'INTERNAL_ERROR'])
  assert.equal(broken.error.message, 'The metrics could not be collected.')
  assert.ok(!broken.text.includes('canary'))
})

// Mutant: registry.metrics() for each that asks: the gauge is read fifty times.
test('metrics are collected once a second, however many ask', async () => {
  await using server = await probed()
  let collected = 0
  server.metrics.gauge('loci_test_collected', 'x', () => {
    collected += 1
    return collected
  })
  const startedAt = performance.now()
  await Promise.all(Array.from({ length: 50 }, () => server.ask('GET /metrics')))
  const seconds = (performance.now() - startedAt) / 1000
  assert.ok(collected >= 1 && collected <= Math.ceil(seconds) + 1, `${collected} times in ${seconds.toFixed(1)} s`)
})

test('the documents are made once, when they are first asked for', async () => {
  let made = 0
  const document = () => {
    made += 1
    return {
      openapi: '3.1.0',
      info: { title: 't', version: 'v', description: 'd' },
      paths: {},
      components: { schemas: {} },
    }
  }
  await using server = await testHttpServer(documentRoutes(document))
  assert.equal(made, 0)
  for (let i = 0; i < 3; i += 1) assert.equal((await server.ask('GET /openapi.json')).json().openapi, '3.1.0')
  assert.equal(made, 1)
  const { headers, text } = await server.ask('GET /docs')
  assert.equal(headers['content-type'], 'text/html; charset=utf-8')
  assert.match(String(headers['content-security-policy']), /default-src 'none'/)
  assert.match(text, /^<!doctype html>/)
})
