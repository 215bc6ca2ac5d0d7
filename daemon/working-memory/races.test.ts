// Writes against a configuration that is put at the same moment, lists against writes, and partitions under a reader.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { eventually, type TestAnswer } from '@loci/chassis/testing/request.ts'
import { type Client, openPool, type Pool } from '@loci/postgres/pool.ts'
import { PATIENT } from '@loci/postgres/testing/database.ts'
import { cyclesOf } from '../testing/cycles.ts'
import { type TestDaemon, testDaemon } from '../testing/daemon.ts'
import { SLOT_RIGHTS, slotPath, slotsOf } from '../testing/slots.ts'
import { addTenant, type TestTenant } from '../testing/tenant.ts'

let daemon: TestDaemon
let replica: TestDaemon
let tenant: TestTenant
let owner: Pool
before(async () => {
  daemon = await testDaemon()
  replica = await testDaemon({ replicaOf: daemon })
  tenant = await addTenant(daemon)
  owner = openPool({
    ...PATIENT,
    url: daemon.database.adminUrl,
    applicationName: 'loci-test',
    connectionsMax: 2,
    onError: () => {},
  })
})
after(async () => {
  await owner?.close()
  await replica?.[Symbol.asyncDispose]()
  await daemon?.[Symbol.asyncDispose]()
})

/**
 * Starts `act` while the head of the database is held, does `meanwhile` once it waits for it, and lets it go on. Who
 * waits longer than the daemon lets it is told 503, on a busy machine before it was seen to wait: again.
 */
async function against<T>(
  db: string,
  act: () => Promise<T>,
  meanwhile: (holder: Client) => Promise<unknown>,
): Promise<T> {
  const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  for (;;) {
    const holder = await owner.client()
    await holder.query({ text: 'begin' })
    await holder.query({ text: 'select from loci.databases where name = $1 for update', values: [db] })
    let isOver = false
    const done = act().finally(() => {
      isOver = true
    })
    done.catch(() => {})
    await eventually(async () => isOver || (await daemon.sql(waiting)).length > 0)
    if (!isOver) await meanwhile(holder)
    await holder.query({ text: isOver ? 'rollback' : 'commit' })
    holder.release()
    if (!isOver) return done
  }
}

/** As PUT /v1/working-memory/config does. */
const configure = (db: string, config: object) => (holder: Client) =>
  holder.query({
    text: `select loci.config_write($1, 100, $2, 'working-memory', $3, null)`,
    values: [tenant.instanceId, db, JSON.stringify(config)],
  })

/** On the other replica, which remembers nothing of the document: it reads it for this write. */
const putThere = (db: string, key: string): Promise<TestAnswer> =>
  replica.ask(`PUT ${slotPath(key)}`, {
    body: { value: key },
    headers: { 'x-loci-capability': tenant.mint(SLOT_RIGHTS), 'x-loci-database': db },
  })

// Mutant: `p_config` compared in wm_write only where `p_digest` is given: 4 slots where 3 may be.
test('a slot that is put while a smaller capacity is put finds no more room than that', async () => {
  const slots = slotsOf(tenant, 'smaller')
  for (const key of ['a', 'b', 'c']) await slots.put(key)
  const put = await against('smaller', () => putThere('smaller', 'd'), configure('smaller', { capacity: 3 }))
  assert.equal(put.status, 200, put.text)
  assert.equal(put.json<{ evicted: object[] }>().evicted.length, 1)
  const { count, capacity } = await slots.list()
  assert.deepEqual([count, capacity], [3, 3])
})

// Mutant: `p_service` compared in wm_write only where `p_digest` is given.
test('a slot that is put while the service gets a smaller capacity finds no more room than that', async () => {
  const slots = slotsOf(tenant, 'service')
  for (const key of ['a', 'b', 'c']) await slots.put(key)
  const change = (config: object) =>
    daemon.sql('update loci.instances set config = $2 where id = $1', [tenant.instanceId, config])
  const put = await against(
    'service',
    () => putThere('service', 'd'),
    () => change({ working_memory: { capacity: 3 } }),
  )
  assert.equal(put.status, 200, put.text)
  const { count, capacity } = await slots.list()
  await change({})
  assert.deepEqual([count, capacity], [3, 3])
})

// Mutant: `h.wm_config` left out of cycle_settings.
test('a cycle that brings in a slot while a smaller capacity is put finds no more room than that', async () => {
  const { run } = cyclesOf(tenant, 'cycle')
  const observed = (key: string) => ({ content: `The ${key} is broken`, key })
  await run({ observations: ['lamp', 'kiln', 'valve'].map(observed) })
  const slots = slotsOf(tenant, 'cycle')
  assert.equal((await slots.list()).count, 3)
  const bring = () => run({ observations: [observed('ladder')], limits: { queueMs: 10_000 } })
  await against('cycle', bring, configure('cycle', { capacity: 3 }))
  const { count, capacity } = await slots.list()
  assert.deepEqual([count, capacity], [3, 3])
})

// A list read the document twice where a slot has expired, and kept the version of the first look. Here the look stands
// in a digest that waits, and the document changes behind it. Mutant: wm_list_each without `stable`.
test('version, slots and capacity of a list are of one moment', async () => {
  const slots = slotsOf(tenant, 'moment')
  for (const key of ['a', 'b']) await slots.put(key)
  const [{ source } = { source: '' }] = await daemon.sql<{ source: string }>(
    `select pg_get_functiondef('loci.document_digest'::regproc) as source`,
  )
  await daemon.sql(source.replace('begin\n', 'begin\n  perform pg_advisory_xact_lock_shared(42);\n'))
  // While the document is not whole its slots are looked at one by one.
  await daemon.sql(`update loci.working_memory set digest = '\\x00' where database = 'moment'`)
  const holder = await owner.client()
  await holder.query({ text: 'begin; select pg_advisory_xact_lock(42)' })
  const listed = slots.list()
  const waiting = `select from pg_locks where locktype = 'advisory' and not granted and objid = 42`
  await eventually(async () => (await daemon.sql(waiting)).length > 0)
  await holder.query({
    text: `update loci.working_memory set version = version + 10, keys = keys[:1], texts = texts[:1], versions = versions[:1],
      expires = expires[:1], metas = metas[:1], digests = digests[:1] where database = 'moment'`,
  })
  await holder.query({ text: 'commit' })
  holder.release()
  const { count, asOfSeq, slots: shown } = await listed
  await daemon.sql(source)
  assert.deepEqual([count, shown.length, shown.at(-1)?.version], [2, 2, asOfSeq])
  const after = await slots.list()
  assert.deepEqual([after.count, after.asOfSeq], [1, asOfSeq + 10])
})

// Mutants: the `exception` taken out of keep_slot_partitions (nothing is made); `partition of` instead of `attach` (it
// waits for who writes, and gives up).
test('a partition that is in use keeps no new one from being made, and writers keep none from it', async () => {
  const weeksAgo = 8
  const [week] = await daemon.sql<{ name: string; from: string; to: string; ahead: string }>(
    `select to_char(w, 'YYYYMMDD') as name, w::text as from, (w + 7)::text as to, to_char(date_trunc('week', now() at time zone 'UTC') + interval '3 weeks', 'YYYYMMDD') as ahead
     from (select (date_trunc('week', now() at time zone 'UTC') - make_interval(weeks => $1))::date as w) t`,
    [weeksAgo],
  )
  const { name, from, to, ahead } = week as { name: string; from: string; to: string; ahead: string }
  for (const table of ['slot_versions', 'evictions']) {
    await daemon.sql(`create table loci.${table}_${name} (like loci.${table} including all)`)
    await daemon.sql(`alter table loci.${table}_${name} owner to loci_owner`)
    await daemon.sql(
      `alter table loci.${table} attach partition loci.${table}_${name} for values from ('${from}') to ('${to}')`,
    )
    await daemon.sql(`drop table loci.${table}_${ahead}`)
  }
  const holder = await owner.client()
  // As a dump holds the old one, and a writer the table that gets a new one.
  await holder.query({ text: `begin; lock loci.slot_versions_${name} in access share mode` })
  await holder.query({ text: 'lock loci.slot_versions, loci.evictions in row exclusive mode' })
  await owner.query({ text: 'select loci.keep_slot_partitions()' })
  await holder.query({ text: 'rollback' })
  holder.release()
  const found = async (table: string) =>
    (await daemon.sql(`select where to_regclass('loci.${table}') is not null`)).length
  assert.deepEqual(
    [
      await found(`slot_versions_${ahead}`),
      await found(`evictions_${ahead}`),
      await found(`slot_versions_${name}`),
      await found(`evictions_${name}`),
    ],
    [1, 1, 1, 1],
  )
  await owner.query({ text: 'select loci.keep_slot_partitions()' })
  assert.deepEqual([await found(`slot_versions_${name}`), await found(`evictions_${name}`)], [0, 0])
})
