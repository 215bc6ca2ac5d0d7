// Who leaves next. Mutants: pinned ones are not left out; put ones are ordered among the others; `listed()` under lru
// by activation.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { firstToExpire, type Held, leavingOrder, listed } from './leaving.ts'

const slot = (key: string, held: Partial<Held> & { type?: string }): Held => ({
  ...{ key, version: 1, activation: 1, pinned: false, expiresAt: null },
  ...held,
  source: { type: held.type ?? 'cycle' },
})
const keys = (slots: Held[]) => slots.map(({ key }) => key)

const SLOTS = [
  slot('put', { activation: 0.1, version: 2, type: 'api' }),
  slot('strong', { activation: 8, version: 3 }),
  slot('pinned', { activation: 0, version: 1, pinned: true }),
  slot('weak', { activation: 2, version: 9 }),
]

test('what cycles brought leaves before what was put, the weakest first, and nothing that is pinned', () => {
  assert.deepEqual(keys(leavingOrder(SLOTS, 'activation')), ['weak', 'strong', 'put'])
})

test('by other policies the least recently written or the oldest leaves, and by reject nobody', () => {
  assert.deepEqual(keys(leavingOrder(SLOTS, 'lru')), ['strong', 'weak', 'put'])
  assert.deepEqual(keys(leavingOrder(SLOTS, 'fifo')), ['strong', 'weak', 'put'])
  assert.deepEqual(leavingOrder(SLOTS, 'reject'), [])
})

test('the list has the strongest first; where activation does not decide, who leaves last', () => {
  assert.deepEqual(keys(listed(SLOTS, 'activation')), ['strong', 'weak', 'put', 'pinned'])
  assert.deepEqual(keys(listed(SLOTS, 'lru')), ['pinned', 'put', 'weak', 'strong'])
})

test('the first to expire is told, and none where none expires', () => {
  const soon = slot('soon', { expiresAt: '2026-11-18T12:00:05.000Z' })
  const late = slot('late', { expiresAt: '2026-11-18T13:00:00.000Z' })

  assert.equal(firstToExpire([...SLOTS, late, soon])?.key, 'soon')
  assert.equal(firstToExpire(SLOTS), undefined)
})
