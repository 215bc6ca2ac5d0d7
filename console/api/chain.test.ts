import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chainOf } from './chain.ts'

const CHAIN = [
  { seq: 3, hash: 'c', prev_hash: 'b' },
  { seq: 2, hash: 'b', prev_hash: 'a' },
  { seq: 1, hash: 'a', prev_hash: null },
]

// Mutants: numbers alone; hashes alone.
test('a chain is whole when each entry names the hash of the one before; one that is missing or changed is found', () => {
  assert.deepEqual(chainOf(CHAIN), { brokenAt: undefined, isToBegin: true })
  assert.deepEqual(chainOf(CHAIN.slice(0, 2)), { brokenAt: undefined, isToBegin: false })
  assert.equal(chainOf([CHAIN[0], CHAIN[2]] as typeof CHAIN).brokenAt, 3)
  assert.equal(
    chainOf([
      { seq: 4, hash: 'd', prev_hash: 'c' },
      { seq: 2, hash: 'c', prev_hash: 'a' },
    ]).brokenAt,
    4,
  )
  assert.equal(chainOf([{ seq: 3, hash: 'c', prev_hash: 'other' }, ...CHAIN.slice(1)]).brokenAt, 3)
  assert.equal(chainOf([]).brokenAt, undefined)
})
