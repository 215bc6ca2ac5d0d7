// One error type for what a caller can act on, and one mapper that turns anything thrown into it.

import { ERRORS, type ErrorCode } from '@loci/contract/errors.ts'

interface ApiErrorOptions {
  hint?: string
  details?: unknown
  retryAfterMs?: number
  headers?: Record<string, string>
  cause?: unknown
}

export class ApiError extends Error {
  readonly code: ErrorCode
  readonly options: ApiErrorOptions

  constructor(code: ErrorCode, message: string, options: ApiErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'ApiError'
    this.code = code
    this.options = options
  }

  get status(): number {
    return ERRORS[this.code].status
  }

  /** Every 429 and 503 says when to come back, except a switch without auto-revert. */
  get retryAfterMs(): number | undefined {
    if (this.options.retryAfterMs !== undefined) return this.options.retryAfterMs
    if (this.status === 429) return 60_000
    return this.status === 503 && this.code !== 'SUBSERVICE_DISABLED' ? 1_000 : undefined
  }

  get retryable(): boolean {
    return ERRORS[this.code].retryable || this.options.retryAfterMs !== undefined
  }
}

/** The body of a refusal in the letter case of its service. */
export function errorBodyOf(error: ApiError, requestId: string, letterCase: 'camel' | 'snake'): object {
  const { hint, details } = error.options
  const retryAfterMs = error.retryAfterMs
  return {
    error: {
      code: error.code,
      message: error.message,
      status: error.status,
      ...(letterCase === 'camel' ? { requestId } : { request_id: requestId }),
      retryable: error.retryable,
      ...(letterCase === 'camel' && retryAfterMs !== undefined ? { retryAfterMs } : {}),
      ...(hint === undefined ? {} : { hint }),
      ...(details === undefined ? {} : { details }),
    },
  }
}

/** The seed's own shape, for the billing webhook alone. */
export function flatBodyOf(error: ApiError): object {
  return { error: error.message, ...(error.options.details === undefined ? {} : { details: error.options.details }) }
}

export function errorHeadersOf(error: ApiError): Record<string, string> {
  const retryAfterMs = error.retryAfterMs
  if (retryAfterMs === undefined) return error.options.headers ?? {}
  return { ...error.options.headers, 'retry-after': String(Math.max(1, Math.ceil(retryAfterMs / 1000))) }
}

/**
 * A write whose commit was sent and never answered: nobody knows whether it took effect. Any status would be a lie
 * (a 503 promises that nothing was done), so such a request ends without an answer and the client repeats it with its key.
 */
export function isOutcomeUnknown(error: unknown): boolean {
  return error instanceof Error && error.name === 'CommitUnknownError'
}

/** Anything thrown → what the caller is told. `INTERNAL_ERROR` means a bug of ours: its message never carries the cause. */
export function toApiError(
  error: unknown,
  failureMessage = 'The request failed. The request id finds it in the log.',
): ApiError {
  if (error instanceof ApiError) return error
  const code = codeOf(error)
  const known = code === undefined ? undefined : (fromSqlState(code) ?? fromSocket(code))
  const kind = known ?? fromMessage(error)
  if (kind) return new ApiError(kind[0], kind[1], { cause: error })
  return new ApiError('INTERNAL_ERROR', failureMessage, { cause: error })
}

type Kind = [ErrorCode, string]

const BAD_REQUEST: Kind = ['VALIDATION_ERROR', 'The request can not be read. Check its path, headers and body.']
const STORE_DOWN: Kind = ['STORE_UNAVAILABLE', 'The database does not answer. Nothing was done; try again.']

function codeOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null | undefined)?.code
  return typeof code === 'string' ? code : undefined
}

/** PostgreSQL's five-character codes (appendix A of its manual). */
function fromSqlState(code: string): Kind | undefined {
  if (!/^[0-9A-Z]{5}$/.test(code)) return undefined
  if (code === 'XX001' || code === 'XX002')
    return ['DATA_DAMAGED', 'The stored data can not be read and is not shown as truth.']
  if (code === '55P03' || code === '40001' || code === '40P01')
    return ['OVERLOADED', 'Too many writers want the same rows. Nothing was done; try again.']
  // 08 connection, 28 and 3D a role, password or database that is not right any more, 53 resources, 57 operator intervention (shutdown, statement timeout), 25006 read-only standby after a fail-over.
  if (/^(08|28|3D|53|57)/.test(code) || code === '25006') return STORE_DOWN
  // A data exception is input that our schemas let through: the caller is told it is the request, and the log has the rest.
  if (code.startsWith('22')) return BAD_REQUEST
  return undefined
}

function fromSocket(code: string): Kind | undefined {
  // A certificate of the database that has expired or that nobody we know has signed.
  if (/^(CERT_|ERR_TLS_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/.test(code)) return STORE_DOWN
  return /^(ECONN(REFUSED|RESET|ABORTED)|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH)$/.test(code)
    ? STORE_DOWN
    : undefined
}

/** The pool and the driver throw some failures without a code. */
function fromMessage(error: unknown): Kind | undefined {
  if (!(error instanceof Error)) return undefined
  if (error.name === 'DatabaseUnavailableError') return STORE_DOWN
  const gone =
    /timeout exceeded when trying to connect|Connection terminated|Query read timeout|Client has encountered a connection error|not queryable|Cannot use a pool after/
  return gone.test(error.message) ? STORE_DOWN : undefined
}
