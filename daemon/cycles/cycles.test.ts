// Cycles over HTTP: the specification's routes to the letter, and what a cycle leaves.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { eventually } from '@loci/chassis/testing/request.ts'
import type { Corruption, Cycle } from '@loci/contract/cognitive.ts'
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

// specification 131 135
test('without a cycle the list is empty and every count is 0, lastCycleAt the empty string', async () => {
  const { get } = cyclesOf(ada, 'empty')
  const list = await get<List>('/v1/cognitive/cycles')
  const stats = await get<Stats>('/v1/cognitive/stats')
  // specification 37 38 40 43 44
  assert.deepEqual([list.cycles, list.total, list.nextCursor], [[], 0, null])
  assert.deepEqual(list.corruption, { ...clean, checkedThroughSeq: null, verifiedAt: null })
  const { totalCycles, completedCycles, failedCycles, averageDurationMs, lastCycleAt, corruption } = stats
  assert.deepEqual(
    [totalCycles, completedCycles, failedCycles, averageDurationMs, lastCycleAt, corruption],
    [0, 0, 0, 0, '', list.corruption],
  )
})

// specification 33 34 35 36
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
  // specification 37 38 42
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
  for (const rest of ['', '/decisions'])
    assert.equal((await cyclesOf(ada, 'other').call(`GET /v1/cognitive/cycles/a%00b${rest}`)).status, 404)
})

// Mutant: findNumbered() without its first line answers the newest cycle for any number beyond it.
test('a cycle and its decisions are found by their number, too', async () => {
  const { run, get, call } = cyclesOf(ada, 'numbered')
  const first = await run({ observations: [{ content: 'Ada moved the meeting to Friday' }] })
  const second = await run({ focus: 'the meeting' })
  for (const { id, seq } of [first, second]) {
    assert.deepEqual(await get(`/v1/cognitive/cycles/${seq}`), await get(`/v1/cognitive/cycles/${id}`))
    assert.deepEqual(
      await get(`/v1/cognitive/cycles/${seq}/decisions`),
      await get(`/v1/cognitive/cycles/${id}/decisions`),
    )
  }
  for (const none of ['0', '3', '01', '-1', '1.0', '9'.repeat(15), '9'.repeat(16)])
    for (const rest of ['', '/decisions'])
      assert.equal((await call(`GET /v1/cognitive/cycles/${none}${rest}`)).status, 404, none)
})

// Before, it was 400. Mutant: the route without `bodyDefault`.
test('a cycle without a body is one with an empty object, also to a repeat of its key', async () => {
  const { call, get } = cyclesOf(ada, 'no-body')
  const headers = { 'idempotency-key': 'no-body' }
  const first = (await call('POST /v1/cognitive/cycles', undefined, headers)).json<Cycle>()
  assert.equal(first.status, 'completed')
  const again = (await call('POST /v1/cognitive/cycles', {}, headers)).json<Cycle>()
  assert.equal(again.id, first.id)
  assert.equal((await get<List>('/v1/cognitive/cycles')).total, 1)
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

// specification 39
// Mutant: failedCycles counts the failed attempts.
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
