// How long a memory was true. Mutants: `validTo` looked at before `expiresAt`; the share of a memory that will expire
// counted to now; `erased >= found` as `erased > 0`.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Record as Memory, RecordDeleted } from '@loci/sdk/daemon.ts'
import { isWhole, lifeOf, stateOf, validityOf } from './parts.ts'

const HOUR_MS = 3_600_000
const at = (hours: number) => new Date(Date.UTC(2026, 10, 18) + hours * HOUR_MS).toISOString()
const now = Date.parse(at(10))

function memory(fields: Partial<Memory>): Memory {
  const none = { occurredAt: null, validTo: null, archivedAt: null, expiresAt: null }
  return { ...none, createdAt: at(0), validFrom: at(0), ...fields } as Memory
}

test('a memory that nothing ended holds, and has been true until now', () => {
  assert.deepEqual(stateOf(memory({}), now), { state: 'holds', at: null })
  assert.deepEqual(validityOf(memory({}), now), { from: at(0), to: null, ms: 10 * HOUR_MS, share: 1 })
})

test('a memory that was superseded was true until then, of all the time until now', () => {
  const found = validityOf(memory({ validTo: at(8) }), now)

  assert.deepEqual(found, { from: at(0), to: at(8), ms: 8 * HOUR_MS, share: 0.8 })
})

test('of a memory that will expire the bar goes to its end', () => {
  const found = validityOf(memory({ expiresAt: at(40) }), now)

  assert.deepEqual(found, { from: at(0), to: at(40), ms: 10 * HOUR_MS, share: 0.25 })
})

test('what expired is told as that, whatever else ended it too', () => {
  assert.equal(stateOf(memory({ expiresAt: at(9), validTo: at(5) }), now).state, 'expired')
  assert.equal(stateOf(memory({ validTo: at(5), archivedAt: at(9) }), now).state, 'superseded')
  assert.equal(stateOf(memory({ archivedAt: at(9) }), now).state, 'archived')
})

test('a life begins with what was said, also where it is told of the future', () => {
  const found = lifeOf(memory({ occurredAt: at(12), validTo: at(5), expiresAt: at(3) }), now)

  assert.deepEqual(
    found.map(({ what }) => what),
    ['said', 'stored', 'expired', 'superseded'],
  )
  assert.equal(lifeOf(memory({ expiresAt: at(30) }), now).at(-1)?.what, 'expires')
})

test('an erasure that left something behind is not whole', () => {
  const receipt = (checked: RecordDeleted['checked']) => ({ checked }) as RecordDeleted

  assert.equal(
    isWhole(
      receipt([
        { place: 'records', found: 2, erased: 2 },
        { place: 'slots', found: 0, erased: 0 },
      ]),
    ),
    true,
  )
  assert.equal(isWhole(receipt([{ place: 'records', found: 2, erased: 1 }])), false)
})
