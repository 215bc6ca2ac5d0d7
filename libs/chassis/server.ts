// The HTTP server of every long-running loci process: routes in, answers and refusals out. The life of a request:
//
//   arrive → request id → host, https → state of the process → slot of the limiter → access → switch of the sub-service
//   → body, query and path by their schemas → handler → answer → slot back, one log line, one observation.
//
// This file is the only one that knows the HTTP framework.

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { HEADER } from '@loci/contract/headers.ts'
import { newId } from '@loci/contract/ids.ts'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest, type HTTPMethods } from 'fastify'
import { type AddressSet, arrivedByTls } from './addresses.ts'
import { ApiError, errorBodyOf, errorHeadersOf, isOutcomeUnknown, toApiError } from './api-error.ts'
import { type Exchange, type ExchangeContext, openExchange } from './exchange.ts'
import { inputOf, readBody, requireFits } from './input.ts'
import type { Lifecycle } from './lifecycle.ts'
import type { Limiter } from './limiter.ts'
import { createListener } from './listener.ts'
import type { Log } from './log.ts'
import type { Metrics } from './metrics.ts'
import { type Call, type DeadlineClass, Reply, type Route } from './route.ts'

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
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']
const SWEEP_MS = 250
const EMPTY = Object.freeze({})

export async function createServer(options: ServerOptions): Promise<HttpServer> {
  const inFlight = new Set<Exchange>()
  const context: ExchangeContext = { log: options.log, metrics: options.metrics, limiter: options.limiter, inFlight }
  const app = Fastify({
    logger: false,
    genReqId: () => newId('req'),
    requestIdHeader: false,
    bodyLimit: BODY_BYTES_MAX,
    routerOptions: { maxParamLength: 16 * 1024, querystringParser: () => EMPTY },
    frameworkErrors(error, request, reply) {
      begin(context, request, reply, UNMATCHED, 'normal').settled()
      refuse(options, request, reply, toApiError(error))
    },
    serverFactory: (handle) =>
      createListener({
        letterCase: options.letterCase,
        tls: options.tls,
        onRequest: (request, response) => accept(options, handle, request, response),
        onRefused: (error) => options.log.debug({ code: error.code }, 'refused by the HTTP parser'),
      }),
  })
  app.decorateRequest('exchange', null)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, bytes, done) => done(null, bytes))
  app.setErrorHandler((error, request, reply) => refuse(options, request, reply, toApiError(error)))
  app.setNotFoundHandler((request, reply) => {
    begin(context, request, reply, UNMATCHED, 'normal').settled()
    refuse(
      options,
      request,
      reply,
      new ApiError('NOT_FOUND', 'There is nothing at this path. GET /openapi.json lists what there is.'),
    )
  })
  for (const route of options.routes) register(app, context, options, route)
  refuseOtherMethods(app, context, options)
  await app.ready()

  const sweeper = setInterval(() => sweep(inFlight, options.log), SWEEP_MS).unref()
  const server = app.server
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
      server.closeAllConnections()
      clearInterval(sweeper)
      await closed
      return cut
    },
    inFlight: () => inFlight.size,
  }
}

const UNMATCHED = 'unmatched'

declare module 'fastify' {
  interface FastifyRequest {
    exchange: Exchange | null
  }
}

type Handle = (request: IncomingMessage, response: ServerResponse) => void

/** What can be refused before routing. */
function accept(options: ServerOptions, handle: Handle, request: IncomingMessage, response: ServerResponse): void {
  if (METHODS.includes(request.method as string) && request.headers.host !== undefined) {
    handle(request, response)
    return
  }
  const refusal =
    request.headers.host === undefined
      ? new ApiError('VALIDATION_ERROR', 'The request has no Host header.')
      : new ApiError('METHOD_NOT_ALLOWED', `No path has the method ${request.method}.`, {
          headers: { allow: METHODS.join(', ') },
        })
  const requestId = newId('req')
  response.writeHead(refusal.status, {
    ...FIXED_HEADERS,
    [HEADER.requestId]: requestId,
    ...errorHeadersOf(refusal),
    connection: 'close',
  })
  response.end(JSON.stringify(errorBodyOf(refusal, requestId, options.letterCase)))
}

/** Nothing that we answer belongs into a cache or is to be guessed at by a browser. */
const FIXED_HEADERS = {
  'content-type': 'application/json; charset=utf-8',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
}

function begin(
  context: ExchangeContext,
  request: FastifyRequest,
  reply: FastifyReply,
  route: string,
  deadline: DeadlineClass,
): Exchange {
  const exchange = openExchange(context, request.raw, reply.raw, request.id, route, deadline)
  request.exchange = exchange
  return exchange
}

function register(app: FastifyInstance, context: ExchangeContext, options: ServerOptions, route: Route): void {
  const { spec } = route
  const deadline = spec.deadline ?? 'normal'
  const isProbe = deadline === 'probe'
  app.route({
    method: spec.method,
    url: routerPath(spec.path),
    bodyLimit: spec.bodyBytesMax ?? BODY_BYTES_MAX,
    onRequest(request, reply, done) {
      const exchange = begin(context, request, reply, spec.path, deadline)
      const failed = (error: unknown) => {
        exchange.settled()
        done(error as Error)
      }
      const admit = () => {
        exchange.holdsSlot = !isProbe
        // Access first, then the switch: who may not come in is not told what is switched off.
        const caller = spec.access.authorize({
          method: spec.method,
          headers: request.headers,
          peer: request.raw.socket.remoteAddress ?? '',
          requestId: request.id,
        })
        if (caller instanceof Promise) caller.then((known) => enter(known), failed)
        else enter(caller)
      }
      const enter = (caller: unknown) => {
        try {
          if (spec.subservice) options.subservices?.enter(spec.subservice)
        } catch (error) {
          failed(error)
          return
        }
        callers.set(request, caller)
        done()
      }
      try {
        if (options.requireHttps && !arrivedByTls(request.raw.socket, request.headers, options.trustedProxies)) {
          throw new ApiError('HTTPS_REQUIRED', 'This deployment answers requests that arrive by TLS only. Use https.')
        }
        const refusal = isProbe ? undefined : options.lifecycle.refusal()
        if (refusal) throw refusal
        const waiting = isProbe ? undefined : options.limiter.acquire()
        if (waiting) waiting.then(() => admit(), failed).catch(failed)
        else admit()
      } catch (error) {
        failed(error)
      }
    },
    handler(request, reply) {
      void run(options, route, request, reply)
    },
  })
}

/** What access returned, from the first hook to the handler. */
const callers = new WeakMap<FastifyRequest, unknown>()

async function run(options: ServerOptions, route: Route, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const { spec } = route
  const exchange = request.exchange as Exchange
  let failure: ApiError | undefined
  try {
    const body = readBody(spec, request.headers, request.body as Buffer | undefined)
    const call: Call<unknown, unknown, unknown, unknown> = {
      caller: callers.get(request),
      ...inputOf(spec, request.params, request.raw.url as string, body),
      headers: request.headers,
      requestId: request.id,
      log: options.log,
      get signal() {
        return exchange.signal()
      },
    }
    const answer = await route.handle(call)
    send(options, route, reply, answer)
  } catch (error) {
    if (isOutcomeUnknown(error)) {
      options.log.error(
        { requestId: request.id, route: spec.path, error },
        'the outcome of a write is unknown; the connection is closed without an answer',
      )
      exchange.destroy()
    } else {
      failure = toApiError(error, spec.failureMessage)
      refuse(options, request, reply, failure)
    }
  } finally {
    if (spec.subservice)
      options.subservices?.leave(
        spec.subservice,
        failure && failure.status >= 500 ? { code: failure.code, requestId: request.id } : undefined,
      )
    exchange.settled()
  }
}

function send(options: ServerOptions, { spec }: Route, reply: FastifyReply, answer: unknown): void {
  const { status, body, headers } = answer instanceof Reply ? answer : { status: 200, body: answer, headers: EMPTY }
  if (options.verifyAnswers) requireFits(spec, status, body)
  reply.raw.statusCode = status
  reply.headers(FIXED_HEADERS).header(HEADER.requestId, reply.request.id).headers(headers)
  if (options.lifecycle.state === 'draining') reply.header('connection', 'close')
  reply.send(typeof body === 'string' || Buffer.isBuffer(body) || isStream(body) ? body : JSON.stringify(body))
}

function isStream(body: unknown): boolean {
  return typeof (body as { pipe?: unknown } | null)?.pipe === 'function'
}

function refuse(options: ServerOptions, request: FastifyRequest, reply: FastifyReply, error: ApiError): void {
  if (reply.sent || reply.raw.destroyed) return
  const exchange = request.exchange
  if (exchange) exchange.code = error.code
  // 5xx of our own making are bugs or damage; what the store or the load did is in the access line already.
  if (error.status === 500)
    options.log.error({ requestId: request.id, code: error.code, error: error.cause ?? error }, 'request failed')
  else if (error.code === 'STORE_UNAVAILABLE')
    options.log.warn(
      { requestId: request.id, code: error.code, error: error.cause ?? error },
      'the store did not answer',
    )
  reply.raw.statusCode = error.status
  reply.headers(FIXED_HEADERS).header(HEADER.requestId, request.id).headers(errorHeadersOf(error))
  if (options.lifecycle.state === 'draining') reply.header('connection', 'close')
  reply.send(JSON.stringify(errorBodyOf(error, request.id, options.letterCase)))
}

/** Fastify answers 404 for a known path with another method; the contract says 405, with `Allow`. */
function refuseOtherMethods(app: FastifyInstance, context: ExchangeContext, options: ServerOptions): void {
  for (const [path, routes] of Map.groupBy(options.routes, ({ spec }) => spec.path)) {
    const has = new Set<string>(routes.flatMap(({ spec }) => (spec.method === 'GET' ? ['GET', 'HEAD'] : [spec.method])))
    const allow = METHODS.filter((method) => has.has(method)).join(', ')
    app.route({
      method: METHODS.filter((method) => !has.has(method)) as HTTPMethods[],
      url: routerPath(path),
      onRequest(request, reply) {
        begin(context, request, reply, path, 'normal').settled()
        refuse(
          options,
          request,
          reply,
          new ApiError('METHOD_NOT_ALLOWED', `This path has ${allow}.`, { headers: { allow } }),
        )
      },
      handler: () => undefined,
    })
  }
}

/** `{key}` → `:key`; a colon of our own is doubled, or the router reads it as a parameter (`tools:rank` would match `toolsXYZ`). */
function routerPath(path: string): string {
  return path.replaceAll(':', '::').replace(/\{(\w+)\}/g, ':$1')
}

/**
 * The last line of defence: every wait inside a handler has a shorter timeout of its own. What is overdue all the same may
 * still take effect, so it gets no answer rather than a false one.
 */
function sweep(inFlight: Set<Exchange>, log: Log): void {
  const now = performance.now()
  for (const exchange of inFlight) {
    if (now < exchange.deadlineAt) continue
    log.error({ requestId: exchange.requestId }, 'a handler is past its deadline; its connection is closed')
    exchange.abort(new Error('the deadline of the request passed'))
    exchange.destroy()
  }
}
