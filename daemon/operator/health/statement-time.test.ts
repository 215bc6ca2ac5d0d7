import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openPool } from '@loci/postgres/pool.ts'
import { PATIENT } from '@loci/postgres/testing/database.ts'
import { until } from '@loci/postgres/testing/until.ts'
import { type TestDaemon, testDaemon } from '../../testing/daemon.ts'
import { addTenant } from '../../testing/tenant.ts'

const LIST = 'GET /v1/kv/entries'

// Found by a CI run on a busy machine: PostgreSQL stood still for seconds, and right requests were told 503. Mutant:
// poolOpener() without its patience, each part of it; locks, connections and turns that wait as shipped.
test('who raised LOCI_DATABASE_STATEMENT_MS waits for a statement, a lock and a connection beyond what is shipped', async () => {
  await using daemon = await testDaemon({ settings: { databaseStatementMs: 20_000, databaseConnectionsMax: 2 } })
  const tenant = await addTenant(daemon)
  assert.equal((await tenant.call('PUT /v1/kv/entries/k', { value: 1 })).status, 200)

  const held = await holdTable(daemon)
  // Two wait for the table, the third and fourth for a connection, and the others for their turn.
  const asked = Promise.all(Array.from({ length: 8 }, () => tenant.call(LIST)))
  await until(() => held.isWaitedFor('3 s'))
  await held.release()

  const answers = await asked
  assert.deepEqual(
    new Set(answers.map(({ status, text }) => `${status} ${text}`)),
    new Set([`200 ${(await tenant.call(LIST)).text}`]),
  )
})

test('who lowered it is told as much sooner that PostgreSQL is slow', async () => {
  await using daemon = await testDaemon({ settings: { databaseStatementMs: 500 } })
  const tenant = await addTenant(daemon)
  const held = await holdTable(daemon)
  const answer = await tenant.call(LIST)
  await held.release()

  assert.equal(answer.status, 503, answer.text)
  assert.match(answer.text, /A statement took PostgreSQL longer than it may/)
})

async function holdTable(daemon: TestDaemon) {
  const url = daemon.database.adminUrl
  const admin = openPool({ url, applicationName: 'test', connectionsMax: 2, ...PATIENT, onError: () => {} })
  const holder = await admin.client()
  await holder.query({ text: 'begin; lock table loci.entries in access exclusive mode' })
  return {
    async isWaitedFor(interval: string) {
      const { rows } = await admin.query({
        text: `select from pg_stat_activity where datname = current_database() and application_name = 'loci-daemon'
          and wait_event_type = 'Lock' and clock_timestamp() - query_start > $1::interval`,
        values: [interval],
      })
      return rows.length > 0
    },
    async release() {
      await holder.query({ text: 'rollback' })
      holder.release()
      await admin.close()
    },
  }
}
