// Answers that are written and not read yet. A slot of the limiter does not wait for them, so they have bounds of their
// own: of an address with more than 8 MiB, those that have lain for three seconds are cut; then 64 MiB for all. Whoever
// has let an answer lie longest goes first: refusing newcomers instead would let a few slow readers shut everyone out.
// Beyond 64 MiB in all the addresses with more than 8 MiB go before the others, however young their answers are. Beyond
// twice a bound nothing more is begun; younger answers of an address count for that only while there are 64 MiB in all.

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

type UnreadPart = Pick<UnreadAnswer, 'network' | 'unreadBytes' | 'answeredAt'>

export interface UnreadAnswers {
  /** `bytes` is negative when the answer is read, or its client gone. */
  add(answer: UnreadPart, bytes: number): void
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
  const byNetwork = new Map<string, Set<UnreadPart>>()
  let total = 0

  function bytesOf(network: string, answeredUntil = Number.POSITIVE_INFINITY): number {
    let bytes = 0
    for (const { answeredAt, unreadBytes } of byNetwork.get(network) ?? [])
      if (answeredAt <= answeredUntil) bytes += unreadBytes
    return bytes
  }

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
      const answers = byNetwork.get(network) ?? new Set()
      if (bytes > 0) byNetwork.set(network, answers.add(answer))
      else if (answers.delete(answer) && answers.size === 0) byNetwork.delete(network)
    },
    requireRead(next) {
      if (total <= 2 * ADDRESS_BYTES_MAX) return
      const answeredUntil = total > BYTES_MAX ? undefined : now() - SLOW_MS
      if (total > 2 * BYTES_MAX || bytesOf(next.network, answeredUntil) > 2 * ADDRESS_BYTES_MAX)
        throw new ApiError('OVERLOADED', 'Too many answers wait to be read. Nothing was done; try again.')
    },
    cut(inFlight, log) {
      let excess = total - BYTES_MAX
      const excesses = new Map<string, number>()
      for (const network of byNetwork.keys()) excesses.set(network, bytesOf(network) - ADDRESS_BYTES_MAX)
      const isHeavy = ({ network }: UnreadAnswer) => (excesses.get(network) ?? 0) > 0
      if (excess <= 0 && ![...excesses.values()].some((bytes) => bytes > 0)) return
      const waiting = new Set([...inFlight].filter(({ unreadBytes }) => unreadBytes > 0))
      const cutThose = (isDue: (answer: UnreadAnswer) => boolean, bound: string) => {
        for (const answer of waiting) {
          if (!isDue(answer)) continue
          const { network, unreadBytes } = answer
          excess -= unreadBytes
          excesses.set(network, (excesses.get(network) ?? 0) - unreadBytes)
          waiting.delete(answer)
          cutOf(answer, log, bound)
        }
      }
      const slowSince = now() - SLOW_MS
      cutThose((answer) => isHeavy(answer) && answer.answeredAt <= slowSince, '8 MiB of one address')
      cutThose((answer) => excess > 0 && isHeavy(answer), '64 MiB')
      cutThose(() => excess > 0, '64 MiB')
    },
  }
}
