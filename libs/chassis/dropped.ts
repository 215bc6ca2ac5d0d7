// Bodies that nobody reads: of requests that were refused, and of those whose route takes none. Node drops them as fast
// as they come, a buffer for each 64 KiB: 88 MB/s of them took half of a core (measured), and no rate counts them.
//
// So they are dropped at a pace: of one sender (its organization once that is known, else its address) 1 MiB at once
// and 8 MiB a second from then on, of all together 32 MiB a second. Who sends faster is read no faster, and the kernel
// holds it up; who is more than a second ahead, by many connections, has its answer and is cut.

import type { Exchange } from './exchange.ts'
import { createPaces } from './paces.ts'
import { endSoon } from './unanswered.ts'

export interface Dropped {
  /** So many bytes of this sender were dropped. How long to wait before more is read; undefined: it is cut. */
  drop(sender: string, bytes: number): number | undefined
}

const MIB = 1024 * 1024
const OF_ONE = { atOnce: MIB, perSecond: 8 * MIB }
const OF_ALL = { atOnce: 4 * MIB, perSecond: 32 * MIB }
const AHEAD_MS_MAX = 1_000
const EVERYBODY = ''

export function createDropped({
  now = () => performance.now(),
  ofOne = OF_ONE,
  ofAll = OF_ALL,
  aheadMsMax = AHEAD_MS_MAX,
}: {
  now?: () => number
  ofOne?: { atOnce: number; perSecond: number }
  ofAll?: { atOnce: number; perSecond: number }
  aheadMsMax?: number
} = {}): Dropped {
  const own = createPaces({ ...ofOne, now })
  const all = createPaces({ ...ofAll, now })
  return {
    drop(sender, bytes) {
      const ownMs = own.spend(sender, bytes)
      // Who is cut for itself takes nothing from the others: one sender with 1,000 connections would have them cut too.
      if (ownMs > aheadMsMax) return undefined
      const waitMs = Math.max(ownMs, all.spend(EVERYBODY, bytes))
      return waitMs > aheadMsMax ? undefined : waitMs
    },
  }
}

/** For the listener that drops a part of a body: keeps the pace. False: it is cut. */
export function keepsPace(exchange: Exchange, bytes: number): boolean {
  const { request } = exchange
  const waitMs = exchange.drop(bytes)
  if (waitMs === undefined) return false
  if (waitMs > 0) {
    request.pause()
    setTimeout(() => request.resume(), waitMs).unref()
  }
  return true
}

/**
 * Its answer is about to be written, and a part of its body is still on the way. Listens, or Node drops that part
 * without a word when the answer is out.
 */
export function dropRest(exchange: Exchange): void {
  const { request } = exchange
  const onData = (chunk: Buffer) => {
    if (keepsPace(exchange, chunk.length)) return
    request.off('data', onData)
    cut(exchange)
  }
  request.on('data', onData)
}

/** No more of it is read, or it would go on to cost what it is cut for. Its answer leaves all the same. */
function cut({ request, response }: Exchange): void {
  const { socket } = request
  request.pause()
  if (response.writableFinished) endSoon(socket)
  else response.once('close', () => endSoon(socket))
}
