// What the checks of the scorecard share: an installed command line whose first commands were run once, in a network
// namespace with loopback alone where the machine makes one.

import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { type CommandLine, commandLine, type Installed, NOBODY, type Ran, type User } from '../../world/packed.ts'
import type { Report } from '../../world/report.ts'

export interface Setting {
  place: string
  installed: Installed
  isShort: boolean
  /** Only loopback is there. */
  isAlone: boolean
  within: Report['within']
  user: User
  /** The program of a Node that is too old, where one could be had. */
  olderNode: string | undefined
  loci: CommandLine
  quick: Quick
  /** Everything that a command printed so far. */
  printed: string[]
}

/** From nothing to a recalled memory. */
export interface Quick {
  commands: string[]
  seconds: number
  isRecalled: boolean
  problem: string
}

export interface Verdict {
  passes: boolean
  value: string
  /** Why it is not passed yet, where that is known: then it does not count as failed. */
  due?: string
  /** What is planted so that the check must say no, and what gave it away. */
  mutant?: { name: string; caught: string | undefined }
}

export interface Check {
  number: number
  title: string
  measure(setting: Setting): Promise<Verdict>
}

export const FACT = 'Ada prefers replies in Dutch'
export const QUESTION = 'which language for Ada?'

export async function makeSetting(
  place: string,
  installed: Installed,
  given: Pick<Setting, 'isShort' | 'isAlone' | 'within' | 'olderNode'>,
): Promise<Setting> {
  const user = process.getuid?.() === 0 ? NOBODY : { name: 'this user', uid: undefined }
  const printed: string[] = []
  const loci = listening(commandLine(place, installed, { user }), printed)
  const steps = [
    ['up', '-d'],
    ['memory', 'store', FACT, '--user', 'ada'],
    ['memory', 'recall', QUESTION, '--user', 'ada', '--why'],
  ]
  const startedAt = performance.now()
  const ran: Ran[] = []
  for (const step of steps) ran.push(await loci(step))
  const quick = {
    commands: ['npm install @locihq/cli @locihq/server', ...steps.map((step) => `loci ${step.join(' ')}`)],
    seconds: installed.seconds + (performance.now() - startedAt) / 1_000,
    isRecalled: ran.every(({ code }) => code === 0) && ran.at(-1)?.stdout.includes(FACT) === true,
    problem: ran.map(({ stderr }) => stderr).join('\n'),
  }
  return { place, installed, ...given, user, loci, quick, printed }
}

/** The same command line with a home of its own; `like`: with the profiles of that one. */
export function another({ place, installed, user, printed }: Setting, like?: CommandLine): CommandLine {
  const own = listening(commandLine(place, installed, { user }), printed)
  if (like) copyProfiles(like.home, own)
  return own
}

export function copyProfiles(from: string, { home, user }: Pick<CommandLine, 'home' | 'user'>): void {
  cpSync(path.join(from, '.config'), path.join(home, '.config'), { recursive: true, force: true })
  own(path.join(home, '.config'), user)
}

export function scratch({ place, user }: Setting, name: string): string {
  const folder = mkdtempSync(path.join(place, `${name}-`))
  own(folder, user)
  return folder
}

/** Gives to the user what the test made for it. */
export function own(folder: string, { uid }: User): void {
  if (uid) execFileSync('chown', ['-R', `${uid}:${uid}`, folder])
}

function listening(loci: CommandLine, printed: string[]): CommandLine {
  const run: typeof loci = Object.assign(async (...given: Parameters<typeof loci>) => {
    // Its data directory is its own, whatever the home is.
    const [args, options] = given
    const ran = await loci(args, { ...options, env: { LOCI_UP_DATA: loci.data, ...options?.env } })
    printed.push(ran.stdout, ran.stderr)
    return ran
  }, loci)
  return run
}

export interface Document {
  ok: boolean
  command: string | null
  data: Record<string, unknown>
  error?: { code: string; message: string; hint?: string }
}

/** The one document of --json, or undefined where it is none or more. */
export function documentIn(stdout: string): Document | undefined {
  try {
    const found = JSON.parse(stdout) as Document
    return typeof found.ok === 'boolean' ? found : undefined
  } catch {
    return undefined
  }
}

export async function dataOf<Data>(loci: CommandLine, args: readonly string[], env: Record<string, string> = {}) {
  const { stdout, stderr } = await loci([...args, '--json'], { env })
  const found = documentIn(stdout)
  if (!found?.ok) throw new Error(`loci ${args.join(' ')}: ${stdout}${stderr}`)
  return found.data as Data
}

export interface UpData {
  pid: number
  data_directory: string
  management: string
  daemon: string
  profile: string
}

export function secretOf({ loci }: Setting, name: string): string {
  return readFileSync(path.join(loci.data, 'secrets', name), 'utf8').trim()
}
