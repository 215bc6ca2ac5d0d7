import { execFileSync, spawn } from 'node:child_process'
import {
  accessSync,
  appendFileSync,
  chownSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from './free-port.ts'

export interface ThrowawayOptions {
  port?: number
  /** Kept when the process ends, and continued when it already holds a cluster. Without it: a new one, removed. */
  directory?: string
  settings?: Record<string, string>
  dataChecksums?: boolean
}

export interface Throwaway {
  port: number
  directory: string
  dataDirectory: string
  socketDirectory: string
  binDirectory: string
  /** The superuser, through the unix socket. */
  adminUrl(database?: string): string
  url(role: string, database: string, via?: 'socket' | 'tcp'): string
  pid(): number
  start(): Promise<void>
  stop(): Promise<void>
  /** kill -9 of the postmaster and all its children: what a power cut leaves of the processes. */
  crash(): Promise<void>
  /** SIGSTOP of all its processes, as a machine that stands still; what it answers with lets them go on. */
  pause(): () => void
  remove(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** max_wal_size and then some; a small /dev/shm (64 MB in many containers) is left alone. */
const SHM_BYTES_MIN = 6 * 1024 ** 3
const PORT_TRIES_MAX = 5
/** Killed processes die when they are next scheduled: on a loaded machine that takes a while. */
const DIE_MS_MAX = 60_000

/**
 * A Postgres cluster for development, tests and benchmarks. Everyone on this machine may connect as anyone, so it
 * listens on loopback only. Its durable settings stay on: what we test and measure is what we promise.
 */
export async function startThrowaway(options: ThrowawayOptions = {}): Promise<Throwaway> {
  const binDirectory = findBinaries()
  const directory = options.directory ?? mkdtempSync(join(temporaryDirectory(), 'loci-postgres-'))
  const dataDirectory = join(directory, 'data')
  const socketDirectory = join(directory, 'socket')
  const logFile = join(directory, 'postgres.log')
  const run = (program: string, parameters: string[]) =>
    runAsPostgres(join(binDirectory, program), parameters, directory)

  const cluster: Throwaway = {
    port: options.port ?? (await freePort()),
    directory,
    dataDirectory,
    socketDirectory,
    binDirectory,
    adminUrl: (database = 'postgres') => cluster.url('postgres', database),
    url(role, database, via = 'socket') {
      const [who, what] = [encodeURIComponent(role), encodeURIComponent(database)]
      if (via === 'tcp') return `postgres://${who}@127.0.0.1:${cluster.port}/${what}`
      return `postgres://${who}@/${what}?host=${encodeURIComponent(socketDirectory)}&port=${cluster.port}`
    },
    pid: () => postmasterPid(dataDirectory),
    async start() {
      await run('pg_ctl', ['start', '--wait', '--timeout=300', '-D', dataDirectory, '-l', logFile]).catch((error) => {
        const lines = existsSync(logFile)
          ? readFileSync(logFile, 'utf8').trimEnd().split('\n').slice(-5).join('\n')
          : ''
        throw new Error(`Postgres did not start; the end of ${logFile}:\n${lines}`, { cause: error })
      })
      running.set(cluster, options.directory !== undefined)
      cleanUpAtExit()
    },
    async stop() {
      await run('pg_ctl', ['stop', '--wait', '--mode=fast', '-D', dataDirectory])
      running.delete(cluster)
    },
    async crash() {
      await killAll(cluster.pid())
      // Nobody reaps a zombie in some containers; Postgres would take its pid in these files for a living server.
      for (const lock of [
        join(dataDirectory, 'postmaster.pid'),
        join(socketDirectory, `.s.PGSQL.${cluster.port}.lock`),
      ]) {
        rmSync(lock, { force: true })
      }
      running.delete(cluster)
    },
    pause() {
      const pids = haltAll(cluster.pid())
      return () => {
        for (const pid of pids) signal(pid, 'SIGCONT')
      }
    },
    async remove() {
      // One that has ended by itself, as after a recovery without its end, has no such file.
      const isThere = running.has(cluster) && existsSync(join(dataDirectory, 'postmaster.pid'))
      if (isThere) await run('pg_ctl', ['stop', '--wait', '--mode=immediate', '-D', dataDirectory])
      running.delete(cluster)
      rmSync(directory, { recursive: true, force: true })
    },
    [Symbol.asyncDispose]: () => cluster.remove(),
  }

  try {
    await createCluster(cluster, options, run)
    await startOnFreePort(cluster, options)
  } catch (error) {
    if (options.directory === undefined) rmSync(directory, { recursive: true, force: true })
    throw error
  }
  return cluster
}

type Run = (program: string, parameters: string[]) => Promise<void>

async function createCluster(cluster: Throwaway, options: ThrowawayOptions, run: Run): Promise<void> {
  for (const directory of [cluster.directory, cluster.socketDirectory]) {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    const owner = postgresUser()
    if (owner) chownSync(directory, owner.uid, owner.gid)
  }
  if (existsSync(join(cluster.dataDirectory, 'PG_VERSION'))) {
    // Whoever used the directory before was killed and could not stop its server.
    const left = existsSync(join(cluster.dataDirectory, 'postmaster.pid'))
    if (left) await run('pg_ctl', ['stop', '--wait', '--mode=fast', '-D', cluster.dataDirectory]).catch(() => {})
  } else {
    const checksums = (options.dataChecksums ?? true) ? ['--data-checksums'] : []
    const locale = ['--encoding=UTF8', '--locale=C.UTF-8']
    // --no-sync is about initdb's own files; the server syncs what it writes.
    const parameters = ['-D', cluster.dataDirectory, '-U', 'postgres', '--auth=trust', '--no-sync', '--no-instructions']
    await run('initdb', [...parameters, ...locale, ...checksums])
    appendFileSync(join(cluster.dataDirectory, 'postgresql.conf'), `\ninclude 'throwaway.conf'\n`)
  }
  const settings: Record<string, string> = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: cluster.socketDirectory,
    max_connections: '300',
    shared_buffers: '256MB',
    max_wal_size: '4GB',
    ...options.settings,
  }
  const lines = Object.entries(settings).map(([name, value]) => `${name} = '${value.replaceAll("'", "''")}'\n`)
  writeFileSync(join(cluster.dataDirectory, 'throwaway.conf'), lines.join(''))
}

// Between finding a free port and listening on it somebody else may take it.
async function startOnFreePort(cluster: Throwaway, options: ThrowawayOptions): Promise<void> {
  const file = join(cluster.dataDirectory, 'throwaway.conf')
  const settings = readFileSync(file, 'utf8')
  for (let tries = 1; ; tries += 1) {
    writeFileSync(file, `${settings}port = ${cluster.port}\n`)
    try {
      return await cluster.start()
    } catch (error) {
      if (options.port !== undefined || tries >= PORT_TRIES_MAX) throw error
      cluster.port = await freePort()
    }
  }
}

function findBinaries(): string {
  const debian = '/usr/lib/postgresql'
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : []
  const onPath = (process.env.PATH ?? '').split(delimiter).filter((directory) => directory !== '')
  const candidates = [...onPath, ...versions.map((version) => join(debian, version, 'bin'))]
  const found = candidates.find((directory) => ['initdb', 'pg_ctl'].every((name) => isProgram(join(directory, name))))
  if (found === undefined) {
    throw new Error('no initdb and pg_ctl found: install the PostgreSQL server (15 or newer) or put its bin on PATH')
  }
  // Where it really is: a link to initdb alone says nothing of pgbench and pg_dump beside it.
  return dirname(realpathSync(join(found, 'initdb')))
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

function temporaryDirectory(): string {
  try {
    const { bavail, bsize } = statfsSync('/dev/shm')
    if (bavail * bsize >= SHM_BYTES_MIN) return '/dev/shm'
  } catch {
    // Not every system has it.
  }
  return tmpdir()
}

// Postgres refuses to run as root.
function postgresUser(): { uid: number; gid: number } | null {
  if (process.getuid?.() !== 0) return null
  const id = (option: string) => Number(execFileSync('id', [option, 'postgres'], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}

function asPostgres(program: string, parameters: string[]): [string, string[]] {
  return process.getuid?.() === 0
    ? ['runuser', ['-u', 'postgres', '--', program, ...parameters]]
    : [program, parameters]
}

/** Without PG* names, or a shell that is set up for some other server would lead initdb and pg_ctl there. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('PG')))
}

function runAsPostgres(program: string, parameters: string[], cwd: string): Promise<void> {
  const [command, all] = asPostgres(program, parameters)
  return new Promise((resolve, reject) => {
    const child = spawn(command, all, { cwd, env: cleanEnvironment(), stdio: ['ignore', 'ignore', 'pipe'] })
    let complaint = ''
    child.stderr.on('data', (data) => {
      complaint += data
    })
    child.once('error', reject)
    // 'exit' and not 'close': the server may hold on to what pg_ctl inherited from us.
    child.once('exit', (code) => {
      child.stderr.destroy()
      if (code === 0) resolve()
      else reject(new Error(`${program} ${parameters[0]} failed: ${complaint.trim()}`))
    })
  })
}

function postmasterPid(dataDirectory: string): number {
  const file = join(dataDirectory, 'postmaster.pid')
  const pid = existsSync(file) ? Number.parseInt(readFileSync(file, 'utf8'), 10) : Number.NaN
  if (!Number.isInteger(pid)) throw new Error('this throwaway Postgres is not running: start() it first')
  return pid
}

/** The postmaster first, so that it forks no further child while we list them. */
function haltAll(postmaster: number): number[] {
  process.kill(postmaster, 'SIGSTOP')
  const children = processes().filter((one) => one.parent === postmaster)
  const pids = [postmaster, ...children.map((one) => one.pid)]
  for (const pid of pids) signal(pid, 'SIGSTOP')
  return pids
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

async function killAll(postmaster: number): Promise<void> {
  const pids = haltAll(postmaster)
  for (const pid of pids) signal(pid, 'SIGKILL')
  const endsAt = performance.now() + DIE_MS_MAX
  while (processes().some((one) => pids.includes(one.pid) && !one.zombie)) {
    if (performance.now() > endsAt) throw new Error(`processes ${pids.join(', ')} did not die`)
    await sleep(10)
  }
}

function processes(): { pid: number; parent: number; zombie: boolean }[] {
  const lines = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,stat='], { encoding: 'utf8' }).trim().split('\n')
  return lines.map((line) => {
    const [pid, parent, state] = line.trim().split(/\s+/)
    return { pid: Number(pid), parent: Number(parent), zombie: state?.startsWith('Z') ?? false }
  })
}

/** What runs because of this process, and whether its directory is kept. */
const running = new Map<Throwaway, boolean>()
let cleaning = false

// A server is no child that dies with us: pg_ctl set it free. (Nothing helps when we are killed with -9.)
function cleanUpAtExit(): void {
  if (cleaning) return
  cleaning = true
  process.on('exit', stopAll)
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    const onSignal = () => {
      // If the program handles the signal itself, it will come to its exit in its own time.
      if (process.listenerCount(signal) > 1) return
      stopAll()
      process.off(signal, onSignal)
      process.kill(process.pid, signal)
    }
    process.on(signal, onSignal)
  }
}

function stopAll(): void {
  for (const [{ binDirectory, dataDirectory, directory }, keep] of running) {
    const parameters = ['stop', '--wait', `--mode=${keep ? 'fast' : 'immediate'}`, '-D', dataDirectory]
    const [command, all] = asPostgres(join(binDirectory, 'pg_ctl'), parameters)
    try {
      execFileSync(command, all, { cwd: directory, env: cleanEnvironment(), stdio: 'ignore' })
      if (!keep) rmSync(directory, { recursive: true, force: true })
    } catch (error) {
      process.stderr.write(`could not stop the throwaway Postgres in ${directory}: ${(error as Error).message}\n`)
    }
  }
  running.clear()
}
