import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ArgumentsOf, pythonKeyed, pythonTypes, withoutAwait } from './python.ts'

const json = (schema: { [keyword: string]: unknown }) => ({ content: { 'application/json': { schema } } })
const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` })
const flat = (text: string) => text.replaceAll(/\s+/g, ' ')

function documentOf(operation: object, schemas: Record<string, { [keyword: string]: unknown }>) {
  return { paths: { '/x/{id}': { post: { responses: { 200: json({}) }, ...operation } } }, components: { schemas } }
}

function typesOf(
  operation: object,
  schemas: Record<string, { [keyword: string]: unknown }> = {},
  given: ArgumentsOf[] = [],
): string {
  return flat(pythonTypes('daemon', documentOf(operation, schemas), given))
}

const ID = { name: 'id', in: 'path', required: true, schema: { type: 'string' } }
const KEY = { name: 'Idempotency-Key', in: 'header', schema: { type: 'string' } }

test('each route has an overload without await and one with it: what must be given, and what is answered', () => {
  const limit = { name: 'limit', in: 'query', schema: { type: 'integer' } }
  const operation = {
    parameters: [ID, limit, KEY],
    requestBody: { required: true, ...json(ref('Thing')) },
    summary: 'S.',
  }
  const text = typesOf({ ...operation, responses: { 200: json(ref('Thing')), 204: {} } }, { Thing: { type: 'object' } })
  const call = `call( self, name: Literal["POST /x/{id}"], *, path: PathParameters, query: PostXIdQuery = ..., body: ThingGiven, idempotency_key: str | None = ..., **options: Unpack[CallOptions], ) -> Answer[Thing | None]: """S."""`
  assert.ok(
    text.includes(
      `class Daemon(Protocol): """Every route of daemon by its \`METHOD /path\`, typed.""" @overload def ${call}`,
    ),
    text,
  )
  assert.ok(text.includes(`@overload async def ${call}`), text)
  assert.ok(text.includes('class PostXIdQuery(TypedDict, total=False): limit: int'), text)
  assert.match(
    pythonKeyed({ daemon: documentOf(operation, {}) }),
    /DAEMON_KEYED = frozenset\(\n {4}\{\n {8}"POST \/x\/\{id\}",\n/,
  )
})

test('an enum is closed where it is given and open where it is answered', () => {
  const Color = { type: 'string', enum: ['red', 'blue'] }
  const text = typesOf({ requestBody: json(ref('Color')), responses: { 201: json(ref('Color')) } }, { Color })
  assert.ok(text.includes(`ColorGiven: TypeAlias = "Literal[\\"red\\", \\"blue\\"]" `), text)
  assert.ok(text.includes(`Color: TypeAlias = "Literal[\\"red\\", \\"blue\\"] | str" `), text)
})

// Mutant: all fields in one class with total=False.
test('what is required is, nested objects have names, and a field may be called as a word of Python', () => {
  const Thing = {
    type: 'object',
    required: ['a', 'in'],
    properties: {
      a: { anyOf: [{ type: 'string' }, { type: 'null' }] },
      in: { type: 'integer' },
      parts: { type: 'array', items: { type: 'object', properties: { b: { const: true } }, required: ['b'] } },
      counts: { type: 'object', additionalProperties: { type: 'number' } },
    },
  }
  const text = typesOf({ responses: { 200: json(ref('Thing')) } }, { Thing })
  assert.ok(text.includes('_Thing = TypedDict( "_Thing", { "a": "str | None", "in": "int", }, )'), text)
  assert.ok(
    text.includes('class Thing(_Thing, total=False): parts: list[ThingPartsItem] counts: dict[str, float]'),
    text,
  )
  assert.ok(text.includes('class ThingPartsItem(TypedDict): b: Literal[True]'), text)
})

test('the keywords of a verb are the fields of its body in snake_case, without what it takes otherwise', () => {
  const Write = {
    type: 'object',
    required: ['value', 'taskClass'],
    properties: { value: {}, taskClass: { type: 'string' }, ttlMs: { type: 'integer' } },
  }
  const given = [{ name: 'WriteArguments', of: 'Write', without: ['value'] }]
  const text = typesOf({ requestBody: json(ref('Write')) }, { Write }, given)
  const classes =
    'class _WriteArguments(TypedDict): task_class: str class WriteArguments(_WriteArguments, total=False): ttl_ms: int'
  assert.ok(text.includes(classes), text)
  assert.throws(() => typesOf({}, {}, [{ name: 'A', of: 'Gone' }]), /no body and no route is called 'Gone'/)
})

test('the twin of a text has no await left, whatever is awaited', () => {
  const text = `from collections.abc import AsyncIterator, Awaitable, Callable

    async def each(self, read: Callable[[str], Awaitable[Mapping[str, list[int]]]]) -> AsyncIterator[AsyncUser]:
        async with self._http.stream() as response:
            async for chunk in response.aiter_bytes():
                yield await read(await chunk)
`
  const twin = withoutAwait('a.py', text)
  assert.doesNotMatch(twin.slice(twin.indexOf('\n')), /async|await|Async/i)
  assert.ok(twin.includes('def each(self, read: Callable[[str], Mapping[str, list[int]]]) -> Iterator[User]:'), twin)
  assert.ok(twin.includes('import Iterator, Callable\n') && twin.includes('yield read(chunk)'), twin)
})
