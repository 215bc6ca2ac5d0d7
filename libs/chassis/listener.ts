// The bare HTTP listener: every timeout explicit, every limit set, and what the HTTP parser itself refuses (400, 408,
// 431) answered in the service's own error shape with a request id.

import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { Socket } from 'node:net'
import { newId } from '@loci/contract/ids.ts'
import type { AddressSet } from './addresses.ts'
import { ApiError, errorBodyOf, errorHeadersOf } from './api-error.ts'
import { boundConnections } from './connections.ts'
import { breakOff, endSoon } from './unanswered.ts'

export interface ListenerOptions {
  letterCase: 'camel' | 'snake'
  tls?: { cert: string; key: string } | undefined
  /** `awaitsContinue`: the client sends its body when it is told to. */
  onRequest(request: IncomingMessage, response: ServerResponse, awaitsContinue: boolean): void
  onRefused(error: ApiError): void
  trustedProxies: AddressSet
  connectionsMax?: number | undefined
}

const HEADERS_MS = 5_000
/** Node's own is two minutes, in which a handshake that nobody ends holds a connection. */
const HANDSHAKE_MS = 5_000
/** Longer than the 60 s after which common load balancers drop an idle connection, so that they close it and not we. */
const KEEP_ALIVE_MS = 65_000
/** No byte in either direction. Long polls end after 35 s, streams send a heartbeat every 15 s. */
const SILENCE_MS = 60_000
const CONNECTIONS_MAX = 10_000

export function createListener(options: ListenerOptions): Server {
  const settings: ServerOptions = {
    headersTimeout: HEADERS_MS,
    // One for all routes would end an import after it or let a drip of 20 bytes live as long: the sweep ends bodies by
    // their route.
    requestTimeout: 0,
    // Node looks for overdue headers only this often; with its default of 30 s a drip lived for 88 s (measured).
    connectionsCheckingInterval: 1_000,
    keepAliveTimeout: KEEP_ALIVE_MS,
    maxHeaderSize: 16 * 1024,
    // Node's own refusal has neither request id nor body; server.ts checks the header.
    requireHostHeader: false,
    noDelay: true,
  }
  const onRequest = (request: IncomingMessage, response: ServerResponse) => options.onRequest(request, response, false)
  const server = options.tls
    ? (createTlsServer({ ...settings, ...options.tls, handshakeTimeout: HANDSHAKE_MS }, onRequest) as unknown as Server)
    : createServer(settings, onRequest)
  server.timeout = SILENCE_MS
  boundConnections(server, {
    max: options.connectionsMax ?? CONNECTIONS_MAX,
    trustedProxies: options.trustedProxies,
    isTls: options.tls !== undefined,
  })
  // An expectation we do not know is ignored, as RFC 9110 allows; Node's 417 would have no request id.
  server.on('checkExpectation', onRequest)
  // Node would say 100 at once: whoever asks politely would send a body that access refuses.
  server.on('checkContinue', (request, response) => options.onRequest(request, response, true))
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => refuse(error, socket, options))
  return server
}

/** No documented way leads to it, and child_process takes no server as a stream of a child. */
export function descriptorOf(server: Server): number | undefined {
  const { _handle: handle } = server as unknown as { _handle: { fd?: number } | null }
  return handle?.fd !== undefined && handle.fd >= 0 ? handle.fd : undefined
}

function refuse(error: NodeJS.ErrnoException, socket: Socket, { letterCase, onRefused }: ListenerOptions): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy()
    return
  }
  if (breakOff(socket)) return
  const refusal = refusalOf(error)
  onRefused(refusal)
  const requestId = newId('req')
  const body = JSON.stringify(errorBodyOf(refusal, requestId, letterCase))
  const headers = {
    'x-request-id': requestId,
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(body)),
    'cache-control': 'no-store',
    connection: 'close',
    ...errorHeadersOf(refusal),
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  socket.write(`HTTP/1.1 ${refusal.status} ${STATUS_TEXT[refusal.status]}\r\n${lines.join('\r\n')}\r\n\r\n${body}`)
  endSoon(socket)
}

const STATUS_TEXT: Record<number, string> = {
  400: 'Bad Request',
  408: 'Request Timeout',
  431: 'Request Header Fields Too Large',
}

function refusalOf(error: NodeJS.ErrnoException): ApiError {
  if (error.code === 'HPE_HEADER_OVERFLOW')
    return new ApiError('HEADERS_TOO_LARGE', 'The request line and headers together are over 16 KiB.')
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new ApiError('REQUEST_TIMEOUT', `The headers did not arrive within ${HEADERS_MS / 1_000} s.`)
  return new ApiError('VALIDATION_ERROR', 'The request is not valid HTTP/1.1.')
}
