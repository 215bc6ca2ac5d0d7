import { DatabaseUnavailableError } from '@loci/contract/outcomes.ts'
import pg from 'pg'

/** Postgres answered a commit with a rollback, because a statement before it had failed. Nothing holds. */
export class NotCommittedError extends Error {
  override name = 'NotCommittedError'
}

/** A serialization failure or a deadlock: nothing took effect, and the same transaction may succeed on a second try. */
export function isRetryable(error: unknown): boolean {
  return causes(error).some((cause) => {
    const code = sqlState(cause)
    return code === '40001' || code === '40P01'
  })
}

export function isUnavailable(error: unknown): boolean {
  return causes(error).some((cause) => cause instanceof DatabaseUnavailableError)
}

/** The five characters by which Postgres names an error, or undefined if the error is not Postgres's. */
export function sqlState(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined
}

/**
 * True when the server answered with an error and the session goes on: the statement certainly had no effect.
 * 57P and 25P03 end the session, 58 and XX mean that the server itself is in trouble. The codes are listed beside
 * the severity because the severity arrives in the server's language.
 */
export function isStatementError(error: unknown): error is pg.DatabaseError {
  if (!(error instanceof pg.DatabaseError) || error.severity === 'FATAL' || error.severity === 'PANIC') return false
  return !/^(08|28|57P|58|XX|3D000|25P03|53300)/.test(error.code ?? '')
}

/**
 * What is stored cannot be read, rather than that the store is away. XX: the server found a page, an index or a row
 * that makes no sense. 58: the file system would not give it. Neither is healed by trying again, and both may concern a
 * single row. Looks at causes too: a write whose connection was given up wraps the reason.
 */
export function isUnreadable(error: unknown): boolean {
  for (let next = error; next instanceof Error; next = next.cause)
    if (/^(XX|58)/.test(sqlState(next) ?? '')) return !isEndOfServer(next)
  return false
}

/** A server that cannot write its WAL also ends with these codes, and the commit may still take effect. */
function isEndOfServer(error: Error): boolean {
  return ['FATAL', 'PANIC'].includes((error as { severity?: string }).severity ?? '')
}

// Store functions wrap what they throw ("record the outcome of cycle 7", { cause }), so the reason lies deeper.
function causes(error: unknown): unknown[] {
  const found: unknown[] = []
  for (let next = error; next !== undefined && found.length < 10; ) {
    found.push(next)
    next = next instanceof Error ? next.cause : undefined
  }
  return found
}
