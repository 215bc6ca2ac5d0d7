// Which process is meant by a pid that was written down: one with the same start. A pid alone may be anybody's by now,
// and nobody else's process is ever ended.

import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

export interface ProcessMark {
  pid: number
  /** When it began, as the system tells it. */
  started: string
}

/** Undefined where there is no such process, or only what is left of one that nobody has waited for. */
export function markOf(pid: number): ProcessMark | undefined {
  const started = process.platform === 'linux' ? startedOnLinux(pid) : startedByPs(pid)
  return started === undefined ? undefined : { pid, started }
}

export function isAlive({ pid, started }: ProcessMark): boolean {
  return markOf(pid)?.started === started
}

function startedOnLinux(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name stands in parentheses and may hold anything, also spaces and parentheses.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    if (fields[0] === 'Z' || fields[0] === 'X') return undefined
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    return `${boot}:${fields[19]}`
  } catch {
    return undefined
  }
}

function startedByPs(pid: number): string | undefined {
  try {
    const [state, ...started] = execFileSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
      .trim()
      .split(/\s+/)
    return state === undefined || state === '' || state.startsWith('Z') ? undefined : started.join(' ')
  } catch {
    return undefined
  }
}

/** Sends the signal and waits; SIGKILL after the time. True when it had to be killed. */
export async function end(mark: ProcessMark, signal: NodeJS.Signals, withinMs: number): Promise<boolean> {
  if (!send(mark, signal)) return false
  const until = performance.now() + withinMs
  while (isAlive(mark)) {
    if (performance.now() > until) {
      send(mark, 'SIGKILL')
      while (isAlive(mark)) await sleep(20)
      return true
    }
    await sleep(20)
  }
  return false
}

function send(mark: ProcessMark, signal: NodeJS.Signals): boolean {
  if (!isAlive(mark)) return false
  try {
    process.kill(mark.pid, signal)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false
    throw error
  }
}
