// Why PostgreSQL did not do what it was asked. Each kind has its own message for callers (chassis/api-error.ts), its
// own health state and its own count (chassis/store-health.ts). Recognised by structure: this floor knows no driver.

import { DatabaseUnavailableError } from './outcomes.ts'

/**
 * silent     no connection, no answer, or the server ended the session
 * refused    the login is refused: role, password or pg_hba.conf
 * full       no space left on the server's disk
 * slow       a statement took longer than it may and was cancelled
 * read_only  a standby, or a server that was set so
 * partition  a partitioned table has no partition for the time of a row
 */
export type StoreTrouble = 'silent' | 'refused' | 'full' | 'slow' | 'read_only' | 'partition'

export const STORE_TROUBLES: readonly StoreTrouble[] = ['silent', 'refused', 'full', 'slow', 'read_only', 'partition']

/** Undefined for every other failure. A lost connection is named after what the server said when it ended it. */
export function storeTroubleOf(error: unknown): StoreTrouble | undefined {
  const own = ownTroubleOf(error)
  if (own !== 'silent') return own
  return storeTroubleOf((error as Error).cause) ?? own
}

/** A row of a partitioned table that no partition takes; a violated CHECK constraint has the same code and a name. */
export function isPartitionMissing(error: unknown): boolean {
  const { code, constraint, table } = partsOf(error)
  return code === '23514' && constraint === undefined && typeof table === 'string'
}

interface Parts {
  code?: unknown
  severity?: unknown
  constraint?: unknown
  table?: unknown
  message?: unknown
}

function partsOf(error: unknown): Parts {
  return typeof error === 'object' && error !== null ? (error as Parts) : {}
}

function ownTroubleOf(error: unknown): StoreTrouble | undefined {
  const { code, message } = partsOf(error)
  if (error instanceof DatabaseUnavailableError) return 'silent'
  if (typeof code === 'string')
    return /^[0-9A-Z]{5}$/.test(code) && /\d/.test(code) ? ofSqlState(code, error) : ofSocket(code)
  // The pool and the driver throw some failures without a code.
  return error instanceof Error && typeof message === 'string' && GONE.test(message) ? 'silent' : undefined
}

const GONE =
  /timeout exceeded when trying to connect|Connection terminated|Query read timeout|Client has encountered a connection error|not queryable|Cannot use a pool after/

/** PostgreSQL's five-character codes (appendix A of its manual). */
function ofSqlState(code: string, error: unknown): StoreTrouble | undefined {
  const { severity, message } = partsOf(error)
  if (code === '53100') return 'full'
  // A page or an index that makes no sense is damage, whatever the server did about it.
  if (code === 'XX001' || code === 'XX002') return undefined
  if (/^(58|XX)/.test(code)) {
    // Some calls of the operating system fail under another code, and the text has the reason.
    if (/No space left on device|Disk quota exceeded/.test(String(message))) return 'full'
    return severity === 'PANIC' || severity === 'FATAL' ? 'silent' : undefined
  }
  if (code === '57014') return 'slow'
  if (code === '25006') return 'read_only'
  if (isPartitionMissing(error)) return 'partition'
  if (code.startsWith('28')) return 'refused'
  // 08 connection, 3D a database that is gone, 53 resources, 57 operator intervention (shutdown).
  return /^(08|3D|53|57)/.test(code) ? 'silent' : undefined
}

function ofSocket(code: string): StoreTrouble | undefined {
  // A certificate of the database that has expired or that nobody we know has signed.
  if (/^(CERT_|ERR_TLS_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/.test(code)) return 'silent'
  return /^(ECONN(REFUSED|RESET|ABORTED)|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH)$/.test(code)
    ? 'silent'
    : undefined
}
