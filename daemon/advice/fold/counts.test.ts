import assert from 'node:assert/strict'
import { test } from 'node:test'
import { atOnce } from '@loci/chassis/testing/at-once.ts'
import { randomFrom } from './beta.ts'
import { ByteReader, ByteWriter } from './bytes.ts'
import { Counts } from './counts.ts'
import { hashText } from './hash.ts'
import { Postings } from './postings.ts'

const OPERATIONS = 20_000
const byKey = ([x]: [number, unknown], [y]: [number, unknown]) => x - y

// Mutants: #free() that moves nothing up, or all; #grow() that leaves keys where they were; keys without `>>> 0`.
test('counts are those of a map, whatever is added and taken away, also under keys of 32 bits', () => {
  const random = randomFrom(3)
  const below = (max: number) => Math.floor(random() * max)
  for (const keys of [3, 40, 5_000]) {
    const counts = new Counts()
    const expected = new Map<number, number>()
    for (let n = 0; n < OPERATIONS; n++) {
      const key = Math.imul(below(keys), 0x9e3779b1) >>> 0
      const known = expected.get(key) ?? 0
      const by = random() < 0.5 ? -known : (1 + below(4)) / 2
      counts.add(key, by)
      if (known + by === 0) expected.delete(key)
      else expected.set(key, known + by)
      assert.equal(counts.get(key), known + by)
    }
    assert.ok(expected.size > 0)
    assert.deepEqual([...counts].sort(byKey), [...expected].sort(byKey))
    assert.equal(counts.size, expected.size)
    for (let key = 0; key < 100; key++) assert.equal(counts.has(key), expected.has(key))
  }
})

// Mutants: placeOf() that answers the end (a tool stands twice); #growNumbers() that leaves a list where it was, or
// forgets its room; #growSlots() that drops the last number of a slot; #insert() that shifts nothing.
test('a list has each tool once, in order, and what is taken away leaves none', () => {
  const random = randomFrom(4)
  const below = (max: number) => Math.floor(random() * max)
  const postings = new Postings()
  const expected = new Map<string, number>()
  for (let n = 0; n < OPERATIONS; n++) {
    // Some lists that are long and next to each other, at the end of all keys; and many short ones that make it grow.
    const [key, tool] =
      n % 2 === 0 ? [below(5) + 4_294_967_290, below(40)] : [Math.imul(below(900), 0x9e3779b1) >>> 0, below(3)]
    const known = expected.get(`${key} ${tool}`) ?? 0
    const by = random() < 0.5 ? -known : (1 + below(4)) / 2
    postings.add(key, tool, by)
    if (known + by === 0) expected.delete(`${key} ${tool}`)
    else expected.set(`${key} ${tool}`, known + by)
  }
  assert.equal(postings.entries, expected.size)
  const keys = new Set([...expected.keys()].map((each) => Number(each.split(' ')[0])))
  assert.equal(postings.keys, keys.size)
  assert.equal(postings.get(7), undefined)
  for (const key of keys) {
    const of = (tool: number) => expected.get(`${key} ${tool}`)
    const list = Array.from({ length: 40 }, (_, tool) => (of(tool) ? [tool, 2 * (of(tool) ?? 0)] : [])).flat()
    assert.deepEqual([...(postings.get(key) ?? [])], list)
  }
})

// Mutants: #place() that writes a tool twice, or counts no keys; #layOut() that begins all lists at 0; #arrive() that
// grows without what has arrived.
test('lists that arrive tool by tool are those that are added one by one, also when they change', () => {
  const random = randomFrom(5)
  const below = (max: number) => Math.floor(random() * max)
  const [arrived, added] = [new Postings(), new Postings()]
  const keys = new Set<number>()
  arrived.expect(2_000, 10)
  for (let tool = 0; tool < 60; tool++)
    for (let n = 0; n < 100; n++) {
      // Some twice: what a tool has learned, and its name has too.
      const key = Math.imul(below(1_500), 0x9e3779b1) | 0
      keys.add(key)
      for (const each of [arrived, added]) each.add(key, tool, (1 + (n % 4)) / 2)
    }
  atOnce(arrived.settle())
  const requireEqual = () => {
    assert.deepEqual([arrived.keys, arrived.entries], [added.keys, added.entries])
    for (const key of keys) assert.deepEqual(arrived.get(key), added.get(key))
  }
  requireEqual()
  for (let n = 0; n < OPERATIONS; n++) {
    const [key, tool] = [Math.imul(below(3_000), 0x9e3779b1) | 0, below(70)]
    keys.add(key)
    for (const each of [arrived, added]) each.add(key, tool, 0.5)
  }
  requireEqual()
})

// Mutants: #unpack() that stays packed; one that adds without unpacking; write() of what was read before a change.
test('counts of a snapshot are those that were written, before and after they are changed', () => {
  const counts = new Counts()
  for (let key = 0; key < 300; key++) counts.add(Math.imul(key, 0x9e3779b1) >>> 0, 1 + (key % 5) / 2)
  const written = bytesOf(counts)
  const read = new Counts()
  const told = new Map<number, number>()
  atOnce(read.read(new ByteReader(written), (key, halves) => told.set(key >>> 0, halves / 2)))
  assert.deepEqual([...told].sort(byKey), [...counts].sort(byKey))
  assert.equal(read.size, 300)
  assert.deepEqual(bytesOf(read), written)
  for (const each of [counts, read]) {
    each.add(0, -1)
    each.add(5, 2.5)
  }
  assert.deepEqual([...read].sort(byKey), [...counts].sort(byKey))
  assert.deepEqual(bytesOf(read), bytesOf(counts))
  assert.notDeepEqual(bytesOf(read), written)
})

function bytesOf(counts: Counts): Buffer {
  const writer = new ByteWriter()
  atOnce(counts.write(writer))
  return writer.done()
}

// Mutant: slots in the order of the keys, as they were: 20 times the work for 200,000 words.
test('keys that come in order, as from a snapshot, take no more work than others', () => {
  const keys = [...new Set(Array.from({ length: 200_000 }, (_, n) => hashText(`order${n}`)))]
  const workOf = (given: number[]) => {
    const postings = new Postings()
    const before = process.cpuUsage()
    for (const key of given) postings.add(key, 0, 1)
    const { user, system } = process.cpuUsage(before)
    return user + system
  }
  // Whoever comes first pays for the compiler.
  workOf(keys)
  const [mixed, sorted] = [workOf(keys), workOf(keys.toSorted((a, b) => a - b))]
  assert.ok(sorted < 8 * mixed, `${sorted} us in order, ${mixed} else`)
})

// Mutant: #growSlots() that takes lists along that have become empty (it does not end).
test('words that come and go take the room of those that are there', () => {
  const postings = new Postings()
  for (let n = 0; n < 100_000; n++) {
    const key = Math.imul(n, 0x9e3779b1) >>> 0
    postings.add(key, 1, 1)
    postings.add(key, 1, -1)
  }
  assert.ok(postings.bytes < 8_192, `${postings.bytes} bytes`)
})
