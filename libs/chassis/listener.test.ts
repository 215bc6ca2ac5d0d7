// What the HTTP parser refuses by itself, over bare sockets.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isId } from '@loci/contract/ids.ts'
import { z } from 'zod'
import { open } from './probes.ts'
import { route } from './route.ts'
import { sendBytes } from './test-request.ts'
import { testHttpServer } from './test-server.ts'

const routes = [
  route(
    { method: 'GET', path: '/x', access: open, summary: 's', tag: 't', answers: { 200: z.object({}) } },
    () => ({}),
  ),
]

function refusalIn(text: string): { status: number; id: string; error: Record<string, unknown> } {
  const [head, body] = text.split('\r\n\r\n') as [string, string]
  return {
    status: Number(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1]),
    id: /x-request-id: (\S+)/i.exec(head)?.[1] ?? '',
    // The body may be chunked.
    error: JSON.parse(body.slice(body.indexOf('{'), body.lastIndexOf('}') + 1)).error,
  }
}

test('what is no HTTP is 400 in our own shape, with a request id, and the connection is closed', async () => {
  await using server = await testHttpServer(routes)
  for (const bytes of [
    'hello\r\n\r\n',
    'GET /x HTTP/9.9\r\nhost: x\r\n\r\n',
    'GET /x HTTP/1.1\r\nhost : x\r\n\r\n',
    'GET /x HTTP/1.1\r\nhost: x\r\nbad header\r\n\r\n',
    'POST /x HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n',
    'POST /x HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
    'POST /x HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n\r\n',
  ]) {
    const text = await sendBytes(server.url, bytes)
    // The last two may be answered by the route before the parser meets what is wrong; never by a 5xx, never by silence.
    const { status, id } = refusalIn(text)
    assert.ok(status >= 400 && status < 500, `${status} for ${JSON.stringify(bytes)}`)
    assert.ok(isId('req', id), text)
  }
})

test('the parser’s refusal speaks the letter case of its service', async () => {
  await using server = await testHttpServer(routes, { letterCase: 'snake' })
  const { id, error } = refusalIn(await sendBytes(server.url, 'hello\r\n\r\n'))
  assert.equal(error.code, 'VALIDATION_ERROR')
  assert.equal(error.request_id, id)
  assert.equal('requestId' in error, false)
})

test('headers over 16 KiB are 431', async () => {
  await using server = await testHttpServer(routes)
  const text = await sendBytes(server.url, `GET /x HTTP/1.1\r\nhost: x\r\na: ${'x'.repeat(17 * 1024)}\r\n\r\n`)
  const { status, id, error } = refusalIn(text)
  assert.deepEqual([status, error.code, error.requestId], [431, 'HEADERS_TOO_LARGE', id])
})

test('a request without a host is 400 with a request id', async () => {
  await using server = await testHttpServer(routes)
  const { status, id, error } = refusalIn(await sendBytes(server.url, 'GET /x HTTP/1.1\r\n\r\n'))
  assert.deepEqual([status, error.code, error.requestId], [400, 'VALIDATION_ERROR', id])
})

test('an expectation that nobody knows is ignored', async () => {
  await using server = await testHttpServer(routes)
  const text = await sendBytes(
    server.url,
    'GET /x HTTP/1.1\r\nhost: x\r\nexpect: miracles\r\nconnection: close\r\n\r\n',
  )
  assert.match(text, /^HTTP\/1\.1 200 /)
})

test('a smuggled second request is not served', async () => {
  await using server = await testHttpServer(routes)
  const bytes =
    'POST /none HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\ncontent-length: 4\r\n\r\n0\r\n\r\nGET /x HTTP/1.1\r\nhost: x\r\n\r\n'
  assert.doesNotMatch(await sendBytes(server.url, bytes), /HTTP\/1\.1 200/)
})

test('a request that does not arrive whole in time is 408, and a connection that says nothing more is closed', async () => {
  await using server = await testHttpServer(routes)
  const startedAt = performance.now()
  const text = await sendBytes(server.url, 'GET /x HTTP/1.1\r\nhost: x\r\na: ')
  const { status, id, error } = refusalIn(text)
  assert.deepEqual([status, error.code, error.requestId], [408, 'REQUEST_TIMEOUT', id])
  assert.ok(performance.now() - startedAt < 8_000)
})

test('a kept-alive connection and half a request do not hold up the end', async () => {
  await using server = await testHttpServer(routes)
  const idle = sendBytes(server.url, 'GET /x HTTP/1.1\r\nhost: x\r\n\r\n')
  const half = sendBytes(server.url, 'GET /x HTTP/1.1\r\nhost')
  await server.logged(({ status }) => status === 200)
  const startedAt = performance.now()
  assert.equal(await server.server.close(5_000), 0)
  assert.match(await idle, /^HTTP\/1\.1 200 /)
  await half
  assert.ok(performance.now() - startedAt < 1_000)
})
