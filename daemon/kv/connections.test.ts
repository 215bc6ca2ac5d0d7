import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { eventually } from '@loci/chassis/testing/request.ts'
import { openPool } from '@loci/postgres/pool.ts'
import { PATIENT } from '@loci/postgres/testing/database.ts'
import { testDaemon } from '../testing/daemon.ts'
import { addTenant } from '../testing/tenant.ts'

// Keyed writes of one instance update its row. When each was a transaction of its own they waited for each other, held
// every connection, and everybody else waited with them. Now those of one instance share one call at a time. Mutant:
// runningMax 100 of the writes in kvRoutes().
test('acts of one instance hold a part of the connections, and another instance is served meanwhile', async () => {
  await using daemon = await testDaemon({ settings: { databaseConnectionsMax: 8 } })
  const [busy, quiet] = [await addTenant(daemon), await addTenant(daemon)]
  const batch = { operations: [{ op: 'put', key: 'k', value: 1 }] }
  assert.equal((await busy.call('POST /v1/kv/entries/batch', batch)).status, 200)
  await using held = await holdRow(daemon, 'select from loci.instances where id = $1 for update', busy.instanceId)

  let left = 20
  const acts = Array.from({ length: left }, () =>
    busy.call('POST /v1/kv/entries/batch', batch, { headers: { 'idempotency-key': randomUUID() } }).finally(() => {
      left -= 1
    }),
  )
  await eventually(async () => (await held.countWaiting()) >= 1)
  const read = await quiet.call('GET /v1/kv/entries')
  let most = 0
  while (left > 0) most = Math.max(most, await held.countWaiting())
  await Promise.all(acts)

  assert.equal(read.status, 200, read.text)
  assert.ok(most <= 2, `${most} of eight connections`)
})

// Probes of one instance write one row. Each was a transaction of its own that waited for the others with a connection.
// Mutant: runningMax 100 in createKvHealth().
test('who asks for kv/health while it is asked shares the next report', async () => {
  await using daemon = await testDaemon({ settings: { databaseConnectionsMax: 8, databaseStatementMs: 1_750 } })
  const tenant = await addTenant(daemon)
  const health = () => tenant.call('GET /v1/kv/health')
  assert.equal((await health()).status, 200)
  await using held = await holdRow(
    daemon,
    'select from loci.probes where instance_id = $1 for update',
    tenant.instanceId,
  )

  const first = health()
  await eventually(async () => (await held.countWaiting()) === 1)
  let left = 8
  const behind = Array.from({ length: left }, () => health().finally(() => (left -= 1)))
  let most = 0
  while (left > 0) most = Math.max(most, await held.countWaiting())

  assert.equal(most, 1, `${most} of eight connections`)
  assert.equal((await first).json<{ status: string }>().status, 'failed')
  const told = await Promise.all(behind)
  assert.deepEqual(new Set(told.map(({ status }) => status)), new Set([200]))
  assert.ok(new Set(told.map((answer) => answer.json<{ checkedAt: string }>().checkedAt)).size < told.length)
})

/** A lock on one row, and how many connections of the daemon wait for one. */
async function holdRow(daemon: Awaited<ReturnType<typeof testDaemon>>, text: string, instanceId: string) {
  const url = daemon.database.adminUrl
  const admin = openPool({ ...PATIENT, url, applicationName: 'test', connectionsMax: 2, onError: () => {} })
  const holder = await admin.client()
  await holder.query({ text: 'begin' })
  await holder.query({ text, values: [instanceId] })
  return {
    async countWaiting() {
      const { rows } = await admin.query<{ count: number }>({
        text: `select count(*)::int as count from pg_stat_activity
          where datname = current_database() and application_name = 'loci-daemon' and wait_event_type = 'Lock'`,
      })
      return rows[0]?.count ?? 0
    },
    async [Symbol.asyncDispose]() {
      holder.release()
      await admin.close()
    },
  }
}
