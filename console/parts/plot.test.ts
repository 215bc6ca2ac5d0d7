import assert from 'node:assert/strict'
import { test } from 'node:test'
import { axisOf, labelsOf } from './plot.ts'

// Mutant: the largest value left out of the axis.
test('an axis has round steps, and its end is not below what is drawn', () => {
  assert.deepEqual(axisOf(53), [0, 20, 40, 60])
  assert.deepEqual(axisOf(0), [0, 1])
  assert.deepEqual(axisOf(3), [0, 1, 2, 3])
  for (const max of [1, 7, 19, 141, 999, 284_110]) {
    const axis = axisOf(max)
    assert.ok((axis.at(-1) as number) >= max && axis.length <= 6, `${max}: ${axis}`)
  }
})

test('of many times the first and the last are written, and some between', () => {
  assert.deepEqual(labelsOf(60, 5), [0, 15, 30, 44, 59])
  assert.deepEqual(labelsOf(3, 5), [0, 1, 2])
})
