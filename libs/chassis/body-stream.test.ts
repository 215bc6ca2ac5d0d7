// Bodies that a handler reads while they arrive, through a real listener.

import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { type BodyStream, streamedBody } from './body-stream.ts'
import { open } from './probes.ts'
import { route, type StreamLimits } from './route.ts'
import { ask, eventually } from './testing/request.ts'
import { type TestHttpServer, testHttpServer } from './testing/server.ts'

const KIB = 1024
const GENEROUS: StreamLimits = { bytesMax: 64 * KIB * KIB, bytesPerSecondMin: 1, withinMs: 60_000 }
const spec = { path: '/import', access: open, tag: 't', summary: 's', answers: { 200: z.unknown() } } as const

type Read = (body: BodyStream) => Promise<unknown>

function importing(read: Read, change: Partial<StreamLimits> = {}, options: Parameters<typeof testHttpServer>[1] = {}) {
  const bodyStream = { ...GENEROUS, ...change }
  const served = route({ ...spec, method: 'POST', body: streamedBody, bodyStream }, ({ body }) => read(body))
  return testHttpServer([served, route({ ...spec, method: 'GET' }, () => ({}))], options)
}

/** Opens a request whose body is sent by hand. */
function send(server: TestHttpServer, headers: Record<string, string> = {}) {
  const outgoing: ClientRequest = request(`${server.url}/import`, { method: 'POST', agent: false, headers })
  const answer = new Promise<{ status: number; text: string; headers: IncomingMessage['headers'] }>(
    (resolve, reject) => {
      outgoing.on('error', reject)
      outgoing.on('response', async (incoming) => {
        let text = ''
        for await (const chunk of incoming) text += chunk
        resolve({ status: incoming.statusCode as number, text, headers: incoming.headers })
      })
    },
  )
  // Whoever is cut off by the server looks at the answer that it got.
  answer.catch(() => undefined)
  return { outgoing, answer }
}

const codeOf = ({ text }: { text: string }) => (JSON.parse(text) as { error: { code: string } }).error.code

async function total(body: BodyStream): Promise<{ bytes: number; digest: string }> {
  const hash = createHash('sha256')
  let bytes = 0
  for await (const chunk of body) {
    hash.update(chunk)
    bytes += chunk.length
  }
  return { bytes, digest: hash.digest('hex') }
}

// Mutant: wait for the end of the request before the first chunk is given (never ends).
test('a handler works on the first part before the last is sent, and gets every byte once', async () => {
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
  const first = randomBytes(10 * KIB)
  const rest = randomBytes(300 * KIB)
  await using server = await importing((body) =>
    total(
      (async function* () {
        for await (const chunk of body) {
          begin()
          yield chunk
        }
      })(),
    ),
  )
  const { outgoing, answer } = send(server)
  outgoing.write(first)
  await begun
  outgoing.end(rest)

  const digest = createHash('sha256').update(first).update(rest).digest('hex')
  const { status, text } = await answer
  assert.deepEqual([status, JSON.parse(text)], [200, { bytes: 310 * KIB, digest }])
  assert.deepEqual((await ask(server.url, 'POST /import')).json(), await total((async function* () {})()))
})

// Mutants: read with request.on('data'), so that the body flows whether or not it is wanted (everything is sent at
// once); count from the arrival of the request in isTooSlow() (408 before the first byte is read).
test('a client is not ahead of the handler by more than buffers, and its time does not count while the handler works', async () => {
  const { promise: mayRead, resolve: goOn } = Promise.withResolvers<void>()
  await using server = await importing(async (body) => {
    await mayRead
    return total(body)
  })
  const { outgoing, answer } = send(server)
  outgoing.end(randomBytes(60 * KIB * KIB))
  await sleep(3_000)
  assert.ok(outgoing.socket && outgoing.socket.writableLength > 0, 'a part of it waits at the client')
  goOn()
  assert.equal((await answer).status, 200)
})

// Mutants: keep the slot in nextChunk() (the GET is 503); forget regainSlot() (nothing counts any more).
test('a handler that waits for its client holds no slot, and takes one again to work', async () => {
  const { promise: working, resolve: done } = Promise.withResolvers<void>()
  let chunks = 0
  await using server = await importing(
    async (body) => {
      for await (const _ of body) {
        chunks += 1
        if (chunks === 2) await working
      }
      return {}
    },
    {},
    { limits: { runningMax: 1, queueMax: 0, queueMs: 100 } },
  )
  const { outgoing, answer } = send(server)
  outgoing.write('one')
  await eventually(() => chunks === 1)
  await eventually(() => server.limiter.running === 0)
  assert.equal((await ask(server.url, 'GET /import')).status, 200)

  outgoing.write('two')
  await eventually(() => chunks === 2)
  assert.equal(server.limiter.running, 1)
  assert.equal((await ask(server.url, 'GET /import')).status, 503)
  done()
  outgoing.end()
  assert.equal((await answer).status, 200)
  await eventually(() => server.limiter.running === 0)
})

// Mutant: answer false in isTooSlow().
test('a client that is slower than the route allows is 408, and its connection is closed', async () => {
  await using server = await importing(total, { bytesPerSecondMin: 1_000 })
  const { outgoing, answer } = send(server)
  const drip = setInterval(() => outgoing.write('x'), 100)
  outgoing.on('error', () => undefined)
  try {
    const slow = await answer
    assert.deepEqual([slow.status, codeOf(slow), slow.headers.connection], [408, 'REQUEST_TIMEOUT', 'close'])
  } finally {
    clearInterval(drip)
    outgoing.destroy()
  }
})

// Mutant: take bodiesMs of the class in place of withinMs in exchange.ts (ends after 10 s).
test('a body that does not end within its time is 408, whatever its rate', async () => {
  await using server = await importing(total, { withinMs: 500 })
  const startedAt = performance.now()
  const { outgoing, answer } = send(server)
  outgoing.write(randomBytes(KIB))
  const late = await answer
  assert.ok(performance.now() - startedAt < 9_000, 'not after the 10 s of its class')
  assert.deepEqual([late.status, codeOf(late)], [408, 'REQUEST_TIMEOUT'])
  outgoing.destroy()
})

// Mutants: leave out the count in take(); leave out the declared length in requireStreamable() (the handler begins).
test('a body beyond its limit is 413: before the handler when it says so, at the byte when it does not', async () => {
  let begun = 0
  await using server = await importing(
    (body) => {
      begun += 1
      return total(body)
    },
    { bytesMax: 100 * KIB },
  )
  const declared = send(server, { 'content-length': String(200 * KIB) })
  declared.outgoing.write('x')
  const told = await declared.answer
  assert.deepEqual([told.status, codeOf(told), begun], [413, 'PAYLOAD_TOO_LARGE', 0])
  declared.outgoing.destroy()

  const chunked = send(server)
  chunked.outgoing.on('error', () => undefined)
  chunked.outgoing.write(randomBytes(200 * KIB))
  const found = await chunked.answer
  assert.deepEqual([found.status, codeOf(found), begun], [413, 'PAYLOAD_TOO_LARGE', 1])
  chunked.outgoing.destroy()
})

// Mutant: leave out the look at `stream` in write() of answer.ts (the connection is kept, with half a body on it).
test('an encoded body is 415, and a handler that answers without reading is heard', async () => {
  await using server = await importing(async () => ({ read: false }))
  const encoded = await ask(server.url, 'POST /import', { body: 'x', headers: { 'content-encoding': 'gzip' } })
  assert.deepEqual([encoded.status, encoded.error.code], [415, 'UNSUPPORTED_MEDIA_TYPE'])
  const { outgoing, answer } = send(server, { connection: 'keep-alive' })
  outgoing.on('error', () => undefined)
  outgoing.write(randomBytes(KIB))
  const early = await answer
  assert.deepEqual([early.status, early.text, early.headers.connection], [200, '{"read":false}', 'close'])
  outgoing.destroy()
})

// Mutant: leave out `cut` (the handler waits for ever, and its slot and account are never given back).
test('a client that goes away ends the loop of the handler with an error, and nothing of it is left', async () => {
  let ended: unknown
  await using server = await importing((body) =>
    total(body).catch((error) => {
      ended = error
      throw error
    }),
  )
  const { outgoing } = send(server, { 'content-length': '1000' })
  outgoing.on('error', () => undefined)
  outgoing.write('x')
  await eventually(() => server.server.inFlight() === 1)
  await sleep(20)
  outgoing.socket?.resetAndDestroy()
  await eventually(() => ended !== undefined)
  assert.match(String(ended), /did not arrive whole/)
  await eventually(() => server.limiter.running === 0 && server.server.inFlight() === 0)
})
