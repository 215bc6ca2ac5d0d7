// Virtual time. Processes are generators that say how long they pause; nothing happens between two events, and the same
// seed gives the same run.

/** Yields how long it pauses, in milliseconds; or a wakeup that may end the pause early. */
export type Process = Generator<number | { ms: number; wakeup: Wakeup }, void, void>

export interface Wakeup {
  wake(): void
  /** Of who pauses: called when it rings. */
  waiting: Set<() => void>
}

export interface Schedule {
  ms(): number
  now(): Date
  spawn(process: Process, afterMs?: number): void
  after(ms: number, act: () => void): void
  runUntil(ms: number): void
}

interface Entry {
  at: number
  order: number
  act(): void
}

export function newWakeup(): Wakeup {
  const waiting = new Set<() => void>()
  return {
    waiting,
    wake() {
      for (const wake of [...waiting]) wake()
    },
  }
}

/** A process that ends with an error has ended: what it left undone is what the others must live with. */
export function newSchedule(start: Date, onError: (error: unknown) => void): Schedule {
  const heap: Entry[] = []
  let nowMs = start.getTime()
  let order = 0

  function after(ms: number, act: () => void): void {
    push(heap, { at: nowMs + Math.max(0, Math.round(ms)), order: order++, act })
  }

  function step(process: Process): void {
    let paused: ReturnType<Process['next']>
    try {
      paused = process.next()
    } catch (error) {
      onError(error)
      return
    }
    if (paused.done) return
    if (typeof paused.value === 'number') {
      after(paused.value, () => step(process))
      return
    }
    const { ms, wakeup } = paused.value
    let isAwake = false
    const wake = () => {
      if (isAwake) return
      isAwake = true
      wakeup.waiting.delete(end)
      step(process)
    }
    const end = () => after(1, wake)
    wakeup.waiting.add(end)
    after(ms, wake)
  }

  return {
    ms: () => nowMs,
    now: () => new Date(nowMs),
    spawn: (process, afterMs = 0) => after(afterMs, () => step(process)),
    after,
    runUntil(ms) {
      for (let first = heap[0]; first && first.at <= ms; first = heap[0]) {
        pop(heap)
        nowMs = first.at
        first.act()
      }
      nowMs = ms
    },
  }
}

function isBefore(one: Entry, other: Entry): boolean {
  return one.at < other.at || (one.at === other.at && one.order < other.order)
}

function push(heap: Entry[], entry: Entry): void {
  let at = heap.push(entry) - 1
  while (at > 0) {
    const parent = (at - 1) >> 1
    if (!isBefore(entry, heap[parent] as Entry)) break
    heap[at] = heap[parent] as Entry
    at = parent
  }
  heap[at] = entry
}

function pop(heap: Entry[]): void {
  const last = heap.pop() as Entry
  if (heap.length === 0) return
  let at = 0
  for (;;) {
    let child = 2 * at + 1
    if (child >= heap.length) break
    if (child + 1 < heap.length && isBefore(heap[child + 1] as Entry, heap[child] as Entry)) child += 1
    if (!isBefore(heap[child] as Entry, last)) break
    heap[at] = heap[child] as Entry
    at = child
  }
  heap[at] = last
}
