// The sdk's client against a daemon: what the types say is what travels.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { connectDaemon } from '@loci/sdk/client.ts'
import { LociError } from '@loci/sdk/error.ts'
import { type TestDaemon, testDaemon } from './testing/daemon.ts'
import { addTenant, type TestTenant } from './testing/tenant.ts'

let daemon: TestDaemon
let ada: TestTenant

before(async () => {
  daemon = await testDaemon()
  ada = await addTenant(daemon)
})
after(() => daemon[Symbol.asyncDispose]())

const clientOf = (database: string, capability = ada.mint()) => connectDaemon({ url: daemon.url, capability, database })

async function errorOf(call: Promise<unknown>): Promise<LociError> {
  const error = await call.catch((reason: unknown) => reason)
  assert.ok(error instanceof LociError, String(error))
  return error
}

test('an entry is put, read, listed and deleted through the client', async () => {
  const client = clientOf('sdk-entries')
  const key = 'a/b ?#%ä\u{1f4a5}'

  const put = await client.call('PUT /v1/kv/entries/{key}', { path: { key }, body: { value: { n: [1, null] } } })
  const read = await client.call('GET /v1/kv/entries/{key}', { path: { key } })
  const list = await client.call('GET /v1/kv/entries', { query: { prefix: 'a/', limit: 1 } })
  const deleted = await client.call('DELETE /v1/kv/entries/{key}', { path: { key } })
  const gone = await errorOf(client.call('GET /v1/kv/entries/{key}', { path: { key } }))

  assert.deepEqual([put.status, put.body.key, put.body.version], [200, key, 1])
  assert.deepEqual(read.body, put.body)
  assert.deepEqual([list.body.entries, list.body.nextCursor], [[put.body], null])
  assert.equal(deleted.body.deleted, true)
  assert.deepEqual([gone.code, gone.status, gone.retryable], ['NOT_FOUND', 404, false])
  assert.match(String(gone.requestId), /^req_/)
  assert.match(String(read.requestId), /^req_/)
})

test('a batch that is repeated with its key is answered and not done again', async () => {
  const client = clientOf('sdk-batch')
  const body = { operations: [{ op: 'put' as const, key: 'n', value: 1 }] }

  const first = await client.call('POST /v1/kv/entries/batch', { body, idempotencyKey: 'once' })
  const second = await client.call('POST /v1/kv/entries/batch', { body, idempotencyKey: 'once' })
  const fresh = await client.call('POST /v1/kv/entries/batch', { body })
  const other = { operations: [{ op: 'delete' as const, key: 'n' }] }
  const reused = await errorOf(client.call('POST /v1/kv/entries/batch', { body: other, idempotencyKey: 'once' }))

  assert.deepEqual(second.body, first.body)
  assert.equal(fresh.body.results[0]?.version, 2)
  assert.deepEqual([reused.code, reused.status], ['IDEMPOTENCY_KEY_REUSED', 422])
})

test('an answer that was lost on the way is fetched by the repeat, and the batch is done once', async () => {
  let lost = 0
  const losing: typeof fetch = async (...given) => {
    const response = await fetch(...given)
    if (lost++ > 0) return response
    await response.text()
    throw new TypeError('the connection broke')
  }
  const client = connectDaemon({ url: daemon.url, capability: ada.mint(), database: 'sdk-lost', fetch: losing })

  const { body } = await client.call('POST /v1/kv/entries/batch', {
    body: { operations: [{ op: 'put', key: 'n', value: 1 }] },
  })

  assert.equal(lost, 2)
  assert.equal(body.results[0]?.version, 1)
  assert.equal((await client.call('GET /v1/kv/entries/{key}', { path: { key: 'n' } })).body.version, 1)
})

test('a version that is not the current one is refused with the current one', async () => {
  const client = clientOf('sdk-versions')
  const path = { key: 'n' }
  await client.call('PUT /v1/kv/entries/{key}', { path, body: { value: 1 } })
  const headers = { 'If-Match': '"1"' }
  await client.call('PUT /v1/kv/entries/{key}', { path, body: { value: 2 }, headers })
  const error = await errorOf(client.call('PUT /v1/kv/entries/{key}', { path, body: { value: 3 }, headers }))
  assert.deepEqual([error.code, error.status], ['VERSION_CONFLICT', 412])
})

test('health, metrics and the document are answered without a credential', async () => {
  const client = connectDaemon({ url: daemon.url })
  const live = await client.call('GET /health/live')
  const metrics = await client.call('GET /metrics')
  const refused = await errorOf(client.call('GET /v1/kv/health'))
  assert.equal(live.body.status, 'ok')
  assert.match(metrics.body, /^# HELP/m)
  assert.deepEqual([refused.code, refused.status], ['UNAUTHENTICATED', 401])
})
