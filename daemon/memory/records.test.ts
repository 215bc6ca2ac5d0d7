import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Claim } from '@loci/acts/idempotency/idempotency.ts'
import { seal } from '@loci/capability/capability.ts'
import { newId } from '@loci/contract/ids.ts'
import { testPool } from '@loci/postgres/testing/database.ts'
import { claimValues } from '../idempotency/store.ts'
import { testAuthority } from '../testing/authority.ts'
import { type TestDaemon, testDaemon } from '../testing/daemon.ts'
import { MEMORY_RIGHTS, memoryOf, type TestMemory, type TestRecord } from '../testing/records.ts'
import { addTenant, type TestTenant } from '../testing/tenant.ts'
import { presentedAt } from './records.ts'

let daemon: TestDaemon
let tenant: TestTenant
before(async () => {
  daemon = await testDaemon()
  tenant = await addTenant(daemon)
})
after(() => daemon?.[Symbol.asyncDispose]())

let last = 0
function fresh(): TestMemory & { db: string } {
  last += 1
  return { ...memoryOf(tenant, `db-${last}`), db: `db-${last}` }
}

test('a record is kept word for word, with who, when and from whom, and read by its id in its database alone', async () => {
  const memory = fresh()
  const sent = {
    ...{ content: 'Ada prefers replies in Dutch ‮ 😀', key: 'ada/language', contextId: 'chat 1', actor: 'Ada' },
    ...{ media: 'a Dutch flag', kind: 'preference', tags: ['user:ada'], evidenceRefs: ['evt_1'], sourceEventId: 'e-1' },
    metadata: { a: [1, 'ä'] },
  }
  const record = await memory.store({ ...sent, occurredAt: '2026-03-01T11:00:00+01:00', salience: 1 })
  assert.deepEqual({ ...record, ...sent }, record)
  assert.equal(record.occurredAt, '2026-03-01T10:00:00.000Z')
  assert.deepEqual(
    [record.validFrom, record.validTo, record.archivedAt, record.expiresAt],
    [record.occurredAt, null, null, null],
  )
  assert.deepEqual([record.source.type, record.source.trust], ['api', 'holder'])
  assert.deepEqual((await memory.get(record.id)).json(), record)
  assert.deepEqual((await memory.list()).records, [record])
  assert.equal((await fresh().get(record.id)).status, 404)
  const stranger = await addTenant(daemon)
  assert.equal((await memoryOf(stranger, memory.db).get(record.id)).status, 404)
  // What is no id at all is not there either; a NUL reached PostgreSQL, which was logged as a bug.
  for (const id of ['x', `${record.id.slice(0, -1)}%00`])
    for (const method of ['GET', 'DELETE'])
      assert.equal((await memory.call(`${method} /v1/memory/records/${id}`)).status, 404, `${method} ${id}`)
})

// It was answered as "+010000-01-01T00:59:59.000Z", which no schema of ours takes; the year 0 failed in PostgreSQL.
// Mutant: `moment` without its years.
test('a moment that has no four digits of a year in UTC is refused by its name', async () => {
  const memory = fresh()
  for (const name of ['occurredAt', 'dueAt'])
    for (const moment of ['9999-12-31T23:59:59-01:00', '0001-01-01T00:00:00+01:00', '0000-06-01T00:00:00Z']) {
      const { status, error } = await memory.call('POST /v1/memory/records', { content: 'x', [name]: moment })
      assert.deepEqual([status, error?.code], [400, 'VALIDATION_ERROR'], `${name} ${moment}`)
      assert.match(error.message, new RegExp(name))
    }
  for (const moment of ['9999-12-31T23:59:59.999Z', '0001-01-01T00:00:00.000Z'])
    assert.equal((await memory.store({ content: 'x', occurredAt: moment, dueAt: moment })).occurredAt, moment)
})

test('a credential without the right, or for another database, neither stores nor reads', async () => {
  const memory = fresh()
  const { id } = await memory.store('kept')
  const calls = [
    ['POST /v1/memory/records', { content: 'x' }, 'memory:write'],
    ['POST /v1/memory/records/batch', { records: [{ content: 'x' }] }, 'memory:write'],
    [`GET /v1/memory/records/${id}`, undefined, 'memory:read'],
    ['GET /v1/memory/records', undefined, 'memory:read'],
  ] as const
  for (const [line, body, op] of calls) {
    const others = tenant.mint({ ...MEMORY_RIGHTS, ops: MEMORY_RIGHTS.ops.filter((one) => one !== op) })
    const elsewhere = tenant.mint({ ...MEMORY_RIGHTS, ks: ['memory/other', 'working-memory/*', 'kv/*'] })
    for (const [token, code] of [
      [others, 'OPERATION_NOT_ALLOWED'],
      [elsewhere, 'DATABASE_MISMATCH'],
    ] as const)
      assert.equal((await tenant.call(line, body, { db: memory.db, token })).error.code, code, line)
  }
  assert.equal((await memory.list()).records.length, 1)
})

test('what is no record is refused by name, and what is too large is 413; nothing is stored', async () => {
  const memory = fresh()
  const wrong = [
    {},
    [],
    null,
    { content: 5 },
    { content: '' },
    { content: 'x', tags: 'y' },
    { content: 'x', occurredAt: 'then' },
  ]
  for (const body of [
    ...wrong,
    { content: 'x', supersedes: 'no id' },
    { content: 'x', ttl: 5 },
    { content: 'x', salience: 3 },
  ])
    assert.equal((await memory.call('POST /v1/memory/records', body)).status, 400, JSON.stringify(body))
  for (const body of [{ content: '€'.repeat(5_462) }, { content: 'x', metadata: { a: 'x'.repeat(16_384) } }])
    assert.equal((await memory.call('POST /v1/memory/records', body)).error.code, 'PAYLOAD_TOO_LARGE')
  await memory.store('€'.repeat(5_461))
  const unknown = await memory.call('POST /v1/memory/records', { content: 'x', supersedes: newId('mem') })
  assert.equal(unknown.error.code, 'NOT_FOUND')
  for (const records of [[{ content: 'a' }, { content: 5 }], Array.from({ length: 101 }, () => ({ content: 'a' }))])
    assert.equal((await memory.call('POST /v1/memory/records/batch', { records })).status, 400)
  assert.equal((await memory.list()).records.length, 1)
})

// Mutant: mem_write_acts without its raise: the first record of the refused batch is there.
test('a batch is stored in order, or not at all', async () => {
  const memory = fresh()
  const records = [{ content: 'one' }, { content: 'two', supersedes: newId('mem') }]
  const refused = await memory.call('POST /v1/memory/records/batch', { records })
  assert.deepEqual((await memory.list()).records, [])
  assert.deepEqual([refused.status, refused.error.code, refused.error.details], [404, 'NOT_FOUND', { index: 1 }])
  const stored = await memory.storeAll(Array.from({ length: 100 }, (_, n) => ({ content: `thing ${n}` })))
  assert.deepEqual(
    stored.map(({ content }) => content),
    Array.from({ length: 100 }, (_, n) => `thing ${n}`),
  )
  const first = await memory.list('?limit=60')
  const second = await memory.list(`?limit=60&cursor=${first.nextCursor}`)
  assert.deepEqual([...first.records, ...second.records].reverse(), stored)
  assert.equal(second.nextCursor, null)
})

// Mutant: mem_store without its lookup of the source event: two records.
test('the same source event is the same record, alone, in a batch and at once', async () => {
  const memory = fresh()
  const sent = { content: 'Ada prefers Dutch', sourceEventId: 'evt-1' }
  const answers = await Promise.all([sent, sent, { ...sent, content: 'other words' }].map((body) => memory.store(body)))
  const ids = new Set(answers.map(({ id }) => id))
  const batch = await memory.storeAll([sent, { content: 'another' }, sent])
  assert.deepEqual([ids.size, batch[0], batch[2]], [1, answers[0], answers[0]])
  assert.equal((await memory.list()).records.length, 2)
})

// Mutant: refilled() answering the record as it is now: validTo is not null.
test('a repeat with the same key is answered as the first, also after the record was superseded', async () => {
  const memory = fresh()
  const send = (content: string, key: string) =>
    memory.call('POST /v1/memory/records', { content }, { 'idempotency-key': key })
  const first = await send('one thing', 'k1')
  await memory.store({ content: 'another thing', supersedes: first.json<{ id: string }>().id })
  const again = await send('one thing', 'k1')
  assert.deepEqual([again.json(), again.headers['idempotent-replayed']], [first.json(), 'true'])
  assert.equal((await send('one more thing', 'k1')).error.code, 'IDEMPOTENCY_KEY_REUSED')
  const both = await Promise.all([send('at once', 'k2'), send('at once', 'k2')])
  assert.deepEqual(both[0].json(), both[1].json())
  const batch = { records: [{ content: 'a' }, { content: 'b' }] }
  const batches = [await memory.call('POST /v1/memory/records/batch', batch, { 'idempotency-key': 'k3' })]
  batches.push(await memory.call('POST /v1/memory/records/batch', batch, { 'idempotency-key': 'k3' }))
  assert.deepEqual(batches[0]?.json(), batches[1]?.json())
  assert.equal((await memory.list()).records.length, 5)
})

// Mutant: batches = singles, and claimValues() without its check: the call files every key under one of the two routes,
// and the repeats on the other store their records again.
test('keys of both routes that arrive together are each known to their own', async () => {
  const memory = fresh()
  const names = Array.from({ length: 12 }, (_, n) => `mixed-${n + 10}`)
  const send = async (key: string, at: number) => {
    for (;;) {
      const answer = await (at % 2 === 0
        ? memory.call('POST /v1/memory/records', { content: key }, { 'idempotency-key': key })
        : memory.call('POST /v1/memory/records/batch', { records: [{ content: key }] }, { 'idempotency-key': key }))
      // On a busy machine one waits for a lock longer than it may, and asks again as it is told to.
      if (answer.status !== 503) return answer
    }
  }
  const first = await Promise.all(names.map(send))
  const again = await Promise.all(names.map(send))
  for (const [at, { status, headers, text }] of again.entries())
    assert.deepEqual([status, headers['idempotent-replayed'], text], [200, 'true', first[at]?.text])
  assert.equal((await memory.list()).records.length, names.length)
  const claim = (route: string, sealedWith: string): Claim => ({
    ...{ scope: ['i', 'd', route, 'h', 'k'], sealedWith, fingerprint: Buffer.alloc(1), request: {} },
  })
  assert.equal(claimValues([claim('POST /a', '1'), claim('POST /a', '1')]).length, 4)
  for (const other of [claim('POST /b', '1'), claim('POST /a', '2')])
    assert.throws(() => claimValues([claim('POST /a', '1'), other]), /different routes or keys/)
})

// Mutant: mem_store that does not look for the key's current record: all three hold.
test('a record that supersedes another ends it, and a key names one current fact', async () => {
  const memory = fresh()
  const monday = await memory.store({ content: 'on Monday', occurredAt: '2026-03-01T10:00:00Z' })
  const friday = await memory.store({ content: 'on Friday', supersedes: monday.id, occurredAt: '2026-03-02T10:00:00Z' })
  const former = (await memory.get(monday.id)).json<{ validTo: string; version: number }>()
  assert.deepEqual([former.validTo, former.version > monday.version], [friday.validFrom, true])
  for (const n of [1, 2, 3]) await memory.store({ content: `${n} crates`, key: 'crates' })
  const { records } = await memory.list()
  const current = records.filter(({ key, validTo }) => key === 'crates' && validTo === null)
  assert.deepEqual(
    current.map(({ content }) => content),
    ['3 crates'],
  )
  assert.equal(records.filter(({ validTo }) => validTo !== null).length, 3)
  await memory.store({ content: 'an older Monday', supersedes: monday.id })
  assert.equal((await memory.get(monday.id)).json<{ validTo: string }>().validTo, former.validTo)
})

test('neighbours have the next position of their context, and a gap of half an hour opens another', async () => {
  const memory = fresh()
  const at = (minute: number) => new Date(Date.UTC(2026, 2, 1, 10, minute)).toISOString()
  await memory.storeAll([
    { content: 'a', contextId: 'one' },
    { content: 'b', contextId: 'two' },
    { content: 'c', contextId: 'one' },
    { content: 'd', occurredAt: at(0) },
    { content: 'e', occurredAt: at(29) },
    { content: 'f', occurredAt: at(60) },
    { content: 'g', contextId: 'one' },
  ])
  const rows = await daemon.sql('select context::int, position from loci.records where database = $1 order by seq', [
    memory.db,
  ])
  assert.deepEqual(
    rows.map(({ context, position }) => [context, position]),
    [
      [1, 0],
      [2, 0],
      [1, 1],
      [3, 0],
      [3, 1],
      [4, 0],
      [1, 2],
    ],
  )
  const texts = await daemon.sql(`select encode(name_mac, 'escape') as mac from loci.contexts where database = $1`, [
    memory.db,
  ])
  assert.ok(texts.every(({ mac }) => !String(mac).includes('one')))
})

test('records and their bytes count for the plan', async () => {
  const small = await addTenant(daemon, { records: 3 })
  const memory = memoryOf(small, 'default')
  await memory.storeAll([{ content: 'a' }, { content: 'b' }])
  const refused = await memory.call('POST /v1/memory/records/batch', { records: [{ content: 'c' }, { content: 'd' }] })
  assert.equal(refused.error.code, 'QUOTA_EXCEEDED')
  await memory.store('c')
  assert.equal((await memory.call('POST /v1/memory/records', { content: 'd' })).error.code, 'QUOTA_EXCEEDED')
  assert.equal((await memory.list()).records.length, 3)
})

// Mutant: kv_usage_within that looks at due work of kind `expiry` alone.
test('an expired record that is not swept yet does not count for the plan', async () => {
  const small = await addTenant(daemon, { records: 2 })
  const memory = memoryOf(small, 'brief')
  const admin = testPool(daemon.database.adminUrl)
  const holder = await admin.client()
  await memoryOf(small, 'lasting').store('a')
  // Whoever holds the head keeps the sweeper away. On a slow machine the sweep may come first: again, with more time.
  for (let ttlMs = 500, isHeld = false; !isHeld; ttlMs *= 2) {
    const { id } = await memory.store({ content: 'b', ttlMs })
    await holder.query({ text: 'begin' })
    await holder.query({ text: 'set local idle_in_transaction_session_timeout = 0' })
    const { rows } = await holder.query({
      text: `select 1 from loci.databases h join loci.records r on r.instance_id = h.instance_id and r.database = h.name
        where h.instance_id = $1 and r.id = $2 for update of h`,
      values: [small.instanceId, id],
    })
    isHeld = rows.length > 0
    if (!isHeld) await holder.query({ text: 'rollback' })
    else while ((await memory.get(id)).status !== 404) await new Promise((resolve) => setTimeout(resolve, 20))
  }
  const other = memoryOf(small, 'other')
  const admitted = await other.call('POST /v1/memory/records', { content: 'c' })
  const refused = await other.call('POST /v1/memory/records', { content: 'd' })
  const { rows } = await holder.query({ text: `select 1 from loci.records where database = 'brief'` })
  await holder.query({ text: 'rollback' })
  holder.release()
  await admin.close()
  assert.deepEqual([admitted.status, refused.error.code, rows.length], [200, 'QUOTA_EXCEEDED', 1])
})

// Mutant: heardFrom() that answers the write as it is.
test('the hint of a sub-agent counts half', async () => {
  await using authority = await testAuthority(daemon)
  const own = await authority.addInstance()
  const tokens = [own.root(MEMORY_RIGHTS), seal(own.delegation({ ...MEMORY_RIGHTS, del_max: 1 }))]
  const hints: [string, number][] = []
  for (const token of tokens) {
    const body = { content: 'The pad is orange', contextId: `${hints.length}`, salience: 2 }
    const answer = await own.call(token, 'POST /v1/memory/records', { body })
    assert.equal(answer.status, 200, answer.text)
    const { source, salienceHint } = answer.json<TestRecord & { salienceHint: number }>()
    hints.push([source.trust, salienceHint])
  }
  assert.deepEqual(hints, [
    ['holder', 2],
    ['delegated', 1],
  ])
})

test('what is said of the future counts from when it was stored', () => {
  const at = Date.parse('2026-01-01T00:00:00Z')
  assert.equal(presentedAt('9999-01-01T00:00:00.000Z', at), at)
  assert.equal(presentedAt('2025-01-01T00:00:00.000Z', at), Date.parse('2025-01-01T00:00:00Z'))
  assert.equal(presentedAt(null, at), at)
})
