// One request and its answer, in time: what came, or a LociError that says why nothing came. Repeats, moves and
// credentials are the client's.

import { HEADER } from '@loci/contract/headers.ts'
import { LociError, refusalOf } from './error.ts'

export interface Answered {
  status: number
  body: unknown
  headers: Headers
  requestId: string | undefined
}

export interface Sent {
  method: string
  /** Path and query, to be put after the base. */
  target: string
  body: string | undefined
}

export async function ask(
  send: typeof fetch,
  base: string,
  request: Sent,
  headers: Headers,
  ms: number,
  signal: AbortSignal | undefined,
): Promise<Answered | LociError> {
  return inTime(base, ms, signal, async (until) => {
    const response = await send(base + request.target, given(request, headers, until))
    return read(response, await response.text())
  })
}

/** Its head: the body is read by the caller, for as long as it comes. */
export function answerTo(
  send: typeof fetch,
  base: string,
  request: Sent,
  headers: Headers,
  ms: number,
  signal: AbortSignal | undefined,
): Promise<Response | LociError> {
  return inTime(base, ms, signal, (until) => send(base + request.target, given(request, headers, until)))
}

function given({ method, body }: Sent, headers: Headers, signal: AbortSignal): RequestInit {
  // A redirect would carry the credential to wherever it points.
  return { method, headers, ...(body === undefined ? {} : { body }), redirect: 'manual', signal }
}

async function inTime<T>(
  base: string,
  ms: number,
  signal: AbortSignal | undefined,
  work: (until: AbortSignal) => Promise<T>,
): Promise<T | LociError> {
  const timeout = new AbortController()
  const timer = setTimeout(() => timeout.abort(), ms)
  try {
    return await work(signal ? AbortSignal.any([timeout.signal, signal]) : timeout.signal)
  } catch (cause) {
    signal?.throwIfAborted()
    return timeout.signal.aborted
      ? new LociError('TIMEOUT', `${base} did not answer within ${Math.round(ms)} ms.`, { status: 0, retryable: true })
      : new LociError(
          'NETWORK_FAILURE',
          `${base} could not be reached, or went away before it had answered${reasonOf(cause)}.`,
          { status: 0, retryable: true, cause },
        )
  } finally {
    clearTimeout(timer)
  }
}

function read(response: Response, text: string): Answered | LociError {
  const { status, headers } = response
  const requestId = headers.get(HEADER.requestId) ?? undefined
  const isJson = /^application\/(?:[\w.-]+\+)?json\b/.test(headers.get('content-type') ?? '')
  let body: unknown = text === '' ? undefined : text
  if (isJson) {
    try {
      body = JSON.parse(text)
    } catch (cause) {
      const message = `the answer says that it is JSON and is not (status ${status}).`
      return new LociError('UNEXPECTED_ANSWER', message, { status, requestId, cause })
    }
  }
  return response.ok ? { status, body, headers, requestId } : refusalOf(response, body)
}

export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Where the runtime says it: fetch hides it in the cause of its cause. */
function reasonOf(error: unknown): string {
  let last = ''
  for (let next = error; next instanceof Error; next = next.cause) {
    const { code } = next as { code?: unknown }
    if (typeof code === 'string') return ` (${code})`
    if (next !== error) last = ` (${next.message})`
  }
  return last
}
