import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changesOf, cycleAt, fociOf, focusAt, heldAt, isHeld, scoreAt, stepFrom } from './moment.ts'
import type { CycleAt, Stay } from './timeline.ts'

function stayOf(
  key: string,
  from: number,
  to: number | null,
  scores: readonly (readonly [number, number])[] = [],
): Stay {
  return {
    ...{
      id: key,
      key,
      recordId: null,
      pinned: false,
      from,
      to,
      came: null,
      text: key,
      isCut: false,
      isRedacted: false,
    },
    left:
      to === null ? null : { at: new Date(to).toISOString(), reasonCode: 'expired', displacedBy: null, cycle: null },
    light: scores.map(([at, score], seq) => ({ at, score, seq })),
  }
}

// Mutants: `<` for when it came (a cycle would not hold what it brought); `<=` for when it left.
test('at the moment of a cycle what it brought is held and what it let go is not', () => {
  assert.deepEqual(
    [9, 10, 19, 20].map((at) => isHeld({ from: 10, to: 20 }, at)),
    [false, true, true, false],
  )
  const rows = [
    [
      stayOf('a', 0, 10, [[0, 9]]),
      stayOf('b', 10, null, [
        [10, 1],
        [30, 7],
      ]),
    ],
    [stayOf('c', 5, null, [[5, 3]])],
  ]
  assert.deepEqual(
    heldAt(rows, 10).map(({ key }) => key),
    ['c', 'b'],
  )
  assert.deepEqual(
    heldAt(rows, 30).map(({ key }) => key),
    ['b', 'c'],
  )
})

// Mutant: a score between two that were stored.
test('between two cycles it is held as strongly as the first of them has stored', () => {
  const stay = stayOf('a', 10, null, [
    [10, 4],
    [20, 8],
  ])
  assert.deepEqual(
    [10, 19.9, 20, 99].map((at) => scoreAt(stay, at)),
    [4, 4, 8, 8],
  )
  assert.equal(scoreAt(stayOf('b', 10, null), 10), null)
})

test('a focus lasts until the next one or until it is too old', () => {
  const cycles = [
    { at: 0, focus: 'parcel' },
    { at: 5, focus: null },
    { at: 10, focus: 'refund' },
  ] as CycleAt[]
  const foci = fociOf(cycles, 30)
  assert.deepEqual(
    [0, 9, 10, 39, 40].map((at) => focusAt(foci, at)?.text),
    ['parcel', 'parcel', 'refund', 'refund', undefined],
  )
})

test('a step goes to the next cycle, or to the next moment at which something came or left', () => {
  const cycles = [{ at: 10 }, { at: 20 }] as CycleAt[]
  const changes = changesOf({ cycles, stays: [stayOf('a', 10, 15), stayOf('b', 12, null)] })
  assert.deepEqual(changes, [10, 12, 15, 20])
  assert.equal(cycleAt({ cycles }, 19)?.at, 10)
  assert.deepEqual([stepFrom(changes, 12, 1), stepFrom(changes, 12, -1), stepFrom(changes, 20, 1)], [15, 10, undefined])
})
