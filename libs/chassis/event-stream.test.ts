// What takes too long, or more bytes than a socket swallows, to be seen through HTTP.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { createEventStreams, openStream, type StreamOptions, type StreamPage, textOf } from './event-stream.ts'
import { createLifecycle } from './lifecycle.ts'
import { open as openAccess } from './probes.ts'
import { route } from './route.ts'
import { ask, eventually } from './testing/request.ts'
import { testHttpServer } from './testing/server.ts'
import { createWaiting } from './waiting.ts'

const NOTHING = Buffer.alloc(0)

function open(change: Partial<StreamOptions>) {
  const errors: unknown[] = []
  const stream = openStream({
    after: 0,
    isNew: true,
    read: async (after): Promise<StreamPage> => ({ bytes: NOTHING, next: after, more: false }),
    wait: (_, ms, signal) => sleep(ms, undefined, { signal }).catch(() => {}) as Promise<void>,
    isAllowed: async () => true,
    signal: new AbortController().signal,
    onError: (error) => errors.push(error),
    ...change,
  })
  return { ...stream, errors }
}

test('a stream on which nothing happens says so from time to time', async () => {
  const { readable, end } = open({ after: 7, times: { beatMs: 20 } })
  let text = ''
  readable.on('data', (chunk: Buffer) => {
    text += chunk
  })
  await eventually(() => text.split(':\nid: 7\n\n').length > 3)
  assert.match(text, /^retry: 2000\nid: 7\n\n(:\nid: 7\n\n)+$/)
  end()
  await eventually(() => readable.destroyed)
})

// Mutant: push a comment whenever nothing was found.
test('who is woken by what is not for it is told nothing, and with the next comment how far has been read', async () => {
  let reads = 0
  const startedAt = performance.now()
  const { readable, end } = open({
    read: async () => ({ bytes: NOTHING, next: ++reads, more: false }),
    wait: (_, ms) => sleep(Math.min(ms, 2)) as Promise<void>,
    times: { beatMs: 100 },
  })
  let text = ''
  readable.on('data', (chunk: Buffer) => {
    text += chunk
  })
  await eventually(() => reads > 50 && idsOf(text).length > 2)
  end()
  const [, ...ids] = idsOf(text).map(Number) as [number, number, number]
  assert.ok(ids.length <= (performance.now() - startedAt) / 100, `${ids.length} comments`)
  assert.ok(ids.every((id, at) => id > (ids[at - 1] ?? 0)))
})

test('a client that does not read is cut, and until then no more than the buffer and a page is held', async () => {
  const event = { id: 'evt', seq: 1, type: 't', at: '', subject: 'x'.repeat(1_000), data: {} }
  let pages = 0
  const read = async (): Promise<StreamPage> => {
    pages += 1
    const events = Array.from({ length: 100 }, () => event)
    return { bytes: Buffer.from(textOf(events, false)), next: pages, more: true }
  }
  const { readable } = open({ read, times: { unreadMs: 100 } })
  let held = 0
  await eventually(() => {
    held = Math.max(held, readable.readableLength)
    return readable.destroyed
  })
  assert.ok(held > 0 && held < 400 * 1024, `${held} bytes`)
  const before = pages
  await sleep(50)
  assert.equal(pages, before, 'nothing is read for it any more')
})

test('a stream whose client left before it was opened reads nothing', async () => {
  let reads = 0
  const read = async (after: number): Promise<StreamPage> => {
    reads += 1
    return { bytes: NOTHING, next: after, more: false }
  }
  const { readable } = open({ read, signal: AbortSignal.abort() })
  await eventually(() => readable.destroyed)
  assert.equal(reads, 0)
})

test('a store that fails, or that cannot say whether the credential holds, cuts the stream', async () => {
  const down = async () => {
    throw new Error('down')
  }
  for (const change of [{ read: down }, { isAllowed: down }]) {
    const { readable, errors } = open({ ...change, times: { recheckMs: 10 } })
    readable.resume().on('error', () => {})
    await eventually(() => readable.destroyed)
    assert.equal(errors.length, 1)
  }
})

/** Events 1, 2, … of one owner, served as streams: two at a time. */
async function streamServer() {
  const lifecycle = createLifecycle()
  lifecycle.move('warming', 'test')
  lifecycle.move('ready', 'test')
  const log = { end: 3, isAllowed: true, waitsAt: [] as number[] }
  const waiting = createWaiting({ lifecycle, readEnds: async () => new Map([['one', log.end]]), everyMs: 20 })
  const streams = createEventStreams(lifecycle, { recheckMs: 20 })
  const spec = {
    method: 'GET',
    path: '/events',
    access: openAccess,
    tag: 't',
    summary: 's',
    deadline: 'stream',
  } as const
  const answers = { 200: z.unknown() }
  const served = route({ ...spec, answers }, (call) =>
    streams.open(call, {
      owner: 'one',
      max: 2,
      tooMany: 'two at a time',
      readEnd: async () => log.end,
      read: async (after) => {
        const events = Array.from({ length: log.end - after }, (_, at) => ({ seq: after + at + 1, type: 'made' }))
        return { bytes: Buffer.from(textOf(events, false)), next: log.end, more: false }
      },
      wait: (seq, ms, signal) => {
        log.waitsAt.push(seq)
        return waiting.wait('one', seq, ms, signal)
      },
      isAllowed: async () => log.isAllowed,
    }),
  )
  const server = await testHttpServer([served], { lifecycle })
  return { server, lifecycle, waiting, log }
}

const idsOf = (text: string) => [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => id)

// Mutants: begin at readEnd() whatever Last-Event-ID says; let isAllowed() decide nothing; keep streams open when the
// process drains.
test('a stream goes on after Last-Event-ID, and ends with its credential and with the process', async () => {
  const { server, lifecycle, waiting, log } = await streamServer()
  await using _ = server
  const resumed = ask(server.url, 'GET /events', { headers: { 'last-event-id': '1' } })
  const fresh = ask(server.url, 'GET /events')
  await eventually(() => server.server.inFlight() === 2)
  log.end = 4
  waiting.wake('one')
  await eventually(() => log.waitsAt.filter((seq) => seq === 4).length === 2)

  const third = await ask(server.url, 'GET /events')
  assert.deepEqual([third.status, third.error.code, third.headers['retry-after']], [429, 'RATE_LIMITED', '10'])

  log.isAllowed = false
  assert.deepEqual(idsOf((await resumed).text), ['2', '3', '4'])
  assert.deepEqual(
    idsOf((await fresh).text),
    ['3', '4'],
    'it learns where it began: cut before the first event, it misses none',
  )
  log.isAllowed = true

  const last = ask(server.url, 'GET /events')
  await eventually(() => server.server.inFlight() === 1)
  lifecycle.beginDrain('test', { graceMs: 60_000, deadlineMs: 60_000 })
  assert.equal((await last).status, 200)
})

test('a Last-Event-ID that is no position is refused before a stream is opened', async () => {
  const { server } = await streamServer()
  await using _ = server
  const answer = await ask(server.url, 'GET /events', { headers: { 'last-event-id': 'x' } })
  assert.deepEqual([answer.status, answer.error.code], [400, 'VALIDATION_ERROR'])
})
