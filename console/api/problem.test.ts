import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LociError, refusalOf } from '@loci/sdk/error.ts'
import { problemOf } from './problem.ts'

const answer = (status: number, error: object, headers: Record<string, string> = {}) =>
  refusalOf(new Response('', { status, headers }), { error })

// Mutant: the request id of the header wins over that of the body.
test('a refusal is read the same from management and from a daemon behind it, with the request id of whoever refused', () => {
  const header = { 'x-request-id': 'req_of_management' }
  const ours = problemOf(answer(404, { code: 'NOT_FOUND', message: 'No such service.', request_id: 'req_1' }, header))
  const theirs = problemOf(answer(404, { code: 'NOT_FOUND', message: 'No such slot.', requestId: 'req_2' }, header))
  assert.deepEqual([ours.kind, ours.requestId], ['missing', 'req_1'])
  assert.deepEqual([theirs.kind, theirs.requestId], ['missing', 'req_2'])
})

// Mutant: a lost answer of a write is 'away'.
test('a write whose answer was lost may have been done, a read may be asked again', () => {
  const timeout = new LociError('TIMEOUT', 'no answer within 15000 ms', { status: 0, retryable: true })
  assert.equal(problemOf(timeout, { isWrite: true }).kind, 'unknown')
  assert.equal(problemOf(timeout).kind, 'away')
  const unknown = answer(500, { code: 'OUTCOME_UNKNOWN', message: 'x' })
  assert.equal(problemOf(unknown, { isWrite: true }).kind, 'unknown')
  assert.equal(
    problemOf(answer(503, { code: 'STORE_UNAVAILABLE', message: 'x' }), { isWrite: true }).outcome,
    'Nothing was done.',
  )
})

test('a right that is missing, a limit and a session that is over are told apart', () => {
  const kindOf = (status: number, code: string) => problemOf(answer(status, { code, message: 'x' })).kind
  assert.equal(kindOf(403, 'OPERATION_NOT_ALLOWED'), 'right')
  assert.equal(kindOf(429, 'RATE_LIMITED'), 'rate')
  assert.equal(kindOf(401, 'UNAUTHENTICATED'), 'signed out')
  assert.equal(kindOf(409, 'VERSION_CONFLICT'), 'refused')
  const limited = problemOf(answer(429, { code: 'RATE_LIMITED', message: 'x', retry_after: 41 }))
  assert.equal(limited.retryAfterMs, 41_000)
})
