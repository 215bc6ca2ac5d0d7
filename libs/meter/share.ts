// At most so many at once for each account, and a bounded wait for one of its own: slots of the limiter, what suspects
// and strangers hold of them, connections of a pool, long work that is more than its statements, the cycles of a
// database, the states of advice that are being opened. Whoever has its share waits among its own; nobody else waits
// for it.

/** Who waits, in the order of arrival. */
export interface Waiter {
  since: number
  account: string | undefined
  resolve(): void
  reject(error: unknown): void
}

/** Lines by name, each waiter so long at most. */
export interface Lines {
  /** Rejects with the refusal when its time is over; `until` (performance.now) where that is a time of its own. */
  wait(name: string, account?: string, until?: number): Promise<void>
  /** One that has waited in another line: its time goes on. */
  push(name: string, waiter: Waiter): void
  next(name: string): Waiter | undefined
  of(name: string): readonly Waiter[]
  readonly size: number
}

interface Bounds {
  waitMs: number
  /** Nothing was done for who is told it. */
  refusal(): Error
}

export function createLines({ waitMs, refusal }: Bounds): Lines {
  const lines = new Map<string, Waiter[]>()
  let size = 0
  let dueAt = Number.POSITIVE_INFINITY

  // One timer for all and not one per waiter. Who came from another line may stand behind younger ones, so all are
  // looked through.
  function expire(): void {
    const until = performance.now() - waitMs
    let oldest = Number.POSITIVE_INFINITY
    for (const [name, line] of lines) {
      const left = line.filter(({ since }) => since > until)
      if (left.length < line.length) for (const waiter of line) if (waiter.since <= until) waiter.reject(refusal())
      size -= line.length - left.length
      if (left.length > 0) lines.set(name, left)
      else lines.delete(name)
      for (const { since } of left) oldest = Math.min(oldest, since)
    }
    dueAt = Number.POSITIVE_INFINITY
    if (size > 0) expireAt(oldest + waitMs)
  }

  function expireAt(at: number): void {
    if (at >= dueAt) return
    dueAt = at
    setTimeout(expire, Math.max(1, at - performance.now())).unref()
  }

  const self: Lines = {
    wait(name, account, until = performance.now() + waitMs) {
      return new Promise((resolve, reject) => {
        self.push(name, { since: until - waitMs, account, resolve, reject })
      })
    },
    push(name, waiter) {
      const line = lines.get(name)
      if (line) line.push(waiter)
      else lines.set(name, [waiter])
      size += 1
      expireAt(waiter.since + waitMs)
    },
    next(name) {
      const line = lines.get(name)
      const waiter = line?.shift()
      if (waiter) size -= 1
      if (line?.length === 0) lines.delete(name)
      return waiter
    },
    of: (name) => lines.get(name) ?? NOBODY,
    get size() {
      return size
    },
  }
  return self
}

const NOBODY: readonly Waiter[] = []

export interface Share {
  hasRoom(account: string): boolean
  /** Counts one more that is held. */
  hold(account: string): void
  /** Undefined when it is held at once (the usual case, no promise made), a promise when waiting. */
  enter(account: string, until?: number): Promise<void> | undefined
  /** Where there is no room: until one of its own comes back. */
  wait(account: string): Promise<void>
  push(account: string, waiter: Waiter): void
  /** Gives one back. True: the next of its own has it now. */
  leave(account: string): boolean
  waitingOf(account: string): number
  readonly waiting: number
}

export function createShare({ each, ...bounds }: Bounds & { each(account: string): number }): Share {
  const held = new Map<string, number>()
  const lines = createLines(bounds)
  const heldBy = (account: string) => held.get(account) ?? 0
  const self: Share = {
    hasRoom: (account) => heldBy(account) < each(account),
    hold: (account) => void held.set(account, heldBy(account) + 1),
    enter(account, until) {
      if (!self.hasRoom(account)) return lines.wait(account, account, until)
      self.hold(account)
      return undefined
    },
    wait: (account) => lines.wait(account, account),
    push: (account, waiter) => lines.push(account, waiter),
    leave(account) {
      const own = lines.next(account)
      if (own) {
        own.resolve()
        return true
      }
      const count = heldBy(account)
      if (count > 1) held.set(account, count - 1)
      else held.delete(account)
      return false
    },
    waitingOf: (account) => lines.of(account).length,
    get waiting() {
      return lines.size
    },
  }
  return self
}
