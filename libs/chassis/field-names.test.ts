import assert from 'node:assert/strict'
import { test } from 'node:test'
import { queryInteger } from '@loci/contract/wire.ts'
import { z } from 'zod'
import { open } from './probes.ts'
import { route } from './route.ts'
import { testHttpServer } from './testing/server.ts'

const spec = { access: open, summary: 's', tag: 't', answers: { 200: z.unknown() } }
const closed = z.strictObject({ ops: z.array(z.string()).optional(), ttl_seconds: z.int().optional() })
const loose = z
  .object({
    value: z.unknown(),
    ttlMs: z.int().optional(),
    key: z.string().optional(),
    config: z.record(z.string(), z.unknown()).optional(),
    inner: z.object({ maxDurationMs: z.int() }).partial().optional(),
    list: z
      .array(
        z.discriminatedUnion('op', [
          z.object({ op: z.literal('put'), ttlMs: z.int().optional() }),
          z.object({ op: z.literal('delete') }),
        ]),
      )
      .optional(),
  })
  .refine(() => true)
const told = z.object({
  content: z.string(),
  limit: z.int().optional(),
  contextId: z.string().optional(),
  key: z.string().optional(),
  runId: z.string().optional(),
})
const routes = [
  route({ ...spec, method: 'POST', path: '/closed', body: closed }, ({ body }) => body ?? null),
  route({ ...spec, method: 'POST', path: '/defaulted', body: closed.default({}) }, ({ body }) => body ?? null),
  route({ ...spec, method: 'POST', path: '/loose', body: loose }, ({ body }) => body ?? null),
  route(
    { ...spec, method: 'POST', path: '/newer', body: loose, ignoresUnknownNames: true },
    ({ body }) => body ?? null,
  ),
  route({ ...spec, method: 'POST', path: '/refusing', body: loose, refusesUnknownNames: true }, ({ body }) => body),
  route({ ...spec, method: 'POST', path: '/told', body: told, refusesUnknownNames: true }, ({ body }) => body),
  route({ ...spec, method: 'GET', path: '/nothing', refusesUnknownNames: true }, () => ({})),
  route(
    {
      ...spec,
      method: 'POST',
      path: '/cleared',
      query: z.object({ dryRun: z.string().optional() }),
      refusesUnknownNames: true,
    },
    ({ query }) => ({ done: query.dryRun !== 'true' }),
  ),
  route(
    {
      ...spec,
      method: 'GET',
      path: '/list',
      query: z.object({ prefix: z.string().optional(), limit: queryInteger({ min: 1, max: 9, fallback: 5 }) }),
    },
    ({ query }) => query,
  ),
]

// Mutants: `if (shape.isClosed)` never true (closed bodies drop what is far from every known name); `b.startsWith(a)`
// gone (`ttl`); the recursion into arrays gone (`list.1.ttl_ms`).

test('a closed body refuses every name that it does not know, and says which was meant or which there are', async () => {
  await using server = await testHttpServer(routes)
  for (const [name, said] of [
    ['scopes', 'unknown field `scopes`; did you mean `ops`?'],
    ['ttl', 'unknown field `ttl`; did you mean `ttl_seconds`?'],
    ['ttlSeconds', 'unknown field `ttlSeconds`; did you mean `ttl_seconds`?'],
    ['organization_id', 'unknown field `organization_id`; known are ops, ttl_seconds.'],
    ['loci_sk_secret secret', 'unknown field `…`; known are ops, ttl_seconds.'],
  ] as const) {
    for (const path of ['/closed', '/defaulted']) {
      const { status, error } = await server.ask(`POST ${path}`, { body: { ops: [], [name]: 1 } })
      assert.deepEqual([status, error.code], [400, 'VALIDATION_ERROR'])
      assert.equal(error.message, `The request was refused: ${said}`)
    }
  }
  assert.equal((await server.ask('POST /closed', { body: { ops: [] } })).status, 200)
})

test('another body refuses only what looks like a name of its own, at every depth, and ignores the rest', async () => {
  await using server = await testHttpServer(routes)
  for (const [body, field, meant] of [
    [{ value: 1, ttl_ms: 1 }, 'body.ttl_ms', 'ttlMs'],
    [{ value: 1, ttl: 1 }, 'body.ttl', 'ttlMs'],
    [{ value: 1, TTLMS: 1 }, 'body.TTLMS', 'ttlMs'],
    [{ value: 1, ttMs: 1 }, 'body.ttMs', 'ttlMs'],
    [{ vlaue: 1 }, 'body.vlaue', 'value'],
    [{ value: 1, inner: { max_duration_ms: 1 } }, 'body.inner.max_duration_ms', 'maxDurationMs'],
    [{ value: 1, list: [{ op: 'put' }, { op: 'put', ttl_ms: 1 }] }, 'body.list.1.ttl_ms', 'ttlMs'],
  ] as const) {
    const { status, error } = await server.ask('POST /loose', { body })
    assert.equal(status, 400, field)
    assert.deepEqual(
      error.details,
      [{ field, problem: `unknown field \`${field.slice(5)}\`; did you mean \`${meant}\`?` }],
      field,
    )
  }
  // `id` is two letters away from any name of two: names that short share nothing with it.
  const ignored = { value: 1, colour: 'green', namespace: 'x', id: 1, tag: 1, expiresAt: 1 }
  assert.deepEqual((await server.ask('POST /loose', { body: ignored })).json(), { value: 1 })
  const verbatim = { value: { ttl_ms: 1, vlaue: 1 }, config: { ttl_ms: 1 } }
  assert.deepEqual((await server.ask('POST /loose', { body: verbatim })).json(), verbatim)
  assert.deepEqual((await server.ask('POST /newer', { body: { value: 1, ttl_ms: 1 } })).json(), { value: 1 })
})

// Mutants: `found.isStrict ||` gone (colour, user_id are dropped); the look for a mend gone (user_id; `k` is `key`);
// missingOf() gives nothing (`colour` without content); shapeOf() without kindShape() (`ttlMs` of a delete);
// requireNoneOfBody() not called (`limit` of the body in the query).
test('where unknown names are refused each is named, with its mend, and with what is missing beside it', async () => {
  await using server = await testHttpServer(routes)
  const apart = 'loci keeps people apart by database: send `x-loci-database: <name>`'
  for (const [body, said] of [
    [{ content: 'x', colour: 1 }, '`colour`; known are content, limit, contextId, key, runId.'],
    [{ content: 'x', user_id: 1 }, `\`user_id\`; ${apart}.`],
    [{ content: 'x', session_id: 1 }, `\`session_id\`; ${apart}; a conversation is a contextId.`],
    [{ content: 'x', run_id: 1 }, '`run_id`; did you mean `runId`?'],
    [{ content: 'x', k: 1 }, '`k`; did you mean `limit`?'],
    [{ content: 'x', top_k: 1 }, '`top_k`; did you mean `limit`?'],
    [{ text: 'x' }, '`text`; did you mean `content`?'],
    [{ colour: 'x' }, '`colour`; known are content, limit, contextId, key, runId. And `content` is required.'],
    [{ user_id: 'x' }, `\`user_id\`; ${apart}. And \`content\` is required.`],
  ] as const) {
    const { status, error } = await server.ask('POST /told', { body })
    assert.deepEqual([status, error.code], [400, 'VALIDATION_ERROR'])
    assert.equal(error.message, `The request was refused: unknown field ${said}`)
  }
  assert.equal((await server.ask('POST /told', { body: { content: 'x' } })).status, 200)
  for (const more of [
    ...[{ colour: 1 }, { inner: { colour: 1 } }, { list: [{ op: 'put', colour: 1 }] }],
    ...[{ list: [{ op: 'delete', ttlMs: 1 }] }, { list: [{ op: 'none', colour: 1 }] }],
  ])
    assert.equal((await server.ask('POST /refusing', { body: { value: 1, ...more } })).status, 400)
  const open = { value: { colour: 1 }, config: { user_id: 1 } }
  assert.deepEqual((await server.ask('POST /refusing', { body: open })).json(), open)
  for (const path of ['/told?colour=1', '/refusing?user=ada'])
    assert.equal((await server.ask(`POST ${path}`, { body: { value: 1, content: 'x' } })).status, 400, path)
  const misplaced = await server.ask('POST /told?limit=3', { body: { content: 'x' } })
  assert.equal(misplaced.error.message, 'POST /told: send `limit` in the body, nothing was done.')
  const { error } = await server.ask('GET /nothing?user=ada')
  assert.equal(error.message, `The request was refused: unknown query parameter \`user\`; ${apart}.`)
  assert.equal((await server.ask('GET /nothing')).status, 200)
})

// Found from outside: a clear with {"dryRun":true} in its body cleared. Mutant: `spec.refusesUnknownNames &&
// hasBody(request)` of server.ts as false.
test('where unknown names are refused, a body that nobody reads is refused too, and an empty one is none', async () => {
  await using server = await testHttpServer(routes)
  const apart = 'loci keeps people apart by database: send `x-loci-database: <name>`.'
  const noBody = 'POST /cleared takes no body'
  for (const [body, said] of [
    [{ dryRun: true }, `${noBody}: send \`dryRun\` in the query, nothing was done.`],
    [{ colour: 1 }, 'The request was refused: unknown field `colour`; there are none here.'],
    [{ user_id: 1 }, `The request was refused: unknown field \`user_id\`; ${apart}`],
    ...['[]', 'null', '"dryRun"', 'dryRun=true', '{'].map((text) => [
      text,
      `${noBody}: leave it out, nothing was done.`,
    ]),
  ] as [unknown, string][])
    for (const type of ['application/json', 'application/x-www-form-urlencoded']) {
      const text = typeof body === 'string' ? body : JSON.stringify(body)
      const { status, error } = await server.ask('POST /cleared', { body: text, headers: { 'content-type': type } })
      assert.deepEqual([status, error.code, error.message], [400, 'VALIDATION_ERROR', said], text)
    }
  for (const body of [undefined, '', '{}', ' { } '])
    assert.deepEqual((await server.ask('POST /cleared', body === undefined ? {} : { body })).json(), { done: true })
  assert.deepEqual((await server.ask('POST /cleared?dryRun=true', { body: {} })).json(), { done: false })
  assert.equal((await server.ask('GET /nothing', { body: '{}' })).status, 200)
  assert.equal((await server.ask('GET /nothing', { body: { limit: 1 } })).status, 400)
})

test('a misspelt query parameter is 400, another unknown one is ignored', async () => {
  await using server = await testHttpServer(routes)
  for (const [query, said] of [
    ['perfix=a', 'unknown query parameter `perfix`; did you mean `prefix`?'],
    ['Prefix=a', 'unknown query parameter `Prefix`; did you mean `prefix`?'],
    ['limt=1', 'unknown query parameter `limt`; did you mean `limit`?'],
  ] as const) {
    const { status, error } = await server.ask(`GET /list?${query}`)
    assert.deepEqual([status, error.message], [400, `The request was refused: ${said}`])
  }
  assert.deepEqual((await server.ask('GET /list?colour=green')).json(), { limit: 5 })
})

test('of many unknown names the first twenty are named', async () => {
  await using server = await testHttpServer(routes)
  const body = { value: 1, ...Object.fromEntries(Array.from({ length: 15_000 }, (_, i) => [`field${i}`, 0])) }
  assert.equal((await server.ask('POST /loose', { body })).status, 200)
  const { error } = await server.ask('POST /closed', { body })
  assert.equal((error.details as unknown[]).length, 20)
})

// Each look costs 2.6 µs of the one thread: 20,000 of them held up everybody for 52 ms. Mutant: UNKNOWN_MAX = 1e9.
test('only the first 500 unknown names are looked at for misspellings, and a closed object still refuses each', async () => {
  await using server = await testHttpServer(routes)
  const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`unknown${n}`, 0]))
  const status = async (path: string, body: object) => (await server.ask(`POST ${path}`, { body })).status
  assert.equal(await status('/loose', { value: 1, ...many(499), ttl_ms: 1 }), 400)
  assert.equal(await status('/loose', { value: 1, ...many(500), ttl_ms: 1 }), 200)
  assert.equal(await status('/closed', many(1_000)), 400)
})
