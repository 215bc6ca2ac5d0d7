import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cursorOf, positionOf, seqOf } from './cursors.ts'

test('a cursor leads back to its place', () => {
  assert.equal(seqOf('r', cursorOf('r', 0)), 0)
  assert.equal(seqOf('c', cursorOf('c', 123_456_789_012_345)), 123_456_789_012_345)
  for (const key of ['a', 'user:ada', 'k:', '…']) assert.equal(positionOf('k', cursorOf('k', key)), key)
})

// Mutant: positionOf() does not make the cursor again: one of a list of memories turns the pages of cycles.
test('what is not the cursor of this list is refused, and the caller is told what to send', () => {
  const text = (written: string) => Buffer.from(written).toString('base64url')
  for (const cursor of [
    'abc',
    cursorOf('r', 5),
    text('c:'),
    text('c:05'),
    text('c:-1'),
    text('c:1e3'),
    text('c:1234567890123456'),
    `${text('c:5')}=`,
  ])
    assert.throws(() => seqOf('c', cursor), {
      code: 'VALIDATION_ERROR',
      message: 'The cursor is not valid. Send nextCursor of the page before, or no cursor.',
    })
})
