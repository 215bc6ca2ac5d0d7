// Long polls and streams that wait for news of something that is numbered: the feed of a cell, the events of an
// organization or an instance. A waiter costs a timer and an entry in a map: no connection, no transaction. One query,
// every half second or as its owner says, asks for all of them, so that a change made by another process is noticed
// too; a change made in this process wakes its waiters at once.

import { outside } from '@loci/meter/meter.ts'
import type { Lifecycle } from './lifecycle.ts'

export interface Waiting {
  /** Resolves when the sequence has passed `seq`, the time is over, or the process is about to stop. */
  wait(id: string, seq: number, ms: number, signal: AbortSignal): Promise<void>
  /** Call it after a commit of this process that moved the number of `id`. */
  wake(id: string): void
  wakeAll(): void
  /** Ends every wait and allows no new one: polls must not delay a drain. */
  endAll(): void
  /** To be asked by whoever is woken, finds no news and would wait again. */
  hasEnded(): boolean
}

interface Waiter {
  seq: number
  wake(): void
}

export function createWaiting({
  readEnds,
  lifecycle,
  everyMs = 500,
}: {
  readEnds(ids: string[]): Promise<Map<string, number>>
  /** Every wait ends when it drains. */
  lifecycle?: Lifecycle
  everyMs?: number
}): Waiting {
  const waiters = new Map<string, Set<Waiter>>()
  let isTimed = false
  let ended = false

  async function poll(): Promise<void> {
    try {
      // Whoever comes while the ends are read is not meant: its number may be newer than they are.
      const asked = [...waiters].map(([id, ofId]) => ({ id, asking: [...ofId] }))
      const ends = await readEnds(asked.map(({ id }) => id))
      for (const { id, asking } of asked) for (const waiter of asking) if (ends.get(id) !== waiter.seq) waiter.wake()
    } catch {
      // A database that does not answer is no news. A waiter reads by itself when its time is over, and reports the
      // failure.
    }
    isTimed = false
    pollSoon()
  }

  function pollSoon(): void {
    if (isTimed || waiters.size === 0) return
    isTimed = true
    outside(() => setTimeout(() => void poll(), everyMs).unref())
  }

  lifecycle?.onMove(({ to }) => to === 'draining' && waiting.endAll())
  const waiting: Waiting = {
    wait(id, seq, ms, signal) {
      if (ended || signal.aborted || ms <= 0) return Promise.resolve()
      return new Promise((resolve) => {
        const ofId = waiters.get(id) ?? new Set()
        waiters.set(id, ofId)
        const waiter: Waiter = { seq, wake }
        ofId.add(waiter)
        const timeout = setTimeout(wake, ms)
        signal.addEventListener('abort', wake, { once: true })
        pollSoon()

        function wake(): void {
          clearTimeout(timeout)
          signal.removeEventListener('abort', wake)
          // Once: by a second time there may be another set of the same id.
          if (ofId.delete(waiter) && ofId.size === 0) waiters.delete(id)
          resolve()
        }
      })
    },
    wake(id) {
      for (const waiter of [...(waiters.get(id) ?? [])]) waiter.wake()
    },
    wakeAll() {
      for (const id of [...waiters.keys()]) waiting.wake(id)
    },
    hasEnded: () => ended,
    endAll() {
      ended = true
      waiting.wakeAll()
    },
  }
  return waiting
}
