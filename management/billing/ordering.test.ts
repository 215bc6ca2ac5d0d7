import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readMarks, readPeriod } from './ordering.ts'

const RECEIVED = new Date('2026-03-10T01:00:00Z')
/** So late that no time is ahead of it. */
const FAR = new Date('9999-12-31T23:59:59Z')

test('a sequence is 1 to 15 digits and nothing else; malformed counts as absent', () => {
  for (const [sequence, expected] of [
    ['0', 0],
    ['007', 7],
    ['9'.repeat(15), 999_999_999_999_999],
  ] as const)
    assert.equal(readMarks({ sequence }, RECEIVED).sequence, expected)
  for (const sequence of ['', '1.5', '-9', '+9', ' 9', '9\n', '1e3', '0x9', 'x', '٣', '9'.repeat(16)])
    assert.equal(readMarks({ sequence }, RECEIVED).sequence, null, JSON.stringify(sequence))
})

test('occurred_at is RFC 3339 with Z or an offset; malformed counts as absent', () => {
  for (const [text, expected] of [
    ['2026-03-01T00:00:00Z', '2026-03-01T00:00:00.000Z'],
    ['2026-03-01t00:00:00z', '2026-03-01T00:00:00.000Z'],
    ['2026-03-01T00:00:00.123456789Z', '2026-03-01T00:00:00.123Z'],
    ['2026-03-01T02:30:00+02:30', '2026-03-01T00:00:00.000Z'],
    ['2024-02-29T23:59:59.5-00:00', '2024-02-29T23:59:59.500Z'],
  ] as const)
    assert.equal(readMarks({ occurred_at: text }, RECEIVED).occurredAt?.toISOString(), expected)
  for (const text of [
    ...[
      '',
      'yesterday',
      '2026-03-01',
      '2026-03-01T00:00Z',
      '2026-03-01T00:00:00',
      '2026-03-01 00:00:00Z',
      '1772323200',
    ],
    ...['2026-02-29T00:00:00Z', '2026-13-01T00:00:00Z', '2026-00-01T00:00:00Z', '2026-03-01T24:00:00Z', '٢026-03-01'],
    ...['2026-03-01T00:60:00Z', '2026-03-01T00:00:00.Z', '2026-03-01T00:00:00+2:00', '2026-03-01T00:00:00+0200'],
    ...[
      '2026-03-01T00:00:00+24:00',
      '+002026-03-01T00:00:00Z',
      '9999-12-31T23:59:59-01:00',
      '0000-01-01T00:00:00+01:00',
    ],
    ...['2026-03-01T00:00:00Z\n', ' 2026-03-01T00:00:00Z'],
  ])
    assert.equal(readMarks({ occurred_at: text }, FAR).occurredAt, null, JSON.stringify(text))
})

test('a time more than 10 minutes ahead of its receipt counts as absent, and leaves the sequence', () => {
  const marks = (aheadMs: number) => {
    const occurred_at = new Date(RECEIVED.getTime() + aheadMs).toISOString()
    return readMarks({ sequence: '7', occurred_at }, RECEIVED)
  }
  assert.deepEqual(marks(600_000), { sequence: 7, occurredAt: new Date(RECEIVED.getTime() + 600_000) })
  assert.deepEqual(marks(600_001), { sequence: 7, occurredAt: null })
})

test('no metadata, no marks; one malformed mark leaves the other', () => {
  assert.deepEqual(readMarks(undefined, RECEIVED), { sequence: null, occurredAt: null })
  assert.deepEqual(readMarks({ any: 'text' }, RECEIVED), { sequence: null, occurredAt: null })
  assert.deepEqual(readMarks({ sequence: 'x', occurred_at: '2026-02-01T00:00:00Z' }, RECEIVED), {
    sequence: null,
    occurredAt: new Date('2026-02-01T00:00:00Z'),
  })
})

test('a period is an RFC 3339 time, a day that the calendar has, or epoch seconds', () => {
  for (const [text, expected] of [
    ['2036-12-31T10:00:00+02:00', '2036-12-31T08:00:00.000Z'],
    ['2036-12-31', '2036-12-31T00:00:00.000Z'],
    ['2028-02-29', '2028-02-29T00:00:00.000Z'],
    ['2114380800', '2037-01-01T00:00:00.000Z'],
    ['0', '1970-01-01T00:00:00.000Z'],
    ['253402300799', '9999-12-31T23:59:59.000Z'],
  ] as const)
    assert.equal(readPeriod(text)?.toISOString(), expected)
  for (const text of [
    ...['', 'soon', '2036-13-45', '2026-02-29', '31/12/2036', '2036-12', '2036-12-31T10:00:00', ' 2036-12-31'],
    // Milliseconds, fractions, signs, and what is beyond the year 9999.
    ...['2114380800000', '2114380800.5', '-1', '+1', '1e9', '253402300800', '999999999999', '2036-12-31Z', '٣'],
  ])
    assert.equal(readPeriod(text), null, JSON.stringify(text))
  assert.equal(readPeriod(null), null)
})
