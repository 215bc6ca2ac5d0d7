// The one reader of errors: what a person is told of a refusal, of management or of a daemon, whose shapes differ
// (request_id, requestId; the client reads both), and of what got no answer at all.

import { LociError } from '@loci/sdk/error.ts'

/**
 * refused: by a rule; the message says which.
 * right: this person may not; somebody else may.
 * rate: too many; it goes on by itself.
 * away: nobody answers, or not now; nothing was done.
 * unknown: the answer was lost, and with it whether it was done.
 * missing: there is no such thing, or it is somebody else's.
 * damaged: what was stored does not fit its digest any more; asking again brings nothing else.
 * sign in again: it needs a sign-in of the last minutes, and this one is older.
 * withheld: it was done before, and what it made was shown then.
 * signed out: the session is over.
 * bug: of this page.
 */
export type Kind =
  | 'refused'
  | 'right'
  | 'rate'
  | 'away'
  | 'unknown'
  | 'missing'
  | 'damaged'
  | 'sign in again'
  | 'withheld'
  | 'signed out'
  | 'bug'

export interface Problem {
  kind: Kind
  /** A sentence. */
  message: string
  /** What happened to the request: a sentence, or nothing where there is nothing to say. */
  outcome: string
  code: string
  /** 0 where there was no answer. */
  status: number
  requestId: string | undefined
  retryAfterMs: number | undefined
  details: unknown
}

const RIGHT = new Set(['FORBIDDEN', 'OPERATION_NOT_ALLOWED', 'OPERATOR_REQUIRED', 'DATABASE_MISMATCH'])
const RATE = new Set(['RATE_LIMITED', 'QUOTA_EXCEEDED'])
const NO_ANSWER = new Set(['NETWORK_FAILURE', 'TIMEOUT'])

/** `isWrite`: whether something was to be changed, so that an answer that was lost matters. */
export function problemOf(error: unknown, { isWrite = false } = {}): Problem {
  if (!(error instanceof LociError))
    return {
      kind: 'bug',
      message: 'This page failed.',
      outcome: error instanceof Error ? error.message : '',
      code: 'CONSOLE_BUG',
      status: 0,
      requestId: undefined,
      retryAfterMs: undefined,
      details: undefined,
    }
  const { code, status, requestId, retryAfterMs, details } = error
  const kind = kindOf(error, isWrite)
  return {
    kind,
    message: NO_ANSWER.has(code) ? 'There was no answer.' : error.message,
    outcome: outcomeOf(kind, isWrite),
    ...{ code, status, requestId, retryAfterMs, details },
  }
}

function kindOf({ code, status, details }: LociError, isWrite: boolean): Kind {
  if (code === 'OUTCOME_UNKNOWN') return 'unknown'
  if (code === 'DATA_DAMAGED') return 'damaged'
  if (NO_ANSWER.has(code)) return isWrite ? 'unknown' : 'away'
  if (status === 401) return 'signed out'
  if (code === 'IDEMPOTENCY_REPLAY_WITHHELD') return 'withheld'
  if (code === 'FORBIDDEN' && (details as { reason?: unknown } | undefined)?.reason === 'sign_in_too_old')
    return 'sign in again'
  if (RIGHT.has(code)) return 'right'
  if (code === 'RATE_LIMITED' || (status === 429 && RATE.has(code))) return 'rate'
  if (status === 404) return 'missing'
  // A gateway in between says nothing about what was done behind it.
  if (code === 'UNEXPECTED_ANSWER' && isWrite) return 'unknown'
  return status >= 500 ? 'away' : 'refused'
}

function outcomeOf(kind: Kind, isWrite: boolean): string {
  if (kind === 'unknown')
    return 'The answer was lost, so it may or may not have been done. Asking again with the same key can’t do it twice.'
  if (kind === 'signed out')
    return `${isWrite ? 'Nothing was done. ' : ''}What stands here stays; sign in, in another tab if you typed something, and go on.`
  if (kind === 'withheld') return 'It was done before, by the request whose answer was lost.'
  return isWrite ? 'Nothing was done.' : ''
}

/** For somebody who is asked for help: no content, no names. */
export function reportOf({ code, status, requestId }: Problem, route: string): string {
  return [
    `route    ${route}`,
    `code     ${code}${status ? ` ${status}` : ''}`,
    `request  ${requestId ?? '-'}`,
    `console  ${globalThis.LOCI_VERSION}`,
    `at       ${new Date().toISOString()}`,
  ].join('\n')
}
