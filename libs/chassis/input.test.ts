import assert from 'node:assert/strict'
import { request } from 'node:http'
import { test } from 'node:test'
import { queryInteger } from '@loci/contract/wire.ts'
import { z } from 'zod'
import type { ApiError } from './api-error.ts'
import { parseInput } from './input.ts'
import { open } from './probes.ts'
import { route } from './route.ts'
import { testHttpServer } from './testing/server.ts'

const anything = { 200: z.unknown() }
const spec = { access: open, summary: 's', tag: 't', answers: anything }
const body = z.object({ name: z.string().max(5), count: z.int().optional() })
const routes = [
  route({ ...spec, method: 'POST', path: '/body', body }, ({ body: sent }) => ({ sent })),
  route(
    { ...spec, method: 'POST', path: '/optional', body: body.optional(), bodyOptional: true },
    ({ body: sent }) => ({
      sent: sent ?? null,
    }),
  ),
  route({ ...spec, method: 'POST', path: '/default', body: body.partial(), bodyDefault: {} }, ({ body: sent }) => ({
    sent,
  })),
  route({ ...spec, method: 'POST', path: '/small', body, bodyBytesMax: 64 }, () => ({})),
  route({ ...spec, method: 'POST', path: '/none' }, ({ body: sent }) => ({ sent: sent ?? null })),
  route(
    {
      ...spec,
      method: 'GET',
      path: '/query',
      query: z.object({ limit: queryInteger({ min: 1, max: 100, fallback: 20 }) }),
    },
    ({ query }) => query,
  ),
  route(
    { ...spec, method: 'GET', path: '/path/{key}', params: z.object({ key: z.string().max(300) }) },
    ({ params }) => params,
  ),
]

test('a body that fits is handed over without the fields that nobody asked for', async () => {
  await using server = await testHttpServer(routes)
  for (const type of [
    'application/json',
    'application/json; charset=utf-8',
    'Application/JSON;charset="UTF-8"',
    'application/merge-patch+json',
  ]) {
    const sent = JSON.stringify({ name: 'ada', other: 1 })
    const { text } = await server.ask('POST /body', { body: sent, headers: { 'content-type': type } })
    assert.equal(text, '{"sent":{"name":"ada"}}', type)
  }
})

test('a body that does not fit is 400 and names each field', async () => {
  await using server = await testHttpServer(routes)
  const { status, error } = await server.ask('POST /body', { body: { name: 'too long', count: 1.5 } })
  assert.equal(status, 400)
  assert.equal(error.code, 'VALIDATION_ERROR')
  assert.deepEqual((error.details as { field: string }[]).map(({ field }) => field).sort(), ['body.count', 'body.name'])
})

test('a body that is missing, no JSON or unsafe is 400', async () => {
  await using server = await testHttpServer(routes)
  const headers = { 'content-type': 'application/json' }
  for (const sent of [
    undefined,
    '',
    '{',
    'null',
    '[]',
    '"x"',
    '{"name":"\\u0000"}',
    '{"x":{"__proto__":1},"name":"a"}',
    '{"name":"a","x":1e999}',
    '['.repeat(100_000),
  ]) {
    const { status, error } = await server.ask('POST /body', sent === undefined ? {} : { body: sent, headers })
    assert.deepEqual([status, error.code], [400, 'VALIDATION_ERROR'], sent?.slice(0, 40))
  }
})

test('a body of another type or encoding is 415', async () => {
  await using server = await testHttpServer(routes)
  const sent = '{"name":"a"}'
  for (const type of [
    'text/plain',
    'text/json',
    'application/x-www-form-urlencoded',
    'application/json; charset=utf-16',
    'application/jsonp',
    '',
    'x',
  ])
    assert.equal((await server.ask('POST /body', { body: sent, headers: { 'content-type': type } })).status, 415, type)
  assert.equal((await server.ask('POST /body', { body: sent })).status, 415, 'no type at all')
  const gzip = { 'content-type': 'application/json', 'content-encoding': 'gzip' }
  assert.equal((await server.ask('POST /body', { body: sent, headers: gzip })).error.code, 'UNSUPPORTED_MEDIA_TYPE')
})

test('a body over the route’s limit is 413, declared or found out', async () => {
  await using server = await testHttpServer(routes)
  const declared = await server.ask('POST /small', { body: { name: 'x'.repeat(100) } })
  assert.deepEqual([declared.status, declared.error.code], [413, 'PAYLOAD_TOO_LARGE'])
  const big = await server.ask('POST /body', { body: { name: 'a', x: 'x'.repeat(1024 * 1024) } })
  assert.equal(big.status, 413)
  assert.equal(await statusOfChunked(`${server.url}/small`), 413)
})

/** A body whose length nobody announced. */
function statusOfChunked(url: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json' }
    const outgoing = request(url, { method: 'POST', headers, agent: false }, (incoming) => {
      incoming.resume()
      resolve(incoming.statusCode)
    })
    outgoing.on('error', reject)
    outgoing.write('{"name":"')
    outgoing.end(`${'x'.repeat(200)}"}`)
  })
}

test('a body that may be left out may be left out, and one that is not asked for is not looked at', async () => {
  await using server = await testHttpServer(routes)
  assert.equal((await server.ask('POST /optional')).text, '{"sent":null}')
  assert.equal((await server.ask('POST /optional', { body: { name: 'a' } })).text, '{"sent":{"name":"a"}}')
  assert.equal((await server.ask('POST /default')).text, '{"sent":{}}')
  assert.equal((await server.ask('POST /default', { body: { name: 'a' } })).text, '{"sent":{"name":"a"}}')
  assert.equal((await server.ask('POST /none', { body: 'anything' })).text, '{"sent":null}')
})

test('a query is read strictly: numbers are digits, and nothing comes twice', async () => {
  await using server = await testHttpServer(routes)
  assert.equal((await server.ask('GET /query')).text, '{"limit":20}')
  assert.equal((await server.ask('GET /query?limit=7&unknown=x')).text, '{"limit":7}')
  for (const query of [
    'limit=1&limit=1',
    'limit=1e1',
    'limit=0x10',
    'limit=',
    'limit=0',
    'limit=101',
    'limit[]=1&limit=%',
    'a=%00',
    'a=1&a=2',
  ]) {
    const { status, error } = await server.ask(`GET /query?${query}`)
    assert.deepEqual([status, error.code], [400, 'VALIDATION_ERROR'], query)
  }
})

test('a parameter of a path is decoded once, and one that cannot be is 400', async () => {
  await using server = await testHttpServer(routes)
  assert.equal((await server.ask('GET /path/a%2Fb%20%C3%A4%2525')).text, JSON.stringify({ key: 'a/b ä%25' }))
  assert.equal((await server.ask('GET /path/%E0%A4%A')).status, 400)
  assert.equal((await server.ask(`GET /path/${'x'.repeat(301)}`)).status, 400)
})

// Mutant: encodeURIComponent() left out of HandlerCall.route: two paths are one route.
test('a handler knows its route with the values of the path, and two paths are never one', async () => {
  const params = z.object({ a: z.string(), b: z.string() })
  const named = route({ ...spec, method: 'POST', path: '/of/{a}/and/{b}', params }, ({ route: name }) => ({ name }))
  await using server = await testHttpServer([named])
  const nameOf = async (path: string) => (await server.ask(`POST ${path}`)).json<{ name: string }>().name
  assert.equal(await nameOf('/of/svc_1/and/x?limit=1'), 'POST /of/svc_1/and/x')
  assert.notEqual(await nameOf('/of/x%2Fand%2Fy/and/z'), await nameOf('/of/x/and/y%2Fand%2Fz'))
  assert.equal(await nameOf('/of/%78/and/y'), await nameOf('/of/x/and/y'))
})

test('what is missing is told in the same words everywhere, and an option is told with its choices', () => {
  const schema = z.object({ name: z.string(), kind: z.enum(['a', 'b']), inner: z.object({ at: z.int() }) })
  const problems = (value: unknown) => {
    try {
      parseInput(schema, value, 'body')
    } catch (error) {
      const { details } = (error as ApiError).options as { details: { field: string; problem: string }[] }
      return details.map(({ field, problem }) => `${field} ${problem}`)
    }
    return []
  }
  assert.deepEqual(problems({ inner: {} }), [
    'body.name is required',
    'body.kind is required: one of "a", "b"',
    'body.inner.at is required',
  ])
  assert.deepEqual(problems({ name: 5, kind: 'a', inner: { at: 1 } }), ['body.name must be a string'])
})
