// Polls that wait for news of something that is numbered: the feed of a cell, the events of an organization. A waiting one costs a timer and an entry in a map: no connection, no transaction. One question every
// half second asks for all of them, so that a change made by another replica or by a command is noticed too; a change made in this
// process is told at once.

export interface Waiting {
  /** Resolves when what is numbered no longer ends at `seq`, when the time is over, or when the process is about to end. */
  wait(id: string, seq: number, ms: number, signal: AbortSignal): Promise<void>
  /** It has changed, in this process. */
  tell(id: string): void
  /** Ends every wait and allows no new one: a draining process must not be held up by polls. */
  endAll(): void
  /** Who is woken and finds no news asks this before it waits again. */
  hasEnded(): boolean
}

interface Waiter {
  seq: number
  wake(): void
}

export function createWaiting({
  readEnds,
  everyMs = 500,
}: {
  readEnds(ids: string[]): Promise<Map<string, number>>
  everyMs?: number
}): Waiting {
  const waiters = new Map<string, Set<Waiter>>()
  let isTimed = false
  let ended = false

  async function look(): Promise<void> {
    try {
      const ends = await readEnds([...waiters.keys()])
      for (const [id, waiting] of waiters)
        for (const waiter of [...waiting]) if (ends.get(id) !== waiter.seq) waiter.wake()
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
    wait(id, seq, ms, signal) {
      if (ended || signal.aborted || ms <= 0) return Promise.resolve()
      return new Promise((resolve) => {
        const waiting = waiters.get(id) ?? new Set()
        waiters.set(id, waiting)
        const waiter: Waiter = { seq, wake }
        waiting.add(waiter)
        const timeout = setTimeout(wake, ms)
        signal.addEventListener('abort', wake, { once: true })
        lookSoon()

        function wake(): void {
          clearTimeout(timeout)
          signal.removeEventListener('abort', wake)
          waiting.delete(waiter)
          if (waiting.size === 0) waiters.delete(id)
          resolve()
        }
      })
    },
    tell(id) {
      for (const waiter of [...(waiters.get(id) ?? [])]) waiter.wake()
    },
    hasEnded: () => ended,
    endAll() {
      ended = true
      for (const id of [...waiters.keys()]) this.tell(id)
    },
  }
}
