// Keeps one process running: starts it, says which it is, and starts it again when it ends by itself, at once the first
// time and then later and later.

import type { ChildProcess } from 'node:child_process'
import { end, markOf, type ProcessMark } from './processes.ts'

const BACKOFF_MS_MIN = 100
const BACKOFF_MS_MAX = 10_000
/** Up for as long as this, it is well again. */
const STEADY_MS = 30_000
/** Ends of a process that never served, in a row, until its start is given up. */
const ENDS_MAX = 8

export interface Keeper {
  /** Why it does not run and will not, while it was never ready. */
  readonly hopeless: string | undefined
  /** From now on it is started again however often it ends. */
  hasServed(): void
  stop(signal: NodeJS.Signals, withinMs: number): Promise<void>
}

export interface KeeperOptions {
  start(): ChildProcess
  /** Exit codes that a new start would only repeat. */
  finalCodes: readonly number[]
  onStart(mark: ProcessMark): void
  onEnd(text: string): void
}

export function keepRunning({ start, finalCodes, onStart, onEnd }: KeeperOptions): Keeper {
  let hopeless: string | undefined
  let served = false
  let stopping = false
  let ends = 0
  let timer: NodeJS.Timeout | undefined
  let mark: ProcessMark | undefined

  function begin(): void {
    const startedAt = performance.now()
    let isOver = false
    const over = (text: string, code: number | null) => {
      if (isOver) return
      isOver = true
      mark = undefined
      if (stopping) return
      ends = performance.now() - startedAt > STEADY_MS ? 0 : ends + 1
      const isFinal = code !== null && finalCodes.includes(code)
      if (!served && (isFinal || ends >= ENDS_MAX)) {
        hopeless = text
        return
      }
      onEnd(text)
      const waitMs = ends === 1 ? 0 : Math.min(BACKOFF_MS_MAX, BACKOFF_MS_MIN * 2 ** (ends - 1))
      timer = setTimeout(begin, waitMs)
    }
    let child: ChildProcess
    try {
      child = start()
    } catch (error) {
      over((error as Error).message, null)
      return
    }
    child.once('error', (error) => over(error.message, null))
    child.once('exit', (code, signal) => over(`ended (${code ?? signal})`, code))
    mark = child.pid === undefined ? undefined : markOf(child.pid)
    if (mark) onStart(mark)
  }

  begin()
  return {
    get hopeless() {
      return hopeless
    },
    hasServed() {
      served = true
    },
    async stop(signal, withinMs) {
      stopping = true
      clearTimeout(timer)
      if (mark) await end(mark, signal, withinMs)
    },
  }
}
