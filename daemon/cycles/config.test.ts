// The configuration of cycles, as it is put and as the service brings it, and the schedule in it.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { eventually } from '@loci/chassis/testing/request.ts'
import type { Cycle } from '@loci/contract/cognitive.ts'
import { openPool } from '@loci/postgres/pool.ts'
import { PATIENT } from '@loci/postgres/testing/database.ts'
import { testAuthority } from '../testing/authority.ts'
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

interface List {
  cycles: Cycle[]
}

interface Stats {
  totalCycles: number
}

// specification 45 133 134
test('an operator puts any object as the configuration of one database, and reads what is in force', async () => {
  const { operator, run, call } = cyclesOf(ada, 'config')
  const inForce = async () => (await operator('GET /v1/cognitive/config')).json<Record<string, unknown>>()
  const { warnings: none, ...before } = await inForce()
  assert.deepEqual(none, [])
  const put = (await operator('PUT /v1/cognitive/config', { decay: 'slow', ourOwn: { deep: [1, null] } })).json<{
    ok: boolean
    config: Record<string, unknown>
    version: number
    warnings: { key: string; using: unknown }[]
  }>()
  assert.equal(put.ok, true)
  assert.deepEqual(put.config, { ...before, decay: 'slow', ourOwn: { deep: [1, null] } })
  assert.deepEqual(
    put.warnings.map(({ key, using }) => [key, using]),
    [['decay', 0.5]],
  )
  assert.deepEqual(await inForce(), { ...before, ourOwn: { deep: [1, null] }, warnings: put.warnings })
  assert.equal((await run()).configVersion, put.version)
  assert.equal((await operator('PUT /v1/cognitive/config', {}, { 'if-match': '"99"' })).status, 412)
  assert.equal((await call('PUT /v1/cognitive/config', {})).error.code, 'OPERATOR_REQUIRED')
})

// Before, nothing was said of them. Mutant: withoutEffect() that takes every value.
test('what a configuration asks for and no cycle does is kept and named in the warnings; the defaults are not', async () => {
  const { operator } = cyclesOf(ada, 'no-effect')
  const sent = {
    ...{ maxDfShare: 0.05, neighbours: { back: [0.7, 0.5], forward: [0.1] } },
    ...{ retention: { maxItems: 500, minAgeHours: 24 }, dense: { mode: 'static' } },
  }
  const { config, warnings } = (await operator('PUT /v1/cognitive/config', sent)).json<{
    config: typeof sent
    warnings: { key: string; problem: string; using: unknown }[]
  }>()
  assert.deepEqual([config.maxDfShare, config.retention.maxItems], [0.05, 500])
  assert.deepEqual(
    warnings.map(({ key, using }) => [key, using]),
    [
      ['maxDfShare', 1],
      ['neighbours.forward', [0.4, 0.2]],
      ['retention.maxItems', 100_000],
      ['dense.mode', 'off'],
    ],
  )
  assert.deepEqual(new Set(warnings.map(({ problem }) => problem)), new Set(['has no effect in this release']))
})

// Mutant: settings() that leaves out the keys without effect.
test('who reads cycles reads their configuration in force, with the default and the range of every key', async () => {
  const { operator } = cyclesOf(ada, 'settings')
  await operator('PUT /v1/cognitive/config', { decay: 0.7, noise: 9, dense: { mode: 'static' } })
  const read = (ops: string[]) =>
    ada.call('GET /v1/cognitive/settings', undefined, {
      db: 'settings',
      token: ada.mint({ ops, ks: ['cognitive/settings'] }),
    })
  const { config, warnings, settings } = (await read(['cycles:read'])).json<{
    config: Record<string, unknown>
    warnings: { key: string }[]
    settings: { key: string; value: unknown; default: unknown; range: string; schema: object }[]
  }>()
  const inForce = (await operator('GET /v1/cognitive/config')).json<Record<string, unknown>>()
  assert.deepEqual({ ...config, warnings }, inForce)
  assert.deepEqual(
    settings.filter(({ key }) => ['decay', 'noise', 'dense.mode'].includes(key)),
    [
      {
        ...{ key: 'decay', value: 0.7, default: 0.5, range: 'a number from 0.1 to 1' },
        schema: { type: 'number', minimum: 0.1, maximum: 1 },
      },
      {
        ...{ key: 'noise', value: 0, default: 0, range: 'a number from 0 to 1' },
        schema: { type: 'number', minimum: 0, maximum: 1 },
      },
      {
        ...{ key: 'dense.mode', value: 'off', default: 'off', range: 'has no effect in this release' },
        schema: { const: 'off' },
      },
    ],
  )
  assert.deepEqual(
    warnings.map(({ key }) => key),
    ['noise', 'dense.mode'],
  )
  assert.equal((await read(['wm:read'])).error.code, 'OPERATION_NOT_ALLOWED')
})

// Before, it went by the defaults, and the service's schedule was off. Mutant: `service` of mem_index() left out there.
test('the first cycle of a database goes by the configuration of its service', async () => {
  await using authority = await testAuthority(daemon)
  const cognitive = { schedule: { intervalMs: 600_000 } }
  const instance = await authority.addInstance({ config: { cognitive } })
  const token = instance.root({ ops: ['cycles:run'], ks: ['*/*'] })
  for (let status = 0; status !== 200; )
    status = (await instance.call(token, 'POST /v1/cognitive/cycles', { body: { focus: 'The meeting' } })).status
  const text = `select cyc_interval_ms::int as ms from loci.databases where instance_id = $1`
  assert.deepEqual(await daemon.sql(text, [instance.svc]), [{ ms: 600_000 }])
})

// Before, the cycle wrote back what it had read: the schedule stayed off. Mutant: `p_config` that is not compared.
test('a configuration that is put while a cycle is under way holds after it', async () => {
  const { run, call } = cyclesOf(ada, 'put')
  await run({ observations: [{ content: 'The lamp is broken' }] })
  const url = daemon.database.adminUrl
  const owner = openPool({ ...PATIENT, url, applicationName: 'loci-test', connectionsMax: 1, onError: assert.ifError })
  const client = await owner.client()
  await client.query({ text: 'begin' })
  await client.query({ text: `select from loci.databases where name = 'put' for update` })
  const ran = run({ observations: [{ content: 'The lamp is late' }], limits: { queueMs: 10_000 } })
  // It stands at the lock when it commits.
  const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  await eventually(async () => (await daemon.sql(waiting)).length > 0)
  // As PUT /v1/cognitive/config does.
  const sent = JSON.stringify({ schedule: { intervalMs: 600_000 }, cycleHistory: 500 })
  const values = [ada.instanceId, sent]
  await client.query({ text: `select loci.config_write($1, 100, 'put', 'cognitive', $2, null)`, values })
  await client.query({ text: `select loci.cycle_schedule($1, 'put', '{auto}')`, values: [ada.instanceId] })
  await client.query({ text: 'commit' })
  client.release()
  await owner.close()
  assert.ok((await ran).configVersion > 0)
  await call('PUT /v1/working-memory/slots/k', { value: 'x' })
  const text = `select cyc_interval_ms::int as ms, cyc_history::int as history,
      (select count(*)::int from loci.due d where d.database = h.name and d.kind = 'cycle') as due
    from loci.databases h where name = 'put'`
  assert.deepEqual(await daemon.sql(text), [{ ms: 600_000, history: 500, due: 1 }])
})

// Mutants: no put_cycle in mem_write_one, mem_write_acts, mem_put_head or wm_store.
test('whatever brings something in makes a cycle due where there is a schedule', async () => {
  const { operator, call, run } = cyclesOf(ada, 'brought')
  const record = { content: 'Ada moved the meeting', contextId: 'talk' }
  await run({ observations: [record] })
  // In ten minutes: nobody takes it up meanwhile.
  await operator('PUT /v1/cognitive/config', { schedule: { intervalMs: 600_000 } })
  const dueAfter = async (line: string, body: unknown) => {
    await daemon.sql(`delete from loci.due where kind = 'cycle' and database = 'brought'`)
    const { status, text } = await call(line, body)
    assert.equal(status, 200, text)
    return (await daemon.sql(`select from loci.due where kind = 'cycle' and database = 'brought'`)).length
  }
  assert.equal(await dueAfter('POST /v1/memory/records', record), 1, 'a record')
  assert.equal(await dueAfter('POST /v1/memory/records/batch', { records: [record, record] }), 1, 'two records')
  const fact = { ...record, key: 'meeting' }
  assert.equal(await dueAfter('POST /v1/memory/records', fact), 1, 'a fact')
  assert.equal(await dueAfter('POST /v1/memory/records', fact), 1, 'one that closes another')
  assert.equal(await dueAfter('PUT /v1/working-memory/slots/goal', { value: 'find a room' }), 1, 'a slot')
})

// Mutants: cycle_fresh that is always true (two cycles for one record); `due` not touched in cycle_put_due (it stays).
test('a schedule runs a cycle where something came in since the last one, and none is due where nothing did', async () => {
  const { operator, call, get } = cyclesOf(ada, 'scheduled')
  const due = () => daemon.sql(`select from loci.due where kind = 'cycle' and database = 'scheduled'`)
  const total = async () => (await get<Stats>('/v1/cognitive/stats')).totalCycles
  await operator('PUT /v1/cognitive/config', { schedule: { intervalMs: 1_000 } })
  // Nothing is there: it is looked at once.
  await eventually(async () => (await due()).length === 0)
  assert.equal(await total(), 0)
  assert.equal((await call('POST /v1/memory/records', { content: 'Ada moved the meeting to Friday' })).status, 200)
  await eventually(async () => (await total()) === 1)
  const { cycles } = await get<List>('/v1/cognitive/cycles')
  assert.deepEqual([cycles[0]?.trigger, cycles[0]?.requestedBy], ['schedule', null])
  assert.equal((await due()).length, 0, 'off the list by the commit of the cycle itself')
  assert.equal((await call('PUT /v1/working-memory/slots/goal', { value: 'find a room' })).status, 200)
  const { nextTickAt } = (await get<{ loop: { nextTickAt: string } }>('/v1/cognitive/health')).loop
  assert.ok(
    nextTickAt === null || nextTickAt >= new Date(Date.parse(cycles[0]?.completedAt ?? '') + 1_000).toISOString(),
  )
  await eventually(async () => (await total()) === 2)
  assert.equal((await due()).length, 0)
})

// Mutants: enter_database without cycle_interval; cycle_setting without the service's layer, with an unusable value, or
// without null over it.
test('the schedule of a service holds in a new database from its first write on; what is put there comes before it', async () => {
  const served = await addTenant(daemon)
  const config = (intervalMs: unknown) =>
    daemon.sql('update loci.instances set config = $2 where id = $1', [
      served.instanceId,
      JSON.stringify({ cognitive: { schedule: { intervalMs } } }),
    ])
  const due = (db: string) =>
    daemon.sql<{ ms: number | null }>(
      `select cyc_interval_ms::int as ms from loci.databases where instance_id = $1 and name = $2`,
      [served.instanceId, db],
    )
  const say = (db: string) => cyclesOf(served, db).call('POST /v1/memory/records', { content: `Said in ${db}` })
  await config(1_000)
  await say('first')
  const first = cyclesOf(served, 'first')
  // An attempt that a busy machine makes too slow is made again after 5, 10, 20 and 40 s.
  await eventually(async () => (await first.get<Stats>('/v1/cognitive/stats')).totalCycles === 1, 180_000)
  assert.equal((await first.get<List>('/v1/cognitive/cycles')).cycles[0]?.trigger, 'schedule')
  await cyclesOf(served, 'off').operator('PUT /v1/cognitive/config', { schedule: { intervalMs: null } })
  await say('off')
  assert.deepEqual(await due('off'), [{ ms: null }])
  const asked = await daemon.sql(`select loci.cycle_interval($1, 'off') as ms`, [served.instanceId])
  assert.deepEqual(asked, [{ ms: null }], 'as whatever reads it there is told')
  assert.deepEqual(await daemon.sql(`select from loci.due where database = 'off' and kind = 'cycle'`), [])
  for (const unusable of [5, 1_000.5, '1000', true]) {
    await config(unusable)
    await say(`not-${String(unusable).replace('.', '-')}`)
    assert.deepEqual(await due(`not-${String(unusable).replace('.', '-')}`), [{ ms: null }], String(unusable))
  }
})
