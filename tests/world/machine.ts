// How much slower the machine is than one with a core to spare: wall time by processor time of a fixed piece of work. A
// promise about time is made for a machine that has one. It is asked between the parts of a test, while our own
// processes rest, so that it shows what others do. On an idle machine the factor is 1 and a bound is the promise
// itself.

export interface Machine {
  /** Of now or of the time before, whichever is worse. */
  slowdown(): Promise<number>
}

/** Longer than a turn of the scheduler, or a process that has slept would be served before those that work. */
const PIECE_MS = 20
const PIECES = 10
/** Below it is the noise of an idle machine. */
const IDLE_MAX = 1.15

export async function watchMachine(): Promise<Machine> {
  let last = await measure()
  return {
    async slowdown() {
      const before = last
      last = await measure()
      return Math.max(before, last)
    },
  }
}

async function measure(): Promise<number> {
  const factors: number[] = []
  for (let piece = 0; piece < PIECES; piece += 1) {
    await new Promise((resolve) => setTimeout(resolve, PIECE_MS))
    const startedAt = performance.now()
    const usedAtStart = process.cpuUsage()
    let usedMs = 0
    while (usedMs < PIECE_MS) {
      const { user, system } = process.cpuUsage(usedAtStart)
      usedMs = (user + system) / 1_000
    }
    factors.push((performance.now() - startedAt) / usedMs)
  }
  // The second slowest: what one process may meet, without the one outlier that an idle machine has too.
  const factor = factors.toSorted((a, b) => b - a)[1] ?? 1
  return factor < IDLE_MAX ? 1 : factor
}
