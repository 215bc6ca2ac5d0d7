import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { openapiDocument, type RouteDescription } from './openapi.ts'
import { queryInteger } from './wire.ts'

type Json = Record<string, unknown>
interface Operation {
  operationId: string
  parameters: { name: string; in: string; required: boolean; schema: Json }[]
  requestBody: { required: boolean; content: Record<string, { schema: Json }> }
  responses: Record<string, { description: string; content: Record<string, { schema: Json }> }>
  security: Json[]
  'x-loci-access': string
  'x-loci-operation': string
  'x-loci-second-operation': string
  'x-loci-domains': string[]
  'x-loci-effect': string
  description: string
}

const inner = z.object({ n: z.int() }).meta({ id: 'Inner' })
const outer = z.object({ inner, list: z.array(inner) }).meta({ id: 'Outer' })
const base = { summary: 's', tag: 't', access: { class: 'open', schemes: [] }, answers: { 200: outer }, errors: [] }

function documentOf(routes: Partial<RouteDescription>[], letterCase: 'camel' | 'snake' = 'camel') {
  const full = routes.map((route) => ({ ...base, method: 'GET', path: '/x', ...route }))
  const options = {
    title: 't',
    version: '1',
    description: 'd',
    letterCase,
    address: 'A',
    tags: { t: 'd' },
    securitySchemes: {},
    routes: full,
  }
  const document = openapiDocument(options) as Json & {
    paths: Record<string, Record<string, Operation>>
    components: { schemas: Record<string, Json> }
  }
  return {
    document,
    operation: (line: string) => document.paths[line.split(' ')[1]!]![line.split(' ')[0]!.toLowerCase()]!,
  }
}

function references(value: unknown): string[] {
  return [...JSON.stringify(value).matchAll(/"\$ref":"([^"]*)"/g)].map(([, ref]) => String(ref))
}

test('every route is documented, by path and method', () => {
  const { document } = documentOf([
    { method: 'GET', path: '/b' },
    { method: 'POST', path: '/b' },
    { method: 'DELETE', path: '/a/{id}', params: z.object({ id: z.string() }) },
  ])
  assert.deepEqual(Object.keys(document.paths), ['/a/{id}', '/b'])
  assert.deepEqual(Object.keys(document.paths['/b']!), ['get', 'post'])
  assert.equal(document.openapi, '3.1.0')
})

test('operation ids are unique', () => {
  const { operation } = documentOf([
    { path: '/v1/kv/entries/{key}', params: z.object({ key: z.string() }) },
    { method: 'POST', path: '/v1/partner/tools:rank' },
    { path: '/openapi.json' },
  ])
  assert.equal(operation('GET /v1/kv/entries/{key}').operationId, 'getV1KvEntriesByKey')
  assert.equal(operation('POST /v1/partner/tools:rank').operationId, 'postV1PartnerToolsRank')
  assert.equal(operation('GET /openapi.json').operationId, 'getOpenapiJson')
})

test('an integer of a query is an integer with its bounds, not text', () => {
  const query = z.object({ limit: queryInteger({ min: 1, max: 100, fallback: 20 }), after: z.string().optional() })
  const { operation } = documentOf([{ query }])
  assert.deepEqual(operation('GET /x').parameters, [
    {
      name: 'limit',
      in: 'query',
      required: false,
      schema: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
    },
    { name: 'after', in: 'query', required: false, schema: { type: 'string' } },
  ])
})

test('a route that refuses for a header documents it', () => {
  const { operation } = documentOf([
    { path: '/plain' },
    { method: 'POST', path: '/keyed', errors: ['IDEMPOTENCY_IN_PROGRESS', 'IDEMPOTENCY_KEY_REUSED'] },
    { method: 'PUT', path: '/versioned', conditions: ['if-match', 'if-none-match'] },
    { path: '/database', errors: ['DATABASE_MISMATCH'] },
  ])
  const headersOf = (line: string) => (operation(line).parameters ?? []).map((one) => `${one.in} ${one.name}`)
  assert.deepEqual(headersOf('GET /plain'), [])
  assert.deepEqual(headersOf('POST /keyed'), ['header Idempotency-Key'])
  assert.deepEqual(headersOf('PUT /versioned'), ['header If-Match', 'header If-None-Match'])
  assert.deepEqual(headersOf('GET /database'), ['header x-loci-database'])
})

test('a parameter of a path is required', () => {
  const { operation } = documentOf([{ path: '/a/{id}', params: z.object({ id: z.string() }) }])
  assert.deepEqual(operation('GET /a/{id}').parameters, [
    { name: 'id', in: 'path', required: true, schema: { type: 'string' } },
  ])
})

test('schemas with a name are components, and every reference resolves', () => {
  const { document } = documentOf([{ method: 'POST', body: { schema: outer, required: true }, errors: ['NOT_FOUND'] }])
  const found = references(document)
  assert.ok(found.includes('#/components/schemas/Outer') && found.includes('#/components/schemas/Error'))
  for (const ref of found) {
    assert.match(ref, /^#\/components\/schemas\/\w+$/)
    assert.ok(document.components.schemas[ref.split('/').at(-1)!], ref)
  }
  assert.ok(!JSON.stringify(document).includes('$defs'))
})

test('a component says what it is, and does not only refer to itself', () => {
  const { document } = documentOf([{ method: 'POST', body: { schema: outer, required: true } }])
  const { Inner, Outer } = document.components.schemas as Record<string, { properties: Json }>
  assert.deepEqual(Object.keys(Inner!.properties), ['n'])
  assert.deepEqual(Outer!.properties.inner, { $ref: '#/components/schemas/Inner' })
})

test('a body says whether it may be left out', () => {
  const { operation } = documentOf([
    { method: 'POST', path: '/a', body: { schema: inner, required: true } },
    { method: 'POST', path: '/b', body: { schema: inner, required: false } },
  ])
  assert.deepEqual(
    [operation('POST /a').requestBody.required, operation('POST /b').requestBody.required],
    [true, false],
  )
})

test('errors are under their status with the error’s shape, beside an answer of the same status', () => {
  const { operation, document } = documentOf([
    { errors: ['NOT_FOUND', 'STARTING', 'DRAINING'], answers: { 200: inner, 503: z.object({ status: z.string() }) } },
  ])
  const { responses } = operation('GET /x')
  assert.deepEqual(Object.keys(responses), ['200', '404', '503'])
  assert.match(responses['404']!.description, /`NOT_FOUND`: /)
  assert.deepEqual(responses['404']!.content['application/json']!.schema, { $ref: '#/components/schemas/Error' })
  assert.equal((responses['503']!.content['application/json']!.schema.anyOf as unknown[]).length, 2)
  assert.match(JSON.stringify(document.components.schemas.Error), /"requestId"/)
})

test('the error’s shape follows the letter case of the service', () => {
  const { document } = documentOf([{ errors: ['NOT_FOUND'] }], 'snake')
  assert.match(JSON.stringify(document.components.schemas.Error), /"request_id"/)
  assert.doesNotMatch(JSON.stringify(document.components.schemas.Error), /"requestId"/)
})

test('each operation documents who may call it', () => {
  const access = { class: 'capability', operation: 'kv:read', schemes: [['capability']] }
  const { operation } = documentOf([{ access }, { path: '/open' }])
  assert.deepEqual(operation('GET /x').security, [{ capability: [] }])
  assert.equal(operation('GET /x')['x-loci-operation'], 'kv:read')
  assert.deepEqual(operation('GET /open').security, [])
  assert.equal(operation('GET /open')['x-loci-access'], 'open')
})

test('a second operation, several domains and the effect are written at the operation, and its database header', () => {
  const { operation } = documentOf([
    {
      access: {
        class: 'capability',
        operation: 'cycles:run',
        secondOperation: 'wm:read',
        domains: ['cognitive', 'memory'],
        effect: 'write',
        schemes: [['capability']],
      },
    },
  ])
  const said = operation('GET /x')
  assert.deepEqual(
    [said['x-loci-operation'], said['x-loci-second-operation'], said['x-loci-domains'], said['x-loci-effect']],
    ['cycles:run', 'wm:read', ['cognitive', 'memory'], 'write'],
  )
  assert.equal(
    said.description,
    'Access: capability with `cycles:run` and `wm:read`, on `cognitive`, `memory` of one database.',
  )
  assert.deepEqual(
    said.parameters.map(({ name }) => name),
    ['x-loci-database'],
  )
})

test('an answer that is not JSON says its type', () => {
  const { operation } = documentOf([{ answers: { 200: { contentType: 'text/plain', description: 'Text.' } } }])
  assert.deepEqual(operation('GET /x').responses['200'], { description: 'Text.', content: { 'text/plain': {} } })
})

test('a route that answers with nothing but errors says so as its default answer', () => {
  const { operation } = documentOf([{ answers: {}, errors: ['METHOD_NOT_ALLOWED'] }, { path: '/y' }])
  assert.deepEqual(Object.keys(operation('GET /x').responses), ['405', 'default'])
  assert.deepEqual(Object.keys(operation('GET /y').responses), ['200'])
})

test('an error stands beside a page of the same status, and JSON of any shape stays of any shape', () => {
  const answers = (contentType: string) => ({ 400: { contentType, description: 'Said otherwise.' } })
  const { operation } = documentOf([
    { path: '/page', answers: answers('text/html'), errors: ['VALIDATION_ERROR'] },
    { path: '/any', answers: answers('application/json'), errors: ['VALIDATION_ERROR'] },
  ])
  const error = { schema: { $ref: '#/components/schemas/Error' } }
  assert.deepEqual(operation('GET /page').responses['400']!.content, { 'text/html': {}, 'application/json': error })
  assert.deepEqual(operation('GET /any').responses['400']!.content, { 'application/json': {} })
})

test('details come before the access in the description, and the summary stays alone', () => {
  const { operation } = documentOf([{ summary: 'Write one.', details: 'Over capacity another one leaves.' }])
  const { summary, description } = operation('GET /x') as unknown as { summary: string; description: string }
  assert.deepEqual([summary, description], ['Write one.', 'Over capacity another one leaves. Access: open.'])
})

test('a path with a slash at its end is documented once, and only credentials that a route takes are', () => {
  const { document } = documentOf([{ path: '/' }, { path: '/a' }, { path: '/a/' }, { path: '/b/' }])
  assert.deepEqual(Object.keys(document.paths), ['/', '/a', '/b/'])
  const securitySchemes = { taken: { type: 'http' }, unknown: { type: 'http' } }
  const access = { class: 'x', schemes: [['taken']] }
  const options = {
    title: 't',
    version: '1',
    description: 'd',
    letterCase: 'camel' as const,
    address: 'A',
    tags: { t: 'd' },
  }
  const routes = [{ ...base, access, method: 'GET', path: '/x' }]
  const { components } = openapiDocument({ ...options, securitySchemes, routes }) as {
    components: { securitySchemes: object }
  }
  assert.deepEqual(Object.keys(components.securitySchemes), ['taken'])
})

test('a tag that nothing describes is refused', () => {
  assert.throws(() => documentOf([{ tag: 'unheard of' }]), /unheard of/)
})
