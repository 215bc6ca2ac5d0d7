// One request in progress, from its arrival to the last byte of its answer. Everything that must happen exactly once per request
// (a log line, an observation, the slot given back) happens here.

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Span } from '@opentelemetry/api'
import type { Limiter } from './limiter.ts'
import type { Log } from './log.ts'
import type { Metrics } from './metrics.ts'
import { DEADLINES_MS, type DeadlineClass } from './route.ts'
import { remoteContext, startSpan } from './trace.ts'

export interface Exchange {
  readonly requestId: string
  readonly deadlineAt: number
  code: string | undefined
  /** Set once a slot of the limiter is held. */
  holdsSlot: boolean
  signal(): AbortSignal
  /** The handler has ended, whether or not the answer is out. */
  settled(): void
  abort(reason: Error): void
  destroy(): void
}

export interface ExchangeContext {
  log: Log
  metrics: Metrics
  limiter: Limiter
  inFlight: Set<Exchange>
}

export function openExchange(
  context: ExchangeContext,
  request: IncomingMessage,
  response: ServerResponse,
  requestId: string,
  route: string,
  deadline: DeadlineClass,
): Exchange {
  const startedAt = performance.now()
  const traceparent = request.headers.traceparent
  const remote = remoteContext(typeof traceparent === 'string' ? traceparent : undefined)
  const span = startSpan(route, request.method as string, remote.context)
  let controller: AbortController | undefined
  let aborted: Error | undefined
  let handlerEnded = false
  let answerEnded = false

  // The slot stands for the work, so it is given back when the work has ended, not when the client gave up on it; and for
  // the answer, because one that is still being written holds memory.
  function release(): void {
    if (!exchange.holdsSlot || !handlerEnded || !answerEnded) return
    exchange.holdsSlot = false
    context.limiter.release()
  }

  const exchange: Exchange = {
    requestId,
    deadlineAt: startedAt + DEADLINES_MS[deadline],
    code: undefined,
    holdsSlot: false,
    // Made on demand: few handlers wait for anything that can be aborted.
    signal() {
      controller ??= new AbortController()
      if (aborted) controller.abort(aborted)
      return controller.signal
    },
    settled() {
      handlerEnded = true
      release()
    },
    abort(reason) {
      aborted ??= reason
      controller?.abort(reason)
    },
    destroy() {
      response.destroy()
    },
  }

  context.inFlight.add(exchange)
  response.on('close', () => {
    answerEnded = true
    context.inFlight.delete(exchange)
    if (!response.writableFinished) exchange.abort(new Error('the client went away'))
    release()
    finish(context, request, response, exchange, { route, deadline, startedAt, traceId: remote.traceId, span })
  })
  return exchange
}

interface Facts {
  route: string
  deadline: DeadlineClass
  startedAt: number
  traceId: string | undefined
  span: Span | undefined
}

function finish(
  { log, metrics }: ExchangeContext,
  request: IncomingMessage,
  response: ServerResponse,
  exchange: Exchange,
  facts: Facts,
): void {
  const durationMs = performance.now() - facts.startedAt
  // 499: the client left before an answer; 0 would read as success in every dashboard.
  const status = response.writableFinished ? response.statusCode : 499
  const method = request.method as string
  metrics.observeRequest(facts.route, method, status, durationMs / 1000)
  if (facts.span) {
    facts.span.setAttribute('http.response.status_code', status)
    facts.span.end()
  }
  const line = {
    requestId: exchange.requestId,
    ...(facts.traceId === undefined ? {} : { traceId: facts.traceId }),
    method,
    // The template, never the path: keys and names in it are the customer's content.
    route: facts.route,
    status,
    ...(exchange.code === undefined ? {} : { code: exchange.code }),
    ...(status === 401 || status === 403 ? { address: request.socket.remoteAddress ?? '' } : {}),
    durationMs: Math.round(durationMs * 100) / 100,
  }
  if (facts.deadline === 'probe' && status < 500) log.debug(line, 'request')
  else log.info(line, 'request')
}
