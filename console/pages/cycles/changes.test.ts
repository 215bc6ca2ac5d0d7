import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changesIn } from './changes.ts'

const none = { admitted: 0, kept: 0, merged: 0, reinforced: 0, stored: 0, evicted: 0, consolidated: 0, rejected: 0 }

test('every decision of a cycle is counted in its row', () => {
  assert.deepEqual(changesIn({ ...none, admitted: 2, kept: 1, merged: 3, reinforced: 4, stored: 5, evicted: 6 }), {
    came: 2,
    left: 6,
    rest: ['1 stays', '3 merged', '4 said again', '5 only stored'],
  })
  assert.deepEqual(changesIn({ ...none, kept: 9, consolidated: 1, rejected: 2 }).rest, [
    '9 stay',
    '1 became a memory',
    '2 refused',
  ])
  assert.deepEqual(changesIn(none), { came: 0, left: 0, rest: [] })
})
