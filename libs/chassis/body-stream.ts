// A body that a handler reads while it arrives: imports, exports of another system, what is too large to be held. The
// handler pulls, so the client is never ahead of it by more than a buffer. While the handler waits for the client it
// holds no slot of the limiter; while it works it does.
//
//   reading   a chunk is there, or the handler is at work on the last one. The client's time does not count
//   waiting   nothing is there: the slot is given back, and the client must keep the minimum rate of the route
//   ended     whole: the loop of the handler ends. Or refused: it throws 408 (too slow, too late), 413, 400 (cut off)
//
// 408, 413 and 400 say that nothing was done, so a handler lets them out only where it has committed nothing: one
// transaction, or parts that can be sent again.

import type { IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { resume } from '@loci/meter/meter.ts'
import { z } from 'zod'
import { ApiError } from './api-error.ts'
import { type Account, type ArrivingBody, GRACE_MS, tooLarge } from './body.ts'
import type { Exchange } from './exchange.ts'
import type { StreamLimits } from './route.ts'

/** For a handler: `for await (const chunk of call.body)`. */
export type BodyStream = AsyncIterable<Buffer>

/** The `body` of a route with `bodyStream`; `documentedBody` says what is in it. */
export const streamedBody = z.custom<BodyStream>()

/** What was done for it is paid so often. */
const SETTLED_BYTES = 64 * 1024
/**
 * Between two tries for a slot: the client waits meanwhile, and an import is not refused halfway because others are
 * busy.
 */
const SLOT_RETRY_MS = 50

export function openBodyStream(
  exchange: Exchange,
  { bytesMax, bytesPerSecondMin }: StreamLimits,
  openAccount: (body: ArrivingBody) => Account,
): ArrivingBody {
  const { request } = exchange
  let failure: ApiError | undefined
  let wake = () => {}
  let waitedMs = 0
  let waitingSince: number | undefined
  let settledAt = 0

  const refuse = (error: ApiError) => {
    failure ??= error
    wake()
  }
  const body: ArrivingBody = { whole: undefined, stream: chunks(), refuse, received: 0, account: undefined }
  const account = openAccount(body)
  body.account = {
    ...account,
    isTooSlow(now) {
      const waited = waitedMs + (waitingSince === undefined ? 0 : now - waitingSince)
      return body.received < ((waited - GRACE_MS) * bytesPerSecondMin) / 1_000
    },
  }
  const cut = () => {
    if (!request.complete) refuse(new ApiError('VALIDATION_ERROR', 'The body did not arrive whole.'))
    wake()
  }
  for (const event of ['readable', 'end']) request.on(event, () => wake())
  for (const event of ['error', 'close']) request.on(event, cut)
  if (request.destroyed) cut()
  return body

  async function* chunks(): AsyncGenerator<Buffer> {
    for (;;) {
      if (failure) throw failure
      const chunk = request.read() as Buffer | null
      if (chunk) {
        take(chunk.length)
        yield chunk
      } else if (request.readableEnded) return
      else await nextChunk()
    }
  }

  function take(bytes: number): void {
    body.received += bytes
    if (body.received > bytesMax) throw tooLarge(bytesMax)
    if (body.received - settledAt < SETTLED_BYTES) return
    settledAt = body.received
    exchange.bill.settle()
  }

  async function nextChunk(): Promise<void> {
    exchange.yieldSlot()
    waitingSince = performance.now()
    await new Promise<void>((resolve) => {
      wake = resolve
    })
    waitedMs += performance.now() - waitingSince
    waitingSince = undefined
    while (!failure && !(await hasSlot())) await sleep(SLOT_RETRY_MS)
    resume()
  }

  async function hasSlot(): Promise<boolean> {
    try {
      await exchange.regainSlot()
      return true
    } catch {
      return false
    }
  }
}

/** What is known before the first byte: an encoding that we do not undo, or a length beyond the limit. */
export function requireStreamable({ headers }: IncomingMessage, { bytesMax }: StreamLimits): void {
  const encoding = headers['content-encoding']
  if (encoding !== undefined && encoding !== 'identity')
    throw new ApiError('UNSUPPORTED_MEDIA_TYPE', 'Send the body without content-encoding.')
  if (Number(headers['content-length'] ?? 0) > bytesMax) throw tooLarge(bytesMax)
}
