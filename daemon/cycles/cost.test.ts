// What a cycle reads is bounded, and what it uses is charged: one of a free plan must not cost the others of its
// replica anything.

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { atOnce } from '@loci/chassis/testing/at-once.ts'
import { eventually } from '@loci/chassis/testing/request.ts'
import type { Cycle, CycleRun } from '@loci/contract/cognitive.ts'
import { type TestInstance, testAuthority } from '../testing/authority.ts'
import { partnerToken } from '../testing/credentials.ts'
import { testDaemon } from '../testing/daemon.ts'
import { cutPool } from './echo.ts'
import type { Candidate } from './judge.ts'
import { termsOf } from './own-words.ts'

/** So slow a rate that nothing is refilled while a test counts what is left of the burst. */
const LIMITS = { databases: 10, records: 1e4, bytes: 1e8, streams: 1, requests_per_second: 0.001, burst: 1_000 }
const RIGHTS = { ops: ['cycles:run', 'cycles:read', 'memory:write', 'memory:read'], ks: ['*/*'] }

const call = (instance: TestInstance, line: string, body?: unknown) =>
  instance.call(instance.root(RIGHTS), line, { body })

/** On a busy machine it is asked again: nothing was done. */
async function dryRun(instance: TestInstance, run: CycleRun): Promise<Cycle> {
  for (;;) {
    const body = { ...run, dryRun: true, limits: { maxDurationMs: 10_000 } }
    const answer = await call(instance, 'POST /v1/cognitive/cycles', body)
    if (answer.status >= 500) continue
    assert.equal(answer.status, 200, answer.text)
    return answer.json()
  }
}

/** Of 20 KB each, half of it metadata; a call of 40 costs 50. */
async function fill(instance: TestInstance, contents: string[], more: (n: number) => object = () => ({})) {
  for (let from = 0; from < contents.length; from += 40) {
    const records = contents.slice(from, from + 40).map((content, at) => ({
      ...{ content: `${content} ${'x'.repeat(10_000)}`, metadata: { of: 'y'.repeat(10_000) } },
      ...more(from + at),
    }))
    await store(instance, records)
  }
}

/** On a busy machine again, by the same key. */
async function store(instance: TestInstance, records: object[]): Promise<void> {
  const headers = { 'idempotency-key': randomUUID() }
  for (let status = 0; status !== 200; ) {
    const line = 'POST /v1/memory/records/batch'
    const answer = await instance.call(instance.root(RIGHTS), line, { body: { records }, headers })
    status = answer.status
    assert.ok(status === 200 || status === 409 || status >= 500, answer.text)
  }
}

/** One after the other until one is refused. */
async function readsLeft(instance: TestInstance): Promise<number> {
  for (let count = 0; ; count += 1)
    if ((await call(instance, 'GET /v1/memory/records?limit=1')).status === 429) return count
}

/** No two of them near copies of each other. */
const kettles = (count: number) =>
  Array.from({ length: count }, (_, n) => {
    const own = [...'abcde'].map((letter) => `${letter}${'bcdfghjklm'[n % 10]}${'npqrstvwxz'[Math.floor(n / 10)]}o`)
    return `The kettle ${own.join(' ')}.`
  })

// Mutants: RECORDS_BYTES_MAX of reads/store.ts = 1e9; due.ts without workFor() (nothing is charged).
test('a cycle is charged what it was measured to use, and many observations are dearer than one', async () => {
  await using daemon = await testDaemon()
  await using authority = await testAuthority(daemon)
  const instance = await authority.addInstance({ limits: { ...LIMITS, burst: 100_000 } })
  const costOf = async (count: number) => {
    const observations = kettles(count).map((content) => ({ content }))
    const body = { observations, dryRun: true, limits: { maxDurationMs: 10_000 } }
    for (;;) {
      const answer = await call(instance, 'POST /v1/cognitive/cycles', body)
      if (answer.status < 500) return Number(answer.headers['x-loci-cost'])
    }
  }
  // The first of a route are not charged for the compiler.
  for (let n = 0; n < 20; n += 1) await costOf(1)
  const few = await costOf(1)
  const many = await costOf(100)
  assert.ok(many >= 10 && many >= 3 * few, `${few} and ${many}`)
})

// Mutant: REMEMBERED_BYTES_MAX = 1e9.
test('what is remembered of texts is bounded by its bytes', () => {
  const textOf = (n: number) =>
    String.fromCodePoint(
      ...Array.from({ length: 1_000 }, (_, at) => 0x4e00 + ((n * 7_919 + at * 31 + at * at) % 20_000)),
    )
  const first = termsOf(textOf(0))
  assert.equal(termsOf(textOf(0)), first)
  for (let n = 1; n < 200; n += 1) termsOf(textOf(n))
  assert.notEqual(termsOf(textOf(0)), first)
})

// Mutants: `limit 1` of cycle_known() left out; starts_with() left out.
test('of records with the value of an observation one is read: that of its actor, context and kind', async () => {
  await using daemon = await testDaemon()
  await using authority = await testAuthority(daemon)
  const instance = await authority.addInstance({ limits: LIMITS })
  const same = Array.from({ length: 40 }, () => 'The kettle is in the shed.')
  await fill(instance, same, (n) => ({ actor: `actor ${n}` }))
  const observation = { content: `${same[0]} ${'x'.repeat(10_000)}`, actor: 'actor 7' }
  const { decisions } = await dryRun(instance, { observations: [observation, observation] })
  assert.equal(decisions.reinforced, 2)
  assert.equal((await dryRun(instance, { observations: [{ ...observation, kind: 'fact' }] })).decisions.reinforced, 0)
  const [known] = await daemon.sql<{ equal: { body: { actor: string } } }>(
    `select loci.cycle_known(r.instance_id, r.database, now(), null, r.value_mac, null, null, null, '{')::json -> 'equal' as equal
     from loci.records r where r.instance_id = $1 limit 1`,
    [instance.svc],
  )
  assert.equal(known?.equal.body.actor, 'actor 39')
})

// Mutants: cycle_read() without the `offset 0` behind its ids; cycle_records() without it, or that reads each record
// twice.
test('a session whose plans were made on an empty table reads what it is asked for, and not the database', async () => {
  await using daemon = await testDaemon()
  await using authority = await testAuthority(daemon)
  const instance = await authority.addInstance({ limits: { ...LIMITS, burst: 100_000 } })
  const client = await authority.pool.client()
  const RECORDS = `select loci.cycle_records($1, 'default', 1000, now(), $2::bigint[], 100000)`
  const SNAPSHOT = `select r.keys from loci.cycle_read($1, 'default', '{null}', array[repeat('00', 16)], '{null}', array[$2], '{null}', '{x}', 0, 0, 9, 9) r`
  const read = async (asked: string, text = SNAPSHOT) => {
    await client.query({ text: 'begin' })
    const before = await fetched()
    await client.query({ text, values: [instance.svc, asked] })
    const after = await fetched()
    await client.query({ text: 'commit' })
    return after - before
  }
  const fetched = async () => {
    const text = `select coalesce(sum(idx_tup_fetch), 0)::int as count from pg_stat_xact_all_tables where schemaname = 'loci' and relname = 'records'`
    return (await client.query<{ count: number }>({ text })).rows[0]?.count ?? 0
  }
  assert.deepEqual([await read('mem_none'), await read('{1,2}', RECORDS)], [0, 0])
  const observed = (n: number) => ({ content: `The ${n}th kettle is in shed ${n}.`, actor: `actor ${n}` })
  const observations = Array.from({ length: 15 }, (_, n) => observed(n))
  const limits = { maxDurationMs: 10_000 }
  for (let status = 0; status !== 200; ) {
    const answer = await call(instance, 'POST /v1/cognitive/cycles', { observations, limits })
    status = answer.status
    assert.ok(status === 200 || status >= 500, answer.text)
  }
  const records = Array.from({ length: 100 }, (_, n) => observed(100 + n))
  await store(instance, records)
  const [record] = await daemon.sql<{ id: string }>('select id from loci.records where instance_id = $1 limit 1', [
    instance.svc,
  ])
  const [{ slots } = { slots: 0 }] = await daemon.sql<{ slots: number }>(
    'select cardinality(keys) as slots from loci.working_memory where instance_id = $1',
    [instance.svc],
  )
  assert.ok(slots >= 10)
  assert.equal(await read(record?.id ?? ''), slots + 1)
  const seqs = await daemon.sql<{ seq: string }>('select seq from loci.records where instance_id = $1 limit 2', [
    instance.svc,
  ])
  assert.equal(await read(`{${seqs.map(({ seq }) => seq).join()}}`, RECORDS), 2)
  client.release()
})

// Mutant: isInDebt() of rates.ts that is always false.
test('a cycle by schedule is charged as one that is asked for, and waits while the instance is in debt', async () => {
  await using daemon = await testDaemon()
  await using authority = await testAuthority(daemon)
  const instance = await authority.addInstance({ limits: { ...LIMITS, burst: 20 } })
  const operator = instance.root({ ops: ['operator'], ks: ['*/*'] })
  const body = { schedule: { intervalMs: 600_000 } }
  assert.equal((await instance.call(operator, 'PUT /v1/cognitive/config', { body })).status, 200)
  await store(instance, [{ content: 'The kettle is in the shed.' }])
  // Fifty units in a burst of 20, if it was not used up before.
  const reader = instance.root({ ops: ['system:read'], ks: ['*/*'] })
  await instance.call(reader, 'GET /v1/kv/consistency')
  const due = async (sql: string) => (await daemon.sql<{ at: Date }>(sql, [instance.svc]))[0]?.at as Date
  const row = `where kind = 'cycle' and instance_id = $1`
  const first = await due(`update loci.due set at = now() ${row} returning at`)
  // Claimed twice, 5 s each.
  await eventually(async () => (await due(`select at from loci.due ${row}`)).getTime() > first.getTime() + 8_000)
  assert.deepEqual(await daemon.sql('select from loci.cycles where instance_id = $1', [instance.svc]), [])
})

// Mutants: requireRoom() left out of loop.ts (the first); `refused` that is never kept (the second).
test('events that wait while there is no room for a cycle are not paid for, or once a minute', async () => {
  await using daemon = await testDaemon()
  await using authority = await testAuthority(daemon)
  const said = 'The customer wants a refund of the kettle. '.repeat(25)
  const leftOf = async (recordsMax: number) => {
    const instance = await authority.addInstance({ limits: { ...LIMITS, requests_per_second: 1e6, burst: 1e6 } })
    const operator = instance.root({ ops: ['operator'], ks: ['*/*'] })
    const often = { schedule: { intervalMs: 600_000 }, pressure: { pendingEvents: 1_000 } }
    const body = { ...often, maxDurationMs: 10_000 }
    assert.equal((await instance.call(operator, 'PUT /v1/cognitive/config', { body })).status, 200)
    await store(instance, [{ content: 'The kettle is in the shed.' }, { content: 'The shed is locked.' }])
    const authorization = `Bearer ${await partnerToken(authority, instance, ['event'], { partner: 'crm' })}`
    const told = Array.from({ length: 40 }, (_, n) => ({
      ...{ projection_class: 'event', source_event_id: `evt-${n}`, task_class: 'support' },
      payload: { content: `${n} ${said}` },
    }))
    for (let status = 0; status !== 200; )
      status = (await daemon.ask('POST /v1/partner/projections', { headers: { authorization }, body: told })).status
    await instance.change({ limits: { ...LIMITS, records: recordsMax, burst: 400 } })
    const row = `where kind = 'cycle' and instance_id = $1`
    const due = async (text: string) => (await daemon.sql<{ at: Date }>(text, [instance.svc]))[0]?.at.getTime() ?? 0
    const first = await due(`update loci.due set at = now() ${row} returning at`)
    // Two claims are over.
    await eventually(async () => (await due(`select at from loci.due ${row}`)) > first + 12_000, 120_000)
    assert.deepEqual(await daemon.sql('select from loci.cycles where instance_id = $1', [instance.svc]), [])
    return readsLeft(instance)
  }
  // With no room at all nothing is read for it; with too little of it, it is read for once.
  const [over, near] = await Promise.all([leftOf(1), leftOf(52)])
  assert.ok(over > near, `${over} left of 400 when it is over, ${near} when it is near`)
})

function candidate(n: number, content: string, looks: { count: number }): Candidate {
  const known = { id: `mem_${n}`, held: null, fresh: null, record: null, actor: 'a', occurredAt: 0, order: n, hint: 0 }
  const judged = { dueAt: null, seen: { n: 1, first: 0, recent: [0] }, own: 0, said: 0, sketch: 1, contributions: [] }
  return {
    ...{ ...known, ...judged, score: 0, copyOf: null, sameAs: null, isHushed: false },
    get content() {
      looks.count += 1
      return content
    },
  }
}

// Mutants: createPairs() without `analysed`; PAIRS_MAX = 1e9.
test('each text is analysed once for near copies, however many it is like, and beyond 4,096 pairs there are none', () => {
  const config = { echo: { weight: 2, share: 1 }, relativeThreshold: 5 }
  const flood = (count: number) => {
    const looks = { count: 0 }
    const said = Array.from({ length: count }, (_, n) => `kettle shed garden tool${'abcdefghij'[n % 10]}${n}x`)
    const words = said.map((text, n) => `${text} ${'qrstuvwxyz'[n % 10]}${'klmnopqrst'[Math.floor(n / 10) % 10]}word`)
    const ordered = [...words, words[0] as string].map((text, n) => candidate(n, text, looks))
    const pool = atOnce(cutPool(ordered, () => true, count, config))
    return { looks: looks.count, copyOf: pool.at(-1)?.copyOf }
  }
  assert.deepEqual(flood(20), { looks: 21, copyOf: 'mem_0' })
  assert.deepEqual(flood(95).copyOf, null)
  assert.ok(flood(95).looks <= 96)
})
