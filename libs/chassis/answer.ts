// The bytes of an answer: its headers, its body, or what a failure means for the caller.

import { pipeline, type Readable } from 'node:stream'
import { type AddressSet, arrivedByTls } from './addresses.ts'
import {
  type ApiError,
  errorBodyOf,
  errorHeadersOf,
  failureOf,
  flatBodyOf,
  isOutcomeUnknown,
  isSchemaGap,
  underlying,
} from './api-error.ts'
import { hasBody } from './body.ts'
import { dropRest } from './dropped.ts'
import type { Exchange } from './exchange.ts'
import { closeBehind } from './last-answer.ts'
import type { Lifecycle } from './lifecycle.ts'
import type { Log } from './log.ts'
import type { HeaderValues } from './route.ts'

export interface AnswerOptions {
  letterCase: 'camel' | 'snake'
  lifecycle: Lifecycle
  log: Log
  trustedProxies: AddressSet
  /** Templates whose errors are the specification's flat ones, whatever the method. */
  flatPaths: ReadonlySet<string>
}

export const NO_HEADERS: HeaderValues = Object.freeze({})
/** RFC 9110, 15.5.2: a 401 names a way to authenticate. */
const CHALLENGE = 'Bearer realm="loci"'
/** RFC 6797: a browser that came by https comes by nothing else for a year. Other hosts of the domain are not ours. */
const HTTPS_ALONE = 'max-age=31536000'

/** Answers with what the error means for the caller, and logs what it means for us. */
export function refuse(options: AnswerOptions, exchange: Exchange, error: unknown): ApiError {
  const { requestId, matched, hasBegun } = exchange
  const refusal = failureOf(error, matched?.spec ?? {}, hasBegun)
  const own = underlying(refusal)
  // What the log says of a refusal is why it was one: a webhook that was shed for the load is no bug.
  exchange.code = own.code
  if (own.code === 'OVERLOADED') exchange.reason = own.message
  const facts = { requestId, code: own.code, route: exchange.route, error: own.cause ?? own }
  if (hasBegun && isOutcomeUnknown(error) && matched?.spec.method !== 'GET')
    options.log.error(facts, `the outcome of a write is unknown; the caller got ${refusal.code}`)
  // 5xx of our own making are bugs or damage; what the load did is in the access line already.
  else if (own.status === 500) options.log.error(facts, 'request failed')
  else if (own.code === 'STORE_UNAVAILABLE')
    options.log.warn(facts, 'what a request needs did not answer; error says what')
  else if (isSchemaGap(own))
    options.log.error(facts, 'the database refused input that passed the schema of the route: a bug, mend the schema')
  const isFlat = options.flatPaths.has(exchange.route)
  const body = isFlat ? flatBodyOf(refusal) : errorBodyOf(refusal, requestId, options.letterCase)
  const headers = errorHeadersOf(refusal)
  // Access may have said more exactly where to ask, by the address under which the request came.
  const told = exchange.addedHeaders?.['www-authenticate'] as string | undefined
  const challenge = told ?? matched?.spec.access.challenge ?? CHALLENGE
  const all = refusal.status === 401 ? { ...headers, 'www-authenticate': challenge } : headers
  write(options, exchange, refusal.status, body, all)
  return refusal
}

/**
 * `headers` have lower-case names and win over our own: nothing that we answer belongs into a cache or is to be guessed
 * at.
 */
export function write(
  { lifecycle, log, trustedProxies }: AnswerOptions,
  exchange: Exchange,
  status: number,
  body: unknown,
  headers: HeaderValues,
): void {
  const { request, response, requestId } = exchange
  if (response.headersSent || response.destroyed) return
  const payload = typeof body === 'string' || Buffer.isBuffer(body) || isStream(body) ? body : JSON.stringify(body)
  const head: Record<string, string | string[] | number> = {
    'content-type': 'application/json; charset=utf-8',
    'content-length': typeof payload === 'string' || Buffer.isBuffer(payload) ? Buffer.byteLength(payload) : 0,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'x-request-id': requestId,
  }
  if (arrivedByTls(request.socket, request.headers, trustedProxies)) head['strict-transport-security'] = HTTPS_ALONE
  const { addedHeaders } = exchange
  if (addedHeaders) Object.assign(head, addedHeaders)
  if (headers !== NO_HEADERS) {
    Object.assign(head, headers)
    if (addedHeaders?.['set-cookie']) head['set-cookie'] = listOf(addedHeaders['set-cookie'], headers['set-cookie'])
  }
  exchange.bill.writeHeaders(head)
  // A body that nobody read would be taken for the next request, or would have to be read to its end first.
  const isUnread = status === 413 || status === 408 || exchange.awaitsContinue || exchange.body?.stream !== undefined
  const isBodyLeft = isUnread && !request.complete
  if (lifecycle.state === 'draining' || exchange.isLast || isBodyLeft) head.connection = 'close'
  if (!request.complete && hasBody(request)) dropRest(exchange)
  if (head.connection === 'close' || !response.shouldKeepAlive) closeBehind(exchange)
  if (isStream(payload)) {
    delete head['content-length']
    response.writeHead(status, head)
    if (exchange.isBrokenOff) {
      // A client that only closed its own side would be sent events for ever, and the stream counted as open.
      ;(payload as Readable).destroy()
      response.end()
      return
    }
    pipeline(payload as Readable, response, (error) => error && log.debug({ requestId, error }, 'a stream ended early'))
    return
  }
  if (status === 204 || status === 304) {
    delete head['content-type']
    delete head['content-length']
  } else if (payload === '') delete head['content-type']
  exchange.answering(Number(head['content-length'] ?? 0))
  response.writeHead(status, head)
  response.end(payload)
}

/** All values of a header that may be repeated. */
function listOf(...values: (string | readonly string[] | undefined)[]): string[] {
  return values.flatMap((value) => value ?? [])
}

function isStream(body: unknown): boolean {
  return typeof (body as { pipe?: unknown } | null)?.pipe === 'function'
}
