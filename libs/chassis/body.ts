// The bytes of a request's body, as they arrive, and how much of that there may be. A body that has to be waited for
// holds no slot of the limiter; it holds memory and a connection, so both have a bound of their own, for all and for
// each caller, and a body that comes too slowly is not waited for.

import type { IncomingMessage } from 'node:http'
import { enter, type Work } from '@loci/meter/meter.ts'
import { ApiError } from './api-error.ts'

/**
 * How much of a body that is refused for its size is still read, so that a client that sends before it listens gets the
 * refusal.
 */
const DISCARDED_BYTES_MAX = 8 * 1024 * 1024
/** Of all bodies that are on the way, what has arrived of them. */
const BYTES_MAX = 64 * 1024 * 1024
const CALLER_BYTES_MAX = 8 * 1024 * 1024
const CALLER_BODIES_MAX = 64
/** A body that needs longer than the grace comes at least this fast, or is 408. The grace is two lost packets. */
const BYTES_PER_MS_MIN = 8
export const GRACE_MS = 2_000

/** A body on its way. */
export interface ArrivingBody {
  /** Undefined where the handler reads it as a stream. */
  readonly whole: Promise<Buffer> | undefined
  readonly stream?: AsyncIterable<Buffer>
  /** It is waited for no longer. */
  refuse(error: ApiError): void
  /** So far; what is over the limit of the route is counted and not kept. */
  received: number
  /** Set when it has to be waited for. */
  account: Account | undefined
}

/** What a body that is waited for uses of the bounds. */
export interface Account {
  keep(bytes: number): void
  isTooSlow(now: number): boolean
  /** Once is enough; more do no harm. */
  end(): void
}

/** The whole body, at most `bytesMax` of it. `drop` is told what is dropped of a larger one; false: no more of it. */
export function readBytes(
  request: IncomingMessage,
  bytesMax: number,
  work?: Work,
  drop: (bytes: number) => boolean = () => true,
): ArrivingBody & { readonly whole: Promise<Buffer> } {
  const { promise: whole, resolve, reject } = Promise.withResolvers<Buffer>()
  let chunks: Buffer[] | undefined = []
  let isRefused = false
  // What is refused may still arrive, and counts nowhere any more: nothing of it is kept.
  // What is known to be over the limit is refused for that, whatever ended the wait: nobody mends it by trying again.
  const refuse = (error: ApiError) => {
    chunks = undefined
    isRefused = true
    reject(body.received > bytesMax ? tooLarge(bytesMax) : error)
  }
  const body = { whole, refuse, received: 0, account: undefined as Account | undefined }
  request.on('data', (chunk: Buffer) => {
    enter(work, chunk.length)
    body.received += chunk.length
    if (chunks && body.received <= bytesMax) {
      chunks.push(chunk)
      body.account?.keep(chunk.length)
      return
    }
    // From then on dropRest() of dropped.ts counts.
    if (isRefused) return
    if (!drop(chunk.length) || body.received > DISCARDED_BYTES_MAX) refuse(tooLarge(bytesMax))
  })
  let isWhole = false
  request.on('end', () => {
    isWhole = true
    if (body.received > bytesMax) refuse(tooLarge(bytesMax))
    if (chunks) resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks))
  })
  // Every request closes in the end: an error that nobody hears was made for each, 2 % of a write.
  const cut = () => {
    if (!isWhole) refuse(new ApiError('VALIDATION_ERROR', 'The body did not arrive whole.'))
  }
  request.on('error', cut)
  request.on('close', cut)
  // Whoever left while the request waited for its turn says so no second time, and its slot would never come back.
  if (request.destroyed) cut()
  // What says beforehand that it is far too large is not read at all.
  if (declaredBytes(request) > Math.max(DISCARDED_BYTES_MAX, bytesMax)) refuse(tooLarge(bytesMax))
  return body
}

/** 0 where its length is not told. */
export function declaredBytes({ headers }: IncomingMessage): number {
  return Number(headers['content-length'] ?? 0)
}

/** Whether any of it is to be expected after the headers. */
export function hasBody(request: IncomingMessage): boolean {
  return request.headers['transfer-encoding'] !== undefined || declaredBytes(request) > 0
}

export function tooLarge(bytesMax: number): ApiError {
  return new ApiError('PAYLOAD_TOO_LARGE', `The body is over the limit of this route, ${bytesMax} bytes.`)
}

export function tooSlow(): ApiError {
  return new ApiError('REQUEST_TIMEOUT', 'The body did not arrive in time. Nothing was done; send it faster.')
}

export interface Arrivals {
  /** Begins to wait for a body. `caller`: whose bound it counts into. */
  open(caller: string, body: ArrivingBody): Account
}

export function createArrivals(): Arrivals {
  const callers = new Map<string, { bodies: number; bytes: number }>()
  let bytes = 0
  return {
    open(caller, body) {
      const own = callers.get(caller) ?? { bodies: 0, bytes: 0 }
      callers.set(caller, own)
      own.bodies += 1
      const since = performance.now()
      let kept = 0
      let isOpen = true
      const account: Account = {
        keep(more) {
          if (!isOpen) return
          kept += more
          own.bytes += more
          bytes += more
          if (own.bytes > CALLER_BYTES_MAX || bytes > BYTES_MAX) body.refuse(crowded())
        },
        isTooSlow(now) {
          return body.received < (now - since - GRACE_MS) * BYTES_PER_MS_MIN
        },
        end() {
          if (!isOpen) return
          isOpen = false
          bytes -= kept
          own.bytes -= kept
          own.bodies -= 1
          if (own.bodies === 0) callers.delete(caller)
        },
      }
      if (own.bodies > CALLER_BODIES_MAX) body.refuse(crowded())
      account.keep(body.received)
      return account
    },
  }
}

function crowded(): ApiError {
  return new ApiError('OVERLOADED', 'Too many bodies of this caller are on their way. Nothing was done; try again.')
}
