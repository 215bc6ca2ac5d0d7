// A machine with systemd as its first process: a container of systemd-nspawn with /usr of this one, nothing of its
// /etc, and its loopback. Units and what they need are bound into it; what is enabled outlives it.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const BOOT_MS_MAX = 60_000
/** These units fail on a machine without an /etc, and nothing here needs them. */
const MASKED = ['systemd-logind', 'console-getty', 'systemd-journal-flush', 'systemd-networkd', 'systemd-resolved']

export interface Machine {
  /** By its own systemctl. */
  systemctl(...args: string[]): Said
  /** Any command in it, as root. */
  run(...args: string[]): Said
  /** Reads one property of a unit by `systemctl show`. */
  show(unit: string, property: string): string
  stop(): Promise<void>
}

export interface Said {
  code: number | null
  text: string
}

export async function bootMachine(place: string): Promise<Machine | { missing: string }> {
  if (spawnSync('systemd-nspawn', ['--version']).status !== 0) return { missing: 'no systemd-nspawn is here' }
  if (process.getuid?.() !== 0) return { missing: 'a container needs root' }
  const units = path.join(place, 'systemd-system')
  mkdirSync(units, { recursive: true })
  const container = spawn(
    'systemd-nspawn',
    [
      ...['--quiet', '--directory=/', '--volatile=yes', '--register=no', '--keep-unit', '--console=pipe'],
      ...[`--machine=loci-units-${process.pid}`, `--bind=${place}`, `--bind=${units}:/etc/systemd/system`, '--boot'],
      ...['systemd.unit=multi-user.target', ...MASKED.map((name) => `systemd.mask=${name}.service`)],
    ],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  )
  const lines: string[] = []
  for (const stream of [container.stdout, container.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => lines.push(text))
  const exited = new Promise<void>((resolve) => container.once('exit', () => resolve()))
  const until = performance.now() + BOOT_MS_MAX
  for (;;) {
    const init = initOf(container)
    const state = init === undefined ? '' : inside(init, ['systemctl', 'is-system-running']).text
    if (/^(?:running|degraded)/.test(state)) return machineOf(container, init as string, exited)
    if (container.exitCode !== null || performance.now() > until) {
      await ended(container, init, exited)
      return {
        missing: `no systemd booted here (${state.trim() || lines.join('').trim().slice(-200) || 'it says nothing'})`,
      }
    }
    await sleep(200)
  }
}

function machineOf(container: ChildProcess, init: string, exited: Promise<void>): Machine {
  const run = (...args: string[]) => inside(init, args)
  return {
    run,
    systemctl: (...args) => run('systemctl', ...args),
    show: (unit, property) => run('systemctl', 'show', '--value', '-p', property, unit).text.trim(),
    stop: () => ended(container, init, exited),
  }
}

/** The one child of systemd-nspawn: the first process of the container. */
function initOf({ pid }: ChildProcess): string | undefined {
  try {
    const [init] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')
    return init && readFileSync(`/proc/${init}/comm`, 'utf8').trim() === 'systemd' ? init : undefined
  } catch {
    return undefined
  }
}

function inside(init: string, args: string[]): Said {
  const { status, stdout, stderr } = spawnSync('nsenter', ['-t', init, '-m', '-p', '-i', '-u', '--', ...args], {
    encoding: 'utf8',
    env: { PATH: '/usr/bin:/bin:/usr/sbin:/sbin' },
    timeout: 120_000,
  })
  return { code: status, text: `${stdout}${stderr}` }
}

async function ended(container: ChildProcess, init: string | undefined, exited: Promise<void>): Promise<void> {
  // SIGRTMIN+4: systemd ends its units in order and powers off. Whoever does not end by then is ended with all of his.
  if (init) spawnSync('kill', ['-s', 'RTMIN+4', init])
  const isGone = await Promise.race([exited.then(() => true), sleep(45_000, false, { ref: false })])
  if (!isGone) container.kill('SIGKILL')
  await exited
}
