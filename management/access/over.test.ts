import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '@loci/chassis/api-error.ts'
import { createOver } from './over.ts'

// Mutants: `last.until` that stays as it was (everybody asks); forget() that does nothing.
test('when the moment of a refusal is over one asks and the others wait for what it is told', () => {
  let now = 0
  const over = createOver(() => now)
  const limited = new ApiError('RATE_LIMITED', 'm', { retryAfterMs: 1_000 })
  const isRefused = (asked: string) => {
    try {
      over.requireNot(asked)
      return false
    } catch (error) {
      assert.equal(error, limited)
      return true
    }
  }
  over.note('key', limited)
  over.note('other', new ApiError('FORBIDDEN', 'm'))
  assert.deepEqual([isRefused('key'), isRefused('other')], [true, false])
  now = 250
  assert.deepEqual(
    ['key', 'key', 'key'].map((asked) => isRefused(asked)),
    [false, true, true],
  )
  // It never came back: the next one asks.
  now = 500
  assert.deepEqual([isRefused('key'), isRefused('key')], [false, true])
  over.forget('key')
  assert.equal(isRefused('key'), false)
  over.note('key', limited)
  now = 10_000
  assert.deepEqual([isRefused('key'), isRefused('key')], [false, false])
})
