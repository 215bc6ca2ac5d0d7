// Batches of slots: all or nothing, once for each Idempotency-Key, in the commits that they share with other writes.

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import type { TestAnswer } from '@loci/chassis/testing/request.ts'
import { testPool } from '@loci/postgres/testing/database.ts'
import { type TestDaemon, testDaemon } from '../testing/daemon.ts'
import { slotPath, slotsOf, type TestSlots } from '../testing/slots.ts'
import { addTenant, type TestTenant } from '../testing/tenant.ts'

let daemon: TestDaemon
let tenant: TestTenant
before(async () => {
  daemon = await testDaemon({ settings: { databaseStatementMs: 1_750 } })
  tenant = await addTenant(daemon)
})
after(() => daemon?.[Symbol.asyncDispose]())

type Operation = { op: 'put'; key: string; value: unknown } | { op: 'delete'; key: string }

const batch = (slots: TestSlots, operations: Operation[], key?: string): Promise<TestAnswer> =>
  slots.call('POST /v1/working-memory/slots/batch', { operations }, key ? { 'idempotency-key': key } : {})

const putOf = (key: string, value: unknown = key): Operation => ({ op: 'put', key, value })

const isReplay = ({ headers }: TestAnswer) => headers['idempotent-replayed'] === 'true'

// Mutant: keep_answers not called in wm_commit_acts: every key is done twice.
test('of many keyed batches at once each key is done once, and both of its requests get one answer', async () => {
  const all = ['a', 'b'].map((name) => ({ name, slots: slotsOf(tenant, `keyed-${name}`) }))
  const keys = Array.from({ length: 4 }, () => randomUUID())
  const pairs = all.flatMap(({ slots }) =>
    keys.map((key, n) => ({ slots, key, operations: [putOf(`k${n}`), putOf('all', n)] })),
  )
  const [first, second] = await Promise.all(
    [0, 1].map(() => Promise.all(pairs.map(({ slots, key, operations }) => batch(slots, operations, key)))),
  )
  for (const [at, one] of (first as TestAnswer[]).entries()) {
    const other = (second as TestAnswer[])[at] as TestAnswer
    assert.deepEqual([one.status, other.status], [200, 200], `${one.text} ${other.text}`)
    assert.equal(one.text, other.text)
    assert.equal(Number(isReplay(one)) + Number(isReplay(other)), 1)
  }
  for (const { name, slots } of all) {
    assert.equal((await slots.keys()).length, 5)
    const [head] = await daemon.sql<{ seq: number }>('select seq::int from loci.databases where name = $1', [
      `keyed-${name}`,
    ])
    assert.equal(head?.seq, 8)
  }
})

// Mutant: applyAll() without taking back slots and steps: `b` is there, or the next batch is refused.
test('a batch that is refused leaves nothing behind, and what shared its commit is done', async () => {
  const slots = slotsOf(tenant, 'refused')
  await slots.configure({ capacity: 2, policy: 'reject' })
  const [one, refused, other] = await Promise.all([
    slots.call(`PUT ${slotPath('a')}`, { value: 1 }),
    batch(slots, [putOf('b'), { op: 'delete', key: 'a' }, putOf('c'), putOf('d')]),
    batch(slots, [putOf('e'), putOf('a', 2)], randomUUID()),
  ])
  assert.deepEqual([one.status, refused.status, other.status], [200, 409, 200])
  assert.equal(refused.error.code, 'WORKING_MEMORY_FULL')
  assert.deepEqual((await slots.keys()).toSorted(), ['a', 'e'])
})

// Mutant: settledAnswer() not asked: the repeat is 409 WORKING_MEMORY_FULL.
test('a repeat is answered as the first was, also when there is no room any more', async () => {
  const slots = slotsOf(tenant, 'full')
  await slots.configure({ capacity: 1, policy: 'reject' })
  const key = randomUUID()
  const first = await batch(slots, [putOf('a')], key)
  await slots.call(`DELETE ${slotPath('a')}`)
  await slots.put('b')
  const again = await batch(slots, [putOf('a')], key)
  assert.deepEqual([again.status, again.text, isReplay(again)], [200, first.text, true])
  const reused = await batch(slots, [putOf('a', 'other')], key)
  assert.deepEqual([reused.status, reused.error.code], [422, 'IDEMPOTENCY_KEY_REUSED'])
  const other = await batch(slots, [putOf('a')], randomUUID())
  assert.deepEqual([other.status, other.error.code], [409, 'WORKING_MEMORY_FULL'])
})

// Mutant: wm_write without its case for a database without steps: 503 after 1.5 s.
test('a keyed batch that found nothing to delete is answered once and again', async () => {
  const slots = slotsOf(tenant, 'nothing')
  const key = randomUUID()
  const first = await batch(slots, [{ op: 'delete', key: 'a' }], key)
  assert.deepEqual(first.json(), { results: [{ op: 'delete', key: 'a', version: 0, deleted: false }] })
  await slots.put('a')
  const again = await batch(slots, [{ op: 'delete', key: 'a' }], key)
  assert.deepEqual([again.text, isReplay(again)], [first.text, true])
  assert.deepEqual(await slots.keys(), ['a'])
})

// Mutant: isClaimed() not looked for in commitAll(): 503.
test('while the first request of a key is at work the second is 409, and nothing is done', async () => {
  const slots = slotsOf(tenant, 'busy')
  const [done, busy] = [randomUUID(), randomUUID()]
  await batch(slots, [putOf('a')], done)
  const pool = testPool(daemon.database.adminUrl)
  const first = await pool.client()
  await first.query({ text: 'begin' })
  // What a first request has written that has not committed yet.
  await first.query({
    text: `insert into loci.idempotency select (jsonb_populate_record(i, jsonb_build_object('key', $2::text))).*
      from loci.idempotency i where key = $1`,
    values: [done, busy],
  })
  const second = await batch(slots, [putOf('b')], busy)
  await first.query({ text: 'rollback' })
  first.release()
  await pool.close()
  assert.deepEqual([second.status, second.error.code], [409, 'IDEMPOTENCY_IN_PROGRESS'])
  assert.deepEqual(await slots.keys(), ['a'])
})

// Mutants, in wm_apply(): `v_metas` cut one place earlier where one slot leaves; `v_texts`, or `v_doc.versions`, not
// filtered where several do; evictions of a batch with the version of another slot.
test('what is kept of the slots that stay is their own, whichever of the others leave, one or several', async () => {
  const slots = slotsOf(tenant, 'leaving')
  await slots.configure({ capacity: 6 })
  const leave = (...keys: string[]): Operation[] => keys.map((key) => ({ op: 'delete', key }))
  const stays: [Operation[], string[]][] = [
    [['a', 'b', 'c', 'd', 'e', 'f'].map((key) => putOf(key)), ['a', 'b', 'c', 'd', 'e', 'f']],
    [leave('a'), ['b', 'c', 'd', 'e', 'f']],
    [leave('d'), ['b', 'c', 'e', 'f']],
    [
      [...leave('f'), putOf('g')],
      ['b', 'c', 'e', 'g'],
    ],
    [
      [...leave('b', 'e'), putOf('h'), putOf('c', 'again')],
      ['c', 'g', 'h'],
    ],
    [
      [putOf('i'), ...leave('i', 'c'), putOf('c')],
      ['g', 'h', 'c'],
    ],
    // Three are more than there is room for.
    [['j', 'k', 'l', 'm', 'n', 'o'].map((key) => putOf(key)), ['j', 'k', 'l', 'm', 'n', 'o']],
  ]
  for (const [operations, keys] of stays) {
    const answer = await batch(slots, operations)
    assert.equal(answer.status, 200, answer.text)
    const [row] = await daemon.sql<Row>(
      `select keys, texts, metas, versions::int[], array(select encode(d, 'base64') from unnest(digests) d) as digests
       from loci.working_memory where instance_id = $1 and database = 'leaving'`,
      [tenant.instanceId],
    )
    assert.deepEqual(row?.keys, keys)
    const { texts, metas, versions, digests } = row as Row
    assert.deepEqual(
      [texts, metas, versions, digests].map(({ length }) => length),
      Array(4).fill(keys.length),
    )
    for (const [at, text] of texts.entries()) {
      const said = JSON.parse(text)
      const meta = JSON.parse(metas[at] as string)
      assert.deepEqual([keys[at], versions[at], digests[at], meta.id], [said.key, said.version, said.digest, said.id])
    }
  }
  const gone = await daemon.sql<{ key: string; version: number; known: number }>(
    `select e.key, e.version::int, (select count(*)::int from loci.slot_versions v where v.instance_id = e.instance_id
       and v.database = e.database and v.key = e.key and v.version = e.version) as known
     from loci.evictions e where e.instance_id = $1 and e.database = 'leaving' order by e.key`,
    [tenant.instanceId],
  )
  assert.deepEqual(
    gone.map(({ key, known }) => [key, known]),
    // Deleted or displaced, each with the version that it had: c left twice.
    [...'abccdefghi'].map((key) => [key, 1]),
  )
  assert.equal((await slots.list()).damaged, undefined)
})

interface Row {
  keys: string[]
  texts: string[]
  metas: string[]
  versions: number[]
  digests: string[]
}
