// Between the expiry of an entry and its sweep nothing that is answered may count it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { newId } from '@loci/contract/ids.ts'
import { openPool, type Pool, type Sql } from '@loci/postgres/pool.ts'
import { testDatabase, testPool } from '@loci/postgres/testing/database.ts'
import { workDue } from '../databases/due.ts'
import { listTotals } from '../databases/store.ts'
import { readUsage } from '../operator/databases/store.ts'
import { SCHEMA } from '../schema.ts'
import { wholeAnswer } from '../testing/consistency.ts'
import { testDaemon } from '../testing/daemon.ts'
import { addTenant, listAll, path, putAll } from '../testing/tenant.ts'
import { listDatabases } from './reports/store.ts'
import { commitActs, expireEntries, type Write } from './store.ts'

// Mutants: the loop of kv_usage_within left out (403); `summary` with walk.rows; kv_databases without kv_expired.
test('an expired entry that is not swept yet is in no count: health, consistency, quota', async () => {
  await using daemon = await testDaemon()
  const ada = await addTenant(daemon, { records: 2 })
  await putAll(ada, 'ttl', { lasting: 1 })
  const admin = testPool(daemon.database.adminUrl)
  const holder = await admin.client()
  // Whoever holds the head keeps the sweeper away. A machine so slow that the sweep came first tries again with more
  // time.
  const hold = async (ttlMs: number): Promise<void> => {
    await ada.call(`PUT ${path('brief')}`, { value: 1, ttlMs }, { db: 'ttl' })
    await holder.query({ text: 'begin' })
    await holder.query({ text: 'set local idle_in_transaction_session_timeout = 0' })
    const { rows } = await holder.query({
      text: `select 1 from loci.databases h join loci.entries e on e.instance_id = h.instance_id and e.database = h.name
        where h.instance_id = $1 and h.name = 'ttl' and e.key = 'brief' for update of h`,
      values: [ada.instanceId],
    })
    if (rows.length > 0) return
    await holder.query({ text: 'rollback' })
    await hold(ttlMs * 2)
  }
  await hold(200)
  const get = () => ada.call(`GET ${path('brief')}`, undefined, { db: 'ttl' })
  while ((await get()).status !== 404) await sleep(20)

  const health = (await ada.call('GET /v1/kv/health')).json<{ databases: unknown[] }>()
  const full = (await wholeAnswer(() => ada.call('GET /v1/kv/consistency?mode=full'))).json<{
    status: string
    summary: object
  }>()
  const admitted = await ada.call(`PUT ${path('more')}`, { value: 1 }, { db: 'other' })
  const refused = await ada.call(`PUT ${path('too much')}`, { value: 1 }, { db: 'other' })

  assert.deepEqual(health.databases, [{ name: 'ttl', keys: 1, bytes: 8 }])
  assert.deepEqual([full.status, full.summary], ['consistent', { rows: 1, bytes: 8, issues: 0 }])
  assert.deepEqual([admitted.status, refused.error.code], [200, 'QUOTA_EXCEEDED'])
  const { rows } = await holder.query({ text: `select key from loci.entries where key = 'brief'` })
  assert.equal(rows.length, 1, 'it was there all the time')
  await holder.query({ text: 'rollback' })
  holder.release()
  await admin.close()
  assert.deepEqual((await listAll(ada, 'ttl')).entries.length, 1)
})

// The sweeper's work is done by the test, at the moment that hurts. Mutant: kv_databases and kv_expired volatile (keys
// 2).
test('a sweep between two readings of one count does not show in it', async () => {
  await using cell = await bareCell()
  const { app, instanceId } = cell
  await cell.put('ttl', { lasting: null, brief: 1 })
  const admin = openPool({
    url: cell.adminUrl,
    applicationName: 't',
    connectionsMax: 2,
    statementMs: 0,
    onError: () => {},
  })
  const sweeper = await admin.client()
  await sweeper.query({ text: 'begin' })
  await sweeper.query({
    text: 'set local idle_in_transaction_session_timeout = 0; lock table loci.entries in access exclusive mode',
  })

  const reader = await app.client()
  await reader.query({ text: 'set lock_timeout = 0' })
  const counted = listDatabases(reader, instanceId, 10)
  const waits = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%kv_databases%'`
  while ((await admin.query({ text: waits })).rows.length === 0) await sleep(10)
  await sweeper.query({ text: `select loci.kv_expire($1, 'ttl', 10)`, values: [instanceId] })
  await sweeper.query({ text: 'commit' })
  sweeper.release()

  assert.deepEqual(await counted, [{ name: 'ttl', keys: 1, bytes: 8 }])
  reader.release()
  assert.deepEqual(await listDatabases(app, instanceId, 10), [{ name: 'ttl', keys: 1, bytes: 8 }])
  await admin.close()
})

test('counting reads only what has expired, and for a quota no more than the quota is exceeded by', async () => {
  await using cell = await bareCell()
  const { app, instanceId } = cell
  await cell.put(
    'many',
    Object.fromEntries(Array.from({ length: 2_000 }, (_, at) => [`lasting-${at}`, at % 2 ? null : 60_000])),
  )
  await cell.put('many', Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`brief-${at}`, 1])))
  const client = await app.client()
  const touched = async (act: (sql: Sql) => Promise<{ keys: number } | undefined>) => {
    await client.query({ text: 'begin' })
    const before = await rowsRead(client)
    const answer = await act(client)
    const after = await rowsRead(client)
    await client.query({ text: 'rollback' })
    return { keys: answer?.keys, scans: after.scans - before.scans, fetched: after.fetched - before.fetched }
  }
  const usage = (keys: number) =>
    touched((sql) =>
      readUsage(sql, instanceId, { records: keys, bytes: 1e9 }).then(({ records }) => ({ keys: records })),
    )
  // More often than it takes Postgres to turn to a generic plan.
  for (let round = 0; round < 8; round += 1) {
    const health = await touched(async (sql) => (await listDatabases(sql, instanceId, 10))[0])
    assert.deepEqual(health, { keys: 2_000, scans: 0, fetched: 300 })
    assert.deepEqual(await usage(2_400), { keys: 2_300, scans: 0, fetched: 0 }, 'there is room')
    const over = await usage(2_260)
    // A loop of plpgsql fetches up to 50 rows ahead.
    assert.ok(over.keys === 2_260 && over.scans === 0 && over.fetched < 40 + 50, JSON.stringify(over))
    assert.deepEqual(await usage(1_000), { keys: 2_000, scans: 0, fetched: 300 }, 'over whatever expires')
  }
  client.release()
})

// Mutant: `while (false)` in workDue (1,700 left): ten thousand that expire together would be counted for 20 s.
test('a beat of the sweeper goes on while there is more and its time is not over', async () => {
  await using cell = await bareCell()
  await cell.put('many', Object.fromEntries(Array.from({ length: 2_200 }, (_, at) => [`brief-${at}`, 1])))
  const left = async () => {
    return (await listTotals(cell.app, [cell.instanceId])).get(cell.instanceId)?.records
  }
  const client = await cell.app.client()
  await client.query({ text: 'begin' })
  const before = await rowsRead(client)
  await workDue(client, { expiry: expireEntries }, 0)
  const after = await rowsRead(client)
  await client.query({ text: 'commit' })
  client.release()
  // Two for each that is removed, and 50 ahead. Mutant: the batch joined with the table, as it was (1,100,000 before an
  // analyze).
  assert.ok(after.fetched - before.fetched <= 2 * 500 + 50, `${after.fetched - before.fetched} rows read`)
  assert.equal(await left(), 1_700)
  await workDue(cell.app, { expiry: expireEntries }, Number.POSITIVE_INFINITY)
  assert.equal(await left(), 0)
})

async function rowsRead(sql: Sql): Promise<{ scans: number; fetched: number }> {
  const { rows } = await sql.query<{ scans: number; fetched: number }>({
    text: `select coalesce(sum(seq_scan), 0)::int as scans, coalesce(sum(idx_tup_fetch), 0)::int as fetched
      from pg_stat_xact_user_tables where relid = 'loci.entries'::regclass`,
  })
  return rows[0] as { scans: number; fetched: number }
}

/** A cell without a daemon: nobody sweeps in it. */
async function bareCell() {
  const database = await testDatabase({ schema: SCHEMA })
  const app: Pool = openPool({
    url: database.appUrl,
    applicationName: 't',
    connectionsMax: 2,
    statementMs: 0,
    onError: () => {},
  })
  const instanceId = newId('svc')
  const admin = testPool(database.adminUrl)
  await admin.query({
    text: `insert into loci.instances (id, organization_id, tenant_id, service_type, plan, state, generation, limits, config, change_seq)
      values ($1, 'org', 'ten', 'memory', 'pro', 'active', 1, '{}', '{}', 1)`,
    values: [instanceId],
  })
  await admin.close()
  return {
    app,
    instanceId,
    adminUrl: database.adminUrl,
    /** Keys and their ttl in ms; returns when those of 1 ms have expired. */
    async put(name: string, ttls: Record<string, number | null>): Promise<void> {
      const writes = Object.entries(ttls).map(
        ([key, ttlMs]): Write => ({ database: name, op: 'put', key, value: '1', ttlMs, ifMatch: null }),
      )
      await commitActs(app, instanceId, [{ writes, isWhole: true, databasesMax: 10 }])
      await app.query({ text: 'select pg_sleep(0.01)' })
    },
    async [Symbol.asyncDispose]() {
      await app.close()
      await database[Symbol.asyncDispose]()
    },
  }
}
