import assert from 'node:assert/strict'
import { test } from 'node:test'
import { idsFrom } from '@loci/contract/ids.ts'
import type { Timeline, TimelineItem } from '@loci/sdk/daemon.ts'
import { mindOf } from './timeline.ts'

const START = Date.UTC(2031, 2, 12, 8)
const at = (minute: number) => new Date(START + minute * 60_000).toISOString()
const ms = (minute: number) => START + minute * 60_000

function itemOf(key: string, item: Partial<TimelineItem>): TimelineItem {
  return { ...{ key, recordId: null, pinned: false, from: null, to: null, activation: null, scores: [] }, ...item }
}

const NO_COUNTS = {
  admitted: 0,
  kept: 0,
  merged: 0,
  reinforced: 0,
  stored: 0,
  evicted: 0,
  consolidated: 0,
  forgotten: 0,
  rejected: 0,
}

function cycleOf(seq: number, minute: number, counts = {}): Timeline['cycles'][number] {
  return {
    ...{ seq, id: `cyc_${seq}`, at: at(minute), trigger: 'api', focus: null, bar: null },
    counts: { ...NO_COUNTS, ...counts },
  } as Timeline['cycles'][number]
}

function pageOf(page: Partial<Timeline>): Timeline {
  return {
    ...{ capacity: 3, cycles: [], items: [], complete: true, damaged: [], prunedBefore: null, nextCursor: null },
    ...page,
  } as Timeline
}

const came = (minute: number, cycle: number | null = null, by: 'put' | 'observed' | 'recalled' = 'observed') => ({
  at: at(minute),
  by,
  cycle,
})
const left = (minute: number, cycle: number | null) => ({
  at: at(minute),
  reasonCode: 'below_threshold',
  displacedBy: null,
  cycle,
})

// Mutants: toldOnce() without goesOn(); both() that takes the older end; scores of the newer page alone.
test('a stay that is on several pages is one, with its scores of all of them', () => {
  const newer = pageOf({
    cycles: [cycleOf(3, 30)],
    items: [
      itemOf('a', { from: came(10, 1), to: left(30, 3), text: 'one' }),
      itemOf('gone', { to: left(30, 3), redacted: true }),
      itemOf('here', { from: came(10, 1), scores: [[3, 2.5]], text: 'still' }),
    ],
  })
  const older = pageOf({
    cycles: [cycleOf(2, 20), cycleOf(1, 10)],
    items: [
      itemOf('a', {
        from: came(10, 1),
        scores: [
          [1, 4],
          [2, 3],
        ],
      }),
      itemOf('gone', {
        from: came(10, 1),
        scores: [
          [1, 1],
          [2, 1],
        ],
      }),
      itemOf('here', {
        from: came(10, 1),
        scores: [
          [1, 1],
          [2, 2],
        ],
      }),
    ],
  })
  const { stays, cycles } = mindOf([
    { timeline: newer, until: null },
    { timeline: older, until: ms(30) },
  ])
  assert.deepEqual(
    cycles.map(({ seq }) => seq),
    [1, 2, 3],
  )
  assert.deepEqual(
    stays.map(({ key, from, to, light, text, isRedacted }) => ({
      key,
      from,
      to,
      light: light.map(({ score }) => score),
      text,
      isRedacted,
    })),
    [
      { key: 'a', from: ms(10), to: ms(30), light: [4, 3], text: 'one', isRedacted: false },
      { key: 'gone', from: ms(10), to: ms(30), light: [1, 1], text: undefined, isRedacted: true },
      { key: 'here', from: ms(10), to: null, light: [1, 2, 2.5], text: 'still', isRedacted: false },
    ],
  )
})

// Mutants: isSame() by key alone; goesOn() without the question when it came.
test('two stays under one key are two, and one whose end nobody knows ends where its page does', () => {
  const newer = pageOf({ items: [itemOf('a', { from: came(40, 4), text: 'second' })] })
  const older = pageOf({
    cycles: [cycleOf(1, 10)],
    items: [itemOf('a', { from: came(10, 1), scores: [[1, 4]], text: 'first' })],
  })
  const { stays } = mindOf([
    { timeline: newer, until: null },
    { timeline: older, until: ms(30) },
  ])
  assert.deepEqual(
    stays.map(({ text, from, to, left: end }) => ({ text, from, to, end })),
    [
      { text: 'first', from: ms(10), to: ms(30), end: null },
      { text: 'second', from: ms(40), to: null, end: null },
    ],
  )
})

test('what was put has the light of its last write until a cycle judges it', () => {
  const timeline = pageOf({
    cycles: [cycleOf(2, 20)],
    items: [itemOf('rule', { from: came(15, null, 'put'), activation: 0.7, scores: [[2, 0.4]] })],
  })
  const [stay] = mindOf([{ timeline, until: null }]).stays
  assert.deepEqual(stay?.light, [
    { at: ms(15), score: 0.7, seq: null },
    { at: ms(20), score: 0.4, seq: 2 },
  ])
})

// Mutants: heardBy() that counts what was recalled; without what was only stored.
test('a cycle heard what is new with a place or without one, and what was said again; what it recalled it did not hear', () => {
  const fresh = `${idsFrom('mem', ms(10))}0000000000000000`
  const old = `${idsFrom('mem', ms(1))}0000000000000000`
  const timeline = pageOf({
    cycles: [cycleOf(1, 10, { admitted: 3, stored: 2, reinforced: 1 })],
    items: [
      itemOf('a', { from: came(10, 1), recordId: fresh }),
      itemOf('b', { from: came(10, 1), recordId: old }),
      itemOf('c', { from: came(10, 1, 'recalled'), recordId: old }),
    ],
  })
  assert.deepEqual([...mindOf([{ timeline, until: null }]).heard], [[1, 4]])
})
