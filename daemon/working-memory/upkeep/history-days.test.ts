// How long what was is kept follows the plan: former slots, evictions and decisions of cycles.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '@loci/chassis/testing/request.ts'
import { OPERATION_NAMES } from '@loci/contract/operations.ts'
import { openPool } from '@loci/postgres/pool.ts'
import { PATIENT, testDatabase } from '@loci/postgres/testing/database.ts'
import { SCHEMA } from '../../schema.ts'
import { testAuthority } from '../../testing/authority.ts'
import { fullConsistency } from '../../testing/consistency.ts'
import { testDaemon } from '../../testing/daemon.ts'
import { heldBy } from '../../testing/held.ts'
import { moveClockOf } from '../../testing/moved-clock.ts'

const HOUR_MS = 3_600_000
const WEEK_MS = 7 * 24 * HOUR_MS
/** The epoch began on a Thursday. */
const THURSDAY_NOON_MS = 12 * HOUR_MS
const DAY_MS = 24 * HOUR_MS

// Mutants: `v_needed := p_doc.versions` (what left on the fifth day is gone) or without p_doc.versions (`stays` is);
// add_totals without v_trimmed.bytes in wm_expire, or in cycle_prune; cyc_trimmed_to not written by cycle_prune, or
// left out of cycle_decisions_from (after the change to 30 days what was removed would be damage), or written as
// infinity (what is lost after it would be excused); the seven days not in history_next (nothing is due before
// the week is dropped); 100,000 in cycle_history or in run.ts.
test('a plan with seven days of history keeps them, what can still be undone or restored, and no more', async () => {
  await using database = await testDatabase({ schema: SCHEMA })
  const clock = await moveClockOf(database)
  await using daemon = await testDaemon({ database, settings: { feedStaleS: 365 * 86_400 } })
  await using authority = await testAuthority(daemon)
  const live = async (limits: object) => {
    const own = await authority.addInstance({ limits: limits as never })
    const call = async (line: string, body?: unknown) => {
      const token = own.root({ ops: [...OPERATION_NAMES], ks: ['*/*'] })
      const answer = await own.call(token, line, { body })
      assert.equal(answer.status, 200, `${line} ${answer.text}`)
      return answer.json<Record<string, unknown>>()
    }
    const decisionsOf = async (id: string) => {
      const token = own.root({ ops: ['cycles:read'], ks: ['*/*'] })
      const answer = await own.call(token, `GET /v1/cognitive/cycles/${id}/decisions`)
      return answer.status === 200 ? 'shown' : answer.error.code
    }
    return { svc: own.svc, call, decisionsOf, change: own.change, limits: own.limits }
  }
  const short = await live({ history_days: 7, records: 500 })
  const long = await live({})
  const cyclesKept = async () => {
    const rows = await daemon.sql<{ n: number }>(
      'select cyc_history::int as n from loci.databases where instance_id = $1',
      [short.svc],
    )
    return rows[0]?.n
  }
  const before: (number | undefined)[] = []
  const first: string[] = []
  for (const { call } of [short, long]) {
    for (const value of ['first', 'second']) await call('PUT /v1/working-memory/slots/stays', { value })
    await call('PUT /v1/working-memory/slots/hour', { value: 'an hour', ttlMs: HOUR_MS })
    await call('PUT /v1/working-memory/slots/days', { value: 'five days', ttlMs: 5 * DAY_MS })
    before.push(await cyclesKept())
    first.push(String((await call('POST /v1/cognitive/cycles', {})).id))
  }
  assert.deepEqual([before[0], await cyclesKept()], [500, 500], 'no more cycles than records, by the first write too')
  const kept = async (svc: string) => {
    const [row] = await daemon.sql<{ versions: string[]; left: string[]; decisions: number }>(
      `select array(select key from loci.slot_versions where instance_id = $1 order by key, version) as versions,
        array(select key from loci.evictions where instance_id = $1 order by key) as left,
        (select count(*)::int from loci.cycle_decisions where instance_id = $1) as decisions`,
      [svc],
    )
    return row
  }
  const passed = async (days: number, isDone: (row: Awaited<ReturnType<typeof kept>>) => boolean) => {
    await clock.move(days * DAY_MS)
    await daemon.sql('select loci.keep_slot_partitions()')
    await eventually(async () => isDone(await kept(short.svc)))
  }
  await passed(1, (row) => row?.left.join() === 'hour')
  await passed(4, (row) => row?.left.join() === 'days,hour')
  await passed(4, (row) => row?.left.join() === 'days' && row.decisions === 0)
  assert.deepEqual(await kept(short.svc), { versions: ['days', 'stays'], left: ['days'], decisions: 0 })
  const all = { versions: ['days', 'hour', 'stays', 'stays'], left: ['days', 'hour'], decisions: 1 }
  assert.deepEqual(await kept(long.svc), all)
  const { evictions } = (await short.call('GET /v1/working-memory/evictions')) as { evictions: { version: number }[] }
  await short.call('POST /v1/working-memory/slots/restore', { key: 'days', version: evictions[0]?.version })
  const { undo } = (await short.call('POST /v1/working-memory/slots/clear')) as { undo: { token: string } }
  const { restored } = await short.call('POST /v1/working-memory/slots/restore', { undoToken: undo.token })
  assert.equal(restored, 2)
  const later = String((await short.call('POST /v1/cognitive/cycles', {})).id)
  assert.deepEqual(
    [await short.decisionsOf(first[0] ?? ''), await long.decisionsOf(first[1] ?? '')],
    ['NOT_FOUND', 'shown'],
  )
  // What was removed under the smaller plan is no damage under the larger one.
  await short.change({ limits: long.limits })
  assert.equal(await short.decisionsOf(first[0] ?? ''), 'NOT_FOUND')
  for (const { svc, call } of [short, long]) {
    const { counted, held } = await heldBy(daemon, svc)
    assert.deepEqual(counted, held)
    const asked = (line: string) => call(line).then((body) => ({ status: 200, json: () => body, text: '' }))
    assert.equal(await fullConsistency(asked as never), 'consistent')
  }
  assert.equal(await short.decisionsOf(later), 'shown')
  await daemon.sql('delete from loci.cycle_decisions where instance_id = $1', [short.svc])
  assert.equal(await short.decisionsOf(later), 'DATA_DAMAGED')
  await clock.close()
})

// A run that waits for the head while a day ends looks at what is to go and at when it looks next. Mutant: cycle_prune
// that asks history_from before, and history_next after it waited, each for the clock: the decision stays.
test('what is to go goes on its day also where upkeep waited for a lock while the day before it ended', async () => {
  await using database = await testDatabase({ schema: SCHEMA })
  const clock = await moveClockOf(database)
  await using daemon = await testDaemon({ database, settings: { feedStaleS: 365 * 86_400 } })
  await clock.move(WEEK_MS - ((Date.now() - THURSDAY_NOON_MS) % WEEK_MS))
  await daemon.sql('select loci.keep_slot_partitions()')
  await using authority = await testAuthority(daemon)
  const own = await authority.addInstance({ limits: { history_days: 7 } as never })
  await own.call(own.root({ ops: [...OPERATION_NAMES], ks: ['*/*'] }), 'POST /v1/cognitive/cycles', { body: {} })
  const decisions = async () => (await daemon.sql('select from loci.cycle_decisions')).length
  assert.equal(await decisions(), 1)

  const holder = openPool({
    ...PATIENT,
    url: database.adminUrl,
    applicationName: 'loci-test',
    connectionsMax: 1,
    onError: assert.ifError,
  })
  const client = await holder.client()
  await client.query({ text: 'begin; select from loci.databases for update' })
  // On Tuesday its week is looked at, and it has two days left; on Friday it has none.
  await clock.move(5 * DAY_MS)
  const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  await eventually(async () => (await daemon.sql(waiting)).length > 0)
  assert.equal(await decisions(), 1)
  await clock.move(3 * DAY_MS)
  await client.query({ text: 'commit' })
  client.release()
  await eventually(async () => (await decisions()) === 0)
  await holder.close()
  await clock.close()
})
