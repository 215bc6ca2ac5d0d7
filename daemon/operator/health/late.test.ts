import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '@loci/chassis/testing/request.ts'
import { testDatabase, testPool } from '@loci/postgres/testing/database.ts'
import { DUE_KINDS } from '../../databases/due.ts'
import { SCHEMA } from '../../schema.ts'
import { testDaemon } from '../../testing/daemon.ts'
import { readLate } from './store.ts'

// Mutants: readLate() with `at > now()`, with min() for max(), or without `reported_at is null`.
test('what is late is told by the oldest, of due work and of erasures that were not reported', async () => {
  await using database = await testDatabase({ schema: SCHEMA })
  const pool = testPool(database.adminUrl)
  const sql = await pool.client()
  const due = (kind: string, at: string) =>
    sql.query({
      text: `insert into loci.due (instance_id, database, kind, at) values ('svc_a', 'a', $1, now() + $2::interval)`,
      values: [kind, at],
    })
  const deleted = (at: string, isReported: boolean) =>
    sql.query({
      text: `insert into loci.deletions (instance_id, database, value_mac, at, reported_at)
        values ('svc_a', 'a', decode(md5($1), 'hex'), now() - $1::interval, case when $2 then now() end)`,
      values: [at, isReported],
    })
  try {
    // One transaction, in which now() stands still.
    await sql.query({ text: 'begin' })
    await due('config', '1 hour')
    await deleted('3 hours', true)
    assert.deepEqual(await readLate(sql, DUE_KINDS), { dueS: 0, unreportedS: 0 })
    await due('expiry', '-40 seconds')
    await due('cycle', '-90 seconds')
    await due('erase', '-10 seconds')
    await deleted('2 minutes', false)
    await deleted('1 minute', false)
    assert.deepEqual(await readLate(sql, DUE_KINDS), { dueS: 90, unreportedS: 120 })
    await sql.query({ text: 'rollback' })
  } finally {
    sql.release()
    await pool.close()
  }
})

// Mutant: `isJoined` not asked in lateJobs().
test('metrics tell what is late and how old the sealing key is, and nothing of what the cell has not', async () => {
  await using daemon = await testDaemon()
  const metric = async (name: string) =>
    new RegExp(`^${name} (\\S+)$`, 'm').exec((await daemon.get('/metrics')).text)?.[1]
  assert.equal(await metric('loci_due_late_seconds'), '0')
  await eventually(async () => Number(await metric('loci_sealing_key_age_seconds')) > 0, 60_000)
  assert.equal(await metric('loci_ledger_unreported_seconds'), undefined)
  assert.equal(await metric('loci_certificate_remaining_seconds'), undefined)
})
