// Processor time of a daemon and of PostgreSQL with all its processes, from /proc.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Linux counts in hundredths of a second. */
const TICK_US = 10_000

interface Watched {
  daemons: readonly { pid?: number | undefined }[]
  postgres: { dataDirectory: string }
}

/** Microseconds so far. */
export function cpuTime({ daemons, postgres }: Watched): { daemonUs: number; postgresUs: number } {
  const postmaster = Number(readFileSync(join(postgres.dataDirectory, 'postmaster.pid'), 'utf8').split('\n')[0])
  const processes = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => statOf(Number(name)))
  const of = (pid: number | undefined) => processes.find((one) => one.pid === pid)?.own ?? 0
  const backends = processes.filter(({ parent }) => parent === postmaster).reduce((sum, { own }) => sum + own, 0)
  const ended = processes.find(({ pid }) => pid === postmaster)?.ended ?? 0
  return {
    daemonUs: daemons.reduce((sum, { pid }) => sum + of(pid), 0) * TICK_US,
    postgresUs: (of(postmaster) + backends + ended) * TICK_US,
  }
}

/** Of one process, so far; 0 when it has ended. */
export function processUs(pid: number): number {
  return (statOf(pid)[0]?.own ?? 0) * TICK_US
}

/** Microseconds that the threads of that name in one process have used so far. */
export function threadsUs(pid: number, name: string): number {
  const threads = readdirSync(`/proc/${pid}/task`).filter((id) => nameOf(pid, id) === name)
  return threads.reduce((sum, id) => sum + (statOf(`${pid}/task/${id}`)[0]?.own ?? 0), 0) * TICK_US
}

function nameOf(pid: number, id: string): string {
  try {
    return readFileSync(`/proc/${pid}/task/${id}/comm`, 'utf8').trim()
  } catch {
    return '' // It has ended meanwhile.
  }
}

function statOf(place: number | string): { pid: number; parent: number; own: number; ended: number }[] {
  try {
    // The name in brackets may hold anything, so the fields are counted from its end.
    const fields = readFileSync(`/proc/${place}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
      .map(Number)
    const at = (n: number) => fields[n] ?? 0
    return [{ pid: Number.parseInt(String(place), 10), parent: at(1), own: at(11) + at(12), ended: at(13) + at(14) }]
  } catch {
    return [] // It has ended meanwhile.
  }
}
