import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Chance } from '../testing/random-items.ts'
import { Buckets } from './buckets.ts'

// Mutants: sortFew() that puts the smaller first; eachDescending() that sorts no bucket, or goes on after false.
test('the best come by falling value, equals as compared, until enough are seen', () => {
  const buckets = new Buckets()
  for (let seed = 1; seed <= 60; seed++) {
    const chance = new Chance(seed)
    const count = 1 + chance.below(3_000)
    // Of few different values, of many, and nearly all in one bucket.
    const [steps, far] = [chance.of([5, 200, 1e9]), chance.of([1, 1e6])]
    const values = Float64Array.from({ length: count }, () => chance.below(steps) / steps)
    values[0] = far
    const newest = (a: number, b: number) => b - a
    const wanted = [...values.keys()].sort((a, b) => values[b]! - values[a]! || newest(a, b)).slice(0, 100)
    const seen: number[] = []
    buckets.eachDescending(values, count, newest, (index) => seen.push(index) < 100)
    assert.deepEqual(seen, wanted, `seed ${seed}`)
  }
})
