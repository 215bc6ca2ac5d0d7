// Polls that wait for news. A waiting one costs a timer and an entry in a map: no connection, no transaction. One question every
// half second asks for all of them, so that a change made by another replica or by a command is noticed too; a change made in this
// process is told at once.

export interface Waiting {
  /** Resolves when the feed of the cell no longer ends at `seq`, when the time is over, or when the process is about to end. */
  wait(cellId: string, seq: number, ms: number, signal: AbortSignal): Promise<void>
  /** The feed of this cell has changed. */
  tell(cellId: string): void
  /** Ends every wait and allows no new one: a draining process must not be held up by polls. */
  endAll(): void
}

interface Waiter {
  seq: number
  wake(): void
}

export function createWaiting({
  readEnds,
  everyMs = 500,
}: {
  readEnds(cellIds: string[]): Promise<Map<string, number>>
  everyMs?: number
}): Waiting {
  const waiters = new Map<string, Set<Waiter>>()
  let isTimed = false
  let ended = false

  async function look(): Promise<void> {
    try {
      const ends = await readEnds([...waiters.keys()])
      for (const [cellId, waiting] of waiters)
        for (const waiter of [...waiting]) if (ends.get(cellId) !== waiter.seq) waiter.wake()
    } catch {
      // A database that does not answer is no news. When its time is over the poll reads by itself and says what is wrong.
    }
    isTimed = false
    lookSoon()
  }

  function lookSoon(): void {
    if (isTimed || waiters.size === 0) return
    isTimed = true
    setTimeout(() => void look(), everyMs).unref()
  }

  return {
    wait(cellId, seq, ms, signal) {
      if (ended || signal.aborted || ms <= 0) return Promise.resolve()
      return new Promise((resolve) => {
        const waiting = waiters.get(cellId) ?? new Set()
        waiters.set(cellId, waiting)
        const waiter: Waiter = { seq, wake }
        waiting.add(waiter)
        const timeout = setTimeout(wake, ms)
        signal.addEventListener('abort', wake, { once: true })
        lookSoon()

        function wake(): void {
          clearTimeout(timeout)
          signal.removeEventListener('abort', wake)
          waiting.delete(waiter)
          if (waiting.size === 0) waiters.delete(cellId)
          resolve()
        }
      })
    },
    tell(cellId) {
      for (const waiter of [...(waiters.get(cellId) ?? [])]) waiter.wake()
    },
    endAll() {
      ended = true
      for (const cellId of [...waiters.keys()]) this.tell(cellId)
    },
  }
}
