// Events of partners are taken in by cycles: in their order, as many as a cycle may, each exactly once.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { eventually, type TestAnswer } from '@loci/chassis/testing/request.ts'
import type { Cycle, CycleRun } from '@loci/contract/cognitive.ts'
import { openPool, type Sql } from '@loci/postgres/pool.ts'
import { PATIENT } from '@loci/postgres/testing/database.ts'
import { type TestAuthority, type TestInstance, testAuthority } from '../testing/authority.ts'
import { fullConsistency } from '../testing/consistency.ts'
import { partnerToken } from '../testing/credentials.ts'
import { type TestDaemon, testDaemon } from '../testing/daemon.ts'

let daemon: TestDaemon
let authority: TestAuthority
let own: TestInstance
before(async () => {
  daemon = await testDaemon()
  authority = await testAuthority(daemon)
  own = await authority.addInstance()
})
after(async () => {
  await authority?.[Symbol.asyncDispose]()
  await daemon?.[Symbol.asyncDispose]()
})

const OPS = [
  ...['cycles:run', 'cycles:read', 'wm:read', 'wm:write', 'memory:read', 'memory:write', 'memory:delete'],
  'system:read',
]

interface Stored {
  id: string
  content: string
  kind: string
  actor: string
  contextId: string | null
  expiresAt: string | null
  metadata: { sourceEventId: string; truncated?: boolean }
  source: { type: string; ref: string; trust: string }
}
interface Health {
  loop: { state: string }
  backlog: { projections: number; oldestAgeMs: number | null }
}

/** An attempt that a busy machine makes too slow is made again after 5, 10, 20 and 40 s. */
const LATE_MS = 180_000

let last = 0

/** A busy machine says 503: nothing was done, by its own word. */
async function answered(ask: () => Promise<TestAnswer>): Promise<TestAnswer> {
  for (let tries = 0; ; tries += 1) {
    const answer = await ask()
    if (answer.status !== 503 || tries >= 100) return answer
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

/** A database of its own, with a partner that tells it events. */
async function fresh() {
  last += 1
  const database = `intake-${last}`
  const token = await partnerToken(authority, own, ['event', 'retraction'], { partner: 'crm', database })
  const [holder, operator] = [own.root({ ops: OPS, ks: ['*/*'] }), own.root({ ops: ['operator'], ks: ['*/*'] })]
  const headers = { 'x-loci-database': database }
  const call = (line: string, body?: unknown, by = holder) =>
    answered(() => own.call(by, line, { ...(body === undefined ? {} : { body }), headers }))
  const good = async <Answer>(line: string, body?: unknown, by = holder): Promise<Answer> => {
    const answer = await call(line, body, by)
    assert.equal(answer.status, 200, answer.text)
    return answer.json<Answer>()
  }
  return {
    ...{ database, call, good },
    async tell(...payloads: unknown[]): Promise<string[]> {
      const body = payloads.map((payload) => {
        last += 1
        const sent = { projection_class: 'event', source_event_id: `evt-${last}` }
        return typeof payload === 'string' ? { ...sent, payload } : { ...sent, ...(payload as object) }
      })
      const by = { authorization: `Bearer ${token}` }
      const answer = await answered(() => daemon.ask('POST /v1/partner/projections', { body, headers: by }))
      assert.equal(answer.status, 200, answer.text)
      return answer.json<{ projectionId: string }[]>().map(({ projectionId }) => projectionId)
    },
    run: (body: CycleRun = {}) => good<Cycle>('POST /v1/cognitive/cycles', body),
    configure: (config: object) => good('PUT /v1/cognitive/config', config, operator),
    health: () => good<Health>('GET /v1/cognitive/health'),
    records: async () => (await good<{ records: Stored[] }>('GET /v1/memory/records?limit=200')).records.reverse(),
    total: async () => (await good<{ totalCycles: number }>('GET /v1/cognitive/stats')).totalCycles,
  }
}

/** The cycle stands at the lock when it commits, and then finds that what it read has changed. */
async function whileLocked<Result>(
  database: string,
  act: () => Promise<Result>,
  change: (client: Sql) => Promise<void>,
): Promise<Result> {
  const options = { applicationName: 'loci-test', connectionsMax: 1, onError: assert.ifError }
  const owner = openPool({ ...PATIENT, url: daemon.database.adminUrl, ...options })
  const client = await owner.client()
  await client.query({ text: 'begin' })
  await client.query({ text: 'select from loci.databases where name = $1 for update', values: [database] })
  const acted = act()
  const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  await eventually(async () => (await daemon.sql(waiting)).length > 0)
  await change(client)
  await client.query({ text: 'commit' })
  client.release()
  await owner.close()
  return acted
}

// Mutants: eventsMax without the request's limit, or without the configuration's; prj_pending with `order by … desc`;
// eventsOf() without record; prj_take_in that leaves the payload; backlogOf() of nothing.
test('a cycle takes in the oldest events, at most as many as it may, and their words stand in memory alone', async () => {
  const { tell, run, health, records, configure, good, database } = await fresh()
  const said = Array.from({ length: 9 }, (_, n) => `The truck ${n} reached the depot`)
  const ids = await tell(...said.map((payload) => ({ payload, run_id: 'run 7', source_system: 'gate' })))
  const before = await health()
  assert.equal(before.backlog.projections, 9)
  assert.ok((before.backlog.oldestAgeMs ?? -1) >= 0)
  const dry = await run({ dryRun: true, limits: { maxEvents: 4 } })
  const first = await run({ limits: { maxEvents: 4 } })
  assert.deepEqual([dry.decisions, dry.phases[0]?.in], [first.decisions, 4])
  await configure({ maxEvents: 3 })
  await run({ observations: [{ content: 'The depot is closed' }] })
  assert.deepEqual(
    (await records()).map(({ content }) => content),
    [...said.slice(0, 7), 'The depot is closed'],
  )
  const [one] = await records()
  assert.deepEqual(
    [one?.kind, one?.actor, one?.contextId, one?.source.type, one?.source.ref, one?.source.trust],
    ['event', 'gate', 'run 7', 'projection', ids[0], 'partner'],
  )
  const { slots } = await good<{ slots: { kind: string; source: { trust: string } }[] }>('GET /v1/working-memory/slots')
  const trusts = slots.filter(({ kind }) => kind === 'event').map(({ source }) => source.trust)
  assert.deepEqual(new Set(trusts), new Set(['partner']))
  assert.equal((await health()).backlog.projections, 2)
  const kept = await daemon.sql<{ seq: number; taken: boolean; linked: boolean }>(
    `select body not like '%truck%' as taken, record_id is not null as linked from loci.projections where database = $1 order by seq`,
    [database],
  )
  assert.deepEqual(
    kept.map(({ taken, linked }) => [taken, linked]),
    Array.from({ length: 9 }, (_, n) => [n < 7, n < 7]),
  )
  await run({ limits: { maxEvents: 0 } })
  assert.equal((await health()).backlog.projections, 2)
  await run()
  assert.deepEqual((await health()).backlog, { projections: 0, oldestAgeMs: null })
})

// Mutants: prj_pending without its bytes (one cycle takes all); one that counts from before the first (none is taken).
test('a cycle takes in a mebibyte of events, and at least one, whatever their number; the next goes on', async () => {
  const { tell, run, health, records } = await fresh()
  const payload = (n: number) => `Report ${n} ${'of the day '.repeat(23_000)}`
  // A quarter of a megabyte each.
  for (let n = 0; n < 9; n += 1) await tell({ payload: payload(n) })
  const waiting: number[] = []
  for (let n = 0; n < 3; n += 1) {
    await run({ limits: { maxEvents: 1_000 } })
    waiting.push((await health()).backlog.projections)
  }
  assert.deepEqual(waiting, [4, 0, 0])
  assert.deepEqual(
    (await records()).map(({ content }) => content.slice(0, 8)),
    Array.from({ length: 9 }, (_, n) => `Report ${n}`),
  )
})

// Mutants: prj_insert that leaves what it takes back pending; prj_take_in without record_id.
test('an event that is taken back before a cycle leaves nothing, and one after it takes its record along', async () => {
  const { tell, run, records, good, call } = await fresh()
  const [early, late] = await tell('The gate is open', 'The gate is shut')
  await tell({ projection_class: 'retraction', supersedes: early })
  await run()
  const [kept, ...others] = await records()
  assert.deepEqual([kept?.content, others], ['The gate is shut', []])
  await tell({ projection_class: 'retraction', supersedes: late })
  assert.equal((await call(`GET /v1/memory/records/${kept?.id}`)).status, 404)
  await run()
  assert.deepEqual((await good<{ slots: object[] }>('GET /v1/working-memory/slots')).slots, [])
})

// Mutants: eventsOf() without what was heard again; prj_unsay without the others, or that lets a namer in whose time is
// over; mem_all_hold always true.
test('what two events say is taken back with the last of them, whether one cycle took them in or two', async () => {
  const { tell, run, records, good } = await fresh()
  const told = { payload: 'The bridge is closed', run_id: 'run 7', source_system: 'gate' }
  const found = async () => {
    const { results } = await good<{ results: Stored[] }>('POST /v1/memory/recall', { query: 'Is the bridge closed?' })
    return results.map(({ content }) => content)
  }
  const [first, second] = await tell(told, told)
  assert.equal((await run()).decisions.reinforced, 1)
  const [third] = await tell(told)
  assert.equal((await run()).decisions.reinforced, 1)
  for (const id of [first, third]) {
    await tell({ projection_class: 'retraction', supersedes: id })
    assert.deepEqual(await found(), ['The bridge is closed'])
  }
  assert.equal((await records()).length, 1)
  await tell({ projection_class: 'retraction', supersedes: second })
  assert.deepEqual([await found(), await records()], [[], []])
})

// Mutants: longest() of the first alone; no prj_prolong in cycle_commit; prj_unsay without the time.
test('what several events say ends when the last of them does', async () => {
  const { tell, run, records, call } = await fresh()
  const ends = async () => (await records())[0]?.expiresAt ?? null
  const hours = async () => Math.round((Date.parse((await ends()) ?? '') - Date.now()) / 3_600_000)
  const told = (hours?: number) => ({ payload: 'The ferry runs', ...(hours ? { ttl_ms: hours * 3_600_000 } : {}) })
  // In one cycle the longest; a shorter one later changes nothing, a longer one does.
  await tell(told(2), told(5))
  await run()
  assert.equal(await hours(), 5)
  await tell(told(1))
  await run()
  assert.equal(await hours(), 5)
  const [nine] = await tell(told(9))
  await run()
  assert.equal(await hours(), 9)
  const [always] = await tell(told())
  await run()
  assert.equal(await ends(), null)
  await tell({ projection_class: 'retraction', supersedes: always })
  assert.equal(await hours(), 9)
  await tell({ projection_class: 'retraction', supersedes: nine })
  assert.equal(await hours(), 5)
  const system = own.root({ ops: ['system:read'], ks: ['*/*'] })
  assert.equal(await fullConsistency((line) => own.call(system, line)), 'consistent')
  assert.equal((await call(`GET /v1/memory/records/${(await records())[0]?.id}`)).status, 200)
})

// Mutant: mem_all_hold always true in cycle_commit.
test('a cycle begins again when what it heard again was taken back meanwhile', async () => {
  const { tell, run, records, database } = await fresh()
  const [first] = await tell('The crane is down')
  await run()
  await tell('The crane is down')
  const ran = await whileLocked(
    database,
    () => run({ limits: { queueMs: 10_000 } }),
    async (client) => {
      // As a retraction does.
      const change = `select loci.prj_save_head(h, loci.prj_replace(h, p, jsonb_populate_record(p, '{"taken_by":1}'))),
        loci.prj_unsay(h.instance_id, h.name, p.record_id, p.seq)
      from loci.databases h, loci.projections p where h.name = $1 and p.database = h.name and p.id = $2`
      await client.query({ text: change, values: [database, first] })
    },
  )
  assert.deepEqual([ran.decisions.reinforced, ran.decisions.admitted], [0, 1])
  assert.deepEqual(
    (await records()).map(({ content }) => content),
    ['The crane is down'],
  )
})

// Mutants: cut() that answers the whole text; isTooLarge() never; observationOf() of an event without words as ''.
test('an event without words is taken in without a trace, a long one as far as memory holds it', async () => {
  const { tell, run, records, health, good } = await fresh()
  await tell({ task_class: 'x' }, { task_intent: 'find the ledger' }, '"\u{1f69a}'.repeat(9_000), {
    payload: { a: [1] },
  })
  const stored = await good<{ id: string }>('POST /v1/memory/records', { content: '"'.repeat(16 * 1024), kind: 'long' })
  await run({ observations: [{ content: `${'"'.repeat(16 * 1024 - 5)}rare!` }] })
  assert.deepEqual(
    (await records()).filter(({ id }) => id !== stored.id).map(({ content }) => content.slice(0, 15)),
    ['find the ledger', '"\u{1f69a}"\u{1f69a}"\u{1f69a}"\u{1f69a}"\u{1f69a}', '{"a":[1]}', '"'.repeat(15)],
  )
  const long = (await records()).find(({ metadata }) => metadata?.truncated)
  assert.ok(long?.content.isWellFormed() && Buffer.byteLength(JSON.stringify(long.content)) > 16_370)
  assert.equal((await health()).backlog.projections, 0)
})

// Mutant: prj_take_in that leaves them pending.
test('events are taken in exactly once, whatever runs beside a cycle and makes it begin again', async () => {
  const { tell, run, records, call, database } = await fresh()
  const said = Array.from({ length: 60 }, (_, n) => `The crate ${n} was moved to row ${n * 7}`)
  await tell(...said.slice(0, 30))
  const beside = Array.from({ length: 12 }, (_, n) =>
    call(`PUT /v1/working-memory/slots/beside-${n % 3}`, { value: n, ephemeral: true }),
  )
  const cycles = Array.from({ length: 6 }, () => run({ limits: { maxEvents: 7, queueMs: 10_000 } }))
  await tell(...said.slice(30))
  await Promise.all([...beside, ...cycles])
  for (let n = 0; n < 10; n += 1) await run({ limits: { maxEvents: 7 } })
  assert.deepEqual(
    (await records()).map(({ content }) => content),
    said,
  )
  const heard = await daemon.sql(`select from loci.records where database = $1 and presented is not null`, [database])
  assert.deepEqual(heard, [])
  const system = own.root({ ops: ['system:read'], ks: ['*/*'] })
  assert.equal(await fullConsistency((line) => own.call(system, line)), 'consistent')
})

// Mutants: prj_all_pending always true; an attempt that takes the events of the one before.
test('a cycle begins again with the events that still wait when one of them was taken back meanwhile', async () => {
  const { tell, run, records, total, database } = await fresh()
  await tell('The lamp is broken', 'The lamp is late')
  await run({ limits: { maxEvents: 0 } })
  const ran = await whileLocked(
    database,
    () => run({ limits: { queueMs: 10_000 } }),
    async (client) => {
      // As a retraction does.
      const change = `select loci.prj_save_head(h, loci.prj_replace(h, p, jsonb_populate_record(p, '{"is_pending":false}')))
      from loci.databases h, loci.projections p where h.name = $1 and p.database = h.name and p.body like '%broken%'`
      await client.query({ text: change, values: [database] })
    },
  )
  assert.equal(ran.phases[0]?.in, 1)
  assert.deepEqual(
    (await records()).map(({ content }) => content),
    ['The lamp is late'],
  )
  assert.equal(await total(), 2)
})

// Mutants: cycle_due without pressure; a trigger that is always `schedule`; cycle_schedule without pressure;
// cycle_pressure that does not ask for maxEvents.
test('as many events as the configuration says make a cycle due, again while as many wait, without a schedule', async () => {
  const { tell, health, total, configure, good, records } = await fresh()
  await configure({ pressure: { pendingEvents: 5 }, maxEvents: 5 })
  await tell(...Array.from({ length: 4 }, (_, n) => `The ladder ${n} is missing`))
  assert.deepEqual([(await health()).loop.state, await total()], ['off', 0])
  await tell(...Array.from({ length: 8 }, (_, n) => `The valve ${n} is warm`))
  await eventually(async () => (await health()).backlog.projections === 2, LATE_MS)
  await eventually(async () => (await health()).loop.state === 'off', LATE_MS)
  const { cycles } = await good<{ cycles: Cycle[] }>('GET /v1/cognitive/cycles')
  assert.deepEqual(
    cycles.map(({ trigger }) => trigger),
    ['pressure', 'pressure'],
  )
  assert.equal((await records()).length, 10)
  await configure({ pressure: { pendingEvents: 2 }, maxEvents: 0 })
  assert.equal((await health()).loop.state, 'off')
  await configure({ pressure: { pendingEvents: 2 } })
  await eventually(async () => (await health()).backlog.projections === 0, LATE_MS)
})
