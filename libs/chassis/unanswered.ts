// What a connection remembers of its requests: how many are not answered yet, which is the newest, and what becomes of
// it when the client sends what the parser cannot read.

import type { Socket } from 'node:net'
import { ApiError } from './api-error.ts'
import type { CountedSocket, Exchange } from './exchange.ts'

/** Requests of this connection that are not answered yet. */
export function unansweredOn(socket: object): number {
  return (socket as CountedSocket).lociUnanswered ?? 0
}

/** The newest request of this connection, where it is not answered yet. */
export function unansweredBefore(socket: object): Exchange | undefined {
  const { lociNewest } = socket as CountedSocket
  return lociNewest?.isClosed === false ? lociNewest : undefined
}

/** When its last answer was out, 0 before the first; undefined while a request of it waits for its own. */
export function idleSince(socket: object): number | undefined {
  const { lociUnanswered = 0, lociAnsweredAt = 0 } = socket as CountedSocket
  return lociUnanswered > 0 ? undefined : lociAnsweredAt
}

/**
 * What the parser cannot read has no answer of its own while a request of the connection waits for one: the client
 * would take it for that answer. Nor after a request whose body it belongs to. Answers whether the connection is taken
 * care of.
 */
export function breakOff(socket: Socket): boolean {
  const exchange = (socket as CountedSocket).lociNewest
  if (!exchange) return false
  const { request, response, body } = exchange
  exchange.isLast = true
  if (!response.headersSent) {
    // Access is decided all the same: who may not come in is told that, and not what is wrong with the body.
    exchange.isBrokenOff = true
    exchange.isBroken = !request.complete
    if (exchange.isBroken) body?.refuse(brokenBody())
    return true
  }
  if (response.writableFinished) endSoon(socket)
  else if (response.writableEnded) response.once('close', () => endSoon(socket))
  else socket.destroy()
  return true
}

export function brokenBody(): ApiError {
  return new ApiError('VALIDATION_ERROR', 'The chunked body cannot be read: it does not follow the chunked encoding.')
}

/** Not destroyed at once: bytes that nobody has read would make the system cut the answer off. */
export function endSoon(socket: Socket): void {
  socket.end()
  setTimeout(() => socket.destroy(), LAST_WORD_MS).unref()
}

const LAST_WORD_MS = 1_000
