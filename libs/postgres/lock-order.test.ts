import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { createLockOrder } from './lock-order.ts'
import { schemaIn } from './migrations.ts'
import { openPool } from './pool.ts'
import { testDatabase } from './testing/database.ts'
import { transaction } from './transaction.ts'

const order = createLockOrder(['cell', 'tenant', 'events'])

// Mutants: the comparison of ranks turned round; no comparison of keys; no question to held.names; nothing skipped for a
// pool; own() that does nothing.
test('a transaction that locks out of order fails, whatever it has locked already it may lock again', async () => {
  await using database = await testDatabase({ schema: schemaIn(join(import.meta.dirname, 'testing')) })
  const pool = openPool({ url: database.appUrl, applicationName: 'lock-order-test', connectionsMax: 1, onError() {} })
  const locking = (...locks: ['cell' | 'tenant' | 'events', string][]) =>
    transaction(pool, async (sql) => {
      for (const [name, key] of locks) order.note(sql, name, key)
    })
  try {
    await locking(['cell', 'a'], ['cell', 'b'], ['tenant', 'a'], ['cell', 'a'], ['events', 'a'], ['tenant', 'a'])
    await assert.rejects(locking(['tenant', 'a'], ['cell', 'a']), /cell a is locked after tenant a/)
    await assert.rejects(locking(['cell', 'b'], ['cell', 'a']), /cell a is locked after cell b/)
    await assert.rejects(locking(['events', 'a'], ['tenant', 'b']), /the order is cell, tenant, events/)
    await transaction(pool, async (sql) => {
      order.note(sql, 'events', 'a')
      order.own(sql, 'cell', 'new')
      order.note(sql, 'cell', 'new')
    })
    // The next transaction on the same connection begins with nothing, and a statement of the pool ends with nothing.
    await locking(['cell', 'a'])
    order.note(pool, 'events', 'a')
    order.note(pool, 'cell', 'a')
  } finally {
    await pool.close()
  }
})
