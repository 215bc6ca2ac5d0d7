// The HTTP server of every long-running loci process: routes in, answers and refusals out. The life of a request:
//
//   arrive → request id → turn on its connection → host, method, route → https → rate of the address on open routes →
//   state of the process → slot of the limiter → access → share of the slots → switch of the sub-service → body (the
//   slot is given back while it arrives) → body, query and path by their schemas → handler → answer → slot back, one
//   log line, one observation.
//
// It stands on node:http itself. A framework was here first; it cost 6 µs of the 30 that a small request takes, and
// what we used of it was a router and a body reader (docs/decisions/2026-11-15-http-without-framework.md).

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { newId } from '@loci/contract/ids.ts'
import { enter, workFor } from '@loci/meter/meter.ts'
import { type AddressRates, chargeStranger } from './address-rates.ts'
import { type AddressSet, networkOf } from './addresses.ts'
import { admit, type SubserviceGate, takeSlot } from './admission.ts'
import { NO_HEADERS, refuse, write } from './answer.ts'
import { type ApiError, DeadlinePassed, failureOf } from './api-error.ts'
import { noRoute, pathOf, requireArrival } from './arrival.ts'
import { createRouteCosts, LARGE_BODY_BYTES } from './bill.ts'
import { type ArrivingBody, createArrivals, declaredBytes, hasBody, readBytes, tooLarge, tooSlow } from './body.ts'
import { openBodyStream, requireStreamable } from './body-stream.ts'
import { createDropped, type Dropped, keepsPace } from './dropped.ts'
import { type Exchange, type ExchangeContext, openExchange } from './exchange.ts'
import { refuseInTurn, startInTurn } from './in-turn.ts'
import { HandlerCall, inputOf, readBody, requireConditions, requireFits } from './input.ts'
import { isPassedOver } from './last-answer.ts'
import type { Lifecycle } from './lifecycle.ts'
import type { Limiter } from './limiter.ts'
import { createListener, descriptorOf } from './listener.ts'
import type { Log } from './log.ts'
import type { Metrics } from './metrics.ts'
import { createRefusalLines } from './refusal-lines.ts'
import { BODIES_MS, DEADLINES_MS, type DeadlineClass, Reply, type Route } from './route.ts'
import { createRouter, type Match, type Mismatch, type Router } from './router.ts'
import { runInSpan } from './trace.ts'
import { brokenBody, endSoon, unansweredBefore, unansweredOn } from './unanswered.ts'
import { createUnreadAnswers } from './unread.ts'

export interface ServerOptions {
  routes: Route[]
  letterCase: 'camel' | 'snake'
  lifecycle: Lifecycle
  limiter: Limiter
  log: Log
  metrics: Metrics
  trustedProxies: AddressSet
  /** Of the process; without it open routes have no rate. */
  addressRates?: AddressRates
  requireHttps: boolean
  tls?: { cert: string; key: string } | undefined
  subservices?: SubserviceGate
  /** Others than those of route.ts: tests have no time. */
  deadlinesMs?: Partial<Record<DeadlineClass, number>>
  bodiesMs?: Partial<Record<DeadlineClass, number>>
  /** Of this listener; one address holds a tenth of them. */
  connectionsMax?: number
  /** What is dropped of bodies that nobody reads. */
  dropped?: Dropped
  /** Holds every answer against its schema and fails the request otherwise: tests and development, never production. */
  verifyAnswers?: boolean
}

export interface HttpServer {
  listen(address: { host: string; port: number }): Promise<{ host: string; port: number; url: string }>
  /** Of what listens: a child that inherits it keeps the port for as long as it lives. None on Windows. */
  descriptor(): number | undefined
  /** Stops accepting, waits for what runs until the deadline, then cuts it. Resolves with how many were cut. */
  close(deadlineMs: number): Promise<number>
  inFlight(): number
  /** Requests that are answered, with a body that is still on the way. */
  leftovers(): number
}

const BODY_BYTES_MAX = 1024 * 1024
/** A body that takes long enough to be paid for before the handler begins: 200 KiB of members took 17 ms to parse. */
const LARGE_BYTES = 16 * 1024
const SWEEP_MS = 250
/** Unanswered requests of one connection. Our clients do not pipeline; a connection with more than this is closed. */
const PIPELINED_MAX = 16
/**
 * Connections that wait to be accepted; the kernel bounds it by net.core.somaxconn, 4,096 unless set. With Node's 511 a
 * crowd of 900 that came at once filled it, and the kernel dropped what others sent: they waited 3 to 15 s (measured).
 */
const BACKLOG = 4_096
/** What answers of the last moment get to leave, when the process ends. */
const LAST_WORD_MS = 100
/** The route label of whatever reaches none: paths that strangers invent must not become labels. */
const UNMATCHED = 'unmatched'

/** With what is worked out once and not with every request. */
interface ReadyOptions extends ServerOptions {
  flatPaths: ReadonlySet<string>
}

export async function createServer(given: ServerOptions): Promise<HttpServer> {
  const flat = given.routes.filter(({ spec }) => spec.flatErrors).map(({ spec }) => spec.path)
  const options: ReadyOptions = { ...given, flatPaths: new Set(flat) }
  const inFlight = new Set<Exchange>()
  const unread = createUnreadAnswers()
  const context: ExchangeContext = {
    log: options.log,
    metrics: options.metrics,
    limiter: options.limiter,
    arrivals: createArrivals(),
    inFlight,
    leftovers: new Set(),
    deadlinesMs: { ...DEADLINES_MS, ...options.deadlinesMs },
    bodiesMs: { ...BODIES_MS, ...options.bodiesMs },
    unread,
    refusalLines: createRefusalLines(),
    trustedProxies: options.trustedProxies,
    costsOf: createRouteCosts(),
    dropped: options.dropped ?? createDropped(),
  }
  const router = createRouter(options.routes)
  const server = createListener({
    letterCase: options.letterCase,
    tls: options.tls,
    trustedProxies: options.trustedProxies,
    connectionsMax: options.connectionsMax,
    onRequest: (request, response, awaitsContinue) =>
      accept({ options, context, router }, request, response, awaitsContinue),
    onRefused: (error) => options.log.debug({ code: error.code }, 'refused by the HTTP parser'),
  })
  const sweeper = setInterval(() => {
    sweep(options, context)
    unread.cut(inFlight, options.log)
  }, SWEEP_MS).unref()
  return {
    listen({ host, port }) {
      return new Promise((resolve, reject) => {
        server.once('error', reject)
        server.listen({ port, host, backlog: BACKLOG }, () => {
          server.removeListener('error', reject)
          const bound = (server.address() as AddressInfo).port
          const shown = host.includes(':') ? `[${host}]` : host
          resolve({ host, port: bound, url: `${options.tls ? 'https' : 'http'}://${shown}:${bound}` })
        })
      })
    },
    descriptor: () => descriptorOf(server),
    async close(deadlineMs) {
      const deadlineAt = performance.now() + deadlineMs
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      while (inFlight.size > 0 && performance.now() < deadlineAt) {
        server.closeIdleConnections()
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
      const cut = inFlight.size
      // Those still at work are told that their outcome is unknown; a connection is not cut for it.
      for (const exchange of inFlight) if (!exchange.response.headersSent) expire(options, exchange, CUT)
      await untilWritten(inFlight)
      server.closeAllConnections()
      clearInterval(sweeper)
      await closed
      return cut
    },
    inFlight: () => inFlight.size,
    leftovers: () => context.leftovers.size,
  }
}

/** Until the last answers have left; whoever does not read is not waited for. */
async function untilWritten(inFlight: Set<Exchange>): Promise<void> {
  const until = performance.now() + LAST_WORD_MS
  while (inFlight.size > 0 && performance.now() < until) await new Promise((resolve) => setTimeout(resolve, 5))
}

interface Serving {
  options: ReadyOptions
  context: ExchangeContext
  router: Router
}

function accept(serving: Serving, request: IncomingMessage, response: ServerResponse, awaitsContinue: boolean): void {
  if (isPassedOver(request.socket)) return
  if (unansweredOn(request.socket) >= PIPELINED_MAX) {
    request.socket.destroy()
    return
  }
  const { context, router } = serving
  const found = router.find(request.method as string, pathOf(request.url as string))
  const match = 'route' in found ? found : undefined
  const template = ('route' in found ? found.route.spec.path : found.template) ?? UNMATCHED
  const before = unansweredBefore(request.socket)
  const exchange = openExchange(context, request, response, newId('req'), template, match?.route)
  exchange.awaitsContinue = awaitsContinue
  const start = () =>
    workFor(exchange.work, () => {
      if (exchange.span) runInSpan(exchange.span, () => begin(serving, exchange, found))
      else begin(serving, exchange, found)
    })
  startInTurn(exchange, before, start)
}

function begin(serving: Serving, exchange: Exchange, found: Match | Mismatch): void {
  const { options } = serving
  const match = 'route' in found ? found : undefined
  try {
    requireArrival(exchange.request, options)
    if (!match) throw options.addressRates?.take(exchange.network, 1) ?? noRoute(found as Mismatch)
    const admitted = admit(serving, exchange, match.route.spec)
    if (admitted) admitted.then(() => serve(serving, exchange, match)).catch((error) => fail(options, exchange, error))
    else serve(serving, exchange, match)
  } catch (error) {
    fail(options, exchange, error)
  }
}

// From here to the answer nothing is awaited that is already there: a promise per step cost as much as the steps.

/** Reads the body where the route takes one, then hands over. */
function serve({ options, context }: Serving, exchange: Exchange, match: Match): void {
  enter(exchange.work)
  const { spec } = match.route
  const { request, response } = exchange
  if (!spec.body && !(spec.refusesUnknownNames && hasBody(request))) {
    run(options, exchange, match, undefined)
    return
  }
  const bytesMax = spec.bodyBytesMax ?? BODY_BYTES_MAX
  if (spec.bodyStream) requireStreamable(request, spec.bodyStream)
  else if (exchange.awaitsContinue && declaredBytes(request) > bytesMax) throw tooLarge(bytesMax)
  else requirePaid(exchange, Math.min(declaredBytes(request), bytesMax))
  if (exchange.awaitsContinue) {
    exchange.awaitsContinue = false
    response.writeContinue()
  }
  // It came, and broke, before anybody asked for it.
  if (exchange.isBroken) throw brokenBody()
  if (spec.bodyStream) {
    exchange.body = openBodyStream(exchange, spec.bodyStream, (body) => context.arrivals.open(senderOf(exchange), body))
    run(options, exchange, match, undefined)
    return
  }
  const body = readBytes(request, bytesMax, exchange.work, (bytes) => keepsPace(exchange, bytes))
  exchange.body = body
  // What came with the headers is read by then, and keeps its slot. (Microtasks and ticks run between the two:
  // measured.)
  if (!request.complete) setImmediate(awaitBody, context, exchange, body)
  body.whole
    .then((bytes) => {
      if (exchange.holdsSlot || !body.account) return run(options, exchange, match, bytes)
      const waiting = exchange.lane.resume(exchange.share)
      if (!waiting) {
        takeSlot(exchange)
        return run(options, exchange, match, bytes)
      }
      return waiting.then(() => {
        takeSlot(exchange)
        run(options, exchange, match, bytes)
      })
    })
    .catch((error) => fail(options, exchange, error))
}

/** Who has no room for what a large body will cost is told before it is read. */
function requirePaid({ bill }: Exchange, declared: number): void {
  if (declared <= LARGE_BODY_BYTES) return
  bill.requireRoom()
  bill.takeAhead(declared)
}

/**
 * A body that is not here yet: as many as there are slots, each a byte at a time, would leave none for anybody else.
 */
function awaitBody({ arrivals }: ExchangeContext, exchange: Exchange, body: ArrivingBody): void {
  const { request } = exchange
  if (request.complete || request.destroyed || exchange.isClosed) return
  exchange.yieldSlot()
  body.account = arrivals.open(senderOf(exchange), body)
}

/** Whose bodies it counts among. */
function senderOf({ share, request }: Exchange): string {
  return share ?? networkOf(request.socket.remoteAddress ?? '')
}

function run(options: ReadyOptions, exchange: Exchange, { route, params }: Match, bytes: Buffer | undefined): void {
  enter(exchange.work)
  const { request, response } = exchange
  const stream = exchange.body?.stream
  if (!stream) {
    exchange.body?.account?.end()
    exchange.body = undefined
  }
  // Told that it came too late, or gone: nothing may be done for it any more.
  if (response.headersSent || exchange.isClosed) {
    conclude(options, exchange, undefined)
    return
  }
  try {
    exchange.bodyBytes = bytes?.length ?? 0
    const { bill } = exchange
    // It may have waited for its body while others of its caller were at work: of many at once the first is done, and
    // the next ones find its debt.
    bill.requireRoom()
    bill.takeAhead(exchange.bodyBytes)
    requireConditions(route.spec, request.headers)
    const body = readBody(route.spec, request.headers, { bytes, stream })
    if (exchange.bodyBytes > LARGE_BYTES) bill.settle()
    const input = inputOf(route.spec, params, request.url as string, body)
    exchange.hasBegun = true
    const answer = route.handle(new HandlerCall(exchange, input, request.headers, options.log))
    if (answer instanceof Promise)
      answer
        .then((awaited) => succeed(options, exchange, route, awaited))
        .catch((error) => fail(options, exchange, error))
    else succeed(options, exchange, route, answer)
  } catch (error) {
    fail(options, exchange, error)
  }
}

function succeed(options: ReadyOptions, exchange: Exchange, { spec }: Route, answer: unknown): void {
  enter(exchange.work)
  const isReply = answer instanceof Reply
  const status = isReply ? answer.status : 200
  const body = isReply ? answer.body : answer
  if (options.verifyAnswers) requireFits(spec, status, body)
  write(options, exchange, status, body, isReply ? answer.headers : NO_HEADERS)
  conclude(options, exchange, undefined)
}

function fail(options: ReadyOptions, exchange: Exchange, error: unknown): void {
  const { requestId, matched, response, hasBegun } = exchange
  const turn = refuseInTurn(exchange, error)
  if (turn) {
    turn.catch((refusal) => fail(options, exchange, refusal))
    return
  }
  if (!response.headersSent) {
    conclude(options, exchange, refuse(options, exchange, error))
    return
  }
  // Its deadline passed first, and the caller knows as much as can be known.
  options.log.warn(
    { requestId, error },
    'a request failed after its caller was already answered (deadline or drain); see error',
  )
  conclude(options, exchange, failureOf(error, matched?.spec ?? {}, hasBegun))
}

/** The work of a request has ended, whether or not its answer is out. */
function conclude(options: ReadyOptions, exchange: Exchange, failure: ApiError | undefined): void {
  // Of a request that failed too: else the dearest would be one that is made to fail.
  exchange.bill.conclude(failure === undefined)
  if (options.addressRates) chargeStranger(options.addressRates, exchange)
  if (exchange.subservice !== undefined) {
    const counted = failure && failure.status >= 500 ? { code: failure.code, requestId: exchange.requestId } : undefined
    options.subservices?.leave(exchange.subservice, counted)
    exchange.subservice = undefined
  }
  exchange.settled()
}

/**
 * The last line of defence: every wait inside a handler has a shorter timeout of its own. What is overdue all the same
 * may still take effect, and the caller is told just that. The slot stays with the work until it ends.
 */
function sweep(options: ReadyOptions, { inFlight, leftovers }: ExchangeContext): void {
  const now = performance.now()
  for (const exchange of inFlight) {
    if (now >= exchange.deadlineAt) expire(options, exchange, OVERDUE)
    else if (exchange.body && (now >= exchange.bodyDueAt || exchange.body.account?.isTooSlow(now)))
      exchange.body.refuse(tooSlow())
  }
  for (const exchange of leftovers) {
    const { socket } = exchange.request
    // Node has forgotten the request with its answer: of a connection that ends before the body it is told nothing.
    if (socket.destroyed) leftovers.delete(exchange)
    else if (now >= exchange.bodyDueAt) endSoon(socket)
  }
}

const TOLD = 'the caller got 500 OUTCOME_UNKNOWN (GET: 503); the work may still finish'
const OVERDUE = `a handler is past its deadline; ${TOLD}. Many: look at PostgreSQL`
const CUT = `a request was cut at the end of the drain; ${TOLD}`

function expire(options: ReadyOptions, exchange: Exchange, message: string): void {
  const { response, requestId, route } = exchange
  const error = new DeadlinePassed('the handler did not end within the deadline of its route')
  exchange.abort(error)
  if (!response.headersSent) {
    options.log.error({ requestId, route }, message)
    refuse(options, exchange, error)
    return
  }
  options.log.warn({ requestId }, 'an answer was not read before the deadline; its connection is closed')
  exchange.destroy()
}
