import assert from 'node:assert/strict'
import { test } from 'node:test'
import { alarmOf, partOf } from './words.ts'

const NOW = Date.parse('2026-11-18T12:00:00Z')
const ago = (seconds: number) => new Date(NOW - seconds * 1_000).toISOString()

// Mutant: silence hides the alarm.
test('a cell that is silent, was never heard, or did something suspicious says so; the last comes first', () => {
  assert.equal(alarmOf({ heard_at: ago(2), alarm: null }, NOW), undefined)
  assert.match(alarmOf({ heard_at: ago(960), alarm: null }, NOW)?.word ?? '', /^silent/)
  assert.equal(alarmOf({ heard_at: null, alarm: null }, NOW)?.word, 'never heard')
  const stolen = { kind: 'two_addresses', at: ago(3), detail: '10.0.0.1 and 10.0.0.2.' } as const
  assert.equal(alarmOf({ heard_at: ago(960), alarm: stolen }, NOW)?.word, 'two addresses act as this cell in turns')
  assert.equal(alarmOf({ heard_at: ago(1), alarm: { ...stolen, kind: 'of_later' } }, NOW)?.word, 'of later')
})

test('a cell is nearly full from three quarters on', () => {
  assert.deepEqual(partOf({ placed: 788, capacity: 1_000 }), { part: 0.788, isNearlyFull: true })
  assert.deepEqual(partOf({ placed: 0, capacity: 0 }), { part: 1, isNearlyFull: true })
  assert.equal(partOf({ placed: 40, capacity: 1_000 }).isNearlyFull, false)
})
