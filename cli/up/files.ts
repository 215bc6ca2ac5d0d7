// The data directory of `loci up`: what is in it, who may read it, and how a file of it changes whole or not at all.

import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  writeSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { CommandFailure } from '../failure.ts'
import type { Host } from '../host.ts'

export interface DataDirectory {
  path: string
  cluster: string
  programs: string
  socket: string
  logs: string
  secrets: string
  secret(name: string): string
  /** What was chosen at the first start and stays. */
  state: string
  /** What runs now. */
  running: string
  signInCode: string
}

/** PostgreSQL does not run as root: under root the files lie where another user can reach them. */
export function dataDirectoryOf(host: Host, given: string | undefined): DataDirectory {
  const shared = host.env.XDG_DATA_HOME || join(host.home, '.local', 'share')
  const usual = host.uid === 0 ? '/var/lib/loci/dev' : join(shared, 'loci', 'dev')
  const path = resolve(host.cwd, given ?? host.env.LOCI_UP_DATA ?? usual)
  return {
    path,
    cluster: join(path, 'postgres'),
    programs: join(path, 'programs'),
    socket: join(path, 'socket'),
    logs: join(path, 'logs'),
    secrets: join(path, 'secrets'),
    secret: (name) => join(path, 'secrets', name),
    state: join(path, 'state.json'),
    running: join(path, 'running.json'),
    signInCode: join(path, 'secrets', 'sign-in-code'),
  }
}

/** Makes the directories, each for its owner alone. */
export function makeDirectories(data: DataDirectory): 'created' | 'kept' {
  const isNew = !existsSync(data.state)
  makeEnterable(dirname(data.path))
  for (const directory of [data.path, data.secrets, data.logs, data.socket]) makePrivate(directory)
  return isNew ? 'created' : 'kept'
}

/** Under root the server of the database is another user, whatever the umask: it passes through what is made here. */
function makeEnterable(directory: string): void {
  const first = mkdirSync(directory, { recursive: true })
  if (first === undefined || process.getuid?.() !== 0) return
  for (let made = directory; ; made = dirname(made)) {
    chmodSync(made, 0o755)
    if (made === first) return
  }
}

function makePrivate(directory: string): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const { uid } = lstatSync(directory)
  const own = process.getuid?.()
  if (own !== undefined && own !== 0 && uid !== own)
    throw new CommandFailure('config', 'LOCI-DATA', `${directory} belongs to another user.`, {
      hint: 'Choose another data directory: loci up --data <directory>',
    })
}

/** Written beside it, synced, and put in its place: a crash leaves the one before or this one. */
export function writeWhole(file: string, text: string, mode = 0o600): void {
  const beside = `${file}.${process.pid}-${randomBytes(4).toString('hex')}.new`
  const fd = openSync(beside, 'wx', mode)
  try {
    writeSync(fd, text)
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
  chmodSync(beside, mode)
  renameSync(beside, file)
}

export function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trimEnd()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

export function readJson<Value>(file: string): Value | undefined {
  const text = readText(file)
  if (text === undefined) return undefined
  try {
    return JSON.parse(text) as Value
  } catch {
    throw new CommandFailure('config', 'LOCI-DATA', `${file} is not JSON.`, {
      hint: 'Restore it from a copy, or begin anew: loci up --fresh',
    })
  }
}

/** The secret that is there, or a new one. */
export function keepSecret(data: DataDirectory, name: string, make: () => string): string {
  const file = data.secret(name)
  const known = readText(file)
  if (known !== undefined && known !== '') return known
  const made = make()
  writeWhole(file, `${made}\n`)
  return made
}
