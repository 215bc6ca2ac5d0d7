// Bodies on their way: they hold no slot, are neither too slow nor too many.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { z } from 'zod'
import { readBytes, tooSlow } from './body.ts'
import { open } from './probes.ts'
import { type Access, type Method, type Route, type RouteSpec, route } from './route.ts'
import { eventually, sendBytes } from './testing/request.ts'
import { testHttpServer } from './testing/server.ts'

type Spec = Partial<RouteSpec<unknown, z.ZodType, z.ZodType, z.ZodType>>

function at(line: string, handle: Route['handle'] = () => ({}), spec: Spec = {}): Route {
  const [method, path] = line.split(' ') as [Method, string]
  return route({ method, path, access: open, summary: 's', tag: 't', answers: { 200: z.object({}) }, ...spec }, handle)
}

const ONE = { runningMax: 1, queueMax: 0, queueMs: 50 }

async function leave(url: string, text: string): Promise<() => void> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  socket.write(text)
  return () => void socket.destroy()
}

const BODY = z.object({ a: z.string() })
const dripHead = (path: string, name = 'ada') =>
  `POST ${path} HTTP/1.1\r\nhost: x\r\nx-name: ${name}\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{"a":`
/** Callers by name; each name has its own share. */
const named: Access<string> = {
  class: 'named',
  schemes: [],
  errors: [],
  authorize: ({ headers }) => String(headers['x-name']),
  shareOf: (caller) => caller,
}

// Mutant: the slot kept in awaitBody() of server.ts, as it was: one free account stopped both programs with 64 bodies
// of one byte.
test('a body on its way holds no slot, and its request is served when it has come', async () => {
  await using server = await testHttpServer([at('POST /body', undefined, { body: BODY }), at('GET /x')], {
    limits: ONE,
  })
  const { hostname, port } = new URL(server.url)
  const drips = Array.from({ length: 8 }, () => {
    const socket = connect(Number(port), hostname, () => socket.write(dripHead('/body')))
    return { socket, answer: once(socket, 'data') }
  })
  await eventually(() => server.server.inFlight() === 8)
  await eventually(() => server.limiter.running === 0)
  assert.equal((await server.ask('GET /x')).status, 200)
  for (const { socket, answer } of drips) {
    socket.write('"b"}')
    assert.match(String(await answer), /^HTTP\/1\.1 200 /)
    socket.destroy()
  }
  await eventually(() => server.limiter.running === 0)
})

test('a client that leaves in the middle of its body takes no slot with it', async () => {
  await using server = await testHttpServer([at('POST /body', undefined, { body: BODY })], { limits: ONE })
  const go = await leave(server.url, dripHead('/body'))
  await eventually(() => server.server.inFlight() === 1)
  go()
  await eventually(() => server.server.inFlight() === 0)
  assert.equal(server.limiter.running, 0)
})

// Mutant: queueMicrotask() for setImmediate() in serve(). Node runs both between headers and body, so every body was
// waited for.
test('a body that comes with its headers is not waited for: its slot is kept', async () => {
  const waited: boolean[] = []
  const handle = () => {
    waited.push(server.limiter.resumed > 0)
    return {}
  }
  await using server = await testHttpServer([at('POST /body', handle, { body: BODY })])
  for (let n = 0; n < 20; n += 1) {
    const whole = dripHead('/body').replace('content-length', 'connection: close\r\ncontent-length')
    assert.match(await sendBytes(server.url, `${whole}"b"}`), /^HTTP\/1\.1 200 /)
  }
  assert.deepEqual(new Set(waited), new Set([false]))
})

// Mutant: isTooSlow() that answers false; it would take the 10 s of its class.
test('a body slower than 8 KiB a second after its grace is 408, long before the time of its class is over', async () => {
  await using server = await testHttpServer([at('POST /body', undefined, { body: BODY })])
  const startedAt = performance.now()
  const text = await sendBytes(server.url, dripHead('/body'))
  assert.match(text, /^HTTP\/1\.1 408 .*REQUEST_TIMEOUT/s)
  const ms = performance.now() - startedAt
  assert.ok(ms >= 2_000 && ms < 9_000, `${ms} ms`)
})

// Mutant: CALLER_BODIES_MAX of body.ts without its check.
test('one caller has at most 64 bodies on their way, and no other is refused for it', async () => {
  const spec = { body: BODY, access: named }
  await using server = await testHttpServer([at('POST /body', undefined, spec)])
  const goes = await Promise.all(Array.from({ length: 64 }, () => leave(server.url, dripHead('/body', 'eve'))))
  await eventually(() => server.server.inFlight() === 64)
  const { hostname, port } = new URL(server.url)
  const more = connect(Number(port), hostname, () => more.write(dripHead('/body', 'eve')))
  assert.match(String(await once(more, 'data')), /^HTTP\/1\.1 503 .*OVERLOADED/s)
  const other = connect(Number(port), hostname, () => other.write(dripHead('/body', 'ada')))
  await eventually(() => server.server.inFlight() === 65)
  other.write('"b"}')
  assert.match(String(await once(other, 'data')), /^HTTP\/1\.1 200 /)
  for (const go of [...goes, () => more.destroy(), () => other.destroy()]) go()
})

// Forty slow clients held 40 MB that no bound knew of. Mutant: `chunks` are not let go of in readBytes().
test('of a body that was refused nothing more is kept', async () => {
  const request = Object.assign(new PassThrough(), { headers: {} }) as unknown as IncomingMessage & PassThrough
  let kept = 0
  const body = readBytes(request, 1_000)
  const keep = (bytes: number) => {
    kept += bytes
  }
  body.account = { keep, isTooSlow: () => false, end() {} }
  request.write('abc')
  await eventually(() => kept === 3)
  body.refuse(tooSlow())
  await assert.rejects(body.whole, { code: 'REQUEST_TIMEOUT' })
  request.end('def')
  await once(request, 'end')
  assert.deepEqual([kept, body.received], [3, 6])
})
