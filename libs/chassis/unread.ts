// Answers that are written and not read yet. A slot of the limiter does not wait for them, so they have bounds of their
// own: 8 MiB for an address, counting what has lain for three seconds, then 64 MiB for all. Whoever has let an answer
// lie longest goes first: refusing newcomers instead would let a few slow readers shut everyone out. Beyond twice a
// bound nothing more is begun.

import { ApiError } from './api-error.ts'
import type { Log } from './log.ts'

/** One of them, as the exchange knows it. */
export interface UnreadAnswer {
  readonly requestId: string
  readonly network: string
  readonly unreadBytes: number
  readonly answeredAt: number
  destroy(): void
}

export interface UnreadAnswers {
  /** `bytes` is negative when the answer is read, or its client gone. */
  add(answer: Pick<UnreadAnswer, 'network'>, bytes: number): void
  /** Throws OVERLOADED where too many bytes of everybody, or of this address, wait to be read. */
  requireRead(next: Pick<UnreadAnswer, 'network'>): void
  /** Closes the connections of who is over a bound. */
  cut(inFlight: Iterable<UnreadAnswer>, log: Log): void
}

const BYTES_MAX = 64 * 1024 * 1024
const ADDRESS_BYTES_MAX = 8 * 1024 * 1024
/** A client that fetches many large pages at once over a slow line reads each of them within this. */
const SLOW_MS = 3_000
/** Smaller answers count for all alone: to know whose each is would cost every request a look at its address. */
const LARGE_BYTES = 64 * 1024

export function createUnreadAnswers(now: () => number = () => performance.now()): UnreadAnswers {
  const byNetwork = new Map<string, number>()
  let total = 0

  function cutOf(answer: UnreadAnswer, log: Log, bound: string): void {
    log.warn(
      { requestId: answer.requestId, bytes: answer.unreadBytes },
      `a slow client was cut: over ${bound} of answers wait to be read, the oldest go first. Many: find the client by requestId`,
    )
    answer.destroy()
  }

  return {
    add(answer, bytes) {
      total += bytes
      if (Math.abs(bytes) <= LARGE_BYTES) return
      const { network } = answer
      const left = (byNetwork.get(network) ?? 0) + bytes
      if (left > 0) byNetwork.set(network, left)
      else byNetwork.delete(network)
    },
    requireRead(next) {
      const ofAddress = byNetwork.size === 0 ? 0 : (byNetwork.get(next.network) ?? 0)
      if (total > 2 * BYTES_MAX || ofAddress > 2 * ADDRESS_BYTES_MAX)
        throw new ApiError('OVERLOADED', 'Too many answers wait to be read. Nothing was done; try again.')
    },
    cut(inFlight, log) {
      const slowSince = now() - SLOW_MS
      const excesses = new Map<string, number>()
      for (const [network, bytes] of byNetwork)
        if (bytes > ADDRESS_BYTES_MAX) excesses.set(network, bytes - ADDRESS_BYTES_MAX)
      let excess = total - BYTES_MAX
      if (excesses.size === 0 && excess <= 0) return
      for (const answer of inFlight) {
        const { unreadBytes, network, answeredAt } = answer
        if (unreadBytes === 0) continue
        const ofAddress = excesses.get(network) ?? 0
        const isOver = ofAddress > 0 && answeredAt <= slowSince
        if (!isOver && excess <= 0) continue
        excess -= unreadBytes
        excesses.set(network, ofAddress - unreadBytes)
        cutOf(answer, log, isOver ? '8 MiB of one address' : '64 MiB')
      }
    },
  }
}
