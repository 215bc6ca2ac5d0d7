// Where management and the daemon are, and how they are started: of this checkout, or of the package @locihq/server.

import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { existsSync, openSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { CommandFailure } from '../failure.ts'
import type { Host } from '../host.ts'
import type { DataDirectory } from './files.ts'

const run = promisify(execFile)

export type ProgramName = 'daemon' | 'management'
export type Settings = Readonly<Record<string, string>>

/** As docs/operations/install.md starts them. */
export const NODE_FLAGS = ['--max-semi-space-size=16', '--heap-growing-percent=50']

export interface Programs {
  root: string
  file(program: ProgramName): string
  isCheckout: boolean
}

export function findPrograms(): Programs {
  const checkout = join(import.meta.dirname, '../..')
  if (existsSync(join(checkout, 'daemon', 'main.ts')))
    return { root: checkout, isCheckout: true, file: (program) => join(checkout, program, 'main.ts') }
  try {
    const { resolve } = createRequire(import.meta.url)
    const root = dirname(resolve('@locihq/server/package.json'))
    return { root, isCheckout: false, file: (program) => resolve(`@locihq/server/${program}`) }
  } catch {
    throw new CommandFailure('unavailable', 'LOCI-SERVER', 'The programs of loci are not installed.', {
      hint: 'Install them beside the command line: npm install -g @locihq/cli @locihq/server',
    })
  }
}

/** Only what it is given, and what any process needs: a stray LOCI_* of somebody's shell must not reach it. */
function environment(host: Host, data: DataDirectory | undefined, settings: Settings): Record<string, string> {
  const { PATH = '', HOME = '' } = host.env
  const compiled = data ? { NODE_COMPILE_CACHE: join(data.path, 'compiled') } : undefined
  return { PATH, HOME, ...compiled, MALLOC_ARENA_MAX: '2', ...settings }
}

export interface Start {
  host: Host
  data: DataDirectory
  programs: Programs
  settings: Settings
}

/** `held`: the descriptor of an open socket, which the process keeps as long as it lives. */
export function startProgram(
  program: ProgramName,
  { host, data, programs, settings }: Start,
  held?: number,
): ChildProcess {
  const log = openSync(join(data.logs, `${program}.log`), 'a', 0o600)
  return spawn(host.node, [...NODE_FLAGS, programs.file(program)], {
    cwd: programs.root,
    env: environment(host, data, settings),
    stdio: ['ignore', log, log, ...(held === undefined ? [] : [held])],
    // Ctrl-C of a terminal goes to a whole group; they are told to end in their order.
    detached: true,
  })
}

/** Without a data directory nothing is kept but what the command itself writes. */
export type CommandStart = Omit<Start, 'data'> & { data?: DataDirectory }

/** A command of a program, to its end; throws with what it said unless it ended well. */
export async function runCommand(program: ProgramName, args: string[], start: CommandStart): Promise<string> {
  const { host, data, programs, settings } = start
  try {
    const { stdout } = await run(host.node, [...NODE_FLAGS, programs.file(program), ...args], {
      cwd: programs.root,
      env: environment(host, data, settings),
    })
    return stdout
  } catch (error) {
    const { stderr } = error as { stderr?: string }
    const said = (stderr || (error as Error).message).trim()
    throw new CommandFailure('unavailable', 'LOCI-START', `${program} ${args[0]} failed: ${said}`)
  }
}
