// What a cycle asked of its candidates under a focus, and what it would decide: the bar in the record, and the ledger
// of a dry run.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Cycle } from '@loci/contract/cognitive.ts'
import { cyclesOf, type TestCycles } from '../testing/cycles.ts'
import { type TestDaemon, testDaemon } from '../testing/daemon.ts'
import { addTenant, type TestTenant } from '../testing/tenant.ts'
import { cycleOf } from './records.ts'

let daemon: TestDaemon
let ada: TestTenant
before(async () => {
  daemon = await testDaemon()
  ada = await addTenant(daemon)
})
after(() => daemon?.[Symbol.asyncDispose]())

type Decisions = NonNullable<Cycle['ledger']>

const HEARD = [
  'Yesterday Ilse moved the big kiln to Harbour Lane 12.',
  'The kiln of Ilse needs a new door before Friday.',
  'Hm, well.',
  'Bram likes his tea without milk.',
  'The ferry to Texel leaves at nine.',
]
const FOCUS = 'When did Ilse move the kiln to Harbour Lane?'

async function filled(db: string): Promise<TestCycles> {
  const mind = cyclesOf(ada, db)
  await mind.run({ observations: HEARD.map((content, n) => ({ content, key: `k${n}`, contextId: `c${n}` })) })
  await mind.call('PUT /v1/working-memory/slots/rule', { value: 'Be polite.', pinned: true })
  return mind
}

// Mutants: a threshold whose bar is its best; one that a cycle without a focus has too.
test('the record of a cycle with a focus has the bar, and every decision of it agrees', async () => {
  const { run, get, operator } = await filled('bar')
  const unfocused = await run()
  assert.equal(unfocused.threshold, null)
  const focused = await run({ focus: FOCUS })
  const { best, bar } = focused.threshold ?? assert.fail('no threshold')
  const config = (await operator('GET /v1/working-memory/config')).json<{ relativeThreshold: number }>()
  assert.ok(Math.abs(best - bar - config.relativeThreshold) < 1e-5, `${best} ${bar} ${config.relativeThreshold}`)
  const { decisions } = await get<{ decisions: Decisions }>(focused.decisionsUrl)
  const kept = decisions.filter(({ action, subject }) => action === 'kept' && subject.key !== 'rule')
  const under = decisions.filter(({ reasonCode }) => reasonCode === 'below_threshold')
  assert.ok(kept.length > 0 && under.length > 0, JSON.stringify(focused.decisions))
  for (const { score } of kept) assert.ok(score >= bar - 1e-6, `${score} ${bar}`)
  for (const { score, reason } of under) {
    assert.ok(score < bar, `${score} ${bar}`)
    assert.equal(reason, `The focus asks for at least ${bar}.`)
  }
  assert.deepEqual(await get(`/v1/cognitive/cycles/${focused.id}`), focused)
})

test('where nothing competes under a focus there is no bar', async () => {
  const { run } = cyclesOf(ada, 'nothing')
  assert.equal((await run({ focus: FOCUS })).threshold, null)
})

test('a cycle that was stored before the bar was kept has none', async () => {
  const { run } = cyclesOf(ada, 'older')
  const { id } = await run({ focus: 'A focus' })
  const [row] = (await daemon.sql(
    `select seq, id, started_at as "startedAt", completed_at as "completedAt", duration_ms as "durationMs", focus, true as "hasFocus",
       metadata, false as "hasMetadata", after_digest as "afterDigest", (body::jsonb - 'threshold')::text as body, prev_hash as "prevHash", hash
     from loci.cycles where id = $1`,
    [id],
  )) as Parameters<typeof cycleOf>
  assert.equal(cycleOf(row).threshold, null)
})

// Mutants: a ledger without what leaves; one in the record that is stored.
test('a dry run answers each decision with its parts, and the run then decides the same', async () => {
  const { run, get, call } = await filled('dry')
  const dry = await run({ focus: FOCUS, dryRun: true })
  const ledger = dry.ledger ?? assert.fail('no ledger')
  const ran = await run({ focus: FOCUS })
  assert.equal(ran.ledger, undefined)
  const { decisions } = await get<{ decisions: Decisions }>(ran.decisionsUrl)
  const told = (all: Decisions) =>
    all.map(({ action, subject, reasonCode, rule }) => `${action} ${subject.key} ${reasonCode} ${rule}`)
  assert.deepEqual(told(ledger), told(decisions))
  assert.deepEqual(dry.decisions, ran.decisions)
  assert.ok(ledger.some(({ action }) => action === 'evicted'))
  for (const { score, parts, recoverableUntil } of ledger) {
    assert.ok(Math.abs(parts.reduce((sum, { contribution }) => sum + contribution, 0) - score) < 1e-6)
    // Nothing left, so there is nothing to restore.
    assert.equal(recoverableUntil, null)
  }
  assert.equal((await call(`GET ${dry.decisionsUrl}`)).status, 404)
})
