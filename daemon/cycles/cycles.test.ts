// Cycles over HTTP: the specification's routes to the letter, and what a cycle leaves.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { eventually } from '@loci/chassis/testing/request.ts'
import type { Corruption, Cycle } from '@loci/contract/cognitive.ts'
import { openPool } from '@loci/postgres/pool.ts'
import { testAuthority } from '../testing/authority.ts'
import { fullConsistency } from '../testing/consistency.ts'
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
  total: number
  corruption: Corruption
  nextCursor: string | null
}

interface Stats {
  totalCycles: number
  completedCycles: number
  failedCycles: number
  averageDurationMs: number
  lastCycleAt: string
  corruption: Corruption
  attempts: { total: number; failed: number }
}

const clean = { detected: false, count: 0, status: 'clean', method: 'sha256-chain', entries: [] }

// specification 37 38 39 40 43 44 131 135
test('without a cycle the list is empty and every count is 0, lastCycleAt the empty string', async () => {
  const { get } = cyclesOf(ada, 'empty')
  const list = await get<List>('/v1/cognitive/cycles')
  const stats = await get<Stats>('/v1/cognitive/stats')
  assert.deepEqual([list.cycles, list.total, list.nextCursor], [[], 0, null])
  assert.deepEqual(list.corruption, { ...clean, checkedThroughSeq: null, verifiedAt: null })
  const { totalCycles, completedCycles, failedCycles, averageDurationMs, lastCycleAt, corruption } = stats
  assert.deepEqual(
    [totalCycles, completedCycles, failedCycles, averageDurationMs, lastCycleAt, corruption],
    [0, 0, 0, 0, '', list.corruption],
  )
})

// specification 33 34 35 36 37 38 39 41 42
test('cycles are listed newest first, linked to each other, and counted with integer division', async () => {
  const { run, get } = cyclesOf(ada, 'chain')
  const ran: Cycle[] = []
  for (let n = 0; n < 5; n += 1) ran.unshift(await run({ observations: [{ content: `Observation ${n}` }] }))
  const list = await get<List>('/v1/cognitive/cycles')
  const stats = await get<Stats>('/v1/cognitive/stats')
  assert.deepEqual(list.cycles, ran)
  assert.deepEqual(
    list.cycles.map(({ seq }) => seq),
    [5, 4, 3, 2, 1],
  )
  for (const [at, { prevHash }] of list.cycles.entries()) assert.equal(prevHash, list.cycles[at + 1]?.hash ?? null)
  assert.equal(list.total, 5)
  assert.deepEqual([list.corruption.status, list.corruption.checkedThroughSeq], ['clean', 5])
  const sum = ran.reduce((total, { durationMs }) => total + durationMs, 0)
  assert.deepEqual(
    [stats.totalCycles, stats.completedCycles, stats.failedCycles, stats.averageDurationMs, stats.lastCycleAt],
    [5, 5, 0, Math.floor(sum / 5), ran[0]?.completedAt],
  )
  const pages: string[] = []
  for (let cursor = ''; ; ) {
    const page = await get<List>(`/v1/cognitive/cycles?limit=2${cursor}`)
    pages.push(...page.cycles.map(({ id }) => id))
    if (page.nextCursor === null) break
    cursor = `&cursor=${page.nextCursor}`
  }
  assert.deepEqual(
    pages,
    ran.map(({ id }) => id),
  )
})

// Mutants: cycle_page() that answers p_from; nextCursor by the limit.
test('a page of large cycles ends at a megabyte and goes on by its cursor, without a gap and verified', async () => {
  const { run, call } = cyclesOf(ada, 'large')
  const focus = 'ä'.repeat(8_192)
  const metadata = { note: 'x'.repeat(16_000) }
  // 32 KB each: 33 of them have more than a page.
  for (let n = 0; n < 40; n += 1) await run({ focus, metadata })
  const seqs: number[] = []
  const lengths: number[] = []
  for (let cursor = ''; ; ) {
    const answer = await call(`GET /v1/cognitive/cycles?limit=1000${cursor}`)
    const { cycles, corruption, total, nextCursor } = answer.json<List>()
    assert.deepEqual([corruption.status, total], ['clean', 40])
    seqs.push(...cycles.map(({ seq }) => seq))
    lengths.push(Buffer.byteLength(answer.text))
    if (nextCursor === null) break
    cursor = `&cursor=${nextCursor}`
  }
  assert.deepEqual(
    seqs,
    Array.from({ length: 40 }, (_, n) => 40 - n),
  )
  assert.equal(lengths.length, 2)
  // What the columns and the names of fields add is a little for each.
  assert.ok(Math.max(...lengths) < 1.3 * 2 ** 20, lengths.join())
})

// specification 8 130 132
test('a cycle takes in what was observed, and its record says what became of it, by id too', async () => {
  const { run, get, call } = cyclesOf(ada, 'record')
  await call('PUT /v1/working-memory/slots/kept', { value: 'the kept one', pinned: true })
  const record = await run({
    focus: 'the meeting',
    observations: [{ content: 'Ada moved the meeting to Friday', key: 'meeting', evidenceRefs: ['evt_1'] }],
    metadata: { Any_Case: { x: [1] } },
  })
  assert.deepEqual(
    [record.seq, record.trigger, record.database, record.focus, record.dryRun, record.metadata],
    [1, 'api', 'record', 'the meeting', false, { Any_Case: { x: [1] } }],
  )
  assert.deepEqual(await get(`/v1/cognitive/cycles/${record.id}`), record)
  const slots = await get<{ count: number; slots: { key: string; recordId: string | null }[] }>(
    '/v1/working-memory/slots',
  )
  assert.equal(slots.count, record.workingMemory.after.slotCount)
  const recordId = slots.slots.find(({ key }) => key === 'meeting')?.recordId
  assert.equal(
    (await get<{ content: string }>(`/v1/memory/records/${recordId}`)).content,
    'Ada moved the meeting to Friday',
  )
  const missing = await cyclesOf(ada, 'other').call(`GET /v1/cognitive/cycles/${record.id}`)
  assert.deepEqual([missing.status, missing.error.code], [404, 'NOT_FOUND'])
})

test('a dry run answers a record and leaves nothing: no cycle, no slot, no memory, no event', async () => {
  const { run, get } = cyclesOf(ada, 'dry')
  const record = await run({ dryRun: true, observations: [{ content: 'Nobody shall remember this' }] })
  assert.equal(record.dryRun, true)
  assert.equal((await get<List>('/v1/cognitive/cycles')).total, 0)
  assert.deepEqual(await daemon.sql(`select from loci.databases where name = 'dry'`), [])
})

test('a repeat with the same Idempotency-Key is the same cycle, marked, also when its focus was erased since', async () => {
  const { call, get } = cyclesOf(ada, 'repeat')
  const headers = { 'idempotency-key': 'once' }
  const send = (focus: string) => call('POST /v1/cognitive/cycles', { focus }, headers)
  const first = await send('one')
  const again = await send('one')
  assert.equal(first.status, 200, first.text)
  assert.deepEqual([again.json(), again.headers['idempotent-replayed']], [first.json(), 'true'])
  assert.equal((await send('two')).error.code, 'IDEMPOTENCY_KEY_REUSED')
  assert.equal((await get<List>('/v1/cognitive/cycles')).total, 1)
  await daemon.sql(`update loci.cycles set focus = null, focus_salt = null, focus_mac = null where database = 'repeat'`)
  const redacted = (await send('one')).json<Cycle>()
  assert.deepEqual([redacted.focus, redacted.redacted, redacted.hash], [null, true, first.json<Cycle>().hash])
  assert.equal((await get<List>('/v1/cognitive/cycles')).corruption.status, 'clean')
})

test('cycles of one database at once take effect one after another, keyed or not', async () => {
  const { call, get } = cyclesOf(ada, 'at-once')
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, n) =>
      call(
        'POST /v1/cognitive/cycles',
        { observations: [{ content: `Reading ${n} of the gauge` }], limits: { queueMs: 10_000 } },
        n % 2 === 0 ? { 'idempotency-key': `key-${n}` } : {},
      ),
    ),
  )
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]))
  const list = await get<List>('/v1/cognitive/cycles')
  assert.deepEqual(
    list.cycles.map(({ seq }) => seq),
    Array.from({ length: 12 }, (_, n) => 12 - n),
  )
  assert.equal(list.corruption.checkedThroughSeq, 12)
})

// specification 124
test('over quota a cycle is 403 and leaves nothing, and the attempt is counted', async () => {
  const poor = await addTenant(daemon, { records: 1 })
  const { run, call, get } = cyclesOf(poor, 'default')
  await run({ observations: [{ content: 'The first fits' }] })
  const refused = await call('POST /v1/cognitive/cycles', { observations: [{ content: 'The second does not' }] })
  assert.deepEqual([refused.status, refused.error.code], [403, 'QUOTA_EXCEEDED'])
  const { totalCycles, failedCycles, attempts } = await get<Stats>('/v1/cognitive/stats')
  assert.deepEqual([totalCycles, failedCycles, attempts.total, attempts.failed], [1, 0, 2, 1])
  assert.equal(
    (await get<{ attempts: { lastFailureCode: string } }>('/v1/cognitive/health')).attempts.lastFailureCode,
    'QUOTA_EXCEEDED',
  )
})

// specification 45 133 134
test('an operator puts any object as the configuration of one database, and reads what is in force', async () => {
  const { operator, run, call } = cyclesOf(ada, 'config')
  const before = (await operator('GET /v1/cognitive/config')).json<Record<string, unknown>>()
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
  assert.deepEqual((await operator('GET /v1/cognitive/config')).json(), put.config)
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
  const owner = openPool({ url, applicationName: 'loci-test', connectionsMax: 1, onError: assert.ifError })
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
  await client.query({ text: `select loci.cycle_schedule($1, 'put', 600000, 500)`, values: [ada.instanceId] })
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

// Mutant: the walker of cycles without quarantine: the statistics stay clean.
test('what the full consistency report finds damaged, statistics and every page of the list say from then on', async () => {
  const { run, get } = cyclesOf(ada, 'reported')
  for (let n = 0; n < 4; n += 1) await run()
  const state = async (path: string) => (await get<{ corruption: Corruption }>(path)).corruption
  await daemon.sql(`update loci.cycles set duration_ms = duration_ms + 1 where database = 'reported' and seq = 1`)
  const pages = ['/v1/cognitive/stats', '/v1/cognitive/cycles?limit=1']
  for (const path of pages) assert.equal((await state(path)).status, 'clean', 'nobody has looked at the first one')
  const token = ada.mint({ ops: ['system:read'], ks: ['cognitive/reported'] })
  assert.equal(await fullConsistency((line) => ada.call(line, undefined, { token })), 'inconsistent')
  for (const path of pages) {
    const { status, count, entries } = await state(path)
    assert.deepEqual(
      [status, count, entries[0]?.seq, entries[0]?.reason],
      ['quarantined', 1, 1, 'digest_mismatch'],
      path,
    )
  }
  await daemon.sql(`update loci.cycles set duration_ms = duration_ms - 1 where database = 'reported' and seq = 1`)
})

test('cycles beyond the history leave behind a checkpoint, from which the others verify; totals include them', async () => {
  const { operator, run, get } = cyclesOf(ada, 'pruned')
  await operator('PUT /v1/cognitive/config', { cycleHistory: 10 })
  // The 111th is the first that is 100 beyond the history: one more might come after what it makes due.
  for (let n = 0; n < 111; n += 1) await run()
  await eventually(async () => (await daemon.sql(`select from loci.cycles where database = 'pruned'`)).length <= 10)
  const list = await get<List>('/v1/cognitive/cycles')
  assert.deepEqual([list.cycles.length, list.total, list.nextCursor], [10, 111, null])
  assert.deepEqual([list.corruption.status, list.corruption.checkedThroughSeq], ['clean', 111])
  assert.equal((await get<Stats>('/v1/cognitive/stats')).totalCycles, 111)
})
