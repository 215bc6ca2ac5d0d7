import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lampOf } from './lamp.ts'

// Mutant: `<=` in the comparison.
test('light has six steps, fixed at 0.6, 2, 3.5, 5 and 7', () => {
  assert.deepEqual([0, 0.59, 0.6, 1.99, 2, 3.5, 5, 6.99, 7, 11].map(lampOf), [0, 0, 1, 1, 2, 3, 4, 4, 5, 5])
})
