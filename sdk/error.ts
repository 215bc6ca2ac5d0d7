// The one error of the client: what a server refused, or why there is no answer of one.

import type { ErrorCode } from '@loci/contract/errors.ts'
import { HEADER } from '@loci/contract/headers.ts'

/**
 * What no server of ours said.
 * NETWORK_FAILURE and TIMEOUT: the answer was lost, and with it whether the request was done.
 * UNEXPECTED_ANSWER: something in between answered, or the answer is no JSON.
 * INVALID_REQUEST: nothing was sent.
 */
export type LocalCode = 'NETWORK_FAILURE' | 'TIMEOUT' | 'UNEXPECTED_ANSWER' | 'INVALID_REQUEST'

interface ErrorFields {
  /** 0 where there was no answer. */
  status: number
  requestId?: string | undefined
  retryable?: boolean
  retryAfterMs?: number | undefined
  hint?: string | undefined
  details?: unknown
  cause?: unknown
}

export class LociError extends Error {
  override readonly name = 'LociError'
  /** The contract; servers may add codes. */
  readonly code: ErrorCode | LocalCode | (string & Record<never, never>)
  readonly status: number
  readonly requestId: string | undefined
  /** May the very same request succeed later? */
  readonly retryable: boolean
  readonly retryAfterMs: number | undefined
  readonly hint: string | undefined
  readonly details: unknown
  /** Above 1, a NOT_FOUND of a DELETE may be the work of an earlier attempt whose answer was lost. */
  attempts = 1

  constructor(code: LociError['code'], message: string, fields: ErrorFields) {
    super(message, fields.cause === undefined ? undefined : { cause: fields.cause })
    this.code = code
    this.status = fields.status
    this.requestId = fields.requestId
    this.retryable = fields.retryable ?? false
    this.retryAfterMs = fields.retryAfterMs
    this.hint = fields.hint
    this.details = fields.details
  }
}

/** Both letter cases: the daemon writes requestId, management request_id. The billing webhook's `error` is text. */
export function refusalOf(response: Response, body: unknown): LociError {
  const error = fieldsOf(fieldsOf(body).error)
  const requestId = textOf(error.requestId ?? error.request_id) ?? response.headers.get(HEADER.requestId) ?? undefined
  const { status } = response
  const retryAfterMs = retryAfterMsOf(error) ?? msOf(response.headers.get('retry-after'))
  if (typeof error.code !== 'string') {
    const said = textOf(fieldsOf(body).error)
    const message =
      said ?? `${status || 'a redirect'} came from something that is not loci; check the url of the client.`
    const retryable = status === 502 || status === 503 || status === 504
    return new LociError('UNEXPECTED_ANSWER', message, { status, requestId, retryable, retryAfterMs, details: body })
  }
  return new LociError(error.code, textOf(error.message) ?? error.code, {
    status,
    requestId,
    retryAfterMs,
    retryable: error.retryable === true,
    hint: textOf(error.hint),
    details: error.details,
  })
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** Milliseconds of the daemon, seconds of management. */
function retryAfterMsOf({ retryAfterMs, retry_after: seconds }: Record<string, unknown>): number | undefined {
  if (typeof retryAfterMs === 'number') return retryAfterMs
  return typeof seconds === 'number' ? seconds * 1_000 : undefined
}

/** Retry-After in seconds, or as a date from what stands in between. */
function msOf(retryAfter: string | null): number | undefined {
  if (retryAfter === null) return undefined
  const ms = /^\d+$/.test(retryAfter) ? Number(retryAfter) * 1_000 : Date.parse(retryAfter) - Date.now()
  return Number.isNaN(ms) ? undefined : Math.max(0, ms)
}

/** The body of the answer, or undefined where there is no such thing. */
export async function orUndefined<Body>(call: Promise<{ body: Body }>): Promise<Body | undefined> {
  try {
    return (await call).body
  } catch (error) {
    if (error instanceof LociError && error.code === 'NOT_FOUND') return undefined
    throw error
  }
}
