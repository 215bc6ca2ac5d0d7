// Wakes a loop that waits for its next beat. Rung several times while the loop is at work, it wakes it once.

export interface Bell {
  ring(): void
  /** Until it is rung, the time is over or the signal comes; at once when it was rung since the last wait. */
  wait(ms: number, signal: AbortSignal): Promise<void>
}

export function createBell(): Bell {
  let isRung = false
  let wake = () => {}
  return {
    ring() {
      isRung = true
      wake()
    },
    async wait(ms, signal) {
      if (!isRung && !signal.aborted)
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, ms)
          wake = () => {
            clearTimeout(timer)
            signal.removeEventListener('abort', wake)
            resolve()
          }
          signal.addEventListener('abort', wake, { once: true })
        })
      signal.removeEventListener('abort', wake)
      wake = () => {}
      isRung = false
    },
  }
}
