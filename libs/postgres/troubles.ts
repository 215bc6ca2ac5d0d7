// What the driver fails with, told apart: an outage, which waiting heals, from a refusal, which it does not.

import { DatabaseUnavailableError } from '@loci/contract/outcomes.ts'
import { sqlState } from './errors.ts'

export function unavailable(message: string, cause?: unknown): DatabaseUnavailableError {
  return new DatabaseUnavailableError(message, cause === undefined ? {} : { cause })
}

export function isReadTimeout(error: unknown): boolean {
  return error instanceof Error && error.message === 'Query read timeout'
}

/**
 * A wrong password, a missing database or a bad certificate is no outage: waiting does not heal it, so these keep
 * their own error. So does a server that reports damage (XX, 58).
 */
export function isBroken(error: unknown): boolean {
  const state = sqlState(error)
  if (state !== undefined) return !/^(28|3D|58|XX)/.test(state)
  if (!(error instanceof Error)) return false
  // Errors of the socket carry the system's code, those of the driver only their text.
  if ('code' in error) return /^E(?!RR_)[A-Z_]+$/.test(String(error.code))
  return /terminated|timeout|not queryable|establishing an SSL|after calling end/i.test(error.message)
}

export function connectTrouble(error: Error): string {
  if (error.message === 'timeout exceeded when trying to connect') {
    return 'every connection to PostgreSQL is busy and none became free in time: PostgreSQL is slow or does not answer, or there is more work than connections'
  }
  return `cannot connect to PostgreSQL: ${error.message}`
}
