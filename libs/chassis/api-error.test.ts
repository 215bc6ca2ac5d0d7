import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ERROR_CODES, type ErrorCode } from '@loci/contract/errors.ts'
import { errorBody } from '@loci/contract/wire.ts'
import { ApiError, errorBodyOf, errorHeadersOf, isOutcomeUnknown, toApiError } from './api-error.ts'

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

test('a store that can not be reached is unavailable, by whatever word the driver says so', () => {
  for (const code of ['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH'])
    assert.equal(toApiError(thrown(code)).code, 'STORE_UNAVAILABLE', code)
  for (const message of [
    'timeout exceeded when trying to connect',
    'Connection terminated unexpectedly',
    'Query read timeout',
  ])
    assert.equal(toApiError(new Error(message)).code, 'STORE_UNAVAILABLE', message)
  const named = Object.assign(new Error('x'), { name: 'DatabaseUnavailableError' })
  assert.equal(toApiError(named).code, 'STORE_UNAVAILABLE')
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
    error: { code: 'OVERLOADED', message: 'm', status: 503, request_id: REQUEST_ID, retryable: true },
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

test('only an unanswered commit has an unknown outcome', () => {
  assert.ok(isOutcomeUnknown(Object.assign(new Error('x'), { name: 'CommitUnknownError' })))
  for (const other of [new Error('CommitUnknownError'), 'CommitUnknownError', undefined, thrown('08006')])
    assert.ok(!isOutcomeUnknown(other))
})
