import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testPool } from '@loci/postgres/testing/database.ts'
import type { Caller } from '../../access/capability-access.ts'
import { createKvWalker } from '../../kv/reports/store.ts'
import { testDaemon } from '../../testing/daemon.ts'
import { addTenant, putAll } from '../../testing/tenant.ts'
import { createKnownDamage } from '../known-damage.ts'
import { type Position, verifyInstance } from './consistency.ts'
import type { Walker } from './walker.ts'

// Entries, walked as two domains: what a second domain hands in is a walker, and nothing else knows of it. Mutants: `at
// < first` left out (kv is walked again and again); `for (const … of [domains[0]].entries())` (12,001 rows).
test('a walk goes through the domains one after the other, by cursor, and names the domain of what it finds', async () => {
  await using daemon = await testDaemon()
  const tenant = await addTenant(daemon)
  await putAll(tenant, 'a', { x: 1 })
  const batch = Array.from({ length: 12_000 }, (_, n) => n)
  for (let from = 0; from < batch.length; from += 100) {
    const operations = batch.slice(from, from + 100).map((n) => ({ op: 'put', key: `k${n}`, value: n }))
    await tenant.call('POST /v1/kv/entries/batch', { operations }, { db: 'large' })
  }
  const pool = testPool(daemon.database.appUrl, 2)
  const kv = createKvWalker(createKnownDamage())
  const other: Walker = { ...kv, domain: 'memory', noun: ['record', 'records'] }
  const caller = { instance: { id: tenant.instanceId }, ks: ['*/*'] } as unknown as Caller
  const walk = async (ks: string[]) => {
    const reports: { status: string; rows: number; domains: string[] }[] = []
    let from: Position | undefined
    do {
      const { report, next } = await verifyInstance(pool, [kv, other], { ...caller, ks } as Caller, 'full', from)
      reports.push({
        status: report.status,
        rows: report.summary.rows,
        domains: report.issues.map(({ domain, database, type }) => `${domain} ${database} ${type}`),
      })
      from = next
    } while (from && reports.length < 100)
    return { reports, rows: reports.reduce((sum, { rows }) => sum + rows, 0), last: reports.at(-1)?.status }
  }

  const both = await walk(['*/*'])
  assert.deepEqual([both.rows, both.last], [24_002, 'consistent'])
  assert.ok(both.reports.length > 2, `${both.reports.length} calls`)
  assert.equal((await walk(['memory/a'])).rows, 1, 'only what the keyspaces cover')

  await daemon.sql(`update loci.entries set value = '2' where instance_id = $1 and database = 'a'`, [tenant.instanceId])
  const damaged = await walk(['*/*'])
  assert.equal(damaged.last, 'inconsistent')
  assert.deepEqual(damaged.reports.flatMap(({ domains }) => domains).sort(), [
    'kv a digest_mismatch',
    'memory a digest_mismatch',
  ])
  await pool.close()
})
