const REPEAT_MS = 60_000

/** Says whether a reason is worth a log line: when it is another one than before, and again every minute while it lasts. */
export function createRepeats(nowMs: () => number = () => performance.now()): (reason: string) => boolean {
  let told = ''
  let toldAt = 0
  return (reason) => {
    const now = nowMs()
    if (reason === told && now - toldAt < REPEAT_MS) return false
    told = reason
    toldAt = now
    return true
  }
}
