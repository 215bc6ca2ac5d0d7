// One error type for what a caller can act on, and one mapper that turns anything thrown into it.

import { ERRORS, type ErrorCode } from '@loci/contract/errors.ts'
import { CommitUnknownError } from '@loci/contract/outcomes.ts'
import { type StoreTrouble, storeTroubleOf } from '@loci/contract/store-trouble.ts'

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
      ...(retryAfterMs === undefined ? {} : timeToComeBack(retryAfterMs, letterCase)),
      ...(hint === undefined ? {} : { hint }),
      ...(details === undefined ? {} : { details }),
    },
  }
}

/** Milliseconds in the daemon, seconds in management. */
function timeToComeBack(ms: number, letterCase: 'camel' | 'snake'): object {
  return letterCase === 'camel' ? { retryAfterMs: ms } : { retry_after: secondsOf(ms) }
}

function secondsOf(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1000))
}

/** The specification's own shape, for the billing webhook alone. */
export function flatBodyOf(error: ApiError): object {
  return { error: error.message, ...(error.options.details === undefined ? {} : { details: error.options.details }) }
}

export function errorHeadersOf(error: ApiError): Record<string, string> {
  const retryAfterMs = error.retryAfterMs
  if (retryAfterMs === undefined) return error.options.headers ?? {}
  return { ...error.options.headers, 'retry-after': String(secondsOf(retryAfterMs)) }
}

/** A handler did not end within the deadline of its route: whether its work takes effect is not known. */
export class DeadlinePassed extends Error {
  override name = 'DeadlinePassed'
}

/** The commit was not answered, or the handler passed its deadline: the outcome of the work is unknown. */
export function isOutcomeUnknown(error: unknown): boolean {
  return error instanceof DeadlinePassed || error instanceof CommitUnknownError
}

/** What the mapper needs to know of a route. */
export interface FailureStyle {
  method?: string
  /** The text of INTERNAL_ERROR. */
  failureMessage?: string
  /** An unknown outcome is INTERNAL_ERROR with the text above. */
  unknownIsInternal?: boolean
  /** Whatever is not the sender's fault is a 500 with Retry-After. */
  failsWith500?: boolean
}

const FAILED = 'The request failed. The request id finds it in the log.'
/** What a sender can mend, or what was decided before the route was reached. */
const SENDERS_FAULT = new Set([400, 401, 403, 404, 405, 413])

/**
 * What the caller is told. `hasBegun`: the handler was called. Before that nothing was done, whatever failed; 4xx and
 * 503 are promises that nothing was done, so from then on an unknown outcome of a write must be neither.
 */
export function failureOf(error: unknown, style: FailureStyle, hasBegun: boolean): ApiError {
  const refusal = isOutcomeUnknown(error)
    ? hasBegun
      ? unknownOutcome(error, style)
      : // A commit of access (a rate, a nonce) that was not answered.
        new ApiError('STORE_UNAVAILABLE', STORE_MESSAGES[storeTroubleOf((error as Error).cause) ?? 'silent'], {
          cause: error,
        })
    : toApiError(error, style.failureMessage)
  if (!style.failsWith500 || SENDERS_FAULT.has(refusal.status) || refusal.code === 'SUBSERVICE_DISABLED') return refusal
  // Payment providers repeat what got a 5xx; the specification knows no other status here.
  return new ApiError('INTERNAL_ERROR', style.failureMessage ?? FAILED, {
    retryAfterMs: refusal.retryAfterMs ?? 1_000,
    cause: refusal,
  })
}

/** Why it was refused, where the caller was told a 500 for it by the rule above. */
export function underlying(refusal: ApiError): ApiError {
  return refusal.cause instanceof ApiError ? refusal.cause : refusal
}

function unknownOutcome(
  cause: unknown,
  { method, failureMessage = FAILED, unknownIsInternal }: FailureStyle,
): ApiError {
  if (unknownIsInternal) return new ApiError('INTERNAL_ERROR', failureMessage, { retryAfterMs: 1_000, cause })
  // What a GET leaves behind (a probe, how far a check has come) nobody asked for: to say that it failed is no lie.
  if (method === 'GET')
    return new ApiError('STORE_UNAVAILABLE', 'PostgreSQL does not answer in time. Try again.', { cause })
  return new ApiError(
    'OUTCOME_UNKNOWN',
    'The write may or may not have happened. Repeat it with the same Idempotency-Key, or read again.',
    { cause },
  )
}

/** Anything thrown → the error answer. `INTERNAL_ERROR` is a bug: its message never carries the cause. */
export function toApiError(error: unknown, failureMessage = FAILED): ApiError {
  if (error instanceof ApiError) return error
  const trouble = storeTroubleOf(error)
  if (trouble) return new ApiError('STORE_UNAVAILABLE', STORE_MESSAGES[trouble], { cause: error })
  const kind = fromSqlState(codeOf(error) ?? '')
  if (kind) return new ApiError(kind[0], kind[1], { cause: error })
  return new ApiError('INTERNAL_ERROR', failureMessage, { cause: error })
}

/** Input that our schemas let through and PostgreSQL did not (SQLSTATE class 22): 400 for the caller, a bug for us. */
export function isSchemaGap(error: ApiError): boolean {
  return error.code === 'VALIDATION_ERROR' && codeOf(error.cause)?.startsWith('22') === true
}

type Kind = [ErrorCode, string]

const BAD_REQUEST: Kind = ['VALIDATION_ERROR', 'The request cannot be read. Check its path, headers and body.']
/** Each says what an operator has to look at: docs/operations/postgresql.md has a row for each. */
const STORE_MESSAGES: Record<StoreTrouble, string> = {
  silent: 'PostgreSQL does not answer. Nothing was done; try again.',
  refused: 'PostgreSQL refuses the login of this program. Nothing was done; its operator must mend role or password.',
  full: 'PostgreSQL has no space left on its disk. Nothing was done; try again when its operator has made room.',
  slow: 'A statement took PostgreSQL longer than it may and was cancelled. Nothing was done; try again.',
  read_only: 'PostgreSQL is read-only at the moment. Nothing was done; try again.',
  partition: 'PostgreSQL has no partition for this time yet, and it is being made. Nothing was done; try again.',
}

function codeOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null | undefined)?.code
  return typeof code === 'string' ? code : undefined
}

/** PostgreSQL's five-character codes (appendix A of its manual), beyond those of a store that is in trouble. */
function fromSqlState(code: string): Kind | undefined {
  if (code === 'XX001' || code === 'XX002')
    return ['DATA_DAMAGED', 'The stored data cannot be read and is not shown as truth.']
  if (code === '55P03' || code === '40001' || code === '40P01')
    return ['OVERLOADED', 'Too many writers want the same rows. Nothing was done; try again.']
  // A data exception is input that our schemas let through: the caller is told it is the request, and the log has the
  // rest.
  return /^22[0-9A-Z]{3}$/.test(code) ? BAD_REQUEST : undefined
}
