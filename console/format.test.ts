import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ago, bytes, clock, count, counted, percent, score, shortId, span, took } from './format.ts'

// Mutant: isKnown() lets null through.
test('what is not known is a dash and never 0', () => {
  for (const write of [count, score, bytes, took, percent, span])
    for (const unknown of [null, undefined, Number.NaN]) assert.equal(write(unknown), '–')
  assert.equal(ago(null, 0), '–')
  assert.equal(clock('no time'), '–')
  assert.deepEqual([count(0), score(0), bytes(0)], ['0', '0.00', '0 B'])
})

test('numbers have thousands commas, a true minus and as many decimals as decide something', () => {
  assert.equal(count(18_204), '18,204')
  assert.equal(counted(1, 'memory', 'memories'), '1 memory')
  assert.equal(counted(2, 'memory', 'memories'), '2 memories')
  assert.deepEqual([score(8.917), score(-0.4), score(1.5, { signed: true })], ['8.92', '\u22120.40', '+1.50'])
  assert.equal(score(8.9171234, { full: true }), '8.917123')
  assert.deepEqual([bytes(43_201_331), bytes(10 * 1024 ** 3), bytes(512)], ['41.2 MiB', '10 GiB', '512 B'])
  assert.deepEqual([took(2.84), took(284), took(1_400)], ['2.8 ms', '284 ms', '1.4 s'])
  assert.deepEqual([percent(0.018), percent(0.92)], ['1.8 %', '92 %'])
})

// Mutant: RELATIVE_MS_MAX of 8 days.
test('a moment is told from now for seven days, then by its date, and by the clock in the chosen zone', () => {
  const now = Date.parse('2026-11-18T12:00:00Z')
  const before = (ms: number) => ago(new Date(now - ms), now, 'utc')
  assert.deepEqual([before(500), before(4_000), before(130_000)], ['now', '4 s ago', '2 m ago'])
  assert.equal(before(7 * 86_400_000), '7 d ago')
  assert.equal(before(7.5 * 86_400_000), '11 Nov 2026')
  assert.equal(ago(new Date(now + 180_000), now), 'in 3 m')
  assert.equal(clock('2026-11-17T11:46:36Z', 'utc'), '11:46:36')
  assert.equal(clock('2026-11-17T11:46:36Z', 'utc', { seconds: false }), '11:46')
  assert.deepEqual([span(6 * 86_400_000 + 4 * 3_600_000), span(24 * 60_000)], ['6 d 4 h', '24 m'])
})

test('an id without room keeps its kind and both ends', () => {
  assert.equal(shortId('op_01m7r9tj1ef3pahp93x0pxxz3b'), 'op_01m7…xz3b')
  assert.equal(shortId('org_short'), 'org_short')
})
