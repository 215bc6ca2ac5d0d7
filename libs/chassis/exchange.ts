// One request in progress, from its arrival to the last byte of its answer. Everything that must happen exactly once
// per request (a log line, an observation, the slot given back) happens here.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { enter, type Work } from '@loci/meter/meter.ts'
import type { Span } from '@opentelemetry/api'
import { type AddressSet, clientAddress, networkOf } from './addresses.ts'
import { Bill, type RouteCost } from './bill.ts'
import type { Arrivals, ArrivingBody } from './body.ts'
import type { Limiter } from './limiter.ts'
import type { Log } from './log.ts'
import type { Metrics } from './metrics.ts'
import type { RefusalLines } from './refusal-lines.ts'
import type { AnswerHeaders, DeadlineClass, Route } from './route.ts'
import { endSpan, remoteContext, startSpan } from './trace.ts'
import type { UnreadAnswers } from './unread.ts'

export interface Exchange extends AnswerHeaders {
  readonly requestId: string
  /** What it costs whoever sent it. */
  readonly bill: Bill
  /** What it has used so far. */
  readonly work: Work
  /** Where an OpenTelemetry SDK is loaded. */
  readonly span: Span | undefined
  /** Its template, as the router knows it. */
  readonly route: string
  readonly deadlineAt: number
  /** Those that access or the handler have added so far. */
  readonly addedHeaders: Record<string, string | string[]> | undefined
  /** The route that it reached. */
  readonly matched: Route | undefined
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** Whom the client's address stands for; of a trusted proxy that does not say, the proxy's own. */
  readonly network: string
  code: string | undefined
  /** Which of its causes, where a code has many. A sentence of ours. */
  reason: string | undefined
  /** While its body is on the way. */
  body: ArrivingBody | undefined
  /** When its body must have arrived. */
  readonly bodyDueAt: number
  /** The client waits for a 100 before it sends its body. */
  awaitsContinue: boolean
  /** No request of this connection is read after it: its answer closes the connection. */
  isLast: boolean
  /** The parser could not read its body to the end. */
  isBroken: boolean
  /** The parser met what it cannot read before this was answered: nothing more is heard of the client. */
  isBrokenOff: boolean
  /** Set when the handler is called: from then on the outcome of a write may be unknown. */
  hasBegun: boolean
  /** Of the whole body, once it is here. */
  bodyBytes: number
  /** Of the limiter, as its route has it. */
  lane: Limiter
  /** Whom its slot counts for, once that is known. */
  share: string | undefined
  /** Set once a slot of the limiter is held. */
  holdsSlot: boolean
  /** The last byte of the answer is out, or the client is gone: nobody waits for more. */
  readonly isClosed: boolean
  /** What access returned. */
  caller: unknown
  admitted: unknown
  /** Set while the request counts as one of this sub-service. */
  subservice: string | undefined
  signal(): AbortSignal
  /** Gives the slot back before a long wait. */
  yieldSlot(): void
  /** Takes one again, now or when one is free; rejects when that takes too long. */
  regainSlot(): Promise<void> | undefined
  /** The handler has ended, whether or not the answer is out. */
  settled(): void
  /** So many bytes are under way to the client. */
  answering(bytes: number): void
  readonly unreadBytes: number
  /** When its answer was written. */
  readonly answeredAt: number
  /** It waits for its turn to be told that it is over a rate, or has waited. */
  hadTurn: boolean
  /** Calls it when this is answered: at once where it is. Of the next request on the connection. */
  whenClosed(next: () => void): void
  /** So many bytes of its body were dropped: how long to wait before more is read; undefined: it is cut. */
  drop(bytes: number): number | undefined
  abort(reason: Error): void
  destroy(): void
}

export interface ExchangeContext {
  log: Log
  metrics: Metrics
  limiter: Limiter
  arrivals: Arrivals
  inFlight: Set<Exchange>
  /** Answered, with a body that is still on the way; nobody reads it. */
  leftovers: Set<Exchange>
  deadlinesMs: Readonly<Record<DeadlineClass, number>>
  bodiesMs: Readonly<Record<DeadlineClass, number>>
  unread: UnreadAnswers
  refusalLines: RefusalLines
  trustedProxies: AddressSet
  costsOf: (route: Route) => RouteCost
  dropped: { drop(sender: string, bytes: number): number | undefined }
}

// Kept on the socket itself: a map from sockets cost a second listener and a look-up for every request.
export interface CountedSocket {
  lociUnanswered?: number
  lociAnsweredAt?: number
  /** The newest request, until it is answered and its body is in. */
  lociNewest?: Exchange | undefined
}

export function openExchange(
  context: ExchangeContext,
  request: IncomingMessage,
  response: ServerResponse,
  requestId: string,
  route: string,
  matched: Route | undefined,
): Exchange {
  const exchange = new OpenExchange(context, request, response, requestId, route, matched)
  context.inFlight.add(exchange)
  count(request.socket as CountedSocket, 1)
  ;(request.socket as CountedSocket).lociNewest = exchange
  response.on('close', () => exchange.closed())
  return exchange
}

function count(socket: CountedSocket, change: 1 | -1): void {
  socket.lociUnanswered = (socket.lociUnanswered ?? 0) + change
}

const LARGE_BYTES = 16 * 1024

/** A class because there is one per request: as closures these methods were a tenth of what the chassis allocates. */
class OpenExchange implements Exchange {
  readonly requestId: string
  readonly bill: Bill
  readonly work: Work
  readonly deadlineAt: number
  code: string | undefined = undefined
  reason: string | undefined = undefined
  body: ArrivingBody | undefined = undefined
  readonly bodyDueAt: number
  awaitsContinue = false
  isLast: boolean
  isBroken = false
  isBrokenOff = false
  hasBegun = false
  bodyBytes = 0
  lane: Limiter
  share: string | undefined = undefined
  holdsSlot = false
  caller: unknown = undefined
  /** Whom access has let in, also where a switch or the lack of a slot refuses it then. */
  admitted: unknown = undefined
  subservice: string | undefined = undefined
  readonly #context: ExchangeContext
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly route: string
  readonly matched: Route | undefined
  addedHeaders: Record<string, string | string[]> | undefined = undefined
  readonly #deadline: DeadlineClass
  readonly #startedAt: number
  readonly #traceId: string | undefined
  readonly span: Span | undefined
  #controller: AbortController | undefined = undefined
  #aborted: Error | undefined = undefined
  #handlerEnded = false
  #answerEnded = false
  #network: string | undefined = undefined
  #next: (() => void) | undefined = undefined
  unreadBytes = 0
  answeredAt = 0
  hadTurn = false

  constructor(
    context: ExchangeContext,
    request: IncomingMessage,
    response: ServerResponse,
    requestId: string,
    route: string,
    matched: Route | undefined,
  ) {
    const deadline = matched?.spec.deadline ?? 'normal'
    this.#context = context
    this.lane = context.limiter
    this.request = request
    this.response = response
    this.route = route
    this.matched = matched
    this.bill = new Bill(matched, context.costsOf)
    this.work = this.bill.work
    this.#deadline = deadline
    this.#startedAt = performance.now()
    this.requestId = requestId
    const streamMs = matched?.spec.bodyStream?.withinMs
    this.deadlineAt = this.#startedAt + (streamMs ?? 0) + context.deadlinesMs[deadline]
    this.bodyDueAt = this.#startedAt + (streamMs ?? context.bodiesMs[deadline])
    // Nobody here speaks another protocol, and the parser reads nothing after such a request.
    this.isLast = request.headers.upgrade !== undefined
    const traceparent = request.headers.traceparent
    const remote = remoteContext(typeof traceparent === 'string' ? traceparent : undefined)
    this.span = startSpan(route, request.method as string, remote.context)
    this.#traceId = remote.traceId ?? this.span?.spanContext().traceId
  }

  get isClosed(): boolean {
    return this.#answerEnded
  }

  /** Made on demand: few handlers wait for anything that can be aborted. */
  signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.#aborted) this.#controller.abort(this.#aborted)
    return this.#controller.signal
  }

  header(name: string, value: string): void {
    this.addedHeaders ??= {}
    this.addedHeaders[name] = value
  }

  append(name: string, value: string): void {
    this.addedHeaders ??= {}
    this.addedHeaders[name] = [...[this.addedHeaders[name] ?? []].flat(), value]
  }

  yieldSlot(): void {
    if (this.holdsSlot) this.lane.release(this.share)
    this.holdsSlot = false
  }

  regainSlot(): Promise<void> | undefined {
    if (this.holdsSlot) return undefined
    const waiting = this.lane.resume(this.share)
    const take = () => {
      this.holdsSlot = true
      // The handler may have ended without waiting for its body.
      this.#release()
    }
    if (waiting) return waiting.then(take)
    take()
    return undefined
  }

  /** Worked out on demand: most requests are served without it. */
  get network(): string {
    if (this.#network === undefined) {
      const { socket, headers } = this.request
      const peer = socket.remoteAddress ?? ''
      this.#network = networkOf(clientAddress(peer, headers, this.#context.trustedProxies) ?? peer)
    }
    return this.#network
  }

  answering(bytes: number): void {
    this.unreadBytes += bytes
    this.answeredAt = performance.now()
    this.#context.unread.add(this, bytes)
  }

  drop(bytes: number): number | undefined {
    const isKnown = this.caller !== undefined && this.share !== undefined
    return this.#context.dropped.drop(isKnown ? (this.share as string) : this.network, bytes)
  }

  whenClosed(next: () => void): void {
    if (this.#answerEnded) next()
    else this.#next = next
  }

  settled(): void {
    this.#handlerEnded = true
    this.#release()
  }

  abort(reason: Error): void {
    this.#aborted ??= reason
    this.#controller?.abort(reason)
  }

  destroy(): void {
    this.response.destroy()
  }

  /** The last byte of the answer is out, or the client is gone. */
  closed(): void {
    // What the loop itself has written of a large answer; of a small one it is not worth a look at the clock.
    if (this.unreadBytes > LARGE_BYTES) enter(this.work, this.unreadBytes)
    this.#answerEnded = true
    this.body?.account?.end()
    count(this.request.socket as CountedSocket, -1)
    ;(this.request.socket as CountedSocket).lociAnsweredAt = performance.now()
    this.#context.inFlight.delete(this)
    this.#letGo()
    this.#context.unread.add(this, -this.unreadBytes)
    if (!this.response.writableFinished) this.abort(new Error('the client went away'))
    this.#release()
    this.#record()
    this.bill.end()
    this.#next?.()
  }

  /** A connection that is kept must not keep its last request with it, unless its body is still on the way. */
  #letGo(): void {
    const { leftovers } = this.#context
    const forget = () => {
      const socket = this.request.socket as CountedSocket
      if (socket.lociNewest === this) socket.lociNewest = undefined
      leftovers.delete(this)
    }
    if (this.request.complete || this.request.destroyed) {
      forget()
      return
    }
    leftovers.add(this)
    this.request.once('close', forget)
  }

  // The slot stands for the work, so it is given back when the work has ended: not when the client gave up on it, and
  // not only when its answer has been read, or whoever reads slowly holds what others need. Unread answers have a bound
  // of their own.
  #release(): void {
    if (!this.holdsSlot || !this.#handlerEnded) return
    this.holdsSlot = false
    this.lane.release(this.share)
  }

  /** A refusal of somebody who is not known, or not asked: anybody can cause as many as they like. */
  #isOfStranger(status: number): boolean {
    const isUnknown = this.caller === undefined || this.matched?.spec.access.schemes.length === 0
    return isUnknown && status >= 400 && status !== 500
  }

  #record(): void {
    const { log, metrics } = this.#context
    const durationMs = performance.now() - this.#startedAt
    // 499: the client left before an answer; 0 would read as success in every dashboard.
    const status = this.response.writableFinished ? this.response.statusCode : 499
    const method = this.request.method as string
    metrics.observeRequest(this.route, method, status, durationMs / 1000)
    if (this.span) endSpan(this.span, status, this.code)
    const isMeasured = this.#deadline !== 'stream' && this.#deadline !== 'longPoll' && status !== 499
    if (this.admitted !== undefined)
      this.matched?.spec.access.noteAnswer?.(this.admitted, status, isMeasured ? durationMs : undefined)
    const unlogged = this.#isOfStranger(status) ? this.#context.refusalLines.next(this.network) : 0
    if (unlogged === undefined) return
    log.request({
      level: this.#deadline === 'probe' && status < 500 ? 'debug' : 'info',
      requestId: this.requestId,
      traceId: this.#traceId,
      method,
      route: this.route,
      status,
      code: this.code,
      reason: this.reason,
      address: status === 401 || status === 403 ? this.request.socket.remoteAddress : undefined,
      durationMs: Math.round(durationMs * 100) / 100,
      unlogged: unlogged === 0 ? undefined : unlogged,
    })
  }
}
