import assert from 'node:assert/strict'
import { test } from 'node:test'
import { randomFrom } from './beta.ts'
import { Counts, Postings } from './counts.ts'

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
    assert.deepEqual([...counts.keys()].sort(), [...expected.keys()].sort())
    assert.equal(counts.size, expected.size)
    for (let key = 0; key < 100; key++) assert.equal(counts.has(key), expected.has(key))
  }
})

// Mutants: placeOf() that answers the end (a tool stands twice); a short list that is not put back.
test('a list has each tool once, in order, and what is taken away leaves none', () => {
  const random = randomFrom(4)
  const below = (max: number) => Math.floor(random() * max)
  const postings = new Postings()
  const expected = new Map<string, number>()
  for (let n = 0; n < OPERATIONS; n++) {
    const [key, tool] = [below(5) + 4_294_967_290, below(40)]
    const known = expected.get(`${key} ${tool}`) ?? 0
    const by = random() < 0.5 ? -known : (1 + below(4)) / 2
    postings.add(key, tool, by)
    if (known + by === 0) expected.delete(`${key} ${tool}`)
    else expected.set(`${key} ${tool}`, known + by)
  }
  assert.equal(postings.entries, expected.size)
  for (let key = 4_294_967_290; key < 4_294_967_295; key++) {
    const of = (tool: number) => expected.get(`${key} ${tool}`)
    const list = Array.from({ length: 40 }, (_, tool) => (of(tool) ? [tool, 2 * (of(tool) ?? 0)] : [])).flat()
    assert.deepEqual(postings.get(key), list)
  }
})
