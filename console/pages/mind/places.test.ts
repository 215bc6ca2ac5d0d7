import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mostAtOnce, NO_PLACES, type Places, placed } from './places.ts'

interface Held {
  id: string
  pinned: boolean
  from: number
  to: number | null
}

/** Numbers in [0, 1), the same in every run (mulberry32). */
function chance(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), state | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

/** A mind of so many places as cycles fill it: at each moment some leave and others come. */
function lived(seed: number, capacity: number, moments: number): Held[] {
  const draw = chance(seed)
  const stays: Held[] = []
  let held: Held[] = []
  for (let at = 0; at < moments; at += 1) {
    for (const stay of held) if (draw() < 0.3) stay.to = at
    held = held.filter(({ to }) => to === null)
    while (held.length < capacity && draw() < 0.7) {
      const stay = { id: `${stays.length}`, pinned: draw() < 0.05, from: at, to: null }
      stays.push(stay)
      held.push(stay)
    }
  }
  return stays
}

const endOf = ({ to }: Held) => to ?? Number.POSITIVE_INFINITY
const meet = (one: Held, other: Held) => one.from < endOf(other) && other.from < endOf(one)

function overlapsIn(stays: readonly Held[], places: Places): string[] {
  return stays.flatMap((one, at) =>
    stays
      .slice(at + 1)
      .flatMap((other) =>
        places.byId.get(one.id) === places.byId.get(other.id) && meet(one, other) ? [`${one.id} ${other.id}`] : [],
      ),
  )
}

const within = (stays: readonly Held[], from: number, to: number) =>
  stays.filter((stay) => stay.from < to && endOf(stay) > from)

// Mutants: `<` instead of `<=` in isFree (more places than are held); findLastIndex instead of findIndex in place();
// the second round of placed() left out (pinned first, whatever it costs).
test('no two stand in one place at once, and there are never more places than are held at once', () => {
  for (let seed = 1; seed <= 60; seed += 1) {
    const capacity = 2 + (seed % 11)
    const stays = lived(seed, capacity, 60)
    const places = placed(stays, NO_PLACES, capacity, 0)
    assert.equal(places.byId.size, stays.length)
    assert.deepEqual(overlapsIn(stays, places), [], `seed ${seed}`)
    assert.ok(Math.max(...places.byId.values()) < capacity, `seed ${seed}`)
  }
})

test('each takes the topmost place that is free, and what is pinned comes first where that leaves a place for all', () => {
  const stays = [
    { id: 'a', pinned: false, from: 0, to: 4 },
    { id: 'b', pinned: false, from: 0, to: 2 },
    { id: 'rule', pinned: true, from: 1, to: null },
    { id: 'c', pinned: false, from: 2, to: null },
    { id: 'd', pinned: false, from: 4, to: null },
  ]
  assert.deepEqual(Object.fromEntries(placed(stays, NO_PLACES, 4, 0).byId), { rule: 0, a: 1, b: 2, c: 2, d: 1 })
})

// Mutants: placed() without `known`; older ones in the order in which they came.
test('what has a place keeps it when more is read on either side, and no place is added for that', () => {
  for (let seed = 1; seed <= 60; seed += 1) {
    const capacity = 2 + (seed % 11)
    const stays = lived(seed, capacity, 90)
    let places: Places = NO_PLACES
    // As it is read: the window first, then what is next to it, and what happens meanwhile.
    for (const [from, to] of [
      [40, 60],
      [40, 75],
      [20, 75],
      [0, 75],
      [0, 90],
    ] as const) {
      const shown = within(stays, from, to).map((stay) => ({ ...stay, to: endOf(stay) >= to ? null : stay.to }))
      const before = places
      places = placed(shown, before, capacity, from)
      for (const [id, place] of before.byId) assert.equal(places.byId.get(id), place, `seed ${seed}, ${id}`)
      assert.deepEqual(overlapsIn(shown, places), [], `seed ${seed}, ${from} to ${to}`)
      assert.ok(Math.max(...places.byId.values()) < Math.max(capacity, mostAtOnce(shown)))
    }
  }
})

test('where more were held than there is room for now, there are as many places as were held', () => {
  const stays = ['a', 'b', 'c'].map((id) => ({ id, pinned: false, from: 0, to: 5 }))
  assert.equal(mostAtOnce([...stays, { id: 'd', pinned: false, from: 5, to: null }]), 3)
  assert.deepEqual([...placed(stays, NO_PLACES, 1, 0).byId.values()], [0, 1, 2])
})
