// What waits for its turn: a request that was sent ahead, and a refusal for a rate.

import { ApiError } from './api-error.ts'
import type { Exchange } from './exchange.ts'
import { isPastLast } from './last-answer.ts'

/**
 * A request that was sent ahead begins when the answer before it is out, so a connection has one answer under way.
 * 100 connections that sent 16 requests each for a document and read nothing had 1,600, and others waited 4.6 s
 * (measured). Node tells nothing of a response that waits behind another on a connection that ends.
 */
export function startInTurn(exchange: Exchange, before: Exchange | undefined, start: () => void): void {
  if (!before) {
    start()
    return
  }
  before.whenClosed(() => {
    const { socket } = exchange.request
    if (socket.destroyed || isPastLast(socket)) exchange.destroy()
    // Its deadline may have passed meanwhile: then it has its answer.
    else if (!exchange.isClosed && !exchange.response.headersSent) start()
  })
}

/**
 * Who is over a rate waits for that answer where many are, and its slot is free meanwhile: to refuse costs as much as a
 * small read (limiter.ts). Rejects with the refusal when it may be told; undefined for everything else.
 */
export function refuseInTurn(exchange: Exchange, error: unknown): Promise<void> | undefined {
  if (!(error instanceof ApiError && error.code === 'RATE_LIMITED')) return undefined
  if (exchange.hadTurn || exchange.isClosed || exchange.response.headersSent) return undefined
  exchange.hadTurn = true
  return waitForTurn(exchange, error)
}

async function waitForTurn(exchange: Exchange, refusal: ApiError): Promise<void> {
  exchange.yieldSlot()
  await exchange.lane.refuse(refusal)
}
