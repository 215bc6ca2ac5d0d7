import assert from 'node:assert/strict'
import { test } from 'node:test'
import { barsOf, fullAt } from './series.ts'

const NOW = Date.parse('2026-11-18T12:30:00Z')
const used = (at: string, requests: number, writes: number) => ({ at, requests, writes })
const last = <Item>(items: readonly Item[]) => items.at(-1)

// Mutant: writes are not taken off the requests.
test('requests are shown as reads and writes, by hour, day or month, the last of which is not over', () => {
  const hours = barsOf([used('2026-11-18T12:00:00Z', 10, 4), used('2026-11-17T09:00:00Z', 99, 0)], '24h', NOW)
  assert.deepEqual([hours.times.length, last(hours.reads), last(hours.writes)], [24, 6, 4])
  assert.equal(
    hours.reads.reduce((sum, one) => sum + one, 0),
    6,
  )
  const days = barsOf([used('2026-11-18T00:00:00Z', 3, 1), used('2026-11-17T00:00:00Z', 5, 5)], '30d', NOW)
  assert.deepEqual([days.times.length, days.reads.slice(-2), days.writes.slice(-2)], [30, [0, 2], [5, 1]])
  const months = barsOf([used('2026-11-18T00:00:00Z', 3, 1), used('2026-11-01T00:00:00Z', 5, 0)], '12m', NOW)
  assert.equal(new Date(months.times[0] ?? 0).toISOString(), '2025-12-01T00:00:00.000Z')
  assert.deepEqual([last(months.reads), last(months.writes)], [7, 1])
})

// Mutants: the pace of the last day alone; a count that falls has a date.
test('a count that grows is full when the line through its days says so; one that does not grow has no date', () => {
  const day = (n: number, value: number) => ({ at: new Date(NOW - n * 86_400_000).toISOString(), value })
  const grows = [day(3, 40), day(2, 50), day(1, 60), day(0, 70)]
  assert.equal(Math.round(((fullAt(grows, 100, NOW) ?? 0) - NOW) / 86_400_000), 3)
  assert.equal(fullAt([day(2, 70), day(1, 60), day(0, 50)], 100, NOW), undefined)
  assert.equal(fullAt([day(1, 10), day(0, 20)], 100, NOW), undefined)
  assert.equal(fullAt([day(2, 1), day(1, 2), day(0, 3)], 1_000_000, NOW), undefined)
  assert.equal(fullAt([day(2, 90), day(1, 95), day(0, 100)], 100, NOW), NOW)
})
