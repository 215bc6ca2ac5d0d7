import assert from 'node:assert/strict'
import { test } from 'node:test'
import { operationsFile } from './sdk.ts'

const json = (schema: { [keyword: string]: unknown }) => ({ content: { 'application/json': { schema } } })
const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` })
const flat = (text: string) => text.replaceAll(/\s+/g, ' ')

function fileOf(operation: object, schemas: Record<string, { [keyword: string]: unknown }> = {}): string {
  const paths = { '/x/{id}': { post: { responses: { 200: json({}) }, ...operation } } }
  return flat(operationsFile('daemon', { paths, components: { schemas } }))
}

test('what must be given is required, what may be given is optional, and the key is an option of its own', () => {
  const parameters = [
    { name: 'id', in: 'path', required: true, schema: { type: 'string' } },
    { name: 'limit', in: 'query', schema: { type: 'integer' } },
    { name: 'Idempotency-Key', in: 'header', schema: { type: 'string' } },
  ]
  const text = fileOf({ parameters, requestBody: { required: true, ...json({ type: 'array', items: {} }) } })
  const given =
    'path: { id: string } query?: { limit?: number | undefined } | undefined body: unknown[] idempotencyKey?:'
  assert.ok(text.includes(given), text)
  assert.ok(text.includes("DAEMON_KEYED: ReadonlySet<string> = new Set([ 'POST /x/{id}', ])"), text)
})

test('an enum is closed where it is given and open where it is answered, also in one and the same component', () => {
  const Color = { type: 'string', enum: ['red', "it's"] }
  const text = fileOf({ requestBody: json(ref('Color')), responses: { 201: json(ref('Color')) } }, { Color })
  assert.ok(text.includes('body?: ColorGiven | undefined } answers: { 201: Color }'), text)
  assert.ok(text.includes("export type ColorGiven = 'red' | 'it\\'s' "), text)
  assert.ok(text.includes("export type Color = 'red' | 'it\\'s' | Other "), text)
})

test('objects, maps, choices and null are what they are in JSON', () => {
  const Thing = {
    type: 'object',
    required: ['a'],
    properties: { a: { anyOf: [{ type: 'string' }, { type: 'null' }] }, 'b-c': { const: true }, d: ref('Counts') },
    additionalProperties: {},
  }
  const Counts = { type: 'object', additionalProperties: { type: ['integer', 'null'] } }
  const text = fileOf(
    { responses: { 200: json({ type: 'array', items: ref('Thing') }) } },
    { Thing, Counts, Unused: {} },
  )
  assert.ok(text.includes('answers: { 200: Thing[] }'), text)
  assert.ok(
    text.includes("export type Thing = { a: string | null 'b-c'?: true d?: Counts [field: string]: unknown }"),
    text,
  )
  assert.ok(text.includes('export type Counts = { [field: string]: number | null }'), text)
  assert.ok(!text.includes('Unused'))
})

test('only success has a type; text is text, nothing is undefined, and a stream cannot be called', () => {
  const text = fileOf({ responses: { 200: { content: { 'text/plain': {} } }, 204: {}, 404: json(ref('Error')) } })
  assert.ok(text.includes('answers: { 200: string 204: undefined }'), text)
  assert.ok(!fileOf({ responses: { 200: { content: { 'text/event-stream': {} } } } }).includes('POST /x/{id}'))
})
