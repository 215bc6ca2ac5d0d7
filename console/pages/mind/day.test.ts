import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dayAround, dayOf } from './day.ts'
import { DAY_MS, RANGE_MS, RANGES } from './scale.ts'

const NOW = Date.parse('2026-11-19T05:40:00Z')
const HOUR_MS = 3_600_000

test('a moment that the window has not followed yet does not choose a day for ever', () => {
  // Mutant: without the comparison of the next day with this one.
  // Found in a browser: somebody scrubs beyond the edge of a day at 24 h, then chooses 6 h; the window still ends at
  // the old place of the moment, a day earlier than any day around the moment begins.
  const at = NOW - 3 * DAY_MS
  const window = { from: at - DAY_MS - 6 * HOUR_MS, to: at - DAY_MS }
  const first = dayAround(dayOf(null, NOW), { at, window, now: NOW })
  assert.deepEqual(first, dayOf(at, NOW))
  assert.equal(dayAround(first, { at, window, now: NOW }), first)
})

test('wherever the moment and the window are, the day that is chosen is chosen again', () => {
  for (const before of [0, 1, 11, 12, 13, 23, 24, 25, 36, 80])
    for (const range of RANGES)
      for (const off of [-40, -24, -12, -1, 0, 1, 12, 24, 40]) {
        const at = before === 0 ? null : NOW - before * HOUR_MS
        const to = Math.min(NOW, (at ?? NOW) + off * HOUR_MS)
        const looked = { at, window: { from: to - RANGE_MS[range], to }, now: NOW }
        for (const day of [dayOf(null, NOW), dayOf(NOW - 2 * DAY_MS, NOW)]) {
          const next = dayAround(day, looked)
          assert.equal(dayAround(next, looked), next, `${before} h ago, ${range}, window ${off} h off`)
        }
      }
})

test('a day is kept while the moment and the window are in it, and left with either', () => {
  const today = dayOf(null, NOW)
  const near = (at: number | null, to: number) => ({ at, window: { from: to - HOUR_MS, to }, now: NOW + 1_000 })
  assert.equal(dayAround(today, near(null, NOW)), today)
  assert.equal(dayAround(today, near(NOW - 2 * HOUR_MS, NOW - HOUR_MS)), today)
  const old = NOW - 2 * DAY_MS
  const other = dayAround(today, near(old, old))
  assert.deepEqual(other, { from: old - DAY_MS / 2, to: old + DAY_MS / 2, isOpen: false })
  assert.equal(dayAround(other, near(old + HOUR_MS, old + HOUR_MS)), other)
  assert.equal(dayAround(other, near(null, NOW)).isOpen, true)
})
