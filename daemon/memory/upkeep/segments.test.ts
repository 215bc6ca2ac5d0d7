import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ITEMS_MAX, mergeFrom } from './segments.ts'

/** The segments after so many tails of that size, how many there were at most, and how often a record was written. */
function grow(tail: number, times: number) {
  let segments: number[] = []
  let [most, written] = [0, 0]
  for (let n = 0; n < times; n += 1) {
    const from = mergeFrom([...segments, tail])
    const one = segments.slice(from).reduce((sum, items) => sum + items, tail)
    segments = [...segments.slice(0, from), one]
    most = Math.max(most, segments.length)
    written += one
  }
  return { segments, most, writes: written / (tail * times) }
}

// Mutants: mergeFrom() without WHOLE_ITEMS, ITEMS_MAX or the eighth; TIER of 2 or of 32.
test('a database that grows by full tails is one segment up to 1,024 records', () => {
  for (let times = 1; times <= 4; times += 1) assert.deepEqual(grow(256, times).segments, [256 * times])
})

test('a small database that grows by few at a time is one segment and what came lately, written a few times', () => {
  const { segments, most, writes } = grow(16, 64)
  assert.equal(segments[0], 1_024 - segments.slice(1).reduce((sum, items) => sum + items, 0))
  assert.ok(most <= 2, `${most} segments`)
  assert.ok(writes < 10, `each record is written ${writes} times`)
})

test('a large database has full segments and at most sixteen others, and few records are written often', () => {
  const { segments, most, writes } = grow(256, 400)
  assert.ok(segments.every((items) => items <= ITEMS_MAX))
  assert.ok(most - (400 * 256) / ITEMS_MAX <= 16, `${most} segments`)
  assert.ok(writes < 3, `each record is written ${writes} times`)
  const slow = grow(16, 3_000)
  assert.ok(slow.most - (3_000 * 16) / ITEMS_MAX <= 16, `${slow.most} segments`)
  assert.ok(slow.writes < 10, `each record is written ${slow.writes} times`)
})
