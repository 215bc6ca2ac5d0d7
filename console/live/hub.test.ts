// Mutants: hear() tells states to new tabs alone; keep() without the comparison; `after` left out of begin(); end()
// left out of arrange(); `isAnew` always false; backUntil left out of goBack(); a refusal told as lost.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { connectManagement } from '@loci/sdk/client.ts'
import { createHub } from './hub.ts'
import type { FromHub, StreamState } from './messages.ts'

/** Tells numbered events of anything, from now on or after Last-Event-ID, as management does. */
async function startTeller() {
  const open = new Set<{ path: string; response: ServerResponse }>()
  const asked: { path: string; after: string | undefined; organization: unknown }[] = []
  const ends = new Map<string, number>()
  let refusal: { status: number; code: string } | undefined
  let first = 1
  const server = createServer((request, response) => {
    const path = request.url as string
    const after = request.headers['last-event-id'] as string | undefined
    asked.push({ path, after, organization: request.headers['x-loci-organization'] })
    if (refusal) {
      response.writeHead(refusal.status, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ error: { code: refusal.code, message: 'no', request_id: 'req_1' } }))
      return
    }
    const end = ends.get(path) ?? 0
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(`retry: 2000\n${after === undefined ? `id: ${end}\n` : ''}\n`)
    let at = Number(after ?? end)
    if (at < first - 1) {
      at = first - 1
      response.write(`id: ${at}\nevent: truncated\ndata: {}\n\n`)
    }
    for (let seq = at + 1; seq <= end; seq += 1) response.write(textOf(seq))
    const one = { path, response }
    open.add(one)
    response.once('close', () => open.delete(one))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    open,
    asked,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    say(path: string) {
      const seq = (ends.get(path) ?? 0) + 1
      ends.set(path, seq)
      for (const one of open) if (one.path === path) one.response.write(textOf(seq))
    },
    forget: (until: number) => {
      first = until + 1
    },
    refuse: (given: typeof refusal) => {
      refusal = given
    },
    cut: () => {
      for (const { response } of open) response.destroy()
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

async function eventually(isSo: () => boolean): Promise<void> {
  for (const until = performance.now() + 60_000; !isSo(); await sleep(5))
    if (performance.now() > until) throw new Error(`it never was: ${isSo}`)
}

function textOf(seq: number): string {
  return `id: ${seq}\nevent: slot.written\ndata: {"seq":${seq},"database":"default","data":{"key":"k${seq}"}}\n\n`
}

const ORGANIZATION = '/api/v1/events'
const eventsOf = (service: string) => `/api/v1/services/${service}/proxy/v1/events`

function startHub({ url }: { url: string }, options: { pauseMs?: number; againMs?: number } = {}) {
  const said: FromHub[] = []
  const hub = createHub({
    say: (message) => said.push(message),
    connect: (organization) => connectManagement({ url, headers: () => ({ 'x-loci-organization': organization }) }),
    ...options,
  })
  const states = (of: string) =>
    said.flatMap((one): (StreamState & { isAnew: boolean })[] =>
      one.say === 'stream' && one.state.of === of ? [{ ...one.state, isAnew: one.isAnew }] : [],
    )
  return {
    states,
    is: (of: string) => states(of).at(-1)?.is,
    heard: (of: string) =>
      said.flatMap((one) => (one.say === 'event' && one.of === of ? [one.event.seq || one.event.type] : [])),
    gaps: (of: string) =>
      said.flatMap((one) =>
        one.say === 'event' && one.of === of && one.event.type === 'truncated' ? [one.isGap] : [],
      ),
    view: (tab: string, service: string | null, { isVisible = true, isInFront = true } = {}) =>
      hub.hear({ say: 'view', tab, isInFront, view: { organization: 'org_1', service, isVisible } }),
    gone: (tab: string) => hub.hear({ say: 'gone', tab }),
    back: (of: string, from: number) => hub.hear({ say: 'back', tab: 'a', of, from }),
    [Symbol.dispose]: () => hub.close(),
  }
}

test('however many tabs there are, two streams are open, and each tab is told', async () => {
  await using teller = await startTeller()
  using hub = startHub(teller)
  for (const tab of 'abcdefgh') hub.view(tab, 'svc_1')
  await eventually(() => hub.is('svc_1') === 'open' && hub.is('org_1') === 'open')
  for (const tab of 'abcdefgh') hub.view(tab, 'svc_1', { isInFront: false })
  teller.say(eventsOf('svc_1'))
  teller.say(ORGANIZATION)
  await eventually(() => hub.heard('svc_1').length === 1 && hub.heard('org_1').length === 1)
  assert.deepEqual(
    teller.asked.map(({ path, organization }) => [path, organization]).sort(),
    [
      [ORGANIZATION, 'org_1'],
      [eventsOf('svc_1'), 'org_1'],
    ].sort(),
  )
})

test('a tab that comes to a service which another tab follows already is told how its stream is', async () => {
  await using teller = await startTeller()
  using hub = startHub(teller)
  hub.view('a', 'svc_1')
  await eventually(() => hub.is('svc_1') === 'open' && hub.states('svc_1').at(-1)?.position !== undefined)
  // It does not know its service yet, and lets pass what is told of it.
  hub.view('b', null)
  const before = hub.states('svc_1').length
  hub.view('b', 'svc_1')
  assert.deepEqual(
    hub
      .states('svc_1')
      .slice(before)
      .map(({ is, position, isAnew }) => [is, position, isAnew]),
    [['open', '0', false]],
  )
  hub.view('b', 'svc_1')
  assert.equal(hub.states('svc_1').length, before + 1)
  assert.equal(teller.open.size, 2)
})

test('a stream that breaks goes on behind the last event, and is not told as begun anew', async () => {
  await using teller = await startTeller()
  using hub = startHub(teller)
  hub.view('a', 'svc_1')
  await eventually(() => hub.is('svc_1') === 'open')
  teller.say(eventsOf('svc_1'))
  await eventually(() => hub.heard('svc_1').length === 1)
  teller.cut()
  await eventually(() => teller.open.size === 0)
  teller.say(eventsOf('svc_1'))
  await eventually(() => hub.heard('svc_1').length === 2)
  assert.deepEqual(hub.heard('svc_1'), [1, 2])
  assert.equal(teller.asked.findLast(({ path }) => path === eventsOf('svc_1'))?.after, '1')
  const opened = hub.states('svc_1').filter(({ is }) => is === 'open')
  assert.deepEqual([opened[0]?.isAnew, opened.at(-1)?.isAnew], [true, false])
})

test('the service in front is followed, another is told elsewhere, and back in front it misses nothing', async () => {
  await using teller = await startTeller()
  using hub = startHub(teller)
  hub.view('a', 'svc_1')
  await eventually(() => hub.is('svc_1') === 'open' && hub.states('svc_1').at(-1)?.position !== undefined)
  hub.view('b', 'svc_2')
  await eventually(() => hub.is('svc_2') === 'open' && hub.is('svc_1') === 'elsewhere')
  await eventually(() => teller.open.size === 2)
  teller.say(eventsOf('svc_1'))
  hub.view('a', 'svc_1')
  await eventually(() => hub.heard('svc_1').length === 1)
  assert.equal(teller.asked.at(-1)?.after, '0')
  // Who looks at a page without a service leaves it followed where it is still seen.
  hub.view('b', null)
  assert.equal(hub.is('svc_1'), 'open')
})

test('when nobody looks the streams end, and whoever looks again is told what happened', async () => {
  await using teller = await startTeller()
  using hub = startHub(teller, { pauseMs: 50 })
  hub.view('a', 'svc_1')
  hub.view('b', 'svc_1', { isVisible: false })
  await eventually(() => hub.is('svc_1') === 'open' && hub.states('svc_1').at(-1)?.position !== undefined)
  hub.view('a', 'svc_1', { isVisible: false })
  await eventually(() => hub.is('svc_1') === 'paused' && hub.is('org_1') === 'paused' && teller.open.size === 0)
  teller.say(eventsOf('svc_1'))
  hub.view('b', 'svc_1')
  await eventually(() => hub.heard('svc_1').length === 1)
  hub.gone('a')
  hub.gone('b')
  await eventually(() => teller.open.size === 0)
})

test('a refusal is told with its code, and asked again after a while', async () => {
  await using teller = await startTeller()
  using hub = startHub(teller, { againMs: 50 })
  teller.refuse({ status: 403, code: 'FORBIDDEN' })
  hub.view('a', 'svc_1')
  await eventually(() => hub.is('svc_1') === 'refused')
  assert.deepEqual(hub.states('svc_1').at(-1)?.refusal?.code, 'FORBIDDEN')
  teller.refuse(undefined)
  await eventually(() => hub.is('svc_1') === 'open')
  assert.equal(hub.states('svc_1').at(-1)?.refusal, undefined)
})

test('older events are told again when a page asks; their beginning is no gap, one on the way is', async () => {
  await using teller = await startTeller()
  using hub = startHub(teller)
  for (let seq = 1; seq <= 4; seq += 1) teller.say(eventsOf('svc_1'))
  hub.view('a', 'svc_1')
  await eventually(() => hub.states('svc_1').at(-1)?.position === '4')
  teller.forget(2)
  hub.back('svc_1', 0)
  await eventually(() => hub.heard('svc_1').at(-1) === 4)
  assert.deepEqual([hub.heard('svc_1'), hub.gaps('svc_1')], [['truncated', 3, 4], [false]])

  teller.cut()
  await eventually(() => teller.open.size === 0)
  for (let seq = 5; seq <= 8; seq += 1) teller.say(eventsOf('svc_1'))
  teller.forget(6)
  await eventually(() => hub.heard('svc_1').at(-1) === 8)
  assert.deepEqual(hub.gaps('svc_1'), [false, true])
})
