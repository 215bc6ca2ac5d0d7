// The HTTP server of every long-running loci process: routes in, answers and refusals out. The life of a request:
//
//   arrive → request id → host, method, route → https → state of the process → slot of the limiter → access
//   → switch of the sub-service → body, query and path by their schemas → handler → answer → slot back, one log line, one observation.
//
// It stands on node:http itself. A framework was here first; it cost 6 µs of the 30 that a small request takes, and what we used
// of it was a router and a body reader (docs/decisions/2026-11-15-http-without-framework.md).

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pipeline, type Readable } from 'node:stream'
import { newId } from '@loci/contract/ids.ts'
import { type AddressSet, arrivedByTls } from './addresses.ts'
import {
  ApiError,
  DeadlinePassed,
  errorBodyOf,
  errorHeadersOf,
  failureOf,
  flatBodyOf,
  isOutcomeUnknown,
  isSchemaGap,
} from './api-error.ts'
import { type Exchange, type ExchangeContext, openExchange, unansweredOn } from './exchange.ts'
import { HandlerCall, inputOf, readBody, readBytes, requireFits } from './input.ts'
import type { Lifecycle } from './lifecycle.ts'
import type { Limiter } from './limiter.ts'
import { createListener } from './listener.ts'
import type { Log } from './log.ts'
import type { Metrics } from './metrics.ts'
import { DEADLINES_MS, type DeadlineClass, Reply, type Route } from './route.ts'
import { createRouter, type Match, type Mismatch, type Router } from './router.ts'
import { runInSpan } from './trace.ts'

/** What the switches of sub-services need to see of each request of theirs. */
export interface SubserviceGate {
  /** Throws SUBSERVICE_DISABLED when the switch is off. */
  enter(subservice: string): void
  leave(subservice: string, failure: { code: string; requestId: string } | undefined): void
}

export interface ServerOptions {
  routes: Route[]
  letterCase: 'camel' | 'snake'
  lifecycle: Lifecycle
  limiter: Limiter
  log: Log
  metrics: Metrics
  trustedProxies: AddressSet
  requireHttps: boolean
  tls?: { cert: string; key: string } | undefined
  subservices?: SubserviceGate
  /** Others than those of route.ts: tests have no time. */
  deadlinesMs?: Partial<Record<DeadlineClass, number>>
  /** Holds every answer against its schema and fails the request otherwise: tests and development, never production. */
  verifyAnswers?: boolean
}

export interface HttpServer {
  listen(address: { host: string; port: number }): Promise<{ host: string; port: number; url: string }>
  /** Stops accepting, waits for what runs until the deadline, then cuts it. Resolves with how many were cut. */
  close(deadlineMs: number): Promise<number>
  inFlight(): number
}

const BODY_BYTES_MAX = 1024 * 1024
const SWEEP_MS = 250
/** Answers that slow clients have not read yet; a slot of the limiter does not wait for them, and the oldest are cut beyond it. */
const UNREAD_BYTES_MAX = 64 * 1024 * 1024
/** Requests of one connection that are not answered yet. No client of ours sends ahead; one that sends far ahead is none. */
const PIPELINED_MAX = 16
/** What answers of the last moment get to leave, when the process ends. */
const LAST_WORD_MS = 100
const EMPTY = Object.freeze({})
/** The route label of whatever reaches none: paths that strangers invent must not become labels. */
const UNMATCHED = 'unmatched'

export async function createServer(options: ServerOptions): Promise<HttpServer> {
  const inFlight = new Set<Exchange>()
  const unread = { bytes: 0 }
  const context: ExchangeContext = {
    log: options.log,
    metrics: options.metrics,
    limiter: options.limiter,
    inFlight,
    deadlinesMs: { ...DEADLINES_MS, ...options.deadlinesMs },
    unread,
  }
  const router = createRouter(options.routes)
  const server = createListener({
    letterCase: options.letterCase,
    tls: options.tls,
    onRequest: (request, response) => accept(options, context, router, request, response),
    onRefused: (error) => options.log.debug({ code: error.code }, 'refused by the HTTP parser'),
  })
  const sweeper = setInterval(() => {
    sweep(options, context)
    cutSlowReaders(inFlight, unread.bytes - UNREAD_BYTES_MAX, options.log)
  }, SWEEP_MS).unref()
  return {
    listen({ host, port }) {
      return new Promise((resolve, reject) => {
        server.once('error', reject)
        server.listen(port, host, () => {
          server.removeListener('error', reject)
          const bound = (server.address() as AddressInfo).port
          const shown = host.includes(':') ? `[${host}]` : host
          resolve({ host, port: bound, url: `${options.tls ? 'https' : 'http'}://${shown}:${bound}` })
        })
      })
    },
    async close(deadlineMs) {
      const deadlineAt = performance.now() + deadlineMs
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      while (inFlight.size > 0 && performance.now() < deadlineAt) {
        server.closeIdleConnections()
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
      const cut = inFlight.size
      // Those still at work are told that their outcome is unknown; a connection is not cut for it.
      for (const exchange of inFlight) if (!exchange.response.headersSent) expire(options, context, exchange)
      await untilWritten(inFlight)
      server.closeAllConnections()
      clearInterval(sweeper)
      await closed
      return cut
    },
    inFlight: () => inFlight.size,
  }
}

/** Until the last answers have left; whoever does not read is not waited for. */
async function untilWritten(inFlight: Set<Exchange>): Promise<void> {
  const until = performance.now() + LAST_WORD_MS
  while (inFlight.size > 0 && performance.now() < until) await new Promise((resolve) => setTimeout(resolve, 5))
}

/** One request and its answer, from arrival on; the exchange keeps its accounts. */
interface Turn {
  options: ServerOptions
  exchange: Exchange
  request: IncomingMessage
  response: ServerResponse
  unread: { bytes: number }
}

function accept(
  options: ServerOptions,
  context: ExchangeContext,
  router: Router,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  if (unansweredOn(request.socket) >= PIPELINED_MAX) {
    request.socket.destroy()
    return
  }
  const path = pathOf(request.url as string)
  const found = router.find(request.method as string, path)
  const match = 'route' in found ? found : undefined
  const template = ('route' in found ? found.route.spec.path : found.template) ?? UNMATCHED
  const exchange = openExchange(context, request, response, newId('req'), template, match?.route)
  const turn: Turn = { options, exchange, request, response, unread: context.unread }
  if (exchange.span) runInSpan(exchange.span, () => begin(turn, found))
  else begin(turn, found)
}

function begin(turn: Turn, found: Match | Mismatch): void {
  const match = 'route' in found ? found : undefined
  try {
    requireArrival(turn)
    if (!match) throw noRoute(found as Mismatch)
    const admitted = admit(turn, match.route)
    if (admitted) admitted.then(() => serve(turn, match)).catch((error) => fail(turn, match.route, error))
    else serve(turn, match)
  } catch (error) {
    fail(turn, match?.route, error)
  }
}

/** The path of the request target, also in absolute form (RFC 9112, 3.2.2). */
function pathOf(target: string): string {
  const from = target.startsWith('/') ? 0 : (/^https?:\/\/[^/?]*/i.exec(target)?.[0].length ?? 0)
  const end = target.indexOf('?', from)
  return end < 0 ? target.slice(from) : target.slice(from, end)
}

function noRoute({ allow, isMalformed }: Mismatch): ApiError {
  if (isMalformed) return new ApiError('VALIDATION_ERROR', 'The path is not percent-encoded UTF-8.')
  if (allow.length === 0)
    return new ApiError('NOT_FOUND', 'There is nothing at this path. GET /openapi.json lists what there is.')
  const methods = allow.join(', ')
  return new ApiError('METHOD_NOT_ALLOWED', `This path has ${methods}.`, { headers: { allow: methods } })
}

function requireArrival({ options, request }: Turn): void {
  // HTTP/1.0 has no Host; health checks of load balancers still speak it.
  if (request.headers.host === undefined && request.httpVersion !== '1.0')
    throw new ApiError('VALIDATION_ERROR', 'The request has no Host header.', { headers: { connection: 'close' } })
  if (options.requireHttps && !arrivedByTls(request.socket, request.headers, options.trustedProxies)) {
    throw new ApiError('HTTPS_REQUIRED', 'This deployment answers requests that arrive by TLS only. Use https.')
  }
}

// From here to the answer nothing is awaited that is already there: a promise per step cost as much as the steps.

/** State of the process, then a slot, then access. Undefined when nothing had to be waited for. */
function admit(turn: Turn, { spec }: Route): Promise<void> | undefined {
  if (spec.deadline === 'probe') return authorize(turn, spec)
  if (turn.unread.bytes > 2 * UNREAD_BYTES_MAX)
    throw new ApiError('OVERLOADED', 'Too many answers wait to be read. Nothing was done; try again.')
  const refusal = turn.options.lifecycle.refusal()
  if (refusal) throw refusal
  const waiting = turn.options.limiter.acquire()
  if (waiting) return waiting.then(() => authorizeInSlot(turn, spec))
  return authorizeInSlot(turn, spec)
}

function authorizeInSlot(turn: Turn, spec: Route['spec']): Promise<void> | undefined {
  turn.exchange.holdsSlot = true
  // Under overload many give up while they wait: working for them would take the time of those who still listen.
  if (turn.exchange.isClosed) throw new ApiError('OVERLOADED', 'The client left while its request waited.')
  return authorize(turn, spec)
}

/** Access first, then the switch: who may not come in is not told what is switched off. */
function authorize(turn: Turn, spec: Route['spec']): Promise<void> | undefined {
  const { request, exchange } = turn
  const caller = spec.access.authorize({
    method: spec.method,
    target: request.url as string,
    headers: request.headers,
    peer: request.socket.remoteAddress ?? '',
    requestId: exchange.requestId,
    answer: exchange,
  })
  if (caller instanceof Promise) return caller.then((known) => enter(turn, spec, known))
  enter(turn, spec, caller)
  return undefined
}

function enter({ options, exchange }: Turn, spec: Route['spec'], caller: unknown): void {
  if (spec.subservice && options.subservices) {
    options.subservices.enter(spec.subservice)
    exchange.subservice = spec.subservice
  }
  exchange.caller = caller
}

/** Reads the body where the route takes one, then hands over. */
function serve(turn: Turn, match: Match): void {
  const { spec } = match.route
  if (!spec.body) run(turn, match, undefined)
  else {
    readBytes(turn.request, spec.bodyBytesMax ?? BODY_BYTES_MAX)
      .then((bytes) => run(turn, match, bytes))
      .catch((error) => fail(turn, match.route, error))
  }
}

function run(turn: Turn, { route, params }: Match, bytes: Buffer | undefined): void {
  const { options, exchange, request, response } = turn
  // Told that it came too late, or gone: nothing may be done for it any more.
  if (response.headersSent || exchange.isClosed) {
    conclude(turn, undefined)
    return
  }
  try {
    const body = readBody(route.spec, request.headers, bytes)
    const input = inputOf(route.spec, params, request.url as string, body)
    exchange.hasBegun = true
    const answer = route.handle(new HandlerCall(exchange, input, request.headers, options.log))
    if (answer instanceof Promise)
      answer.then((awaited) => succeed(turn, route, awaited)).catch((error) => fail(turn, route, error))
    else succeed(turn, route, answer)
  } catch (error) {
    fail(turn, route, error)
  }
}

function succeed(turn: Turn, { spec }: Route, answer: unknown): void {
  const isReply = answer instanceof Reply
  const status = isReply ? answer.status : 200
  const body = isReply ? answer.body : answer
  if (turn.options.verifyAnswers) requireFits(spec, status, body)
  write(turn, status, body, isReply ? answer.headers : EMPTY)
  conclude(turn, undefined)
}

function fail(turn: Turn, route: Route | undefined, error: unknown): void {
  const { options, exchange, response } = turn
  if (!response.headersSent) {
    conclude(turn, refuse(turn, route, error))
    return
  }
  // Its deadline passed first, and the caller knows as much as can be known.
  options.log.warn({ requestId: exchange.requestId, error }, 'a handler failed after its deadline had been answered')
  conclude(turn, failureOf(error, route?.spec ?? {}, exchange.hasBegun))
}

/** Answers with what the error means for the caller, and logs what it means for us. */
function refuse(turn: Turn, route: Route | undefined, error: unknown): ApiError {
  const { options, exchange } = turn
  const refusal = failureOf(error, route?.spec ?? {}, exchange.hasBegun)
  exchange.code = refusal.code
  const { requestId } = exchange
  const facts = { requestId, code: refusal.code, route: exchange.route, error: refusal.cause ?? refusal }
  if (exchange.hasBegun && isOutcomeUnknown(error) && route?.spec.method !== 'GET')
    options.log.error(facts, 'the outcome of a write is unknown; the caller was told so')
  // 5xx of our own making are bugs or damage; what the load did is in the access line already.
  else if (refusal.status === 500) options.log.error(facts, 'request failed')
  else if (refusal.code === 'STORE_UNAVAILABLE') options.log.warn(facts, 'the store did not answer')
  else if (isSchemaGap(refusal))
    options.log.error(facts, 'the database refused input that passed the schema of the route: a bug, mend the schema')
  const body = options.routes.some(({ spec }) => spec.flatErrors && spec.path === exchange.route)
    ? flatBodyOf(refusal)
    : errorBodyOf(refusal, requestId, options.letterCase)
  write(turn, refusal.status, body, errorHeadersOf(refusal))
  return refusal
}

/** The work of a request has ended, whether or not its answer is out. */
function conclude({ options, exchange }: Turn, failure: ApiError | undefined): void {
  if (exchange.subservice !== undefined) {
    const counted = failure && failure.status >= 500 ? { code: failure.code, requestId: exchange.requestId } : undefined
    options.subservices?.leave(exchange.subservice, counted)
    exchange.subservice = undefined
  }
  exchange.settled()
}

/** `headers` have lower-case names and win over our own: nothing that we answer belongs into a cache or is to be guessed at. */
function write(
  { options, exchange, request, response }: Turn,
  status: number,
  body: unknown,
  headers: Record<string, string>,
): void {
  if (response.headersSent || response.destroyed) return
  const payload = typeof body === 'string' || Buffer.isBuffer(body) || isStream(body) ? body : JSON.stringify(body)
  const head: Record<string, string | number> = {
    'content-type': 'application/json; charset=utf-8',
    'content-length': typeof payload === 'string' || Buffer.isBuffer(payload) ? Buffer.byteLength(payload) : 0,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'x-request-id': exchange.requestId,
  }
  if (exchange.addedHeaders) Object.assign(head, exchange.addedHeaders)
  if (headers !== EMPTY) Object.assign(head, headers)
  // A body that nobody read would be taken for the next request, or would have to be read to its end first.
  if (options.lifecycle.state === 'draining' || (status === 413 && !request.complete)) head.connection = 'close'
  if (isStream(payload)) {
    delete head['content-length']
    response.writeHead(status, head)
    pipeline(
      payload as Readable,
      response,
      (error) => error && options.log.debug({ requestId: exchange.requestId, error }, 'a stream ended early'),
    )
    return
  }
  if (status === 204 || status === 304) {
    delete head['content-type']
    delete head['content-length']
  }
  exchange.answering(Number(head['content-length'] ?? 0))
  response.writeHead(status, head)
  response.end(payload)
}

function isStream(body: unknown): boolean {
  return typeof (body as { pipe?: unknown } | null)?.pipe === 'function'
}

/**
 * The last line of defence: every wait inside a handler has a shorter timeout of its own. What is overdue all the same may
 * still take effect, and the caller is told just that. The slot stays with the work until it ends.
 */
function sweep(options: ServerOptions, context: ExchangeContext): void {
  const now = performance.now()
  for (const exchange of context.inFlight) {
    if (now >= exchange.deadlineAt) expire(options, context, exchange)
  }
}

function expire(options: ServerOptions, { unread }: ExchangeContext, exchange: Exchange): void {
  const { request, response, requestId } = exchange
  const error = new DeadlinePassed('the handler did not end within the deadline of its route')
  exchange.abort(error)
  if (!response.headersSent) {
    options.log.error({ requestId, route: exchange.route }, 'a handler is past its deadline; its caller was told so')
    refuse({ options, exchange, request, response, unread }, exchange.matched, error)
    return
  }
  options.log.warn({ requestId }, 'an answer was not read before the deadline; its connection is closed')
  exchange.destroy()
}

/** Whoever has let an answer lie longest goes first: refusing newcomers instead would let a few slow readers shut everyone out. */
function cutSlowReaders(inFlight: Set<Exchange>, excessBytes: number, log: Log): void {
  let left = excessBytes
  for (const exchange of inFlight) {
    if (left <= 0) return
    if (exchange.unreadBytes === 0) continue
    left -= exchange.unreadBytes
    log.warn(
      { requestId: exchange.requestId, bytes: exchange.unreadBytes },
      'an answer was not read in time; its connection is closed',
    )
    exchange.destroy()
  }
}
