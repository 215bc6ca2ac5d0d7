import assert from 'node:assert/strict'
import { test } from 'node:test'
import { open } from './probes.ts'
import { publish } from './published.ts'
import { reply, route } from './route.ts'
import { testHttpServer } from './testing/server.ts'

const TEXT = 'What the release says about itself. '.repeat(1_000)

async function published() {
  let made = 0
  const answer = publish(() => {
    made += 1
    return reply(200, TEXT, { 'content-type': 'text/plain' })
  })
  const text = { contentType: 'text/plain', description: 'd' }
  const spec = { method: 'GET', path: '/text', access: open, summary: 's', tag: 't' } as const
  const server = await testHttpServer([
    route({ ...spec, answers: { 200: text, 304: { contentType: [], description: 'd' } } }, ({ headers }) =>
      answer(headers),
    ),
  ])
  return Object.assign(server, { made: () => made })
}

// Mutants: one tag for both forms; `Vary` left out; acceptsGzip() that ignores the weight.
test('a published text is sent compressed to who accepts that, and plain to who does not', async () => {
  await using server = await published()
  const plain = await server.ask('GET /text')
  assert.deepEqual([plain.status, plain.headers['content-encoding'], plain.text === TEXT], [200, undefined, true])
  const small = await fetch(`${server.url}/text`, { headers: { 'accept-encoding': 'br, gzip;q=0.5' } })
  assert.equal(small.headers.get('content-encoding'), 'gzip')
  assert.equal(await small.text(), TEXT)
  assert.ok(Number(small.headers.get('content-length')) < TEXT.length / 10)
  assert.notEqual(small.headers.get('etag'), plain.headers.etag)
  for (const vary of [small.headers.get('vary'), plain.headers.vary]) assert.equal(vary, 'accept-encoding')
  for (const [accepted, coding] of [
    ['gzip;q=0, identity', undefined],
    ['GZIP', 'gzip'],
    ['*', 'gzip'],
    ['gzip;q=0, *', undefined],
    ['br', undefined],
    ['', undefined],
  ] as const) {
    const { headers } = await server.ask('GET /text', { headers: { 'accept-encoding': accepted } })
    assert.equal(headers['content-encoding'], coding, accepted)
  }
  assert.equal(server.made(), 1)
})

// Mutants: isKnownTo() that compares the whole header; the 304 without its tag; the tag of either form is enough.
test('who has the text already is told so without a body', async () => {
  await using server = await published()
  const tag = String((await server.ask('GET /text')).headers.etag)
  assert.match(tag, /^"[\w-]+"$/)
  for (const sent of [tag, `"another", ${tag}`, `W/${tag}`, '*']) {
    const { status, text, headers } = await server.ask('GET /text', { headers: { 'if-none-match': sent } })
    assert.deepEqual([status, text, headers.etag, headers['cache-control']], [304, '', tag, 'no-cache'], sent)
  }
  assert.equal((await server.ask('GET /text', { headers: { 'if-none-match': '"another"' } })).status, 200)
  const gzip = { 'accept-encoding': 'gzip' }
  const small = String((await server.ask('GET /text', { headers: gzip })).headers.etag)
  for (const [accepted, sent, expected] of [
    [gzip, small, [304, small]],
    [gzip, tag, [200, small]],
    [{}, small, [200, tag]],
    [{}, `${small}, ${tag}`, [304, tag]],
  ] as const) {
    const { status, headers } = await server.ask('GET /text', { headers: { ...accepted, 'if-none-match': sent } })
    assert.deepEqual([status, headers.etag], expected, sent)
  }
})
