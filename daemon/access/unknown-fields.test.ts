import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { isClosed } from '@loci/chassis/field-names.ts'
import type { Route } from '@loci/chassis/route.ts'
import { newId } from '@loci/contract/ids.ts'
import { OPERATIONS } from '@loci/contract/operations.ts'
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

/** Where dropping a name would mix people, keep what should have ended, or erase what should stay. */
const REFUSING =
  /^(?!POST \/v1\/advice\/tools:rank$)\w+ \/v1\/(memory|working-memory|kv|advice)\/|^(POST \/v1\/cognitive\/cycles|DELETE \/v1\/databases\/\{name\})$/
/** A partner's envelopes are its own, and the protocol of tool calls has fields that are none of ours. */
const IGNORING = ['POST /mcp', 'POST /v1/advice/tools:rank', 'POST /v1/partner/projections']

test('unknown names are refused on exactly the routes of an agent, and ignored in envelopes of others', () => {
  const lines = (chosen: (spec: Route['spec']) => boolean | undefined) =>
    daemon.daemon.routes.flatMap(({ spec }) => (chosen(spec) ? [`${spec.method} ${spec.path}`] : [])).sort()
  const refusing = lines((spec) => spec.refusesUnknownNames)
  assert.deepEqual(
    refusing,
    lines(({ method, path }) => REFUSING.test(`${method} ${path}`)),
  )
  assert.ok(refusing.length > 20)
  assert.deepEqual(
    lines((spec) => spec.ignoresUnknownNames),
    IGNORING,
  )
})

// Found from outside: it was erased. Mutant: DELETE /v1/databases/{name} without refusesUnknownNames.
test('a database is not erased by a request that says more than that', async () => {
  const operator = { token: tenant.mint({ ops: Object.keys(OPERATIONS), ks: ['*/*'] }) }
  assert.equal((await tenant.call('PUT /v1/kv/entries/a', { value: 1 }, { ...operator, db: 'kept' })).status, 200)
  for (const [query, body] of [
    ['?dryRun=true', undefined],
    ['?user_id=ada', undefined],
    ['', { dryRun: true }],
  ] as const) {
    const { status, error } = await tenant.call(`DELETE /v1/databases/kept${query}`, body, operator)
    assert.deepEqual([status, error.code], [400, 'VALIDATION_ERROR'], query)
  }
  assert.equal((await tenant.call('GET /v1/kv/entries/a', undefined, { ...operator, db: 'kept' })).status, 200)
  assert.equal((await tenant.call('DELETE /v1/databases/kept', undefined, operator)).status, 200)
})

// Measured from outside: sixteen names of other memories were dropped, and the people of a service mixed.
test('a name that nobody reads is 400 with its mend, in the body, inside it and in the query, and nothing is done', async () => {
  const apart = 'loci keeps people apart by database: send `x-loci-database: <name>`.'
  const every = { token: tenant.mint({ ops: Object.keys(OPERATIONS), ks: ['*/*'] }), db: 'refusals' }
  const put = { op: 'put', key: 'b', value: 1 }
  for (const [line, body, said] of [
    ['PUT /v1/kv/entries/b', { value: 1, colour: 'green' }, '`colour`; known are value, ttlMs.'],
    ['PUT /v1/kv/entries/b?user=ada', { value: 1 }, `\`user\`; ${apart}`],
    ['PUT /v1/kv/entries/b', { value: 1, user_id: 'ada' }, `\`user_id\`; ${apart}`],
    [
      'POST /v1/kv/entries/batch',
      { operations: [{ ...put, namespace: 'ada' }] },
      `\`operations.0.namespace\`; ${apart}`,
    ],
    [
      'POST /v1/kv/entries/batch',
      { operations: [put, { op: 'delete', key: 'b', value: 2 }] },
      '`operations.1.value`; known are op, key, ifVersion.',
    ],
    [
      'POST /v1/working-memory/slots/batch',
      { operations: [{ op: 'delete', key: 'b', pinned: true }] },
      '`operations.0.pinned`; known are op, key, ifVersion.',
    ],
    ['PUT /v1/working-memory/slots/b', { value: 1, filters: {} }, `\`filters\`; ${apart}`],
    ['POST /v1/memory/records', { text: 'tea' }, '`text`; did you mean `content`?'],
    ['POST /v1/memory/recall', { query: 'tea', top_k: 3 }, '`top_k`; did you mean `limit`?'],
    ['POST /v1/memory/recall', { search: 'tea' }, '`search`; did you mean `query`?'],
    ['POST /v1/cognitive/cycles', { limits: { colour: 1 } }, '`limits.colour`; known are'],
    ['GET /v1/memory/records?user=ada', undefined, `\`user\`; ${apart}`],
    ['POST /v1/working-memory/slots/clear?key=b', undefined, '`key`; known are'],
    ['POST /v1/working-memory/slots/clear', { dryRun: true }, 'send `dryRun` in the query'],
    ['POST /v1/working-memory/slots/clear', { keys: ['b'] }, '`keys`; there are none here.'],
    ['DELETE /v1/kv/entries/b', { ifVersion: 1 }, '`ifVersion`; there are none here.'],
  ] as const) {
    const { status, error } = await tenant.call(line, body, every)
    assert.deepEqual([status, error.code], [400, 'VALIDATION_ERROR'], line)
    assert.ok(error.message.includes(said), error.message)
  }
  const counts = await Promise.all(
    ['kv/entries', 'working-memory/slots', 'memory/records', 'cognitive/cycles'].map(async (path) => {
      const list = (await tenant.call(`GET /v1/${path}`, undefined, every)).json<Record<string, unknown[]>>()
      return Object.values(list).find(Array.isArray)?.length
    }),
  )
  assert.deepEqual(counts, [0, 0, 0, 0])
})

test('values, metadata and configuration are verbatim, and elsewhere an unknown name is ignored', async () => {
  const open = { ttl_ms: 1, user_id: 'ada', colour: [null] }
  const every = { token: tenant.mint({ ops: Object.keys(OPERATIONS), ks: ['*/*'] }) }
  const value = async (line: string, body: unknown) =>
    (await tenant.call(line, body, every)).json<{ value?: unknown; metadata?: unknown; config?: object }>()
  assert.deepEqual((await value('PUT /v1/kv/entries/a', { value: open })).value, open)
  assert.deepEqual((await value('POST /v1/memory/records', { content: 'tea', metadata: open })).metadata, open)
  const { config } = await value('PUT /v1/working-memory/config', open)
  assert.deepEqual({ ...config, ...open }, config)
  assert.equal((await tenant.call('GET /v1/audit?colour=green', undefined, every)).status, 200)
})
