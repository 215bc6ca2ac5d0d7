import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Chance, randomItems } from '../testing/random-items.ts'
import { buildSegment, mergeSegments } from './build.ts'
import { DamagedSegmentError, openSegment } from './format.ts'

function body(): Uint8Array {
  return buildSegment(randomItems(new Chance(3), 90), 256)
}

// Mutant: openSegment() without the comparison of checksums.
test('a body with one flipped bit is refused, wherever the bit is', () => {
  const bytes = body()
  openSegment(bytes)
  const chance = new Chance(9)
  for (let n = 0; n < 2_000; n++) {
    const at = chance.below(bytes.length)
    const bit = 1 << chance.below(8)
    const damaged = bytes.slice()
    damaged[at]! ^= bit
    assert.throws(() => openSegment(damaged), DamagedSegmentError, `byte ${at}, bit ${bit}`)
  }
})

test('a body that is cut short or has bytes behind it is refused', () => {
  const bytes = body()
  for (const length of [0, 3, 4, 100, bytes.length - 4, bytes.length - 1]) {
    assert.throws(() => openSegment(bytes.slice(0, length)), DamagedSegmentError, `${length} bytes`)
  }
  assert.throws(() => openSegment(Buffer.concat([bytes, new Uint8Array(4)])), DamagedSegmentError)
})

test('a body at an odd address, as a database driver gives it, is read all the same', () => {
  const bytes = body()
  const odd = new Uint8Array(bytes.length + 1)
  odd.set(bytes, 1)
  assert.deepEqual([...openSegment(odd.subarray(1)).seq], [...openSegment(bytes).seq])
})

test('items that cannot be told apart, or do not fit, are not built', () => {
  const [item] = randomItems(new Chance(1), 1)
  assert.throws(() => buildSegment([item!, { ...item!, seq: 99 }], 256), /same position in context/)
  assert.throws(() => buildSegment([{ ...item!, seq: 2 ** 53 }], 256), RangeError)
  assert.throws(() => buildSegment([{ ...item!, context: 2 ** 32 }], 256), RangeError)
  assert.throws(() => buildSegment([{ ...item!, position: -1 }], 256), RangeError)
  assert.throws(() => buildSegment([{ ...item!, terms: new Map([['x'.repeat(121), 1]]) }], 256), RangeError)
})

// Mutants: halvesOf() that never has a higher half; `isHigh` asked of the first seq alone.
test('numbers beyond 2^32 are kept, also beside small ones and through a merge', () => {
  const items = randomItems(new Chance(5), 40)
  const far = items.map((item, n) => ({ ...item, seq: n % 2 === 0 ? item.seq : 2 ** 32 * 3 + item.seq }))
  const seqs = new Set(far.map(({ seq }) => seq))
  const bytes = buildSegment(far, 256)
  assert.deepEqual(new Set(openSegment(bytes).seq), seqs)
  const [one, other] = [far.slice(0, 20), far.slice(20)].map((part) => buildSegment(part, 256))
  assert.deepEqual(mergeSegments([one!, other!]), bytes)
  assert.equal(openSegment(bytes).seqMax, Math.max(...seqs))
  assert.equal(openSegment(buildSegment(items, 256)).seqHigh.length, 0)
})
