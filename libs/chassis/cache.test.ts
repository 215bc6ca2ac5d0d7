import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createCache } from './cache.ts'

// Mutant: isUsed never set: first in, first out, and a flood pushes out what everybody works with.
test('used entries survive a flood of new ones, and the bytes stay bounded', () => {
  const cache = createCache<number>(1_000)
  cache.keep('used', 1, 100)
  for (let n = 0; n < 1_000; n += 1) {
    cache.keep(`flood ${n}`, n, 100)
    assert.equal(cache.find('used'), 1, `after ${n}`)
  }
  const kept = Array.from({ length: 1_000 }, (_, n) => cache.find(`flood ${n}`)).filter((one) => one !== undefined)
  assert.ok(kept.length <= 9, `${kept.length} of the flood are kept`)
  cache.keep('too large', 2, 1_001)
  assert.equal(cache.find('too large'), undefined)
})

test('one that is kept again is counted once', () => {
  const cache = createCache<number>(1_000)
  for (let n = 0; n < 50; n += 1) cache.keep('same', n, 400)
  cache.keep('other', 1, 400)
  assert.deepEqual([cache.find('same'), cache.find('other')], [49, 1])
})

// Mutants: set isUsed false when an entry is kept again (evicted first); forget the size in drop() (the bound shrinks
// with every drop).
test('entries are counted, one that is kept again is in use, and one that was dropped takes no room', () => {
  const cache = createCache<number>(3)
  for (const key of ['a', 'b', 'c']) cache.keep(key, 0)
  cache.keep('a', 1)
  cache.keep('d', 0)
  assert.deepEqual([cache.has('a'), cache.has('b'), cache.values().toSorted()], [true, false, [0, 0, 1]])

  for (let n = 0; n < 10; n += 1) {
    cache.keep('e', n)
    cache.drop('e')
  }
  for (const key of ['x', 'y', 'z']) cache.keep(key, 7)
  assert.deepEqual(cache.values(), [7, 7, 7])
})
