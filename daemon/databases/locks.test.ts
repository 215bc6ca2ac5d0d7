// The lock order of a cell: what statements declare is what they take, functions take their locks in the order, and a
// transaction that leaves it fails.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { appendAudit } from '@loci/acts/audit/store.ts'
import { testPool } from '@loci/postgres/testing/database.ts'
import { transaction } from '@loci/postgres/transaction.ts'
import { appendEvents } from '../events/store.ts'
import { testDaemon } from '../testing/daemon.ts'
import { functionNames, locksIn, locksOfFunction, misdeclared, sequenceOf } from '../testing/lock-watch.ts'
import { SLOT_RIGHTS, slotsOf } from '../testing/slots.ts'
import { addTenant } from '../testing/tenant.ts'
import { writeConfig } from './config/store.ts'
import { enteringLocks, headOf, LOCKS } from './locks.ts'
import { claimDue, enterInstance } from './store.ts'

// Mutants: locks left out of a statement's declaration; one that it does not take declared; no look into the functions
// that a function calls.
test('a statement that locks and does not declare it is found, by its own text and by the functions that it calls', () => {
  const locks = () => enteringLocks('svc', [{ database: 'a' }], 'due row')
  const write = 'select * from loci.kv_write($1)'
  assert.equal(misdeclared({ text: write, locks }), undefined)
  assert.match(misdeclared({ text: write }) ?? '', /takes instance, head, instance row, due row/)
  assert.match(misdeclared({ text: 'select loci.kv_get_each($1)', locks }) ?? '', /declares .*does not take/)
  assert.match(misdeclared({ text: 'update loci.cell set life = $1' }) ?? '', /takes cell row/)
  assert.deepEqual(locksIn('select from loci.instances i where exists (select from loci.cell) for update'), [
    'instance row',
  ])
  assert.deepEqual(locksIn('select from loci.instances i where i.id = $1'), [])
  assert.deepEqual(locksOfFunction('wm_commit_acts'), [
    ...['idempotency key', 'instance', 'head', 'instance row', 'due row', 'event head'],
  ])
})

// Mutant: append_events before keep_answers in wm_commit_acts.
test('every function takes its locks in the order, whatever it calls', () => {
  const late = functionNames().filter((name) => {
    const ranks = [...new Set(sequenceOf(name))].flatMap((lock) => LOCKS.rankOf(lock as 'head') ?? [])
    return ranks.some((rank, at) => rank < (ranks[at - 1] ?? 0))
  })
  assert.deepEqual(late, [])
})

// Mutants: transaction() that does not note what statements declare; `under` not looked at.
test('a transaction that takes the audit head before the row of the instance fails, and so does a due row without its head', async () => {
  await using daemon = await testDaemon()
  const { instanceId } = await addTenant(daemon)
  const pool = testPool(daemon.database.appUrl)
  const where = { instanceId, databasesMax: 10, database: 'new', kind: 'working-memory' } as const
  const entry = { actor: 'a', chain: instanceId, action: 'x', subject: 'new', detail: {} }
  const configure = (sql: Parameters<typeof writeConfig>[0]) => writeConfig(sql, where, { sent: '{}', ifMatch: null })
  try {
    await assert.rejects(
      transaction(pool, async (sql) => {
        await enterInstance(sql, instanceId)
        await appendAudit(sql, entry)
        await configure(sql)
      }),
      /lock order: head svc_\w+ new is locked after audit head svc_/,
    )
    await assert.rejects(
      transaction(pool, async (sql) => {
        await enterInstance(sql, instanceId)
        await appendEvents(sql, instanceId, [{ type: 'x', database: 'new', domain: 'kv' }])
        await appendAudit(sql, entry)
      }),
      /audit head svc_\w+ is locked after event head/,
    )
    const due = { text: 'delete from loci.due', locks: () => [LOCKS.lock('due row', `${instanceId} new`)] }
    await assert.rejects(
      transaction(pool, (sql) => sql.query(due)),
      /due row svc_\w+ new is locked without head svc_\w+ new, which guards it/,
    )
    await transaction(pool, async (sql) => {
      await enterInstance(sql, instanceId)
      await sql.query({ text: 'select', locks: () => [headOf(instanceId, 'new')] })
      await sql.query({ ...due, text: 'select' })
      await appendAudit(sql, entry)
    })
    assert.deepEqual(await claimDue(pool, 'cycle', 1), [])
  } finally {
    await pool.close()
  }
})

// A keyed clear appended its audit entry, then counted its answer in the row of the instance; a config that was put
// into a new database did it the other way round: 13 deadlocks in 15 s. Mutant: appendAudit() of the clear in its work.
test('a clear with a key keeps the lock order, with something to clear and without', async () => {
  await using daemon = await testDaemon()
  const tenant = await addTenant(daemon)
  const slots = slotsOf(tenant, 'clear')
  await slots.put('a')
  for (const key of ['first', 'second']) {
    const { status, text } = await tenant.call('POST /v1/working-memory/slots/clear', undefined, {
      ...{ db: 'clear', token: tenant.mint(SLOT_RIGHTS), headers: { 'idempotency-key': key } },
    })
    assert.equal(status, 200, text)
  }
})
