// How many consistency walks run at a time. That a call costs 50 of the rate: access/limits.test.ts, "bodies, rows,
// bytes answered".

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually, type TestAnswer } from '@loci/chassis/testing/request.ts'
import { openPool } from '@loci/postgres/pool.ts'
import { PATIENT } from '@loci/postgres/testing/database.ts'
import { type TestDaemon, testDaemon } from '../../testing/daemon.ts'
import { addTenant, putAll, type TestTenant } from '../../testing/tenant.ts'

const WALK = 'GET /v1/kv/consistency?mode=full'

/** A walk that waits for a table, or has ended because it waited too long. */
interface HeldWalk {
  answer: Promise<TestAnswer>
  hasEnded: boolean
}

// M8: up to a second of the database per call, at the plan's full rate, took the connections that everybody else
// needed. Mutants: `running.has(instanceId) ||` left out; WALKS_MAX = 3; a queue, `while (running.has(instanceId))
// await …`, in place of the refusal.
test('an instance has one consistency walk at a time and a replica two; more are told to come again, at once', async () => {
  await using daemon = await testDaemon()
  const [ada, bob, carol] = [await addTenant(daemon), await addTenant(daemon), await addTenant(daemon)]
  for (const tenant of [ada, bob, carol]) await putAll(tenant, 'default', { a: 1 })
  const blocker = openPool({
    ...PATIENT,
    url: daemon.database.adminUrl,
    applicationName: 'loci-test',
    connectionsMax: 1,
    onError: () => {}, // The statement that needed the connection fails by itself.
  })

  // A walk waits 1.25 s for the lock. On a machine that is slower than that the walks have ended before the question:
  // again.
  for (;;) {
    const client = await blocker.client()
    await client.query({ text: 'begin' })
    await client.query({
      text: 'set local idle_in_transaction_session_timeout = 0; lock table loci.entries in access exclusive mode',
    })
    const first = await heldWalk(daemon, ada, 1)
    const own = await refusal(daemon, ada, 1)
    const second = await heldWalk(daemon, bob, 2)
    const others = await refusal(daemon, carol, 2)
    const wereHeld = !first.hasEnded && !second.hasEnded
    await client.query({ text: 'rollback' })
    client.release()
    const answers = await Promise.all([first.answer, second.answer])
    if (!wereHeld) continue

    for (const [told, message] of [
      [own, /of this instance is running/],
      [others, /Other consistency checks are running/],
    ] as const) {
      assert.ok(told, 'another walk began')
      assert.deepEqual([told.status, told.error.code], [503, 'OVERLOADED'])
      assert.match(told.error.message as string, message)
      assert.ok(Number(told.headers['retry-after']) >= 1)
    }
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200],
    )
    break
  }
  for (const tenant of [ada, bob, carol])
    assert.equal((await tenant.call(WALK)).status, 200, 'each gave its place back')
  await blocker.close()
})

async function blocked(daemon: TestDaemon): Promise<number> {
  const rows = await daemon.sql(
    `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  )
  return rows.length
}

/** Resolves when it is one of so many that wait for the table, or has ended. */
async function heldWalk(daemon: TestDaemon, tenant: TestTenant, walks: number): Promise<HeldWalk> {
  const held: HeldWalk = { answer: tenant.call(WALK), hasEnded: false }
  void held.answer.then(() => {
    held.hasEnded = true
  })
  await eventually(async () => held.hasEnded || (await blocked(daemon)) >= walks)
  return held
}

/** What one more is told while `walks` are held; undefined when it walks as well. */
async function refusal(daemon: TestDaemon, tenant: TestTenant, walks: number): Promise<TestAnswer | undefined> {
  let answer: TestAnswer | undefined
  void tenant.call(WALK).then((told) => {
    answer = told
  })
  await eventually(async () => answer !== undefined || (await blocked(daemon)) > walks)
  return answer
}
