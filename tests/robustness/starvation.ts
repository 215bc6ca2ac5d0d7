// How long a process was ready to run while other work of the machine had the processor, as Linux counts it.

import { readFileSync } from 'node:fs'

/** Reads how long the main thread of each process has waited for a processor, and answers the longest since then. */
export function starvation(pids: number[]): () => number {
  const waitedMs = (pid: number) => {
    try {
      return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[1]) / 1e6
    } catch {
      return 0 // Not on this system, or it has ended.
    }
  }
  const before = pids.map(waitedMs)
  return () => Math.max(0, ...pids.map((pid, at) => waitedMs(pid) - (before[at] as number)))
}
