// The ledger of a cycle. Mutants: inLedger() sorts by score alone; scaleOf() without the bar; shortOf() for whatever
// left; recordIdOf() by the evidence first.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countKinds, type Decision, inLedger, recordIdOf, scaleOf, shortOf } from './ledger.ts'

const decision = (seq: number, action: string, score: number, rest: Partial<Decision> = {}): Decision => ({
  ...{ seq, action, score, subject: { kind: 'slot', key: `k${seq}` }, reasonCode: 'admitted', evidenceRefs: [] },
  parts: [{ name: 'cue', value: score, weight: 1, contribution: score }],
  ...rest,
})

const DECISIONS = [
  decision(0, 'merged', 0, { parts: [] }),
  decision(1, 'kept', 5),
  decision(2, 'evicted', 6, { reasonCode: 'outcompeted' }),
  decision(3, 'admitted', 9),
  decision(4, 'evicted', 1.5, { reasonCode: 'below_threshold' }),
]

test('who stayed and who came stand together by score, then who left, then what has no score', () => {
  assert.deepEqual(
    inLedger(DECISIONS).map(({ seq }) => seq),
    [3, 1, 2, 4, 0],
  )
  assert.deepEqual(
    inLedger(DECISIONS, 'left').map(({ seq }) => seq),
    [2, 4],
  )
  assert.deepEqual(countKinds(DECISIONS), { stayed: 1, came: 1, left: 2, other: 1 })
})

test('the scale reaches to the bar of the focus even where nothing reached it', () => {
  assert.equal(scaleOf(DECISIONS, { best: 9, bar: 4 }), 9)
  assert.equal(scaleOf(DECISIONS, { best: 17, bar: 12 }), 12)
})

test('only what the bar kept out was short of it', () => {
  const threshold = { best: 9, bar: 4 }

  assert.deepEqual(
    DECISIONS.map((one) => shortOf(one, threshold)),
    [null, null, null, null, 2.5],
  )
  assert.equal(shortOf(DECISIONS[4] as Decision, null), null)
})

test('its words are those of its own memory, before those of its evidence', () => {
  const of = (key: string | null, evidenceRefs: string[]) =>
    recordIdOf(decision(0, 'kept', 1, { subject: { kind: 'slot', key }, evidenceRefs }))

  assert.equal(of('mem_a', ['mem_b']), 'mem_a')
  assert.equal(of('order.status', ['cyc_1', 'mem_b']), 'mem_b')
  assert.equal(of('order.status', []), undefined)
})
