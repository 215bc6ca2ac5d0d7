// The bytes of a request's body, as they arrive.

import type { IncomingMessage } from 'node:http'
import { ApiError } from './api-error.ts'

/** How much of a body that is refused for its size is still read, so that a client that sends before it listens gets the refusal. */
const DISCARDED_BYTES_MAX = 8 * 1024 * 1024

/** A body on its way. */
export interface ArrivingBody {
  readonly whole: Promise<Buffer>
  /** It is waited for no longer. */
  refuse(error: ApiError): void
}

/** The whole body, at most `bytesMax` of it. */
export function readBytes(request: IncomingMessage, bytesMax: number): ArrivingBody {
  const { promise: whole, resolve, reject: refuse } = Promise.withResolvers<Buffer>()
  const chunks: Buffer[] = []
  let size = 0
  request.on('data', (chunk: Buffer) => {
    size += chunk.length
    if (size <= bytesMax) chunks.push(chunk)
    else if (size > DISCARDED_BYTES_MAX) refuse(tooLarge(bytesMax))
  })
  request.on('end', () =>
    size > bytesMax
      ? refuse(tooLarge(bytesMax))
      : resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)),
  )
  const cut = () => refuse(new ApiError('VALIDATION_ERROR', 'The body did not arrive whole.'))
  request.on('error', cut)
  request.on('close', cut)
  // Whoever left while the request waited for its turn says so no second time, and its slot would never come back.
  if (request.destroyed) cut()
  // What says beforehand that it is far too large is not read at all.
  if (declaredBytes(request) > Math.max(DISCARDED_BYTES_MAX, bytesMax)) refuse(tooLarge(bytesMax))
  return { whole, refuse }
}

/** 0 where its length is not told. */
export function declaredBytes({ headers }: IncomingMessage): number {
  return Number(headers['content-length'] ?? 0)
}

export function tooLarge(bytesMax: number): ApiError {
  return new ApiError('PAYLOAD_TOO_LARGE', `The body is over the limit of this route, ${bytesMax} bytes.`)
}
