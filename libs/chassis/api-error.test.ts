import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ERROR_CODES, type ErrorCode } from '@loci/contract/errors.ts'
import { CommitUnknownError, DatabaseUnavailableError } from '@loci/contract/outcomes.ts'
import { errorBody } from '@loci/contract/wire.ts'
import {
  ApiError,
  DeadlinePassed,
  errorBodyOf,
  errorHeadersOf,
  failureOf,
  isOutcomeUnknown,
  isSchemaGap,
  toApiError,
} from './api-error.ts'

const REQUEST_ID = `req_${'0'.repeat(26)}`

function thrown(code: string, message = 'row (secret@example.com) of loci.audit'): Error {
  return Object.assign(new Error(message), { code })
}

test('an error of ours is passed on as it is', () => {
  const error = new ApiError('NOT_FOUND', 'There is no such slot.')
  assert.equal(toApiError(error), error)
})

test('each SQLSTATE becomes what the caller can do about it', () => {
  const table: Record<string, ErrorCode> = {
    '08006': 'STORE_UNAVAILABLE',
    '53300': 'STORE_UNAVAILABLE',
    '57014': 'STORE_UNAVAILABLE',
    '57P01': 'STORE_UNAVAILABLE',
    '25006': 'STORE_UNAVAILABLE',
    '40001': 'OVERLOADED',
    '40P01': 'OVERLOADED',
    '55P03': 'OVERLOADED',
    XX001: 'DATA_DAMAGED',
    XX002: 'DATA_DAMAGED',
    '22021': 'VALIDATION_ERROR',
    '22P05': 'VALIDATION_ERROR',
    '23505': 'INTERNAL_ERROR',
    '42501': 'INTERNAL_ERROR',
    '42P01': 'INTERNAL_ERROR',
    XX000: 'INTERNAL_ERROR',
  }
  for (const [state, code] of Object.entries(table)) assert.equal(toApiError(thrown(state)).code, code, state)
})

test('a store that cannot be reached is unavailable, by whatever word the driver says so', () => {
  for (const code of ['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH'])
    assert.equal(toApiError(thrown(code)).code, 'STORE_UNAVAILABLE', code)
  for (const message of [
    'timeout exceeded when trying to connect',
    'Connection terminated unexpectedly',
    'Query read timeout',
  ])
    assert.equal(toApiError(new Error(message)).code, 'STORE_UNAVAILABLE', message)
  assert.equal(toApiError(new DatabaseUnavailableError('x')).code, 'STORE_UNAVAILABLE')
})

// Found by a full disk: it was told as "PostgreSQL does not answer", as were a statement timeout and a wrong password.
// Mutant: one message for two of them.
test('a silent, a full, a slow, a read-only store and a refused login are told in different words', () => {
  const told = ['ECONNREFUSED', '53100', '57014', '25006', '28P01'].map((code) => toApiError(thrown(code)))
  assert.deepEqual([...new Set(told.map(({ code }) => code))], ['STORE_UNAVAILABLE'])
  assert.equal(new Set(told.map(({ message }) => message)).size, told.length)
  assert.match(String(told[1]?.message), /no space left/)
  for (const { message } of told.slice(1)) assert.doesNotMatch(message, /does not answer/)
})

test('anything else is INTERNAL_ERROR and tells nothing of its cause', () => {
  const causes = [new Error('secret@example.com'), thrown('23505'), 'secret@example.com', undefined, null, 7, {}]
  for (const cause of causes) {
    const error = toApiError(cause)
    assert.equal(error.code, 'INTERNAL_ERROR')
    assert.ok(!JSON.stringify(errorBodyOf(error, REQUEST_ID, 'camel')).includes('secret'), String(cause))
    assert.equal(error.cause, cause, 'the log still gets it')
  }
})

test('no mapped error repeats what was thrown', () => {
  for (const code of ['08006', '40001', 'XX001', '22021', 'ECONNRESET'])
    assert.ok(!toApiError(thrown(code)).message.includes('secret'), code)
})

test('the body of every code fits the contract in both letter cases', () => {
  for (const letterCase of ['camel', 'snake'] as const) {
    for (const code of ERROR_CODES) {
      const body = errorBodyOf(new ApiError(code, 'm', { hint: 'h', details: [] }), REQUEST_ID, letterCase)
      const { error } = errorBody(letterCase).parse(body)
      assert.equal(error.code, code)
    }
  }
  const camel = errorBodyOf(new ApiError('OVERLOADED', 'm'), REQUEST_ID, 'camel')
  assert.deepEqual(camel, {
    error: {
      code: 'OVERLOADED',
      message: 'm',
      status: 503,
      requestId: REQUEST_ID,
      retryable: true,
      retryAfterMs: 1000,
    },
  })
  const snake = errorBodyOf(new ApiError('OVERLOADED', 'm'), REQUEST_ID, 'snake')
  assert.deepEqual(snake, {
    error: { code: 'OVERLOADED', message: 'm', status: 503, request_id: REQUEST_ID, retryable: true, retry_after: 1 },
  })
})

test('every 429 and 503 says when to come back, except a switch without auto-revert', () => {
  for (const code of ERROR_CODES) {
    const error = new ApiError(code, 'm')
    const tells = errorHeadersOf(error)['retry-after'] !== undefined
    assert.equal(tells, [429, 503].includes(error.status) && code !== 'SUBSERVICE_DISABLED', code)
  }
  const reverting = new ApiError('SUBSERVICE_DISABLED', 'm', { retryAfterMs: 1_200 })
  assert.equal(errorHeadersOf(reverting)['retry-after'], '2')
  assert.ok(reverting.retryable)
  assert.equal(errorHeadersOf(new ApiError('OVERLOADED', 'm', { retryAfterMs: 1 }))['retry-after'], '1')
})

test('headers of an error go out beside the time to come back', () => {
  const error = new ApiError('OVERLOADED', 'm', { headers: { allow: 'GET' } })
  assert.deepEqual(errorHeadersOf(error), { allow: 'GET', 'retry-after': '1' })
})

test('who asked too often is told to come back after 60 s where the evaluation has no time of its own', () => {
  const limited = new ApiError('RATE_LIMITED', 'm')
  assert.equal(errorHeadersOf(limited)['retry-after'], '60')
  const bodies = (['camel', 'snake'] as const).map((letterCase) => errorBodyOf(limited, REQUEST_ID, letterCase))
  const [camel, snake] = bodies as { error: Record<string, unknown> }[]
  assert.deepEqual([camel?.error.retryAfterMs, camel?.error.retry_after], [60_000, undefined])
  assert.deepEqual([snake?.error.retry_after, snake?.error.retryAfterMs], [60, undefined])
  const soon = errorBodyOf(new ApiError('RATE_LIMITED', 'm', { retryAfterMs: 1_001 }), REQUEST_ID, 'snake')
  assert.equal((soon as typeof snake)?.error.retry_after, 2)
})

test('an unanswered commit and a passed deadline have an unknown outcome, nothing else has', () => {
  assert.ok(isOutcomeUnknown(new CommitUnknownError('x')))
  assert.ok(isOutcomeUnknown(new DeadlinePassed('x')))
  for (const other of [new Error('CommitUnknownError'), 'CommitUnknownError', undefined, thrown('08006')])
    assert.ok(!isOutcomeUnknown(other))
})

// Mutant: STORE_UNAVAILABLE for a write in unknownOutcome(). A 503 promises that nothing was done.
test('an unknown outcome is never a promise that nothing was done, once the handler has begun', () => {
  const unknown = new DeadlinePassed('x')
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
    const told = failureOf(unknown, { method, failureMessage: 'Failed to x' }, true)
    assert.deepEqual([told.status, told.code, told.retryable], [500, 'OUTCOME_UNKNOWN', true], method)
    assert.equal(failureOf(unknown, { method }, false).code, 'STORE_UNAVAILABLE', `${method}, before its handler`)
  }
  assert.equal(failureOf(unknown, { method: 'GET' }, true).code, 'STORE_UNAVAILABLE')
  for (const method of ['GET', 'POST']) {
    const told = failureOf(unknown, { method, failureMessage: 'Failed to x', unknownIsInternal: true }, true)
    assert.deepEqual([told.code, told.message, told.retryable], ['INTERNAL_ERROR', 'Failed to x', true], method)
  }
})

test('where the specification knows only 500, whatever the sender cannot mend is 500 with a time to come back', () => {
  const style = { method: 'POST', failureMessage: 'Failed to x', failsWith500: true }
  const causes = [
    new DeadlinePassed('x'),
    thrown('08006'),
    thrown('40001'),
    new Error('bug'),
    ...(['OVERLOADED', 'DRAINING', 'STARTING', 'RATE_LIMITED', 'REQUEST_TIMEOUT'] as const).map(
      (code) => new ApiError(code, 'm'),
    ),
  ]
  for (const cause of causes) {
    const told = failureOf(cause, style, true)
    assert.deepEqual([told.status, told.message], [500, 'Failed to x'], String(cause))
    assert.ok(Number(errorHeadersOf(told)['retry-after']) >= 1, String(cause))
  }
  for (const code of ['VALIDATION_ERROR', 'UNAUTHENTICATED', 'PAYLOAD_TOO_LARGE', 'SUBSERVICE_DISABLED'] as const) {
    const own = new ApiError(code, 'm')
    assert.equal(failureOf(own, style, true), own)
  }
})

test('what the database refuses and our schemas let through is told apart from what a schema refuses', () => {
  assert.ok(isSchemaGap(toApiError(thrown('22021'))))
  for (const other of [new ApiError('VALIDATION_ERROR', 'm'), toApiError(thrown('08006')), toApiError(new Error('x'))])
    assert.ok(!isSchemaGap(other))
})
