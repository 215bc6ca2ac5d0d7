import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newId } from '@loci/contract/ids.ts'
import { openPool, type Sql } from '@loci/postgres/pool.ts'
import { createRates } from '../../access/rates.ts'
import { testDaemon } from '../../testing/daemon.ts'
import { createUsage } from './usage.ts'

// Mutant: put the counts back and send them with the next ones (8 instead of 5).
test('counts are kept once, also when the connection breaks after the commit', async () => {
  await using daemon = await testDaemon()
  const pool = openPool({ url: daemon.database.appUrl, applicationName: 't', connectionsMax: 1, onError: () => {} })
  let isBroken = true
  const breaking: Sql = {
    async query(statement) {
      const answer = await pool.query<never>(statement)
      if (isBroken) throw new Error('the connection broke')
      return answer
    },
    afterCommit() {},
  }
  const rates = createRates()
  const usage = createUsage(breaking, 'replica', rates)
  const svc = newId('svc')
  const limits = { databases: 1, records: 1, bytes: 1, streams: 1, requests_per_second: 1_000, burst: 1_000 }
  const payer = { id: svc, organizationId: newId('org'), limits }
  const take = (times: number) => {
    for (let n = 0; n < times; n += 1) rates.take(payer, true)
  }

  take(3)
  await assert.rejects(usage.flush())
  take(2)
  await assert.rejects(usage.flush())
  isBroken = false
  await usage.flush()

  const [sum] = await daemon.sql(
    'select sum(requests)::int as requests, sum(writes)::int as writes from loci.usage_minutes where instance_id = $1',
    [svc],
  )
  assert.deepEqual(sum, { requests: 5, writes: 5 })
  await pool.close()
})
