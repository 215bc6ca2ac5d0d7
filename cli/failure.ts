// How a command fails: a code, a sentence, what to do next, and the number that the process ends with.

import { LociError } from '@loci/sdk/error.ts'

/** Documented by `loci help exit-codes`; each is provoked by a test. */
export const EXIT = {
  ok: 0,
  unexpected: 1,
  usage: 2,
  notFound: 3,
  credential: 4,
  forbidden: 5,
  conflict: 6,
  rateLimited: 7,
  timedOut: 8,
  server: 9,
  unavailable: 69,
  bug: 70,
  config: 78,
  interrupted: 130,
} as const

export const EXIT_MEANINGS: Readonly<Record<keyof typeof EXIT, string>> = {
  ok: 'done',
  unexpected: 'a check failed or something unexpected came back',
  usage: 'the command was called wrongly, or the server refused what was given as invalid',
  notFound: 'what was named is not there',
  credential: 'not signed in, or the credential is not accepted',
  forbidden: 'the credential may not do this, or the plan does not cover it',
  conflict: 'a conflict, or a precondition that does not hold',
  rateLimited: 'too many requests, or a quota is used up',
  timedOut: 'did not end in the time that was given',
  server: 'the server failed',
  unavailable: 'the server cannot be reached, a port is taken, or nothing runs',
  bug: 'a bug of the command line',
  config: 'wrong configuration',
  interrupted: 'Ctrl-C',
}

interface FailureFields {
  hint?: string | undefined
  requestId?: string | undefined
  retryAfterMs?: number | undefined
  details?: unknown
}

const SERVICES_HINT = 'loci services list shows those there are, loci services create <name> makes one.'

export class CommandFailure extends Error {
  readonly code: string
  readonly exit: number
  readonly fields: FailureFields

  constructor(exit: keyof typeof EXIT, code: string, message: string, fields: FailureFields = {}) {
    super(message)
    this.name = 'CommandFailure'
    this.exit = EXIT[exit]
    this.code = code
    this.fields = fields
  }
}

export function usage(message: string, hint?: string): CommandFailure {
  return new CommandFailure('usage', 'USAGE', message, { hint })
}

export function failureOf(error: unknown): CommandFailure {
  if (error instanceof CommandFailure) return error
  if (error instanceof LociError) return refusalOf(error)
  if (error instanceof DOMException && error.name === 'AbortError')
    return new CommandFailure('interrupted', 'INTERRUPTED', 'Interrupted.')
  const { message } = error as Error
  return new CommandFailure('bug', 'BUG', `The command line itself failed: ${message}`, {
    hint: 'Please report it, with what --verbose shows.',
  })
}

function refusalOf({ code, status, message, hint: told, requestId, retryAfterMs, details }: LociError): CommandFailure {
  // What the client says to programs.
  const hint = told?.includes('services.create(') ? SERVICES_HINT : told
  return new CommandFailure(exitOf(code, status), code, message, { hint, requestId, retryAfterMs, details })
}

function exitOf(code: string, status: number): keyof typeof EXIT {
  if (code === 'NETWORK_FAILURE') return 'unavailable'
  if (code === 'TIMEOUT' || status === 408) return 'timedOut'
  if (code === 'INVALID_REQUEST') return 'usage'
  if (status === 401) return 'credential'
  if (code === 'QUOTA_EXCEEDED' || status === 429) return 'rateLimited'
  if (status === 402 || status === 403) return 'forbidden'
  if (status === 404 || status === 410) return 'notFound'
  if (status === 409 || status === 412 || status === 428) return 'conflict'
  if (status >= 400 && status < 500) return 'usage'
  return status >= 500 ? 'server' : 'unexpected'
}
