import assert from 'node:assert/strict'
import { test } from 'node:test'
import { partsOf, placeOf, ticksOf, windowFor } from './scale.ts'

const HOUR = 3_600_000
const NOON = Date.UTC(2031, 2, 12, 12)

// Mutants: a part that begins one millisecond later; parts of the hour in which the page was opened instead of the
// clock.
test('the parts of a day are without gaps, newest first, and the same for another visit', () => {
  const now = NOON + 0.4 * HOUR
  const parts = partsOf({ from: now - 24 * HOUR, to: now }, [now - 300_000])
  for (const [at, part] of parts.entries()) assert.equal(part.to, parts[at - 1]?.from ?? null)
  assert.ok((parts.at(-1)?.from ?? now) <= now - 24 * HOUR)
  assert.deepEqual(
    parts.slice(1).map(({ from }) => (from - NOON) / HOUR),
    [0, -1, -6, -12, -18, -24],
  )
  const later = partsOf({ from: now - 23 * HOUR, to: now + HOUR }, [now + HOUR - 300_000])
  const kept = new Set(parts.map(({ from, to }) => `${from} ${to}`))
  assert.equal(later.filter(({ from, to }) => kept.has(`${from} ${to}`)).length, 3)
})

test('a day that is over ends, and what goes on is cut where it was closed', () => {
  const past = partsOf({ from: NOON - 12 * HOUR, to: NOON - HOUR }, [])
  assert.deepEqual(
    past.map(({ from, to }) => [(from - NOON) / HOUR, ((to ?? 0) - NOON) / HOUR]),
    [
      [-6, 0],
      [-12, -6],
    ],
  )
  const closed = partsOf({ from: NOON - HOUR, to: NOON + HOUR }, [NOON + 100, NOON + 200])
  assert.deepEqual(closed.slice(0, 2), [
    { from: NOON + 200, to: null },
    { from: NOON + 100, to: NOON + 200 },
  ])
})

test('ticks are round in the zone, and far enough from each other to be read', () => {
  const window = { from: NOON + 60_000, to: NOON + HOUR + 60_000 }
  const place = placeOf(window, 792)
  const ticks = ticksOf(window, 792, 0)
  assert.deepEqual(
    ticks.slice(0, 2).map((at) => (at - NOON) / 60_000),
    [5, 10],
  )
  assert.ok(place(ticks[1] as number) - place(ticks[0] as number) >= 64)
  const half = ticksOf({ from: NOON, to: NOON + 24 * HOUR }, 400, 5.5 * HOUR)
  assert.deepEqual(
    half.map((at) => ((at + 5.5 * HOUR) / HOUR) % 24),
    [18, 0, 6, 12],
  )
})

// Mutant: the window of a moment of the last hour ends at that moment.
test('a moment of the last window is shown in it, and another one in the middle of its own', () => {
  assert.equal(windowFor(null, HOUR, NOON), null)
  assert.equal(windowFor(NOON - HOUR / 2, HOUR, NOON), null)
  assert.equal(windowFor(NOON - 5 * HOUR, HOUR, NOON), NOON - 4.5 * HOUR)
})
