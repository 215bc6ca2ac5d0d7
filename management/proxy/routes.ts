// The console's way to a daemon. The browser has a session and never a capability; management asks for it with one.
// No transaction is open and no slot is held while the daemon is asked.

import { type ClientRequest, type IncomingMessage, request as plainRequest } from 'node:http'
import { request as tlsRequest } from 'node:https'
import { ApiError, DeadlinePassed } from '@loci/chassis/api-error.ts'
import { type Call, type Method, type Reply, type Route, reply, route } from '@loci/chassis/route.ts'
import { HEADER } from '@loci/contract/headers.ts'
import { proxyBody, proxyParams, proxyQuery } from '@loci/contract/proxy.ts'
import type { Caller, CallerAccess } from '../access/caller.ts'
import { endpointOf } from '../services/services.ts'
import type { ProxyCapabilities } from './capabilities.ts'
import { answeredHeaders, askedHeaders, kindOf, pathOf } from './proxy.ts'

interface ProxyOptions {
  caller: CallerAccess
  capabilities: ProxyCapabilities
}

const METHODS: Method[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']
const CONNECT_MS = 3_000
/** Below the deadline of the route. */
const ANSWER_MS = 10_000
const ANSWER_BYTES_MAX = 8 * 1024 * 1024
/** Of all answers that are being collected: no slot is held meanwhile, so nothing else bounds them. */
const COLLECTED_BYTES_MAX = 64 * 1024 * 1024
/** A stream ends at most this long after the session, or its role, did. */
const RECHECK_MS = 2_000

type ProxyCall = Call<Caller, { id: string; path: string }, Record<string, string>, unknown>

export function proxyRoutes({ caller: access, capabilities }: ProxyOptions): Route[] {
  const collected = { bytes: 0 }
  return METHODS.map((method) =>
    route(
      {
        method,
        path: '/api/v1/services/{id}/proxy/{path...}',
        access: access.session(method === 'GET' ? 'read' : 'write'),
        tag: 'proxy',
        deadline: method === 'GET' ? 'stream' : 'normal',
        summary: `${method} of the service itself, for pages of the console: what stands under /v1, by the role of who is signed in.`,
        params: proxyParams,
        query: proxyQuery,
        ...(method === 'GET' || method === 'DELETE' ? {} : { body: proxyBody, bodyRaw: true, bodyOptional: true }),
        answers: { 200: { contentType: 'application/json', description: 'As the daemon answers, errors too.' } },
        errors: ['NOT_FOUND', 'INVALID_STATE', 'STORE_UNAVAILABLE'],
        failureMessage: 'Failed to ask the service',
      },
      (call) => pass(method, call as ProxyCall),
    ),
  )

  async function pass(method: Method, call: ProxyCall): Promise<Reply> {
    const { caller, params, query, headers, requestId, yieldSlot } = call
    const path = pathOf(params.path)
    const { service, token } = await capabilities.of(caller, params.id, requestId)
    // Behind the path that the endpoint has, as clients ask: a gateway may tell its services apart by it.
    const target = new URL(endpointOf(service) as string)
    target.pathname = `${target.pathname.replace(/\/+$/, '')}${path}`
    target.search = new URLSearchParams(query).toString()
    const body = Buffer.isBuffer(call.body) && call.body.length > 0 ? call.body : undefined
    yieldSlot()
    const answer = await ask(target, {
      method,
      body,
      headers: { ...askedHeaders(headers), [HEADER.capability]: token, [HEADER.service]: service.id },
      signal: call.signal,
    })
    const status = answer.statusCode as number
    // Of the capability, which is ours: to a page it would mean that its session is over.
    if (status === 401) {
      answer.destroy()
      throw unanswered('The service does not accept what management asks it with; it may have just been made.')
    }
    const kind = kindOf(answer.headers)
    if (kind === 'other') {
      answer.destroy()
      // A load balancer's page may stand where the daemon's answer was, after its commit.
      throw broken(method, new Error(`an answer that is no JSON, with status ${status}`))
    }
    if (kind === 'json') return reply(status, await whole(answer, method, collected), answeredHeaders(answer.headers))
    endWithSession(answer, call)
    return reply(status, answer, { ...answeredHeaders(answer.headers), 'x-accel-buffering': 'no' })
  }

  function endWithSession(stream: IncomingMessage, { caller, headers, signal }: ProxyCall): void {
    const cut = () => void stream.destroy()
    const rechecks = setInterval(() => {
      access.isStillValid(caller, headers).then((isValid) => isValid || cut(), cut)
    }, RECHECK_MS)
    stream.once('close', () => {
      clearInterval(rechecks)
      signal.removeEventListener('abort', cut)
    })
    signal.addEventListener('abort', cut)
    if (signal.aborted) cut()
  }
}

interface Asked {
  method: Method
  body: Buffer | undefined
  headers: Record<string, string>
  signal: AbortSignal
}

/** On a connection of its own: one that was kept may be closed by the other side at the moment it is used. */
function ask(target: URL, { method, body, headers, signal }: Asked): Promise<IncomingMessage> {
  const open = target.protocol === 'https:' ? tlsRequest : plainRequest
  return new Promise((resolve, reject) => {
    let isConnected = false
    const length = body ? { 'content-length': String(body.length) } : {}
    const outgoing: ClientRequest = open(target, { method, headers: { ...headers, ...length }, agent: false, signal })
    const connecting = setTimeout(() => outgoing.destroy(new Error('no connection in time')), CONNECT_MS)
    const answering = setTimeout(() => outgoing.destroy(new Error('no answer in time')), ANSWER_MS)
    outgoing.on('socket', (socket) =>
      socket.once(target.protocol === 'https:' ? 'secureConnect' : 'connect', () => {
        isConnected = true
        clearTimeout(connecting)
      }),
    )
    outgoing.on('response', (answer) => {
      clearTimeout(answering)
      resolve(answer)
    })
    outgoing.on('error', (error) => {
      clearTimeout(connecting)
      clearTimeout(answering)
      reject(broken(isConnected ? method : 'GET', error))
    })
    outgoing.end(body)
  })
}

async function whole(answer: IncomingMessage, method: Method, collected: { bytes: number }): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  const late = setTimeout(() => answer.destroy(new Error('the answer did not end in time')), ANSWER_MS)
  try {
    for await (const chunk of answer) {
      size += chunk.length
      collected.bytes += chunk.length
      if (size > ANSWER_BYTES_MAX) throw new Error('the answer is too long')
      if (collected.bytes > COLLECTED_BYTES_MAX)
        throw new ApiError('OVERLOADED', 'Too many large answers of services are under way. Ask for less, or again.')
      chunks.push(chunk)
    }
    return Buffer.concat(chunks)
  } catch (error) {
    answer.destroy()
    throw error instanceof ApiError && method === 'GET' ? error : broken(method, error as Error)
  } finally {
    clearTimeout(late)
    collected.bytes -= size
  }
}

/** What was sent may have been done, and then neither a 4xx nor a 503 may say that it was not. */
function broken(method: Method, cause: Error): Error {
  if (method !== 'GET') return new DeadlinePassed('no answer of the daemon came', { cause })
  return unanswered('The cell of this service gave no answer. Nothing was done; try again.', cause)
}

function unanswered(message: string, cause?: unknown): ApiError {
  return new ApiError('STORE_UNAVAILABLE', message, { ...(cause ? { cause } : {}) })
}
