// Bodies that nobody reads are dropped at a pace.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { z } from 'zod'
import { createDropped } from './dropped.ts'
import { open } from './probes.ts'
import { type Access, route } from './route.ts'
import { eventually } from './testing/request.ts'
import { testHttpServer } from './testing/server.ts'

const MIB = 1024 * 1024

// Mutants: the pace of one without its `atOnce`; drop() that spends nothing.
test('of one sender 1 MiB is dropped at once and 8 MiB a second, and who is a second ahead is cut', () => {
  const clock = { ms: 0 }
  const ofAll = { atOnce: 1_000 * MIB, perSecond: MIB }
  const dropped = createDropped({ now: () => clock.ms, ofAll })
  assert.equal(dropped.drop('eve', MIB), 0)
  assert.equal(dropped.drop('eve', 4 * MIB), 500)
  assert.equal(dropped.drop('ada', MIB), 0)
  assert.equal(dropped.drop('eve', 5 * MIB), undefined)
  clock.ms += 10_000
  assert.equal(dropped.drop('eve', MIB), 0)
})

// Mutant: `all` left out of drop().
test('of all senders together 32 MiB a second are dropped', () => {
  const clock = { ms: 0 }
  const dropped = createDropped({ now: () => clock.ms })
  const waits = Array.from({ length: 37 }, (_, at) => dropped.drop(`sender ${at}`, MIB))
  assert.deepEqual(waits.slice(0, 4), [0, 0, 0, 0])
  assert.ok((waits[35] as number) > 900)
  assert.equal(waits[36], undefined)
  clock.ms += 1_000
  assert.ok((dropped.drop('another', MIB) as number) < 100)
})

// Mutant: all.spend() before the sender is looked at: a chunk of each of 1,000 connections was two seconds of all.
test('one sender of a thousand connections is cut, and nobody else is for that', () => {
  const dropped = createDropped({ now: () => 0 })
  const waits = Array.from({ length: 1_000 }, () => dropped.drop('eve', 64 * 1024))
  assert.ok(waits.filter((ms) => ms === undefined).length > 800)
  assert.ok((dropped.drop('ada', 64 * 1024) as number) < 500)
})

const spec = { method: 'POST', summary: 's', tag: 't', answers: { 200: z.object({}) } } as const
/** Callers by name; each name has its own share. */
const named: Access<string> = {
  class: 'named',
  schemes: [],
  errors: [],
  authorize: ({ headers }) => String(headers['x-name']),
  shareOf: (caller) => caller,
}
const routes = [
  route({ ...spec, path: '/taken', access: open, body: z.unknown() }, () => ({})),
  route({ ...spec, path: '/bare', access: named }, () => ({})),
]
const head = (path: string, ...headers: string[]) =>
  `POST ${path} HTTP/1.1\r\n${['host: x', 'content-type: application/json', ...headers].join('\r\n')}\r\n\r\n`

/** Sends the head, and a body until the connection is closed or all is sent. Answers what it heard and sent. */
async function pour(url: string, text: string, bytes: number): Promise<{ text: string; sent: number; socket: Socket }> {
  const { port, hostname } = new URL(url)
  const socket = connect({ port: Number(port), host: hostname, allowHalfOpen: true })
  const poured = { text: '', sent: 0, socket }
  socket.on('data', (chunk) => {
    poured.text += chunk
  })
  let isClosed = false
  for (const event of ['error', 'close'])
    socket.on(event, () => {
      isClosed = true
    })
  await once(socket, 'connect')
  socket.write(text)
  await eventually(() => isClosed || poured.text !== '' || text.includes('/taken'))
  const piece = Buffer.alloc(64 * 1024, 'a')
  while (poured.sent < bytes && !isClosed) {
    const part = piece.subarray(0, Math.min(piece.length, bytes - poured.sent))
    if (!socket.write(part)) await Promise.race([once(socket, 'drain'), once(socket, 'close')]).catch(() => {})
    poured.sent += part.length
  }
  await eventually(() => poured.text !== '')
  return poured
}

/** With a clock that stands still: what is beyond 1 MiB is beyond it for ever. */
const strict = () => createDropped({ now: () => 0, aheadMsMax: 0 })

// Mutants: no dropRest() in write(), so that all 256 MiB are read; no request.pause() in cut(), so that as much is read
// as comes in the second until it is closed.
test('who sends on and on after its refusal has its answer and is cut, and another sender is not', async () => {
  for (const [path, status] of [
    ['/nothing', 404],
    ['/bare', 200],
  ] as const) {
    await using server = await testHttpServer(routes, { dropped: strict() })
    const eve = await pour(server.url, head(path, 'x-name: eve', `content-length: ${256 * MIB}`), 256 * MIB)
    assert.match(eve.text, new RegExp(`^HTTP/1.1 ${status} `))
    // What the kernel holds on both sides is beyond what was dropped.
    assert.ok(eve.sent < 64 * MIB, `${eve.sent} bytes were taken`)
    await eventually(() => server.server.leftovers() === 0)
    eve.socket.destroy()
    if (path !== '/bare') continue
    const ada = await pour(server.url, head(path, 'x-name: ada', `content-length: ${MIB / 2}`), MIB / 2)
    // The connection goes on.
    ada.text = ''
    ada.socket.write(head(path, 'x-name: ada', 'content-length: 0'))
    await eventually(() => ada.text.startsWith('HTTP/1.1 200 '))
    ada.socket.destroy()
  }
})

// Mutant: drop() left out of readBytes().
test('of a body over the limit of its route no more is read than its sender may have dropped', async () => {
  await using server = await testHttpServer(routes, { dropped: strict() })
  const chunk = `${(64 * 1024).toString(16)}\r\n${'a'.repeat(64 * 1024)}\r\n`
  const { port, hostname } = new URL(server.url)
  const socket = connect({ port: Number(port), host: hostname, allowHalfOpen: true })
  let text = ''
  socket.on('data', (data) => {
    text += data
  })
  socket.on('error', () => {})
  await once(socket, 'connect')
  socket.write(head('/taken', 'transfer-encoding: chunked'))
  // 1 MiB is the route's, 1 MiB more is dropped: long before the 8 MiB after which every sender is told.
  let sent = 0
  while (text === '' && sent < 60) {
    socket.write(chunk)
    sent += 1
    await new Promise((resolve) => setImmediate(resolve))
  }
  await eventually(() => text.startsWith('HTTP/1.1 413 '))
  socket.destroy()
})

test('who sends faster than its pace is read no faster, and gets its answer when the body is in', async () => {
  // 64 KiB at once and 1 MiB a second, so that a megabyte takes a second however fast the machine is.
  const ofOne = { atOnce: 64 * 1024, perSecond: MIB }
  await using server = await testHttpServer(routes, { dropped: createDropped({ ofOne }) })
  const startedAt = performance.now()
  const { socket } = await pour(server.url, head('/nothing', `content-length: ${MIB}`), MIB)
  await eventually(() => server.server.leftovers() === 0)
  // Mutant: no request.pause() in keepsPace().
  assert.ok(performance.now() - startedAt > 500)
  assert.equal(socket.destroyed, false)
  socket.destroy()
})
