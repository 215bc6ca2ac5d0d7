// Checked by the compiler: each wrong call must be an error, or its @ts-expect-error is one.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectDaemon, connectManagement } from './client.ts'

const answering: typeof fetch = async () => new Response('{}', { headers: { 'content-type': 'application/json' } })
const daemon = connectDaemon({ url: 'http://127.0.0.1:1', fetch: answering })
const management = connectManagement({ url: 'http://127.0.0.1:1', fetch: answering })

test('calls that fit the document compile', async () => {
  const entry = await daemon.call('GET /v1/kv/entries/{key}', { path: { key: 'a' } })
  const status: 200 = entry.status
  const version: number = entry.body.version
  await daemon.call('GET /v1/kv/entries')
  await daemon.call('GET /v1/kv/entries', { query: { limit: 1 }, headers: { traceparent: '00' }, attemptMs: 5_000 })
  await daemon.call('PUT /v1/kv/entries/{key}', {
    path: { key: 'a' },
    body: { value: null },
    headers: { 'If-Match': '*' },
  })
  await daemon.call('POST /v1/kv/entries/batch', { body: { operations: [] }, idempotencyKey: 'k' })
  const { body } = await daemon.call('GET /v1/kv/health')
  // An enum of an answer is open: a later server may know more values.
  const later = body.status === 'ok' || body.status === 'resting'
  const metrics = await management.call('GET /metrics')
  const text: string = metrics.body
  assert.ok([status, version, later, text].length)
})

test('calls that do not fit the document do not compile', () => {
  const wrong = () => [
    // @ts-expect-error: no such path
    daemon.call('GET /v1/kv/entry/{key}', { path: { key: 'a' } }),
    // @ts-expect-error: no such method of the path
    daemon.call('PATCH /v1/kv/entries/{key}', { path: { key: 'a' } }),
    // @ts-expect-error: a route of the other program
    management.call('GET /v1/kv/health'),
    // @ts-expect-error: the parameter of the path is missing
    daemon.call('GET /v1/kv/entries/{key}'),
    // @ts-expect-error: the parameter of the path has another name
    daemon.call('GET /v1/kv/entries/{key}', { path: { id: 'a' } }),
    // @ts-expect-error: there is no path to give
    daemon.call('GET /v1/kv/health', { path: { key: 'a' } }),
    // @ts-expect-error: no such query
    daemon.call('GET /v1/kv/entries', { query: { limits: 1 } }),
    // @ts-expect-error: a number, not text
    daemon.call('GET /v1/kv/entries', { query: { limit: '1' } }),
    // @ts-expect-error: the body is missing
    daemon.call('PUT /v1/kv/entries/{key}', { path: { key: 'a' } }),
    // @ts-expect-error: the value is missing
    daemon.call('PUT /v1/kv/entries/{key}', { path: { key: 'a' }, body: {} }),
    // @ts-expect-error: an enum of a request is closed
    daemon.call('POST /v1/kv/entries/batch', { body: { operations: [{ op: 'merge', key: 'a' }] } }),
    // @ts-expect-error: a GET takes no idempotency key
    daemon.call('GET /v1/kv/health', { idempotencyKey: 'k' }),
    // @ts-expect-error: the answer has no such field
    daemon.call('GET /v1/kv/health').then(({ body }) => body.healthy),
  ]
  assert.equal(typeof wrong, 'function')
})
