import assert from 'node:assert/strict'
import { test } from 'node:test'
import { barsIn, binsOf, burstIn, cyclesIn, frameOf, lightHeight, topOf } from './drawn.ts'
import type { CycleAt, Mind, Stay } from './timeline.ts'

const WINDOW = { from: 1_000, to: 2_000 }

function stayOf(
  id: string,
  from: number,
  to: number | null,
  scores: readonly (readonly [number, number])[] = [],
): Stay {
  return {
    ...{ id, key: id, recordId: null, pinned: false, from, to, came: null, text: id, isCut: false, isRedacted: false },
    left: to === null ? null : { at: '', reasonCode: 'expired', displacedBy: null, cycle: null },
    light: scores.map(([at, score], seq) => ({ at, score, seq })),
  }
}

const cycleOf = (seq: number, at: number, admitted = 0, evicted = 0) =>
  ({ seq, at, counts: { admitted, evicted } }) as CycleAt

// Mutant: a scale by the strongest that is shown.
test('light is 2 to 13 high, linear and full at 9, whatever else is held', () => {
  assert.deepEqual([-3, 0, 4.5, 9, 20].map(lightHeight), [2, 2, 7.5, 13, 13])
})

// Mutants: lightning between two cycles (a step that does not end at the next); bars that are not cut at the window.
test('a bar has a step of light from each cycle to the next, and ends at the window', () => {
  const stay = stayOf('a', 500, null, [
    [500, 9],
    [1_200, 4.5],
    [1_600, 0],
  ])
  const [bar] = barsIn([[stay]], WINDOW, 100, 1_800)
  assert.deepEqual([bar?.x, bar?.width, bar?.isEnded], [0, 80, false])
  assert.deepEqual(bar?.light, [
    { x: 0, width: 20, height: 13, lamp: 5 },
    { x: 20, width: 40, height: 7.5, lamp: 3 },
    { x: 60, width: 20, height: 2, lamp: 0 },
  ])
})

test('only what is held within the window is drawn, also in a place with thousands', () => {
  const row = Array.from({ length: 5_000 }, (_, at) => stayOf(`${at}`, at, at + 1))
  const bars = barsIn([row], WINDOW, 100, 2_000)
  assert.deepEqual([bars[0]?.stay.id, bars.at(-1)?.stay.id, bars.length], ['1000', '1999', 1_000])
})

// Mutant: cyclesIn() without CYCLE_APART.
test('cycles of one pixel are drawn as one, with the most that came and left', () => {
  const mind = {
    capacity: 12,
    heard: new Map([
      [1, 2],
      [2, 1],
    ]),
    cycles: [cycleOf(1, 1_100, 5, 0), cycleOf(2, 1_110, 1, 20), cycleOf(3, 1_500)],
  }
  assert.deepEqual(cyclesIn(mind as unknown as Mind, WINDOW, 100), [
    { x: 10, seqs: [1, 2], came: 1, left: 1, heard: 3 },
    { x: 50, seqs: [3], came: 0, left: 0, heard: 0 },
  ])
})

test('there are as many places as the capacity; those that nothing was in are narrow, and beyond 40 all are low', () => {
  const one = frameOf([[1], [1], [], []], 100)
  assert.deepEqual([one.used, one.places, topOf(one, 1) - topOf(one, 0), topOf(one, 3) - topOf(one, 2)], [2, 4, 39, 9])
  assert.equal(
    frameOf(
      Array.from({ length: 50 }, () => [1]),
      100,
    ).pitch,
    18,
  )
})

test('a step of the day is as high as cycles ran and as bright as what they held', () => {
  const bins = binsOf(
    {
      cycles: [cycleOf(1, 10), cycleOf(2, 12), cycleOf(3, 60)],
      stays: [
        stayOf('a', 10, null, [
          [10, 8],
          [12, 4],
          [60, 0],
        ]),
      ],
    },
    { from: 0, to: 100 },
    2,
  )
  assert.deepEqual(bins, [
    { count: 2, cycles: 1, lamp: 4 },
    { count: 1, cycles: 0.5, lamp: 0 },
  ])
})

test('cycles that all ran in a small part of the window are said to', () => {
  const ran = [1_001, 1_002, 1_003, 1_004, 1_005].map((at, seq) => cycleOf(seq, at))
  assert.deepEqual(burstIn(ran, WINDOW), { from: 1_001, to: 1_005, count: 5 })
  assert.equal(burstIn([...ran, cycleOf(6, 1_900)], WINDOW), null)
})
