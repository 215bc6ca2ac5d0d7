import assert from 'node:assert/strict'
import { test } from 'node:test'
import { durationsOf } from './durations.ts'

test('half of the cycles are within the median, 19 of 20 within the p95, and each is in one bin', () => {
  const all = Array.from({ length: 100 }, (_, at) => at + 1)
  const found = durationsOf(all)
  assert.deepEqual([found?.median, found?.p95], [50, 95])
  assert.equal(
    found?.bins.reduce((sum, one) => sum + one, 0),
    100,
  )
  assert.equal(durationsOf([7])?.p95, 7)
  assert.equal(durationsOf([]), undefined)
})

// Mutant: no Math.min() of the bin.
test('one that took a minute is in the last bin, and makes the others no narrower', () => {
  const found = durationsOf([...Array.from({ length: 40 }, () => 10), 60_000])
  assert.equal(found?.bins.at(-1), 1)
  assert.ok((found?.widthMs ?? 0) < 10)
  assert.equal(found?.bins.length, 16)
})
