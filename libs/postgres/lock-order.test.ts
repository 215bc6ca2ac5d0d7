import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { ACT_LOCKS, createLockOrder, type Lock, logBrokenLockOrder, maybe, noteLocks } from './lock-order.ts'
import { schemaIn } from './migrations.ts'
import { openPool, type Sql } from './pool.ts'
import { PATIENT, testDatabase } from './testing/database.ts'
import { transaction } from './transaction.ts'

const order = createLockOrder(['cell', 'tenant', 'due row'])

// Mutants: the comparison of ranks turned round; no comparison of keys; no question to held.names; nothing skipped for
// a pool; own() that does nothing; a lock that is taken sometimes counted as held.
test('a transaction that locks out of order fails, whatever it has locked already it may lock again', async () => {
  await using database = await testDatabase({ schema: schemaIn(join(import.meta.dirname, 'testing')) })
  const pool = openPool({
    ...PATIENT,
    url: database.appUrl,
    applicationName: 'lock-order-test',
    connectionsMax: 1,
    onError() {},
  })
  const locking = (...locks: ['cell' | 'tenant' | 'due row', string][]) =>
    transaction(pool, async (sql) => {
      for (const [name, key] of locks) order.note(sql, name, key)
    })
  try {
    await locking(['cell', 'a'], ['cell', 'b'], ['tenant', 'a'], ['cell', 'a'], ['due row', 'a'], ['tenant', 'a'])
    await assert.rejects(locking(['tenant', 'a'], ['cell', 'a']), /cell a is locked after tenant a/)
    await assert.rejects(locking(['cell', 'b'], ['cell', 'a']), /cell a is locked after cell b/)
    await assert.rejects(
      locking(['due row', 'a'], ['tenant', 'b']),
      /the order is idempotency key, cell, tenant, due row, audit/,
    )
    await transaction(pool, async (sql) => {
      order.note(sql, 'due row', 'a')
      order.own(sql, 'cell', 'new')
      order.note(sql, 'cell', 'new')
    })
    // A lock that is taken sometimes must not be late, and whoever takes it later cannot rely on it.
    const taking = (...locks: Lock[]) => transaction(pool, async (sql) => noteLocks(sql, locks))
    const [tenant, row] = [maybe(order.lock('tenant', 'a')), order.lock('due row', 'a')]
    await taking(tenant, order.lock('tenant', 'a'), row)
    await assert.rejects(taking(row, tenant), /tenant a is locked after due row a/)
    await assert.rejects(taking(tenant, order.lock('cell', 'a')), /cell a is locked after tenant a/)
    await assert.rejects(taking(tenant, row, order.lock('tenant', 'a')), /tenant a is locked after due row a/)
    // What both programs share comes before and after the program's own.
    const acting = (work: (sql: Sql) => void) => transaction(pool, async (sql) => work(sql))
    await acting((sql) => {
      ACT_LOCKS.note(sql, 'idempotency key', 'k')
      order.note(sql, 'due row', 'a')
      ACT_LOCKS.note(sql, 'audit head', 'a')
    })
    const late = acting((sql) => {
      ACT_LOCKS.note(sql, 'audit head', 'a')
      order.note(sql, 'due row', 'a')
    })
    await assert.rejects(late, /due row a is locked after audit head a/)
    // The next transaction on the same connection begins with nothing, and a statement of the pool ends with nothing.
    await locking(['cell', 'a'])
    order.note(pool, 'due row', 'a')
    order.note(pool, 'cell', 'a')
  } finally {
    await pool.close()
  }
})

// The last test of this file: what it sets holds for the whole process. Mutants: onBroken still throws; no Set of what
// was logged; held.last set to the late one, too.
test('a program that serves logs a broken order once for each pair of names, and goes on', async () => {
  const sql: Sql = { query: async () => ({ rows: [], rowCount: 0 }), afterCommit() {} }
  const logged: string[] = []
  logBrokenLockOrder({ error: ({ reason }) => logged.push(reason) })

  order.note(sql, 'due row', 'a')
  order.note(sql, 'tenant', 'a')
  order.note(sql, 'tenant', 'b')
  order.note(sql, 'cell', 'a')

  assert.deepEqual(
    logged.map((text) => text.split(';')[0]),
    ['lock order: tenant a is locked after due row a', 'lock order: cell a is locked after due row a'],
  )
})
