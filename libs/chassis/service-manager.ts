// Tells systemd about a unit with Type=notify: that it listens, what it does, that it ends, and, where the unit asks
// for it, that its event loop still runs. Node cannot send datagrams to a Unix socket, so the program systemd-notify
// sends them; it is there wherever systemd is.
//
// Ready is said as soon as the program listens, not when it serves: a database that is away for an hour is waited for,
// and a start that systemd gave up would be one more thing to wait for.

import { execFile } from 'node:child_process'
import type { Lifecycle } from './lifecycle.ts'
import type { Log } from './log.ts'

export interface ServiceManager {
  socket: string
  /** systemd ends the process after so long without a message. */
  watchdogMs: number | undefined
}

/** A third of it, so that one word may be lost or late. */
const WORDS_PER_WATCHDOG = 3
const SAID_MS_MAX = 10_000

/** Undefined where nobody asked to be told. */
export function serviceManagerOf(env: NodeJS.ProcessEnv): ServiceManager | undefined {
  const { NOTIFY_SOCKET: socket, WATCHDOG_USEC: every, WATCHDOG_PID: pid } = env
  if (!socket) return undefined
  const isForUs = pid === undefined || Number(pid) === process.pid
  const watchdogMs = isForUs && Number(every) > 0 ? Number(every) / 1_000 : undefined
  return { socket, watchdogMs }
}

/** Until `stop`. */
export function tellServiceManager(
  { socket, watchdogMs }: ServiceManager,
  lifecycle: Pick<Lifecycle, 'onMove'>,
  log: Pick<Log, 'warn'>,
): { stop(): void } {
  let isWarned = false
  let isReady = false
  const say = (...words: string[]) => {
    const env = { NOTIFY_SOCKET: socket, PATH: '/usr/bin:/bin' }
    execFile('systemd-notify', words, { env, timeout: SAID_MS_MAX }, (error) => {
      if (error && !isWarned)
        log.warn({ error }, 'systemd could not be told; it ends a unit that never says that it is ready')
      if (error) isWarned = true
    })
  }
  lifecycle.onMove(({ to, reason }) => {
    const status = `STATUS=${to}: ${reason}`
    if (to === 'draining') return say('STOPPING=1', status)
    say(...(isReady ? [] : ['READY=1']), status)
    isReady = true
  })
  const timer =
    watchdogMs === undefined ? undefined : setInterval(() => say('WATCHDOG=1'), watchdogMs / WORDS_PER_WATCHDOG).unref()
  return { stop: () => clearInterval(timer) }
}
