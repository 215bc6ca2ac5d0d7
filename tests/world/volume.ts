// A small volume of its own for a PostgreSQL that runs out of space, and a clock that a test can move. Both need what
// not every machine has: where they cannot be had, a test names what it skips.

import { execFileSync } from 'node:child_process'
import { chmodSync, closeSync, existsSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface Volume extends AsyncDisposable {
  directory: string
  /** Takes all the space that is left. */
  fill(): void
  free(): void
}

/** Undefined where this process may not mount. */
export function mountVolume(megabytes: number): Volume | undefined {
  const directory = mkdtempSync(join(tmpdir(), 'loci-volume-'))
  const ballast = join(directory, 'ballast')
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=0755`, 'tmpfs', directory], {
      stdio: 'ignore',
    })
  } catch {
    rmSync(directory, { recursive: true })
    return undefined
  }
  const unmount = () => {
    if (!existsSync(directory)) return
    // Lazily: a process that just ended may still hold its working directory.
    execFileSync('umount', ['--lazy', directory], { stdio: 'ignore' })
    rmSync(directory, { recursive: true, force: true })
  }
  process.once('exit', unmount)
  return {
    directory,
    fill() {
      const file = openSync(ballast, 'a')
      for (const size of [1 << 20, 1 << 12]) {
        try {
          for (;;) if (writeSync(file, Buffer.alloc(size)) < size) break
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
        }
      }
      closeSync(file)
    },
    free: () => rmSync(ballast, { force: true }),
    async [Symbol.asyncDispose]() {
      unmount()
    },
  }
}

export interface MovableClock extends Disposable {
  /** For whoever is to live by this clock. Its monotonic time stays the machine's, as that of a paused machine does. */
  environment: Record<string, string>
  moveTo(offset: string): void
}

const LIBRARIES = ['/usr/lib/x86_64-linux-gnu', '/usr/lib/aarch64-linux-gnu', '/usr/lib', '/usr/local/lib']

/** Undefined where libfaketime is not installed. */
export function movableClock(): MovableClock | undefined {
  const library = LIBRARIES.map((place) => join(place, 'faketime/libfaketime.so.1')).find((file) => existsSync(file))
  if (library === undefined) return undefined
  const directory = mkdtempSync(join(tmpdir(), 'loci-clock-'))
  chmodSync(directory, 0o755)
  const file = join(directory, 'offset')
  writeFileSync(file, '+0\n')
  return {
    environment: {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      DONT_FAKE_MONOTONIC: '1',
    },
    moveTo: (offset) => writeFileSync(file, `${offset}\n`),
    [Symbol.dispose]: () => rmSync(directory, { recursive: true, force: true }),
  }
}
