// Whether processes stay alive, and how much memory they take.

import { readFileSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import type { LociProcess } from '../world/process.ts'
import type { Report } from '../world/report.ts'

/** P17: 256 MB, and at a daemon what its indexes of records may hold (LOCI_INDEX_BYTES_MAX, 64 MiB by default). */
const RSS_MB_MAX: Record<string, number> = { daemon: 256 + 64, management: 256 }
/** A process that is dead never answers; one on a busy machine does, and so does the tester's own. */
const SILENCE_MS_MAX = 120_000

/** Asks each process four times a second whether it lives, and weighs it. */
export function watchProcesses(targets: { name: string; process: LociProcess }[]) {
  const rssMbMax = new Map<string, number>()
  const liveMs: number[] = []
  const dead: string[] = []
  const bugs: string[] = []
  for (const { name, process } of targets) {
    const lines = createInterface({ input: process.child.stdout as Readable })
    lines.on('line', (line) => {
      if (/"message":"(request failed|the database refused input that passed)/.test(line))
        bugs.push(`${name}: ${line.slice(0, 400)}`)
    })
  }
  const timer = setInterval(() => {
    for (const { name, process } of targets) {
      rssMbMax.set(name, Math.max(rssMbMax.get(name) ?? 0, rssMbOf(process.pid)))
      const startedAt = performance.now()
      void isLive(process.url).then((problem) => {
        if (problem === undefined) liveMs.push(performance.now() - startedAt)
        else dead.push(`${name}: ${problem}`)
      })
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
        crashed.length === 0 && dead.length === 0,
        `${crashed.length} crashed, ${dead.length} of ${liveMs.length + dead.length} probes failed, p99 ${Math.round(sorted[Math.floor(sorted.length * 0.99)] ?? 0)} ms${dead.length > 0 ? `; ${dead.slice(0, 3).join('; ')}` : ''}`,
      )
      for (const bug of bugs.slice(0, 5)) report.note(bug)
      report.promise('the log names no bug', bugs.length === 0, `${bugs.length} lines`)
      report.promise(
        'memory stays bounded',
        [...rssMbMax].every(([name, mb]) => mb <= (RSS_MB_MAX[name] ?? 0)),
        [...rssMbMax].map(([name, mb]) => `${name} ${mb} MB of at most ${RSS_MB_MAX[name]} MB`).join(', '),
      )
    },
  }
}

/** On a connection of its own: a kept one may be closed at the moment it is used. Undefined: it answered 200. */
function isLive(url: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const request = httpRequest(`${url}/health/live`, { agent: false, timeout: SILENCE_MS_MAX }, (answer) => {
      answer.resume()
      answer.on('end', () => resolve(answer.statusCode === 200 ? undefined : `status ${answer.statusCode}`))
    })
    request.on('timeout', () => request.destroy(new Error(`no answer within ${SILENCE_MS_MAX} ms`)))
    request.on('error', ({ message }) => resolve(message))
    request.end()
  })
}

function rssMbOf(pid: number): number {
  try {
    return Math.round(Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024)
  } catch {
    return 0
  }
}
