import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '@loci/chassis/testing/request.ts'
import { newId } from '@loci/contract/ids.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import { testPool } from '@loci/postgres/testing/database.ts'
import { createActivity } from '../../access/activity.ts'
import { createRates } from '../../access/rates.ts'
import { testDaemon } from '../../testing/daemon.ts'
import { ROUTES_MAX } from './store.ts'
import { createUsage } from './usage.ts'

// Mutant: put the counts back and send them with the next ones (8 instead of 5).
test('counts are kept once, also when the connection breaks after the commit', async () => {
  await using daemon = await testDaemon()
  const pool = testPool(daemon.database.appUrl)
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
  const usage = createUsage(breaking, 'replica', rates, createActivity())
  const svc = newId('svc')
  const limits = { databases: 1, records: 1, bytes: 1, streams: 1, requests_per_second: 1_000, burst: 1_000 }
  const payer = { id: svc, organizationId: newId('org'), limits }
  const take = (times: number) => {
    for (let n = 0; n < times; n += 1) {
      rates.take(payer, true)
      rates.note(payer, 'PUT /v1/kv/entries/{key}', 1.5)
    }
  }

  take(3)
  await assert.rejects(usage.flush())
  take(2)
  await assert.rejects(usage.flush())
  isBroken = false
  await usage.flush()

  const [sum] = await daemon.sql(
    `select sum(requests)::int as requests, sum(writes)::int as writes, sum(units) as units,
      sum((routes->>'PUT /v1/kv/entries/{key}')::float8) as route from loci.usage_minutes where instance_id = $1`,
    [svc],
  )
  assert.deepEqual(sum, { requests: 5, writes: 5, units: 7.5, route: 7.5 })
  await pool.close()
})

const LIMITS = { databases: 1, records: 1, bytes: 1, streams: 1, requests_per_second: 100, burst: 100_000 }

// Mutants: collect() without the organizations; exchangeRates() that counts its own row too.
test('replicas tell each other what a service and its organization have used, and each grants its part', async () => {
  await using daemon = await testDaemon()
  const pool = testPool(daemon.database.appUrl)
  const organizationId = newId('org')
  const payer = (id: string) => ({ id, organizationId, limits: { ...LIMITS, organization_rate: 2 } })
  const [one, other] = [payer(newId('svc')), payer(newId('svc'))]
  const replica = (name: string) => {
    const rates = createRates()
    let shares = new Map<string, number>()
    const setShares = (next: Map<string, number>) => {
      shares = next
    }
    const usage = createUsage(pool, name, { ...rates, setShares }, createActivity())
    return { rates, second: usage.second, shareOf: (id: string) => shares.get(id) ?? 1 }
  }
  const [a, b] = [replica('a'), replica('b')]
  // What a replica told counts for two seconds and a half: on a slow machine it is told again.
  await eventually(async () => {
    // Twice: from its second time on a replica finds what it told itself.
    for (let second = 0; second < 2; second += 1) {
      a.rates.take(one, false, 100)
      b.rates.take(one, false, 100)
      b.rates.take(other, false, 100)
      await b.second()
      await a.second()
    }
    return a.shareOf(organizationId) < 1
  })
  assert.equal(a.shareOf(one.id), 0.5)
  assert.ok(Math.abs(a.shareOf(organizationId) - 1 / 3) < 0.001, `${a.shareOf(organizationId)} of the organization`)
  assert.equal(a.shareOf(other.id), 1)
  await pool.close()
})

// Mutants: dearestOf() that does not sort; addUsage() that takes the newest routes instead of adding them up.
test('of a minute the dearest routes are kept, and all that was charged', async () => {
  await using daemon = await testDaemon()
  const pool = testPool(daemon.database.appUrl)
  const rates = createRates()
  const usage = createUsage(pool, 'replica', rates, createActivity())
  const payer = { id: newId('svc'), organizationId: newId('org'), limits: LIMITS }
  for (const dearest of [ROUTES_MAX, 1]) {
    for (let n = 0; n < ROUTES_MAX + 3; n += 1) rates.note(payer, `GET /${n}`, n === dearest ? 100 : n)
    await usage.flush()
  }
  const rows = await daemon.sql<{ units: number; routes: Record<string, number> }>(
    'select units, routes from loci.usage_minutes where instance_id = $1',
    [payer.id],
  )
  const routes = rows.map((row) => row.routes)
  const isKept = (route: string) => routes.every((kept) => route in kept)
  const sumOf = (units: number[]) => units.reduce((sum, one) => sum + one, 0)
  const charged = 2 * sumOf(Array.from({ length: ROUTES_MAX + 3 }, (_, n) => n)) + 200 - ROUTES_MAX - 1
  assert.equal(sumOf(rows.map(({ units }) => units)), charged)
  assert.ok(routes.every((kept) => Object.keys(kept).length === ROUTES_MAX))
  assert.ok(isKept(`GET /${ROUTES_MAX}`), 'dear in both flushes')
  assert.ok(!isKept('GET /0'))
  // Both flushes are in one minute, but for a run that crosses its end.
  const own = sumOf(routes.map((kept) => kept[`GET /${ROUTES_MAX}`] ?? 0))
  assert.equal(own, 100 + ROUTES_MAX)
  await pool.close()
})
