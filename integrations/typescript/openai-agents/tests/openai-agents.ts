// Sessions in the framework's own loop, with a fake model, against real servers: LOCI_URL, LOCI_API_KEY and
// LOCI_SERVICE say where.

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { test } from 'node:test'
import { LociSession } from '@locihq/openai-agents'
import { Loci, LociError } from '@locihq/sdk'
import { Agent, type AgentInputItem, isSessionHistoryTransactionAwareSession, run } from '@openai/agents'
import { model, shown, textOf } from './model.ts'

const service = new Loci().service()
const somebody = () => service.user(`u-${randomUUID()}`)
const said = (text: string): AgentInputItem => ({ type: 'message', role: 'user', content: text })
const textsOf = async (session: LociSession, limit?: number) => (await session.getItems(limit)).map(textOf)
const append = (operationId: string, ...texts: string[]) => ({
  operationId,
  transaction: { type: 'append_items' as const, items: texts.map(said) },
})

test('a run goes on where the last one of its session ended, also in another program', async () => {
  const ada = somebody()
  const agent = new Agent({ name: 'A', model })
  const ask = async (text: string) => (await run(agent, text, { session: new LociSession('chat-1', ada) })).finalOutput

  assert.equal(await ask('My order is late.'), 'Hello.')
  assert.equal(await ask('What did I say?'), 'You began with: My order is late.')

  assert.deepEqual(shown.at(-1), ['My order is late.', 'What did I say?'])
  assert.deepEqual(await textsOf(new LociSession('chat-1', ada)), [
    'My order is late.',
    'Hello.',
    'What did I say?',
    'You began with: My order is late.',
  ])
})

test('items come back in their order, the last ones alone where a limit is given, and the last one is popped', async () => {
  const session = new LociSession('a/b%', somebody())
  const texts = Array.from({ length: 130 }, (_, at) => `item ${at}`)

  await session.addItems(texts.map(said))

  assert.deepEqual(await textsOf(session), texts)
  assert.deepEqual(await textsOf(session, 3), texts.slice(-3))
  assert.deepEqual(await textsOf(session, 0), [])
  assert.equal(textOf((await session.popItem()) as AgentInputItem), 'item 129')
  assert.deepEqual(await textsOf(session, 1), ['item 128'])
  await session.clearSession()
  assert.deepEqual([await session.getItems(), await session.popItem()], [[], undefined])
})

test('writers of one session at once lose nothing, mix no batch, and nobody pops what another one popped', async () => {
  const ada = somebody()
  const sessions = Array.from({ length: 4 }, () => new LociSession('chat', ada))

  await Promise.all(sessions.map((session, at) => session.addItems([said(`${at} a`), said(`${at} b`)])))

  const texts = await textsOf(sessions[0] as LociSession)
  assert.deepEqual(texts.toSorted(), ['0 a', '0 b', '1 a', '1 b', '2 a', '2 b', '3 a', '3 b'])
  for (let at = 0; at < 8; at += 2) assert.equal(texts[at + 1], texts[at]?.replace('a', 'b'))
  const popped = await Promise.all(sessions.map((session) => session.popItem()))
  assert.equal(new Set(popped.map((item) => textOf(item as AgentInputItem))).size, 4)
  assert.equal((await textsOf(sessions[0] as LociSession)).length, 4)
})

test('a transaction is done once, however often and after whatever it is repeated, and its id is of it alone', async () => {
  const session = new LociSession('chat', somebody())
  assert.ok(isSessionHistoryTransactionAwareSession(session))

  for (let times = 0; times < 2; times += 1) await session.applyHistoryTransaction(append('op-1', 'one', 'two'))
  await session.addItems([said('three')])
  await session.applyHistoryTransaction(append('op-1', 'one', 'two'))
  await Promise.all([1, 2, 3].map(() => session.applyHistoryTransaction(append('op-2', 'four'))))

  assert.deepEqual(await textsOf(session), ['one', 'two', 'three', 'four'])
  await assert.rejects(session.applyHistoryTransaction(append('op-1', 'other')), /another transaction/)
  assert.equal((await session.getItems()).length, 4)
})

test('a suffix is replaced by more, fewer and no items, and only where the session ends with it', async () => {
  const session = new LociSession('chat', somebody())
  const replace = (operationId: string, expected: string[], ...texts: string[]) =>
    session.applyHistoryTransaction({
      operationId,
      transaction: { type: 'replace_suffix', expectedSuffix: expected.map(said), replacement: texts.map(said) },
    })
  await session.addItems(['one', 'two', 'three'].map(said))

  await replace('more', ['two', 'three'], '2', '3', '4')
  assert.deepEqual(await textsOf(session), ['one', '2', '3', '4'])
  await replace('fewer', ['3', '4'], 'end')
  assert.deepEqual(await textsOf(session), ['one', '2', 'end'])
  await replace('none', ['end'])
  await replace('behind', [], 'last')
  assert.deepEqual(await textsOf(session), ['one', '2', 'last'])

  await assert.rejects(replace('other', ['one'], 'x'), /does not end with/)
  await assert.rejects(replace('longer', ['zero', 'one', '2', 'last'], 'x'), /does not end with/)
  assert.deepEqual(await textsOf(session), ['one', '2', 'last'])
})

test('a suffix is not replaced when another writer adds an item after it was read', async () => {
  const ada = somebody()
  const session = new LociSession('chat', ada)
  await session.addItems([said('one'), said('two')])
  const batch = ada.kv.batch.bind(ada.kv)
  let isFirst = true
  ada.kv.batch = async (...given) => {
    // Between what it read and what it writes.
    if (isFirst) {
      isFirst = false
      await new LociSession('chat', service.user(ada.name)).addItems([said('meanwhile')])
    }
    return batch(...given)
  }

  const transaction = { type: 'replace_suffix' as const, expectedSuffix: [said('two')], replacement: [said('2')] }
  await assert.rejects(session.applyHistoryTransaction({ operationId: 'op', transaction }), /does not end with/)

  assert.deepEqual(await textsOf(session), ['one', 'two', 'meanwhile'])
})

test('two users with sessions of one name never see each other, and keys are those of the adapter for Python', async () => {
  const [ada, bob] = [somebody(), somebody()]
  await new LociSession('chat/1', ada).addItems([said('of ada')])

  assert.deepEqual(await new LociSession('chat/1', bob).getItems(), [])
  assert.deepEqual(await new LociSession('chat', ada).getItems(), [])
  const keys = (await ada.kv.list({ keysOnly: 'true' }).all()).map(({ key }) => key)
  assert.deepEqual(keys, ['session/chat%2F1/000000000001'])
})

test('what is beyond a limit is a typed error, and nothing of it is stored', async () => {
  const session = new LociSession('chat', somebody())
  const named = new LociSession('n'.repeat(300), somebody())
  const many = Array.from({ length: 101 }, (_, at) => `${at}`)

  for (const call of [
    () => session.addItems([said('one'), said('x'.repeat(270_000))]),
    () => named.addItems([said('x')]),
    () => session.applyHistoryTransaction(append('op', ...many)),
  ])
    await assert.rejects(call, (error) => error instanceof LociError && error.status >= 400)

  assert.deepEqual(await session.getItems(), [])
})

test('without a daemon every call, and so a run, ends with a typed error', async () => {
  const dead = new Loci({ fetch: deaf, deadlineMs: 300 }).service(process.env.LOCI_SERVICE).user('ada')
  const session = new LociSession('chat', dead)
  for (const call of [
    () => session.getItems(),
    () => session.addItems([said('x')]),
    () => run(new Agent({ name: 'A', model }), 'Hello?', { session }),
  ])
    await assert.rejects(call, (error) => isCode(error, 'NETWORK_FAILURE') || isCode(error, 'TIMEOUT'))
})

function isCode(error: unknown, code: string): boolean {
  return error instanceof LociError && error.code === code
}

/** Management is there; where the daemon was, nobody listens. */
const deaf: typeof fetch = async (input, init) => {
  const url = String(input)
  if (url.startsWith(process.env.LOCI_URL as string)) return fetch(url, init)
  const held = createServer().listen(0, '127.0.0.1')
  await once(held, 'listening')
  const { port } = held.address() as AddressInfo
  held.close()
  return fetch(Object.assign(new URL(url), { port }), init)
}
