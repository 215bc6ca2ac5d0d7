// Whether processes stay alive, and how much memory they take.

import { readFileSync } from 'node:fs'
import type { LociProcess } from '../world/process.ts'
import type { Report } from '../world/report.ts'

const RSS_MB_MAX = 256

/** Asks each process four times a second whether it lives, and weighs it. */
export function watchProcesses(targets: { name: string; process: LociProcess }[]) {
  const rssMbMax = new Map<string, number>()
  const liveMs: number[] = []
  let dead = 0
  const timer = setInterval(() => {
    for (const { name, process } of targets) {
      rssMbMax.set(name, Math.max(rssMbMax.get(name) ?? 0, rssMbOf(process.pid)))
      const startedAt = performance.now()
      void fetch(`${process.url}/health/live`, { signal: AbortSignal.timeout(5_000) }).then(
        async (answer) => {
          await answer.arrayBuffer()
          liveMs.push(performance.now() - startedAt)
          if (answer.status !== 200) dead += 1
        },
        () => {
          dead += 1
        },
      )
    }
  }, 250)
  return {
    report(report: Report) {
      clearInterval(timer)
      const crashed = targets.filter(
        ({ process }) => process.child.exitCode !== null || process.child.signalCode !== null,
      )
      const sorted = liveMs.toSorted((a, b) => a - b)
      report.promise(
        'no crash, and the live probe answers throughout',
        crashed.length === 0 && dead === 0,
        `${crashed.length} crashed, ${dead} of ${liveMs.length + dead} probes failed, p99 ${Math.round(sorted[Math.floor(sorted.length * 0.99)] ?? 0)} ms`,
      )
      report.promise(
        'memory stays bounded',
        [...rssMbMax.values()].every((mb) => mb <= RSS_MB_MAX),
        `${[...rssMbMax].map(([name, mb]) => `${name} ${mb} MB`).join(', ')} at most (bound ${RSS_MB_MAX} MB)`,
      )
    },
  }
}

function rssMbOf(pid: number): number {
  try {
    return Math.round(Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024)
  } catch {
    return 0
  }
}
