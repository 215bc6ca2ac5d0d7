// One request to a daemon, and its answer. No transaction is open and no slot is held meanwhile.

import { type ClientRequest, type IncomingMessage, request as plainRequest } from 'node:http'
import { request as tlsRequest } from 'node:https'
import { ApiError, DeadlinePassed } from '@loci/chassis/api-error.ts'
import type { Method } from '@loci/chassis/route.ts'

const CONNECT_MS = 3_000
/** Below the deadline of the route. */
const ANSWER_MS = 10_000
const ANSWER_BYTES_MAX = 8 * 1024 * 1024
/** Of all answers that are being collected: no slot is held meanwhile, so nothing else bounds them. */
const COLLECTED_BYTES_MAX = 64 * 1024 * 1024

export interface Asked {
  method: Method
  body: Buffer | undefined
  headers: Record<string, string>
  signal: AbortSignal
}

/** On a connection of its own: one that was kept may be closed by the other side at the moment it is used. */
export function ask(target: URL, { method, body, headers, signal }: Asked): Promise<IncomingMessage> {
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

/** Of all answers that are under way. */
export interface Collected {
  bytes: number
}

export async function whole(answer: IncomingMessage, method: Method, collected: Collected): Promise<Buffer> {
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
export function broken(method: Method, cause: Error): Error {
  if (method !== 'GET') return new DeadlinePassed('no answer of the daemon came', { cause })
  return unanswered('The cell of this service gave no answer. Nothing was done; try again.', cause)
}

export function unanswered(message: string, cause?: unknown): ApiError {
  return new ApiError('STORE_UNAVAILABLE', message, { ...(cause ? { cause } : {}) })
}
