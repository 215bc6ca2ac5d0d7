import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { eventually } from '@loci/chassis/testing/request.ts'
import { openPool } from '@loci/postgres/pool.ts'
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
  const admin = openPool({
    url: daemon.database.adminUrl,
    applicationName: 'test',
    connectionsMax: 2,
    onError: () => {},
  })
  const holder = await admin.client()
  await holder.query({ text: 'begin' })
  await holder.query({ text: 'select from loci.instances where id = $1 for update', values: [busy.instanceId] })
  const countWaiting = async () => {
    const { rows } = await admin.query<{ count: number }>({
      text: `select count(*)::int as count from pg_stat_activity
        where datname = current_database() and application_name = 'loci-daemon' and wait_event_type = 'Lock'`,
    })
    return rows[0]?.count ?? 0
  }

  let left = 20
  const acts = Array.from({ length: left }, () =>
    busy.call('POST /v1/kv/entries/batch', batch, { headers: { 'idempotency-key': randomUUID() } }).finally(() => {
      left -= 1
    }),
  )
  await eventually(async () => (await countWaiting()) >= 1)
  const read = await quiet.call('GET /v1/kv/entries')
  let most = 0
  while (left > 0) most = Math.max(most, await countWaiting())
  await holder.query({ text: 'rollback' })
  holder.release()
  await Promise.all(acts)
  await admin.close()

  assert.equal(read.status, 200, read.text)
  assert.ok(most <= 2, `${most} of eight connections`)
})
