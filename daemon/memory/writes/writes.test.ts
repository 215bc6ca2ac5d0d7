import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { wholeAnswer } from '../../testing/consistency.ts'
import { type TestDaemon, testDaemon } from '../../testing/daemon.ts'
import { memoryOf, type TestMemory } from '../../testing/records.ts'
import { addTenant, type TestTenant } from '../../testing/tenant.ts'
import { placesOf } from './places.ts'

let daemon: TestDaemon
let tenant: TestTenant
before(async () => {
  daemon = await testDaemon()
  tenant = await addTenant(daemon)
})
after(() => daemon?.[Symbol.asyncDispose]())

const at = (minute: number) => new Date(Date.UTC(2026, 2, 1, 10, minute)).toISOString()

/** What only adds: contexts that are new and known, the open one, keys, source events, times. */
const CALLS: object[][] = [
  [{ content: 'the first opens a context', occurredAt: at(0) }],
  [
    { content: 'a 1', contextId: 'a', key: 'k 1' },
    { content: 'open 2', occurredAt: at(20) },
    { content: 'b 1', contextId: 'b', sourceEventId: 'e 1' },
    { content: 'a 2 é', contextId: 'a', ttlMs: 3_600_000 },
    { content: 'open 3', occurredAt: at(45), sourceEventId: 'e 2' },
    { content: 'a 3', contextId: 'a', dueAt: at(50), occurredAt: at(3) },
    { content: 'a long one '.repeat(1_000), contextId: 'a' },
  ],
  [
    { content: 'c 1', contextId: 'c' },
    { content: 'b 2', contextId: 'b' },
    { content: 'd 1', contextId: 'd' },
    { content: 'c 2', contextId: 'c', key: 'k 2' },
  ],
  [
    { content: 'open 4', occurredAt: at(70) },
    { content: 'said "dueAt":"x"', contextId: 'a' },
  ],
  [{ content: 'another opens after a gap', occurredAt: at(120) }],
]

/** A record that overrides makes its database be written record by record. */
const forced = (n: number) => ({ content: `forced ${n}`, contextId: 'forced', override: true })

// Mutants: mem_write_plain that leaves out w.place, c.position, excluded.records, mem_open_position, or counts every
// record of a new context; placesOf() that counts `place` over the whole call. mem_write_one without `+ v_new`, without
// its 1800, `100 * v_new`, mem_open_position, mem_open_at, v_due, mem_tail, either put_due, or `bytes + 100 * v_new`.
// One of the three ways in which a long record counts for one in the tail.
test('records that are stored all at once, or each alone in its call, are as if they had been stored one by one', async () => {
  const [together, alone, each] = ['together', 'alone', 'each'].map((db) => memoryOf(tenant, db)) as [
    TestMemory,
    TestMemory,
    TestMemory,
  ]
  for (const [n, records] of CALLS.entries()) {
    await together.storeAll(records)
    await together.storeAll([forced(n)])
    for (const record of [...records, forced(n)]) await alone.store(record)
    await each.storeAll([...records, forced(n)])
  }
  const rowsOf = (db: string) =>
    daemon.sql(
      `select r.seq, r.changed_seq, r.key, r.source_event_id, r.position, r.due_at, r.valid_from < r.created_at as is_past,
         r.valid_to, r.expires_at - r.created_at as ttl, r.body::json ->> 'content' as content, r.digest = loci.record_digest(r) as is_intact,
         (select min(f.seq) from loci.records f where f.instance_id = r.instance_id and f.database = r.database and f.context = r.context) as context
       from loci.records r where r.database = $1 order by r.seq`,
      [db],
    )
  const headOf = (db: string) =>
    daemon.sql(
      `select seq, mem_records, mem_bytes, mem_tail, mem_open_position, mem_open_at, mem_index_bytes from loci.databases where name = $1`,
      [db],
    )
  const contextsOf = (db: string) =>
    daemon.sql(
      `select c.position, c.records, c.number <= h.mem_contexts as is_counted,
         (select min(r.seq) from loci.records r where r.database = c.database and r.context = c.number) as first
       from loci.contexts c join loci.databases h on h.name = c.database where c.database = $1 order by 4`,
      [db],
    )
  const eventsOf = (db: string) =>
    daemon.sql(`select type, domain, data ->> 'version' as version from loci.events where database = $1 order by seq`, [
      db,
    ])
  const dueOf = (db: string) => daemon.sql(`select kind from loci.due where database = $1 order by kind`, [db])
  for (const read of [rowsOf, headOf, contextsOf, eventsOf, dueOf])
    for (const db of ['together', 'alone']) assert.deepEqual(await read(db), await read('each'), db)
  for (const db of ['together', 'alone'])
    assert.ok(
      (await rowsOf(db)).every(({ is_intact }) => is_intact),
      db,
    )
  const totals = await daemon.sql(`select sum(t.records) = (select sum(mem_records) from loci.databases) as records,
    sum(t.bytes) = (select sum(mem_bytes + mem_index_bytes) from loci.databases) as bytes from loci.instance_totals t`)
  assert.deepEqual(totals, [{ records: true, bytes: true }])
  const report = await wholeAnswer(() => together.call('GET /v1/kv/consistency?mode=full'))
  assert.deepEqual(report.json<{ issues: object[] }>().issues, [])
})

// Mutants: mem_not_plain that looks for no source event; for no tombstone: alone in a call a record does not get there.
test('what is known or forgotten is so in a batch beside one that only adds, in the same database', async () => {
  const memory = memoryOf(tenant, 'beside')
  const plain = { content: 'only adds', contextId: 'a' }
  const known = await memory.store({ content: 'known', sourceEventId: 'e' })
  const [again] = await memory.storeAll([{ content: 'known', sourceEventId: 'e' }, plain])
  assert.equal(again?.id, known.id)
  const { id } = await memory.store('to be forgotten')
  assert.equal((await memory.call(`DELETE /v1/memory/records/${id}`)).status, 200)
  const records = [{ content: 'To be FORGOTTEN' }, plain]
  const refused = await memory.call('POST /v1/memory/records/batch', { records })
  assert.equal(refused.error?.code, 'MEMORY_FORGOTTEN')
})

// Mutants: placesOf() without areDifferent(); mem_not_plain that looks for no source event, no key, no tombstone.
test('a record that is known, current or forgotten is so alone, in a batch and beside others that only add', async () => {
  const [events, keys, values] = ['events', 'keys', 'values'].map((db) => memoryOf(tenant, db)) as [
    TestMemory,
    TestMemory,
    TestMemory,
  ]
  const known = await events.store({ content: 'known', sourceEventId: 'e' })
  assert.equal((await events.store({ content: 'known', sourceEventId: 'e' })).id, known.id)
  const twice = await events.storeAll([1, 2].map((n) => ({ content: `twice ${n}`, sourceEventId: 'f' })))
  assert.equal(twice[0]?.id, twice[1]?.id)
  const current = async () => (await keys.list()).records.filter(({ validTo }) => validTo === null)
  for (const content of ['one', 'two']) await keys.store({ content, key: 'k' })
  await keys.storeAll(['three', 'four'].map((content) => ({ content, key: 'k' })))
  assert.deepEqual(
    (await current()).map(({ content }) => content),
    ['four'],
  )
  const { id } = await values.store('to be forgotten')
  assert.equal((await values.call(`DELETE /v1/memory/records/${id}`)).status, 200)
  // Sent at once, they share calls.
  const [refused, plain, next, again] = await Promise.all([
    values.call('POST /v1/memory/records', { content: 'To be  FORGOTTEN' }),
    values.store('plain'),
    keys.store({ content: 'five', key: 'k' }),
    events.store({ content: 'known', sourceEventId: 'e' }),
  ])
  assert.deepEqual([refused.error.code, plain.content, again.id], ['MEMORY_FORGOTTEN', 'plain', known.id])
  assert.deepEqual(
    (await current()).map((record) => record.id),
    [next.id],
  )
  const versions = (await keys.list()).records.map(({ version }) => version)
  assert.equal(new Set(versions).size, versions.length)
})

// Mutants: mem_write_one without the put_due of 'index', or without put_cycle.
test('a record that is alone in its call makes the index due when the tail is full, and a cycle by schedule', async () => {
  const memory = memoryOf(tenant, 'tail')
  await memory.store({ content: 'The first', contextId: 'a' })
  await daemon.sql(`update loci.databases set mem_tail = 255 where name = 'tail'`)
  await memory.store({ content: 'The last', contextId: 'a' })
  // Until it is done it is due; then there is a segment.
  const due = await daemon.sql(`select 1 from loci.due where database = 'tail' and kind = 'index'
    union all select 2 from loci.databases where name = 'tail' and mem_indexed_through > 0`)
  assert.ok(due.length > 0)
  const scheduled = memoryOf(tenant, 'scheduled')
  await scheduled.store({ content: 'The first', contextId: 'a' })
  // In an hour, so that nobody takes it up meanwhile.
  await daemon.sql(`update loci.databases set cyc_interval_ms = 3600000, cyc_last_at = now() where name = 'scheduled'`)
  await scheduled.store({ content: 'The last', contextId: 'a' })
  assert.deepEqual(await daemon.sql(`select kind from loci.due where database = 'scheduled'`), [{ kind: 'cycle' }])
})

/** Of 32 KiB: it counts for four. */
const long = { content: 'x'.repeat(16_000), contextId: 'a', metadata: { note: 'y'.repeat(16_000) } }

// Mutants: mem_tail_weight of 1; mem_write_acts, or mem_write_one, that takes `= mem_tail_max()` for full;
// mem_write_plain with h.mem_tail + w.nth for tail; mem_erase, or mem_index_commit, that counts a long one as one.
test('a long record fills the tail as several, and leaves it so', async () => {
  const tailOf = async (db: string) =>
    (await daemon.sql<{ tail: number }>(`select mem_tail as tail from loci.databases where name = $1`, [db]))[0]?.tail
  const dueOf = (db: string) =>
    daemon.sql(
      `select 1 from loci.due where database = $1 and kind = 'index'
      union all select 2 from loci.databases where name = $1 and mem_indexed_through > 0`,
      [db],
    )
  const [alone, together, leaving] = ['long-alone', 'long-together', 'long-leaving'].map((db) =>
    memoryOf(tenant, db),
  ) as [TestMemory, TestMemory, TestMemory]
  for (const memory of [alone, together, leaving]) await memory.store({ content: 'The first', contextId: 'a' })
  await daemon.sql(`update loci.databases set mem_tail = 253 where name = 'long-alone'`)
  await alone.store(long)
  assert.notEqual((await dueOf('long-alone')).length, 0)
  await daemon.sql(`update loci.databases set mem_tail = 249 where name = 'long-together'`)
  await together.storeAll([long, { content: 'between', contextId: 'a' }, long])
  assert.notEqual((await dueOf('long-together')).length, 0)
  // Of what is built nothing is left in the tail, and what comes then is counted from there.
  while ((await dueOf('long-together')).length !== 1 || (await tailOf('long-together')) !== 0)
    await new Promise((resolve) => setTimeout(resolve, 50))
  await together.storeAll([long, { content: 'after', contextId: 'a' }])
  assert.equal(await tailOf('long-together'), 5)
  const { id } = await leaving.store(long)
  assert.equal(await tailOf('long-leaving'), 5)
  // A build that was overtaken by both, and publishes nothing.
  await daemon.sql(
    `select loci.mem_index_commit($1, 'long-leaving', '{}', 0, 0, 0, '{}', '{}', '{}', '{}', '{}', '{}', '{}')`,
    [tenant.instanceId],
  )
  assert.equal(await tailOf('long-leaving'), 5)
  assert.equal((await leaving.call(`DELETE /v1/memory/records/${id}`)).status, 200)
  assert.equal(await tailOf('long-leaving'), 1)
})

const plain = { context: null, key: null, sourceEventId: null, isOverride: false, supersedes: null }

test('where the records of a call stand: by database and context, and whether they only add', () => {
  const places = placesOf([
    { database: 'd', record: { ...plain, context: 'a' } },
    { database: 'e', record: { ...plain, key: 'k' } },
    { database: 'd', record: plain },
    { database: 'd', record: { ...plain, context: 'a', key: 'k' } },
    { database: 'e', record: { ...plain, key: 'k' } },
  ])
  assert.deepEqual(places, [
    { nth: 1, first: 1, place: 0, shared: 2 },
    { nth: null, first: 1, place: 0, shared: null },
    { nth: 2, first: 2, place: 0, shared: null },
    { nth: 3, first: 1, place: 1, shared: null },
    { nth: null, first: 1, place: 1, shared: null },
  ])
  for (const one of [{ isOverride: true }, { supersedes: 'mem_1' }])
    assert.equal(placesOf([{ database: 'd', record: { ...plain, ...one } }])[0]?.nth, null)
})
