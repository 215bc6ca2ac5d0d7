// The answer that closes its connection. Node destroys a connection with it, and the system resets one with bytes that
// nobody has read: a client that is still sending a body may see that and not the answer (one request in three runs of
// the fuzz, of 39,340 each). So our side alone is closed, and the rest of the body is read and dropped (RFC 9112, 9.6)
// until it is in, or sweep() ends it when the time of its route is over.

import type { Socket } from 'node:net'
import { ApiError } from './api-error.ts'
import type { Exchange } from './exchange.ts'
import { endSoon } from './unanswered.ts'

/** Kept on the socket itself, as in exchange.ts. */
interface EndingSocket {
  /** Requests behind the last answer; undefined: there is none yet. */
  lociPassedOver?: number
}

/** Node keeps each of them until the connection is closed: who sends them on and on is cut. */
const PASSED_OVER_MAX = 16

/** Its answer, which is about to be written, is the last of the connection. */
export function closeBehind(exchange: Exchange): void {
  const { request, response } = exchange
  const { socket } = request
  ;(socket as EndingSocket).lociPassedOver ??= 0
  if (request.complete) return
  const { destroySoon } = socket
  socket.destroySoon = () => {
    const close = () => destroySoon.call(socket)
    // It may be called for another answer before this one: then this one can no longer be sent.
    if (request.complete || request.destroyed || !response.writableFinished) return close()
    // The parser reads no more of it: its end would not be seen.
    if (exchange.isBrokenOff) return endSoon(socket)
    socket.end()
    request.once('close', close)
    // A handler that reads it to this moment must not take what is dropped for the end of it.
    exchange.body?.refuse(new ApiError('VALIDATION_ERROR', 'The body did not arrive whole.'))
    // With one of these it would not flow; that there is none any more is seen in the next tick.
    request.removeAllListeners('readable')
    process.nextTick(() => request.resume())
  }
}

/** Whether the last answer of the connection is written: of what waits behind it nobody could be told. */
export function isPastLast(socket: Socket): boolean {
  return (socket as EndingSocket).lociPassedOver !== undefined
}

/** What comes behind the last answer of a connection is not done: nobody could be told of it. */
export function isPassedOver(socket: Socket): boolean {
  const ending = socket as EndingSocket
  if (ending.lociPassedOver === undefined) return false
  ending.lociPassedOver += 1
  if (ending.lociPassedOver > PASSED_OVER_MAX) socket.destroy()
  return true
}
