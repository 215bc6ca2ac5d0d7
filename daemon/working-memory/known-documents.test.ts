import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type TestDaemon, testDaemon } from '../testing/daemon.ts'
import { SLOT_RIGHTS, slotPath, slotsOf, type TestSlot } from '../testing/slots.ts'
import { addTenant, type TestTenant } from '../testing/tenant.ts'
import { createKnownDocuments } from './known-documents.ts'

let daemon: TestDaemon
let replica: TestDaemon
let tenant: TestTenant
before(async () => {
  daemon = await testDaemon()
  tenant = await addTenant(daemon)
  // After the tenant: a replica that is there already knows a new key within 300 ms, and not at once.
  replica = await testDaemon({ replicaOf: daemon })
})
after(async () => {
  await replica?.[Symbol.asyncDispose]()
  await daemon?.[Symbol.asyncDispose]()
})

async function other(line: string, db: string, body?: unknown): Promise<TestSlot> {
  const token = tenant.mint(line.includes('config') ? { ops: ['operator'], ks: ['*/*'] } : SLOT_RIGHTS)
  const headers = { 'x-loci-capability': token, 'x-loci-database': db }
  const answer = await replica.ask(line, { headers, ...(body === undefined ? {} : { body }) })
  assert.equal(answer.status, 200, answer.text)
  return answer.json()
}

// Mutants: plans that are only refusals kept as they were planned on memory (`hasWrites()` in commitRound): the old
// version is told; p_config not compared in wm_write: nobody leaves.
test('nobody is told what a replica remembers of a document that another one has written', async () => {
  const slots = slotsOf(tenant, 'shared')
  const first = await slots.put('a')
  await slots.put('b')
  const second = await other(`PUT ${slotPath('a')}`, 'shared', { value: 2 })
  const refused = await slots.call(`PUT ${slotPath('a')}`, { value: 3 }, { 'if-match': '"999"' })
  assert.deepEqual([refused.status, refused.error.details], [412, { currentVersion: second.version }])
  const stale = await slots.call(`PUT ${slotPath('a')}`, { value: 3 }, { 'if-match': `"${first.version}"` })
  assert.deepEqual([stale.status, stale.error.details], [412, { currentVersion: second.version }])
  const third = await slots.put('a', { value: 3 }, { 'if-match': `"${second.version}"` })
  assert.ok(third.version > second.version)

  await other(`PUT ${slotPath('c')}`, 'shared', { value: 1 })
  assert.equal((await slots.call(`DELETE ${slotPath('c')}`)).status, 200)
  await other(`DELETE ${slotPath('a')}`, 'shared')
  assert.equal((await slots.call(`DELETE ${slotPath('a')}`)).status, 404)
})

test('a configuration that another replica has taken holds for the next write', async () => {
  const slots = slotsOf(tenant, 'configured')
  for (const key of ['a', 'b', 'c']) await slots.put(key)
  await other('PUT /v1/working-memory/config', 'configured', { capacity: 2, policy: 'fifo' })
  const { evicted } = await slots.put('d')
  assert.deepEqual(
    evicted.map(({ key }) => key),
    ['a', 'b'],
  )
})

test('a slot that rotted while its document was remembered stays damaged when its neighbour is written', async () => {
  const slots = slotsOf(tenant, 'rotten')
  for (const key of ['a', 'b']) await slots.put(key)
  await daemon.sql(
    `update loci.working_memory set texts[1] = replace(texts[1], '"value":"a"', '"value":"x"') where database = 'rotten'`,
  )
  await slots.put('b', { value: 'again' })
  const { slots: listed, damaged } = await slots.list()
  assert.deepEqual([listed.map(({ key }) => key), damaged], [['b'], [{ ref: 'a', reason: 'digest_mismatch' }]])
})

// Mutant: now() without the offset: the replica's own clock is the clock of a write.
test('the clock of a write is the one that was last heard from the database', () => {
  const known = createKnownDocuments()
  const anHourAgo = Date.now() - 3_600_000
  known.heard(anHourAgo)
  const now = known.now()
  assert.ok(now >= anHourAgo - 1 && now < anHourAgo + 60_000, String(now - anHourAgo))
})
