// The logs of what runs stay small: what is above 10 MB is moved aside, once, beside the log.

import { copyFileSync, existsSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DataDirectory } from './files.ts'

const LOGS = ['postgres', 'management', 'daemon', 'up'] as const
const LOG_BYTES_MAX = 10_000_000
const LOOK_EVERY_MS = 60_000

type Place = Pick<DataDirectory, 'logs'>

/** Looks now and then every minute, until it is told to stop. */
export function keepLogsSmall(
  data: Place,
  { bytesMax = LOG_BYTES_MAX, everyMs = LOOK_EVERY_MS } = {},
): { stop(): void } {
  const look = () => {
    for (const name of LOGS) {
      const file = join(data.logs, `${name}.log`)
      if (!existsSync(file)) writeFileSync(file, '', { mode: 0o600 })
      else if (statSync(file).size > bytesMax) moveAside(file)
    }
  }
  look()
  const timer = setInterval(look, everyMs).unref()
  return { stop: () => clearInterval(timer) }
}

/**
 * Copied and emptied, not renamed: who writes has it open to append, and would go on in the renamed file. Lines that
 * come between the two are lost.
 */
function moveAside(file: string): void {
  try {
    copyFileSync(file, `${file}.1`)
    truncateSync(file)
  } catch (error) {
    // A full disk must not end what runs; the next look tries again.
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
  }
}
