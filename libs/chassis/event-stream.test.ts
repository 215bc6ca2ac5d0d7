// What takes too long, or more bytes than a socket swallows, to be seen through HTTP.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { openStream, type StreamOptions, type StreamPage } from './event-stream.ts'
import { eventually } from './testing/request.ts'

function open(change: Partial<StreamOptions>) {
  const errors: unknown[] = []
  const stream = openStream({
    after: 0,
    read: async (after): Promise<StreamPage> => ({ events: [], next: after, more: false, truncated: false }),
    wait: (_, ms, signal) => sleep(ms, undefined, { signal }).catch(() => {}) as Promise<void>,
    isAllowed: async () => true,
    signal: new AbortController().signal,
    onError: (error) => errors.push(error),
    ...change,
  })
  return { ...stream, errors }
}

test('a stream on which nothing happens says so from time to time', async () => {
  const { readable, end } = open({ times: { beatMs: 20 } })
  let text = ''
  readable.on('data', (chunk: Buffer) => {
    text += chunk
  })
  await eventually(() => text.split(':\n\n').length > 3)
  assert.match(text, /^retry: 2000\n\n(:\n\n)+$/)
  end()
  await eventually(() => readable.destroyed)
})

test('a client that does not read is cut, and until then no more than the buffer and a page is held', async () => {
  const event = { id: 'evt', seq: 1, type: 't', at: '', subject: 'x'.repeat(1_000), data: {} }
  let pages = 0
  const read = async (): Promise<StreamPage> => {
    pages += 1
    return { events: Array.from({ length: 100 }, () => event), next: pages, more: true, truncated: false }
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
    return { events: [], next: after, more: false, truncated: false }
  }
  const { readable } = open({ read, signal: AbortSignal.abort() })
  await eventually(() => readable.destroyed)
  assert.equal(reads, 0)
})

test('a store that fails, or that can not say whether the credential holds, cuts the stream', async () => {
  const down = async () => {
    throw new Error('down')
  }
  for (const change of [{ read: down }, { isAllowed: down }]) {
    const { readable, errors } = open({ ...change, times: { lookMs: 10 } })
    readable.resume().on('error', () => {})
    await eventually(() => readable.destroyed)
    assert.equal(errors.length, 1)
  }
})
