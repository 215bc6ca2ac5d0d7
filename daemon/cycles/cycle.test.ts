import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PART_WEIGHTS } from '../memory/weights.ts'
import { decide, perceive, recordsFor } from './cycle.ts'
import type { CycleConfig, CycleInput, Observation } from './shapes.ts'

const NOW = Date.UTC(2031, 2, 12, 9)
const CONFIG: CycleConfig = {
  ...{ capacity: 25, consolidateAfterCycles: 2, relativeThreshold: 5, stickiness: 1, stickinessHalfLifeCycles: 3 },
  ...{ candidateFactor: 4, slotTtlMs: null, matchShare: 0.25, spontaneousShare: 0.25, echo: { weight: 2, share: 0.8 } },
  ...{ due: { weight: 4, leadMs: 3_600_000, graceMs: 3_600_000 }, focusTtlMs: 1_800_000 },
  weights: { ...PART_WEIGHTS, base: 0.5, hint: 0.5 },
  ...{ decay: 0.5, baseRecent: 4, maxCueTerms: 16, noise: 0 },
}
const UNKNOWN = { isDuplicate: false, isForgotten: false, equal: null, current: null, superseded: null }

const observed = (id: string, content: string, known: Partial<Observation['known']> = {}): Observation => ({
  ...{ id, write: { content } },
  known: { ...UNKNOWN, place: { context: 1, position: 0 }, ...known },
})

test('what came in and is neither known nor forgotten is stored and has a slot', () => {
  const input: CycleInput = {
    ...{ number: 1, now: NOW, seed: 's', focus: null, document: { slots: [], focus: null }, config: CONFIG, seq: 7 },
    observations: [observed('a', 'tea'), observed('b', 'milk', { isDuplicate: true }), observed('c', 'jam')],
    due: [],
  }
  const perceived = perceive(input)
  const answer = { ranked: [], terms: [], idfTotal: 1 }

  assert.deepEqual(recordsFor(perceived, answer), [])
  const { slots, rows, decisions } = decide(perceived, answer, new Map())
  assert.deepEqual(rows.store, [0, 2])
  assert.deepEqual(
    slots.map(({ record }) => record?.id),
    ['a', 'c'],
  )
  assert.deepEqual(
    decisions.map(({ action, reasonCode, subject }) => [action, reasonCode, subject.key]),
    [['rejected', 'duplicate', 'b']],
  )
})
