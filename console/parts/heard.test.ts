import assert from 'node:assert/strict'
import { test } from 'node:test'
import { heardIn } from './heard.ts'
import type { Decision } from './ledger.ts'

const ran = { startedAt: '2026-11-18T11:46:00.000Z', completedAt: '2026-11-18T11:46:00.030Z' }
const memory = (id: string, createdAt: string, version: number) => ({ id: `mem_${id}`, createdAt, version })
const decision = (action: string, id: string): Decision => ({
  ...{ seq: 0, action, subject: { kind: 'slot', key: `key of ${id}` }, reasonCode: 'admitted', score: 1, parts: [] },
  evidenceRefs: [`mem_${id}`],
})

// Mutants: heardIn() without `consolidated`; `<` instead of `<=` at both ends.
test('heard is what the cycle made a memory of, and what was said again; not what it recalled or consolidated', () => {
  const memories = [
    memory('second', '2026-11-18T11:46:00.030Z', 8),
    memory('first', '2026-11-18T11:46:00.000Z', 7),
    memory('again', '2026-11-18T11:20:00.000Z', 2),
    memory('recalled', '2026-11-18T11:19:00.000Z', 1),
    memory('consolidated', '2026-11-18T11:46:00.010Z', 9),
    memory('later', '2026-11-18T11:46:00.031Z', 10),
  ]
  const byId = new Map(memories.map((one) => [one.id, one]))
  const decisions = [
    decision('consolidated', 'consolidated'),
    decision('kept', 'consolidated'),
    decision('reinforced', 'again'),
    decision('kept', 'again'),
    decision('admitted', 'second'),
    decision('stored', 'first'),
    decision('admitted', 'recalled'),
    decision('kept', 'later'),
    decision('kept', 'erased since'),
  ]
  assert.deepEqual(
    heardIn(ran, decisions, byId).map(({ id }) => id),
    ['mem_again', 'mem_first', 'mem_second'],
  )
})
