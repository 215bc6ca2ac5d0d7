import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lastWhole, seriesOf } from './usage.ts'

const report = (at: string, requests: number) => ({ at, requests, writes: 1, records: 7, bytes: 9, units: 0 })

// Mutant: the steps without a report left out.
test('an hour has sixty minutes: one without a report had no request, and the one that runs is not the last whole one', () => {
  const to = '2026-11-18T12:00:30.000Z'
  const usage = [report('2026-11-18T11:58:00.000Z', 12), report('2026-11-18T12:00:00.000Z', 3)]
  const series = seriesOf({ usage, to }, '1h')
  assert.equal(series.requests.length, 60)
  assert.deepEqual(series.requests.slice(-3), [12, 0, 3])
  assert.equal(lastWhole(series.requests), 0)
  assert.deepEqual([series.records, series.bytes, series.isReported], [7, 9, true])
  assert.equal(new Date(series.times[0] as number).toISOString(), '2026-11-18T11:01:00.000Z')
})

test('where nothing was reported nothing is known', () => {
  const series = seriesOf({ usage: [], to: '2026-11-18T12:00:30.000Z' }, '24h')
  assert.deepEqual([series.isReported, series.records, series.requests.length], [false, undefined, 24])
})
