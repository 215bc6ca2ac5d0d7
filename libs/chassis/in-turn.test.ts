import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { z } from 'zod'
import { addressSet } from './addresses.ts'
import { ApiError } from './api-error.ts'
import { createLimiter } from './limiter.ts'
import { open } from './probes.ts'
import { type Method, type Route, route } from './route.ts'
import { eventually, sendBytes } from './testing/request.ts'
import { testHttpServer } from './testing/server.ts'

function at(line: string, handle: Route['handle']): Route {
  const [method, path] = line.split(' ') as [Method, string]
  return route({ method, path, access: open, summary: 's', tag: 't', answers: { 200: z.unknown() } }, handle)
}

/** Larger than what a system takes for a connection that nobody reads. */
const LARGE = { text: 'x'.repeat(16 * 1024 * 1024) }

async function sendAhead(url: string, text: string) {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  await once(socket, 'connect')
  socket.pause()
  socket.write(text)
  return socket
}

// Mutant: startInTurn() that starts at once: eight handlers run.
test('a request that was sent ahead begins when the answer before it is out', async () => {
  let begun = 0
  const large = at('GET /large', () => {
    begun += 1
    return LARGE
  })
  const trustedProxies = addressSet(['127.0.0.1'])
  await using server = await testHttpServer([large, at('GET /small', () => ({}))], { trustedProxies })
  // Each of another client: what one address leaves unread has a bound of its own.
  const asked = [1, 2, 3, 4, 5, 6, 7, 8].map(
    (n) => `GET /large HTTP/1.1\r\nhost: x\r\nx-forwarded-for: 198.51.100.${n}\r\n\r\n`,
  )
  const socket = await sendAhead(server.url, asked.join(''))
  await eventually(() => server.server.inFlight() === 8)
  await server.ask('GET /small')
  assert.equal(begun, 1)
  // Who leaves takes all of them along, and none of the others begins.
  socket.destroy()
  await eventually(() => server.server.inFlight() === 0)
  assert.equal(begun, 1)
})

test('answers to requests that were sent ahead come whole and in order', async () => {
  const path = at('GET /n', ({ headers }) => ({ n: headers['x-n'], text: 'x'.repeat(100_000) }))
  await using server = await testHttpServer([path])
  const asked = [1, 2, 3, 4].map(
    (n) => `GET /n HTTP/1.1\r\nhost: x\r\nx-n: ${n}\r\n${n === 4 ? 'connection: close\r\n' : ''}\r\n`,
  )
  const text = await sendBytes(server.url, asked.join(''))
  assert.deepEqual(
    [...text.matchAll(/"n":"(\d)"/g)].map(([, n]) => n),
    ['1', '2', '3', '4'],
  )
})

// Mutant: isPastLast() left out of startInTurn(): the write is done, and nobody is told.
test('what was sent ahead behind the last answer of a connection is not done', async () => {
  let done = 0
  const gate = Promise.withResolvers<object>()
  const routes = [
    at('GET /last', () => gate.promise),
    at('GET /behind', () => {
      done += 1
      return {}
    }),
  ]
  await using server = await testHttpServer(routes)
  const text = 'GET /last HTTP/1.1\r\nhost: x\r\n\r\nGET /behind HTTP/1.1\r\nhost: x\r\n\r\n'
  const answered = sendBytes(server.url, text)
  await eventually(() => server.server.inFlight() === 2)
  server.lifecycle.beginDrain('test', { graceMs: 60_000, deadlineMs: 60_000 })
  gate.resolve({})
  assert.match(await answered, /^HTTP\/1\.1 200/)
  await eventually(() => server.server.inFlight() === 0)
  assert.equal(done, 0)
})

// Mutant: refuseInTurn() that knows refusals of access alone.
test('a handler that finds its caller over a rate has it wait its turn, without a slot', async () => {
  const limiter = createLimiter({ runningMax: 1, queueMax: 0, queueMs: 1_000 })
  const told = limiter.refuse
  const turn = Promise.withResolvers<void>()
  const began = Promise.withResolvers<void>()
  let waiting = 0
  limiter.refuse = async (refusal) => {
    waiting += 1
    began.resolve()
    await turn.promise
    return told(refusal)
  }
  const over = at('GET /over', async () => {
    throw new ApiError('RATE_LIMITED', 'm', { retryAfterMs: 3_000 })
  })
  await using server = await testHttpServer([over, at('GET /ok', () => ({}))], { limiter })
  const asked = server.ask('GET /over')
  await Promise.race([asked, began.promise])
  assert.equal(waiting, 1)
  assert.equal((await server.ask('GET /ok')).status, 200)
  turn.resolve()
  const { status, headers } = await asked
  assert.deepEqual([status, headers['retry-after'], waiting, limiter.running], [429, '3', 1, 0])
})
