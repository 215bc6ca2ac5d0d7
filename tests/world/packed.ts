// The packed command line as somebody has it who installed it: from tarballs into an empty folder, as a user without
// rights and as root, with no variable but those that every shell has, and with no network but loopback.

import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { chmodSync, chownSync, copyFileSync, mkdirSync, mkdtempSync, readdirSync } from 'node:fs'
import path from 'node:path'

const ROOT = path.resolve(import.meta.dirname, '../..')

export interface User {
  name: string
  /** Undefined: whoever runs the test. */
  uid: number | undefined
}

export const NOBODY: User = { name: 'nobody', uid: 65_534 }
export const SUPERUSER: User = { name: 'root', uid: 0 }

export interface Installed {
  /** The folders and tarballs of the packages. */
  dist: string
  folder: string
  main: string
  /** A copy that everybody can run: the Node of this checkout may lie where nobody else can go. */
  node: string
  seconds: number
  /** Whether the registry was asked. */
  how: string
  problem: string | undefined
}

export function installPacked(place: string, packages: readonly string[] = ['server', 'cli']): Installed {
  const dist = path.join(place, 'dist')
  const build = ['--disable-warning=ExperimentalWarning', 'scripts/build.ts', ...packages, '--out', dist]
  execFileSync(process.execPath, build, { cwd: ROOT, stdio: 'pipe' })
  const folder = path.join(place, 'installed')
  mkdirSync(folder)
  const startedAt = performance.now()
  const { how, problem } = install(folder, dist)
  const seconds = (performance.now() - startedAt) / 1_000
  const node = path.join(place, 'node')
  copyFileSync(process.execPath, node)
  chmodSync(node, 0o755)
  return { dist, folder, main: path.join(folder, 'node_modules/@locihq/cli/cli/main.js'), node, seconds, how, problem }
}

/** From the cache where it has everything; a machine whose cache is cold asks the registry. */
export function install(folder: string, dist: string): { how: string; problem: string | undefined } {
  const files = readdirSync(dist).filter((name) => name.endsWith('.tgz') && !name.startsWith('locihq-sdk-'))
  const args = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  const npm = (how: string) =>
    spawnSync('npm', [...args, how, ...files.map((name) => path.join(dist, name))], { cwd: folder, encoding: 'utf8' })
  const offline = npm('--offline')
  const done = offline.status === 0 ? offline : npm('--prefer-offline')
  return {
    how: offline.status === 0 ? 'offline' : 'with the registry, for the cache was cold',
    problem: done.status === 0 ? undefined : done.stderr.slice(0, 300),
  }
}

export interface Network extends Disposable {
  pid: number
}

/** A network namespace with loopback alone, as long as it is held; or why there is none. */
export function ownNetwork(): Network | { missing: string } {
  const holder: ChildProcess = spawn('unshare', ['-n', 'sh', '-c', 'ip link set lo up && exec sleep 86400'], {
    stdio: 'ignore',
  })
  const { pid } = holder
  if (pid === undefined || spawnSync('unshare', ['-n', 'true']).status !== 0)
    return { missing: 'this machine makes no network namespaces' }
  // Until loopback is up there.
  for (let tries = 0; tries < 200; tries += 1) {
    const seen = spawnSync('nsenter', ['-t', String(pid), '-n', 'ip', '-o', 'addr', 'show', 'lo'], { encoding: 'utf8' })
    if (seen.stdout?.includes('127.0.0.1')) return { pid, [Symbol.dispose]: () => void holder.kill('SIGKILL') }
    spawnSync('sleep', ['0.05'])
  }
  holder.kill('SIGKILL')
  return { missing: 'loopback of a network namespace could not be brought up' }
}

export interface Ran {
  code: number | null
  stdout: string
  stderr: string
}

export interface CommandLine {
  home: string
  data: string
  user: User
  (args: readonly string[], options?: RunOptions): Promise<Ran>
  spawn(args: readonly string[], options?: RunOptions): ChildProcess
}

export interface RunOptions {
  env?: Record<string, string>
  input?: string
  /** Another Node than the one of the checkout. */
  node?: string
  /** What runs it, such as strace. */
  under?: readonly string[]
}

export function commandLine(
  place: string,
  { main, node }: Pick<Installed, 'main' | 'node'>,
  { net, user }: { net?: Network | undefined; user: User },
): CommandLine {
  const home = mkdtempSync(path.join(place, 'home-'))
  const data = mkdtempSync(path.join(place, `data-${user.name.replace(' ', '-')}-`))
  if (user.uid !== undefined) for (const one of [home, data]) chownSync(one, user.uid, user.uid)
  const inside = net ? ['nsenter', '-t', String(net.pid), '-n', '--'] : []
  const start = (args: readonly string[], { env = {}, under = [], node: other = node }: RunOptions = {}) => {
    const variables = Object.entries({ HOME: home, PATH: '/usr/bin:/bin', ...env }).map(
      ([name, value]) => `${name}=${value}`,
    )
    const [program = '', ...rest] = [
      ...inside,
      ...asUser(user),
      'env',
      '-i',
      ...variables,
      ...under,
      other,
      main,
      ...args,
    ]
    return spawn(program, rest, { cwd: home, stdio: ['pipe', 'pipe', 'pipe'] })
  }
  const run = async (args: readonly string[], options: RunOptions = {}): Promise<Ran> => {
    const child = start(args, options)
    let stdout = ''
    let stderr = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
    child.stdin.on('error', () => {}).end(options.input ?? '')
    const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
    return { code, stdout, stderr }
  }
  return Object.assign(run, { home, data, user, spawn: start })
}

/** What stands before a command that runs as the user. */
export function asUser({ uid }: User): string[] {
  return uid ? ['setpriv', `--reuid=${uid}`, `--regid=${uid}`, '--clear-groups', '--'] : []
}
