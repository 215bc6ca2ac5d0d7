import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { z } from 'zod'
import { addressSet } from './addresses.ts'
import { open } from './probes.ts'
import { route } from './route.ts'
import { testHttpServer } from './testing/server.ts'

const spec = { access: open, summary: 's', tag: 't', answers: { 200: z.object({}) } }
const held: (() => void)[] = []
const routes = [
  route({ ...spec, method: 'GET', path: '/x' }, () => ({})),
  route({ ...spec, method: 'GET', path: '/held' }, () => new Promise((resolve) => held.push(() => resolve({})))),
]

/**
 * A connection from an address of loopback that asks for `path` and is kept; resolves with what came first, or
 * `closed`.
 */
async function ask(url: string, from: string, path = '/x'): Promise<{ socket: Socket; answer: Promise<string> }> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port), localAddress: from })
  socket.on('error', () => undefined)
  const answer = Promise.race([
    once(socket, 'data').then(([bytes]) => String(bytes).slice(9, 12)),
    once(socket, 'close').then(() => 'closed'),
  ])
  socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`)
  return { socket, answer }
}

// Mutant: addressMax = max in connections.ts. One address then held every connection of the listener.
test('one address holds a tenth of the connections, another is served, and one that ends makes room', async () => {
  await using server = await testHttpServer(routes, { connectionsMax: 30 })
  const kept = []
  for (let n = 0; n < 3; n += 1) kept.push(await ask(server.url, '127.0.0.2'))
  for (const { answer } of kept) assert.equal(await answer, '200')
  assert.equal(await (await ask(server.url, '127.0.0.2')).answer, 'closed')
  const other = await ask(server.url, '127.0.0.3')
  assert.equal(await other.answer, '200')
  const [first] = kept as [(typeof kept)[0]]
  first.socket.destroy()
  for (;;) {
    const again = await ask(server.url, '127.0.0.2')
    const answer = await again.answer
    again.socket.destroy()
    if (answer === '200') break
  }
  for (const { socket } of [...kept, other]) socket.destroy()
})

// Mutant: CROWDED_PART = 2. Newcomers were closed without an answer, and those who only kept a connection stayed.
test('near the bound the idlest is closed, not one at work and not the newcomer; a trusted proxy has no bound of its own', async () => {
  const trustedProxies = addressSet(['127.0.0.2'])
  await using server = await testHttpServer(routes, { connectionsMax: 20, trustedProxies })
  const busy = await ask(server.url, '127.0.0.2', '/held')
  while (held.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
  const idle = []
  for (let n = 0; n < 16; n += 1) {
    idle.push(await ask(server.url, '127.0.0.2'))
    assert.equal(await idle.at(-1)?.answer, '200')
  }
  const closed = once((idle[0] as (typeof idle)[0]).socket, 'close')
  const newcomer = await ask(server.url, '127.0.0.2')
  assert.equal(await newcomer.answer, '200')
  await closed
  assert.equal(idle.slice(1).filter(({ socket }) => socket.destroyed).length, 0, 'the others are kept')
  held[0]?.()
  assert.equal(await busy.answer, '200')
  for (const { socket } of [...idle, busy, newcomer]) socket.destroy()
})
