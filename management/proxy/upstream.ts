// One stream of a service's events from its daemon, for every page of this process that follows the service. The
// plan's limit of streams does not count it (CONSOLE_HOLDER).
//
//   opening   the daemon is asked; who comes meanwhile waits for the same answer, and gets the same refusal
//   open      what comes goes into the tail, from which the pages read
//   lost      it ended: with its capability, with a replica that drains, or it broke. It is asked for again from the
//             last position, for some seconds
//   over      nobody has followed for a while, or it could not be regained. Its pages end within two seconds and come
//             back with their positions
//
// Never: open without a page for longer than the linger, or regained at another position than that of its tail.

import type { IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { Reply } from '@loci/chassis/route.ts'
import { outside } from '@loci/meter/meter.ts'
import { createTail, type Tail } from './tail.ts'

/** Asks the daemon for the events after a position: its stream, or what it refuses with. */
export type Connect = (lastId: string | undefined, signal: AbortSignal) => Promise<IncomingMessage | Reply>

export interface Upstream {
  readonly tail: Tail
  readonly isOver: boolean
  /** Opens it, once, from there. Undefined when it is open, else the refusal. */
  open(lastId: string | undefined): Promise<Reply | undefined>
  /** Resolves with what comes, with the end, or when the time is over. */
  wait(place: number, ms: number, signal: AbortSignal): Promise<void>
  /** A page follows, until it calls what it was given. */
  join(): () => void
  end(): void
}

/** A page that is loaded again finds it open. */
const LINGER_MS = 5_000
const REGAIN_MS = 3_000
const PAUSE_MS = 300
/** A daemon says something every 15 s. */
export const SILENCE_MS = 45_000

export function createUpstream({
  connect,
  tailBytesMax,
  onOver,
}: {
  connect: Connect
  tailBytesMax(): number
  onOver(): void
}): Upstream {
  const over = new AbortController()
  const wakers = new Set<() => void>()
  let tail = createTail({ startId: undefined, bytesMax: tailBytesMax })
  let opening: Promise<Reply | undefined> | undefined
  let pages = 0
  let idle: NodeJS.Timeout | undefined

  async function begin(lastId: string | undefined): Promise<Reply | undefined> {
    try {
      const answer = await connect(lastId, over.signal)
      if (answer instanceof Reply) {
        end()
        return answer
      }
      tail = createTail({ startId: lastId, bytesMax: tailBytesMax })
      const started = new Promise<void>((resolve) => void wakers.add(resolve))
      void run(answer)
      // Its first words tell the position from which a page without one goes on.
      await started
      return undefined
    } catch (error) {
      end()
      throw error
    }
  }

  async function run(answer: IncomingMessage): Promise<void> {
    let current: IncomingMessage | undefined = answer
    while (current && !over.signal.aborted) {
      const openedAt = performance.now()
      await follow(current)
      // One that ends as soon as it is opened must not be asked for in a circle.
      if (performance.now() - openedAt < PAUSE_MS) await pause()
      current = over.signal.aborted ? undefined : await regain()
    }
    end()
  }

  async function follow(answer: IncomingMessage): Promise<void> {
    answer.setTimeout(SILENCE_MS, () => void answer.destroy())
    try {
      for await (const chunk of answer) if (tail.take(chunk as Buffer) > 0) wake()
    } catch {
      // Broken or cut: it is asked for again, and nothing is missed.
    } finally {
      answer.destroy()
    }
  }

  async function regain(): Promise<IncomingMessage | undefined> {
    const lastId = tail.lastId()
    // Without a position what happens meanwhile would be missed, and nobody would know.
    if (lastId === undefined) return undefined
    const signal = AbortSignal.any([over.signal, AbortSignal.timeout(REGAIN_MS)])
    while (!signal.aborted) {
      const answer = await connect(lastId, signal).catch(() => undefined)
      if (answer && !(answer instanceof Reply)) return answer
      if (answer && answer.status < 500 && answer.status !== 429) return undefined
      await pause()
    }
    return undefined
  }

  async function pause(): Promise<void> {
    await sleep(PAUSE_MS, undefined, { signal: over.signal, ref: false }).catch(() => undefined)
  }

  function wake(): void {
    for (const waker of [...wakers]) waker()
    wakers.clear()
  }

  function end(): void {
    if (over.signal.aborted) return
    clearTimeout(idle)
    over.abort()
    onOver()
    wake()
  }

  return {
    get tail() {
      return tail
    },
    get isOver() {
      return over.signal.aborted
    },
    open(lastId) {
      // For all who follow, so it is nobody's work.
      opening ??= outside(() => begin(lastId))
      return opening
    },
    wait(place, ms, signal) {
      if (tail.end() > place || over.signal.aborted || signal.aborted) return Promise.resolve()
      return new Promise((resolve) => {
        const timeout = setTimeout(done, ms)
        signal.addEventListener('abort', done, { once: true })
        wakers.add(done)

        function done(): void {
          clearTimeout(timeout)
          signal.removeEventListener('abort', done)
          wakers.delete(done)
          resolve()
        }
      })
    },
    join() {
      pages += 1
      clearTimeout(idle)
      let hasLeft = false
      return () => {
        if (hasLeft) return
        hasLeft = true
        pages -= 1
        if (pages === 0) idle = outside(() => setTimeout(end, LINGER_MS).unref())
      }
    },
    end,
  }
}
