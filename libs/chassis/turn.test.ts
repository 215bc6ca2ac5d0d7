import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTurn } from './turn.ts'

// Mutants: next() that does not wait; `endsAt` that is not set again (the second look waits too).
test('after a turn of work others are served, and then there is another turn', async () => {
  const turn = createTurn()
  assert.equal(turn(), undefined)
  const work = () => {
    for (const until = performance.now() + 3; performance.now() < until; );
  }
  work()
  let isServed = false
  setImmediate(() => {
    isServed = true
  })
  await turn()
  assert.ok(isServed)
  work()
  assert.notEqual(turn(), undefined)
})
