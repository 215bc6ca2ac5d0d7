// The configuration of a service that changes holds in the databases that it has, as the feed brings it.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { eventually } from '@loci/chassis/testing/request.ts'
import { type TestAuthority, type TestInstance, testAuthority } from '../../testing/authority.ts'
import { type TestDaemon, testDaemon } from '../../testing/daemon.ts'
import { type TestFeed, testFeed } from '../../testing/feed.ts'

let feed: TestFeed
let daemon: TestDaemon
let authority: TestAuthority
before(async () => {
  feed = await testFeed()
  daemon = await testDaemon({ settings: feed.settings })
  authority = await testAuthority(daemon, feed)
})
after(async () => {
  await authority?.[Symbol.asyncDispose]()
  await daemon?.[Symbol.asyncDispose]()
  await feed?.[Symbol.asyncDispose]()
})

/** An attempt that a busy machine makes too slow is made again after 5, 10, 20 and 40 s. */
const LATE_MS = 240_000

const OPS = ['operator', 'cycles:read', 'cycles:run', 'memory:read', 'memory:write']

async function call<Answer>(instance: TestInstance, db: string, line: string, body?: unknown): Promise<Answer> {
  const token = instance.root({ ops: OPS, ks: ['*/*'] })
  for (let tries = 0; ; tries += 1) {
    const answer = await instance.call(token, line, { body, headers: { 'x-loci-database': db } })
    if (answer.status === 200) return answer.json<Answer>()
    // A busy machine: nothing was done.
    assert.ok(answer.status === 503 && tries < 100, answer.text)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

const loopOf = async (instance: TestInstance, db: string) =>
  (await call<{ loop: { state: string } }>(instance, db, 'GET /v1/cognitive/health')).loop.state

const cyclesOf = async (instance: TestInstance, db: string) =>
  (await daemon.sql('select from loci.cycles where instance_id = $1 and database = $2', [instance.svc, db])).length

const remember = (instance: TestInstance, db: string) =>
  call(instance, db, 'POST /v1/memory/records', { content: `The kettle of ${db} is in the shed.` })

/** No database is left that goes by another configuration than the service's. */
const settled = ({ svc }: TestInstance) =>
  eventually(
    async () =>
      (await daemon.sql(`select from loci.due where kind = 'config' and instance_id = $1`, [svc])).length === 0,
    LATE_MS,
  )

// Before, it started in new databases alone, and health said of the others that they had none. Mutants:
// applyInstances() without feed_config_due; cycle_follow_service() that enters no database; cycle_schedule() that puts
// no cycle.
test('a schedule of the service starts in a database that exists, and ends there; what was put there comes before it', async () => {
  const instance = await authority.addInstance()
  await remember(instance, 'old')
  await call(instance, 'own', 'PUT /v1/cognitive/config', { schedule: { intervalMs: null } })
  await remember(instance, 'own')
  assert.equal(await loopOf(instance, 'old'), 'off')

  await instance.change({ config: { cognitive: { schedule: { intervalMs: 1_000 } } } })
  await eventually(async () => (await cyclesOf(instance, 'old')) === 1, LATE_MS)
  await settled(instance)
  assert.equal(await loopOf(instance, 'old'), 'idle')
  assert.deepEqual([await loopOf(instance, 'own'), await cyclesOf(instance, 'own')], ['off', 0])

  // In an hour: nobody takes it up meanwhile.
  await instance.change({ config: { cognitive: { schedule: { intervalMs: 3_600_000 } } } })
  await settled(instance)
  await remember(instance, 'old')
  assert.equal(
    (await daemon.sql(`select from loci.due where kind = 'cycle' and instance_id = $1`, [instance.svc])).length,
    1,
  )
  await instance.change({ config: {} })
  await eventually(async () => (await loopOf(instance, 'old')) === 'off', LATE_MS)
  assert.deepEqual(
    await daemon.sql(`select from loci.due where kind = 'cycle' and instance_id = $1`, [instance.svc]),
    [],
  )
})

// Mutants: cycle_follow_service() that ends with its first page, or begins each at the first name.
test('each of many databases follows its service, and keeps as many cycles as it says', async () => {
  const instance = await authority.addInstance()
  const numbers = Array.from({ length: 12 }, (_, n) => n)
  for (const _ of numbers) await call(instance, 'busy', 'POST /v1/cognitive/cycles', {})
  await daemon.sql(
    `insert into loci.databases (instance_id, name, created_at) select $1, 'db-' || n, now() from generate_series(1, 120) n`,
    [instance.svc],
  )
  await instance.change({ config: { cognitive: { cycleHistory: 10, schedule: { intervalMs: 60_000 } } } })
  await settled(instance)
  const text = `select cyc_interval_ms::int as ms, cyc_history::int as history, count(*)::int as databases
    from loci.databases where instance_id = $1 group by 1, 2`
  assert.deepEqual(await daemon.sql(text, [instance.svc]), [{ ms: 60_000, history: 10, databases: 121 }])
  await eventually(async () => (await cyclesOf(instance, 'busy')) === 10, LATE_MS)
  await remember(instance, 'made-later')
  assert.deepEqual(await daemon.sql(`${text} having count(*) > 0`, [instance.svc]), [
    { ms: 60_000, history: 10, databases: 122 },
  ])
})
