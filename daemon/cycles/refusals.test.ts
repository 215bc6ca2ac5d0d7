// What a cycle is refused for leaves nothing but the count of the attempt, and the policy of working memory decides in
// cycles as it does for writes.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { eventually } from '@loci/chassis/testing/request.ts'
import type { Cycle } from '@loci/contract/cognitive.ts'
import { openPool } from '@loci/postgres/pool.ts'
import { PATIENT } from '@loci/postgres/testing/database.ts'
import { cyclesOf } from '../testing/cycles.ts'
import { type TestDaemon, testDaemon } from '../testing/daemon.ts'
import { addTenant, type TestTenant } from '../testing/tenant.ts'

let daemon: TestDaemon
let ada: TestTenant
before(async () => {
  daemon = await testDaemon()
  ada = await addTenant(daemon)
})
after(() => daemon?.[Symbol.asyncDispose]())

interface Stats {
  totalCycles: number
  attempts: { failed: number; consecutiveFailures: number; lastFailureCode: string }
}

const recordsIn = (database: string) => daemon.sql('select from loci.records where database = $1', [database])

// Mutants: runOnce() that goes on beyond `until`; turns.take() without its timer (the second waits for the first).
test('a cycle that cannot commit within its time in the queue is 409, whether others or a write came first', async () => {
  const url = daemon.database.adminUrl
  const owner = openPool({ ...PATIENT, url, applicationName: 'loci-test', connectionsMax: 1, onError: assert.ifError })
  const outrun = async (database: string) => {
    const { run, call } = cyclesOf(ada, database)
    await run()
    const client = await owner.client()
    await client.query({ text: 'begin' })
    await client.query({ text: 'select from loci.databases where name = $1 for update', values: [database] })
    const send = (queueMs: number) => {
      const limits = { queueMs, maxDurationMs: 10_000 }
      return call('POST /v1/cognitive/cycles', { observations: [{ content: `Within ${queueMs}` }], limits })
    }
    let over = 0
    const sent = (queueMs: number) => send(queueMs).finally(() => (over += 1))
    const first = sent(0)
    // It stands at the lock when it commits; the other waits for its turn, and then to be counted as an attempt.
    const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    const atLock = (count: number) => eventually(async () => over > 0 || (await daemon.sql(waiting)).length === count)
    await atLock(1)
    const second = sent(1)
    await atLock(2)
    // As an erasure does.
    const erased = 'update loci.databases set mem_erased_at = mem_erased_at + 1 where name = $1'
    await client.query({ text: erased, values: [database] })
    await client.query({ text: 'commit' })
    client.release()
    return Promise.all([first, second])
  }
  let database = 'busy'
  let answers = await outrun(database)
  // Who waits at the lock for more than 1.25 s, on a busy machine, is told 503: again.
  for (let n = 1; answers.some(({ status }) => status === 503); n += 1) {
    database = `busy-${n}`
    answers = await outrun(database)
  }
  await owner.close()
  for (const { status, error } of answers) assert.deepEqual([status, error?.code], [409, 'CYCLE_BUSY'])
  const { run, get } = cyclesOf(ada, database)
  const { totalCycles, attempts } = await get<Stats>('/v1/cognitive/stats')
  assert.deepEqual([totalCycles, attempts.failed, attempts.lastFailureCode], [1, 2, 'CYCLE_BUSY'])
  assert.deepEqual(await recordsIn(database), [])
  await run()
  assert.equal((await get<Stats>('/v1/cognitive/stats')).attempts.consecutiveFailures, 0)
})

// Mutant: runOnce() that does not ask for limits.maxDurationMs.
test('a cycle that takes longer than its limit is 503 and leaves nothing, dry or not', async () => {
  const { run, call, get } = cyclesOf(ada, 'long')
  await run()
  // Analysing 160 KB takes some hundred milliseconds.
  const observations = Array.from({ length: 10 }, (_, n) => ({ content: `${n} ${'kettle shed '.repeat(1_330)}` }))
  for (const dryRun of [true, false]) {
    const { status, error } = await call('POST /v1/cognitive/cycles', {
      ...{ observations, dryRun, limits: { maxDurationMs: 10 } },
    })
    assert.deepEqual([status, error?.code], [503, 'OVERLOADED'])
  }
  assert.deepEqual(await recordsIn('long'), [])
  const { totalCycles, attempts } = await get<Stats>('/v1/cognitive/stats')
  assert.deepEqual([totalCycles, attempts.failed, attempts.lastFailureCode], [1, 1, 'OVERLOADED'])
})

// Before, cycles went by activation whatever was configured. Mutants: cycleConfig() without policy; stepsOf() that says
// 'activation'.
test('who leaves by a cycle is decided by the configured policy, and the eviction says by which', async () => {
  const evicted = async (policy: string) => {
    const { run, get, operator } = cyclesOf(ada, `by-${policy}`)
    assert.equal((await operator('PUT /v1/working-memory/config', { capacity: 2, policy })).status, 200)
    await run({ observations: [{ content: 'The kiln door is stuck', key: 'first', salience: 2 }] })
    await run({ observations: [{ content: 'Soup again', key: 'second', salience: -2 }] })
    const last: Cycle = await run({ observations: [{ content: 'Mara is late', key: 'third' }] })
    const { slots } = await get<{ slots: { key: string }[] }>('/v1/working-memory/slots')
    const { evictions } = await get<{ evictions: { key: string; policy: string }[] }>('/v1/working-memory/evictions')
    assert.equal(last.workingMemory.after.slotCount, 2)
    return [slots.map(({ key }) => key).sort(), evictions.map(({ key, policy: by }) => [key, by])]
  }
  assert.deepEqual(await evicted('activation'), [['first', 'third'], [['second', 'activation']]])
  assert.deepEqual(await evicted('fifo'), [['second', 'third'], [['first', 'fifo']]])
  assert.deepEqual(await evicted('lru'), [['second', 'third'], [['first', 'lru']]])
  assert.deepEqual(await evicted('reject'), [['first', 'second'], []])
})
