import assert from 'node:assert/strict'
import { test } from 'node:test'
import { phaseColor, phaseStretches, phasesEnd } from './phases.ts'

const phases = [
  { name: 'perceive', startMs: 0, durationMs: 5 },
  { name: 'recall', startMs: 5, durationMs: 10 },
  { name: 'dream', startMs: 15, durationMs: 5 },
]

test('phases stand where they were on the scale, and none leaves it', () => {
  assert.deepEqual(
    phaseStretches(phases, 40).map(({ from, width }) => [from, width]),
    [
      [0, 0.125],
      [0.125, 0.25],
      [0.375, 0.125],
    ],
  )
  for (const { from, width } of phaseStretches(phases, 12)) assert.ok(from >= 0 && width >= 0 && from + width <= 1)
  assert.deepEqual(phaseStretches([{ name: 'cue', startMs: 0, durationMs: 0 }], 0)[0]?.width, 0)
})

test('a phase of a newer server has a colour, too; the end of a cycle without phases is its beginning', () => {
  assert.equal(phaseColor('dream'), 'var(--ink-3)')
  assert.equal(phasesEnd(phases), 20)
  assert.equal(phasesEnd([]), 0)
})
