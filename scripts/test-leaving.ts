// The process of a test file that has told all of its results and does not end. Node waits for itself for ever when it
// leaves at a bad moment of a compilation (nodejs/node#54918): the verdict is known, and the process is ended. A test
// that leaves a handle open is another matter: Node does not get to its summary, and the bound of the run holds.

import { readdirSync, readFileSync } from 'node:fs'

interface Leaving {
  /** The last result of a file has come. */
  watch(file: string): void
  left(file: string): void
  /** The failure of a whole file that is nothing but our ending of its process. */
  isOurs(test: { name: string; file?: string }): boolean
}

const LEAVE_MS_MAX = 120_000

export function watchLeaving(say: (line: string) => void, withinMs = LEAVE_MS_MAX): Leaving {
  const gone = new Set<string>()
  const timers = new Map<string, NodeJS.Timeout>()
  const ended = new Set<string>()
  return {
    watch(file) {
      if (!gone.has(file))
        timers.set(
          file,
          setTimeout(() => end(file), withinMs),
        )
    },
    left(file) {
      gone.add(file)
      clearTimeout(timers.get(file))
    },
    isOurs: ({ name, file }) => file !== undefined && name === file && ended.has(file),
  }

  function end(file: string): void {
    const pid = childWith(file)
    if (pid === undefined) return
    ended.add(file)
    const waitsFor = read(`/proc/${pid}/wchan`)
    say(
      `${file} told its results and did not end within ${withinMs / 1000} s (in ${waitsFor}): process ${pid} is ended`,
    )
    process.kill(pid, 'SIGKILL')
  }
}

/** A child of ours whose last argument is the file. Nobody where there is no /proc: then the bound of the run holds. */
function childWith(file: string): number | undefined {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name) && read(`/proc/${name}/cmdline`).split('\0').at(-2) === file)
      .map(Number)
      .find((pid) => new RegExp(`^PPid:\\s*${process.pid}$`, 'm').test(read(`/proc/${pid}/status`)))
  } catch {
    return undefined
  }
}

/** Empty when the process has gone meanwhile. */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
