import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { isClosed } from '@loci/chassis/field-names.ts'
import { newId } from '@loci/contract/ids.ts'
import { type TestDaemon, testDaemon } from '../testing/daemon.ts'
import { addTenant, type TestTenant } from '../testing/tenant.ts'

/** See management/access/unknown-fields.test.ts: what a body drops here would revoke less than was asked for. */
const CLOSED = ['POST /admin/revocations']

let daemon: TestDaemon
let tenant: TestTenant
before(async () => {
  daemon = await testDaemon()
  tenant = await addTenant(daemon)
})
after(() => daemon?.[Symbol.asyncDispose]())

test('exactly the bodies that revoke something refuse unknown fields', () => {
  const closed = daemon.daemon.routes.filter(({ spec }) => spec.body && isClosed(spec.documentedBody ?? spec.body))
  assert.deepEqual(closed.map(({ spec }) => `${spec.method} ${spec.path}`).sort(), CLOSED)
})

test('a revocation with an unknown field is 400 and revokes nothing', async () => {
  for (const [body, said] of [
    [{ jti: newId('cap'), svc_id: newId('svc') }, 'unknown field `svc_id`; did you mean `svc`?'],
    [{ jti: newId('cap'), notBefore: '2026-01-01T00:00:00Z' }, 'unknown field `notBefore`; did you mean `not_before`?'],
    [{ jti: newId('cap'), reason: 'stolen' }, 'unknown field `reason`; known are jti, org, ten, svc, not_before.'],
  ] as const) {
    const { status, error } = await daemon.admin('POST /admin/revocations', body)
    assert.deepEqual([status, error.code], [400, 'VALIDATION_ERROR'])
    assert.ok(error.message.endsWith(said), error.message)
  }
  assert.deepEqual(await daemon.sql('select value from loci.revocations'), [])
})

// Measured from outside: kept for ever, and the whole list. Mutant: requireKnownNames() not called by parseInput().
test('a misspelt field of an entry, or name of a query, is 400 and nothing is written', async () => {
  for (const field of ['ttl_ms', 'ttl', 'TtlMs', 'ttlms', 'ttMs']) {
    const { status, error } = await tenant.call('PUT /v1/kv/entries/a', { value: 1, [field]: 1_000 })
    assert.deepEqual([status, error.code], [400, 'VALIDATION_ERROR'], field)
    assert.ok(error.message.endsWith(`unknown field \`${field}\`; did you mean \`ttlMs\`?`), error.message)
  }
  const put = { op: 'put', key: 'a', value: 1 }
  const batch = await tenant.call('POST /v1/kv/entries/batch', { operations: [put, { ...put, ttl_ms: 5 }] })
  assert.deepEqual([batch.status, batch.error.code], [400, 'VALIDATION_ERROR'])
  assert.match(batch.error.message, /`operations\.1\.ttl_ms`; did you mean `ttlMs`/)
  assert.equal((await tenant.call('GET /v1/kv/entries/a')).status, 404)
  for (const query of ['perfix=a', 'Prefix=a', 'limt=1', 'cursr=x'])
    assert.equal((await tenant.call(`GET /v1/kv/entries?${query}`)).status, 400, query)
})

// `ttlSeconds` and `expiresAt` are names of their own, not misspellings: an entry that was read may be written back as
// it is.
test('other unknown fields and query names are ignored, and values are verbatim', async () => {
  const body = { value: { ttl_ms: 1 }, colour: 'green', namespace: 'x', expiresAt: null, digest: 'x', version: 3 }
  const put = await tenant.call('PUT /v1/kv/entries/a', body)
  assert.equal(put.status, 200, put.text)
  const { value, version } = (await tenant.call('GET /v1/kv/entries/a')).json<{ value: unknown; version: number }>()
  assert.deepEqual([value, version], [{ ttl_ms: 1 }, 1])
  assert.equal((await tenant.call('GET /v1/kv/entries?colour=green')).status, 200)
})
