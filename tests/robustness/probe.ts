// Asks one thing at a steady beat on a connection of its own, and weighs the process meanwhile.

import { readFileSync } from 'node:fs'
import { type PlainRequest, plainClient } from './plain-client.ts'

export interface Probe {
  stop(): Promise<{ count: number; failed: number; p99Ms: number; worstMs: number; rssMbMax: number }>
}

export function startProbe(url: string, pid: number, request: PlainRequest, everyMs = 20): Probe {
  const client = plainClient()
  const times: number[] = []
  let failed = 0
  let rssMbMax = 0
  let isStopped = false
  const running = (async () => {
    while (!isStopped) {
      rssMbMax = Math.max(rssMbMax, rssMbOf(pid))
      const startedAt = performance.now()
      const outcome = await client.send(url, request)
      times.push(performance.now() - startedAt)
      if (outcome.kind !== 'answer' || outcome.status !== 200) failed += 1
      await new Promise((resolve) => setTimeout(resolve, everyMs))
    }
  })()
  return {
    async stop() {
      isStopped = true
      await running
      client.close()
      times.sort((a, b) => a - b)
      const at = (share: number) => Math.round(times[Math.floor((times.length - 1) * share)] ?? 0)
      return { count: times.length, failed, p99Ms: at(0.99), worstMs: at(1), rssMbMax }
    },
  }
}

/** 0 of a process that has ended. */
function rssMbOf(pid: number): number {
  try {
    return Math.round(Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024)
  } catch {
    return 0
  }
}
