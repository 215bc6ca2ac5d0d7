// The frame of a program: commands and exit codes. Exit codes are those of sysexits.h, which supervisors and scripts
// know: 64 wrong call, 69 something that it needs is not to be had, 70 a bug, 78 configuration. 78 must not be
// restarted in a loop: nothing will change by itself.

import { type Config, configReport, flagOf, loadConfig } from './config.ts'
import { findPortHolder } from './port-holder.ts'
import type { Registry, Setting, SettingsTable } from './settings.ts'

export const EXIT = { ok: 0, failed: 1, usage: 64, unavailable: 69, bug: 70, config: 78 } as const

/** The program must not run here: weak role, missing row-level security, newer schema. */
export class StartRefused extends Error {
  readonly reasons: string[]

  constructor(reasons: string[]) {
    super(reasons.join('; '))
    this.name = 'StartRefused'
    this.reasons = reasons
  }
}

export interface Command<Table extends SettingsTable = SettingsTable> {
  summary: string
  /** How it is called, one line for each way; for its own --help. */
  usage?: string[]
  /** Settings without a default that this command needs beyond those that every command needs. */
  needs?: (keyof Table)[]
  /** Settings that this command does without although they are required otherwise. */
  without?: (keyof Table)[]
  run(config: Config<Table>, args: string[]): Promise<number | undefined>
}

export interface ProgramOptions<Table extends SettingsTable = SettingsTable> extends Registry<Table> {
  version: string
  commands: Record<string, Command<Table>> & { serve: Command<Table> }
  argv: string[]
  env: Record<string, string | undefined>
  out(text: string): void
  err(text: string): void
}

/** Resolves with the exit code, or undefined while the program serves. */
export async function runProgram<Table extends SettingsTable>(
  options: ProgramOptions<Table>,
): Promise<number | undefined> {
  const { program, settings, commands, argv, env, out, err } = options
  const probe = loadConfig({ ...options, argv, env })
  const name = probe.rest[0]?.startsWith('-') === false ? (probe.rest[0] as string) : 'serve'
  const command = commands[name]
  if (!command) {
    err(`${program}: there is no command '${name}'. The commands are ${Object.keys(commands).join(', ')}.\n`)
    return EXIT.usage
  }
  if (probe.mode === 'help') {
    out(name === 'serve' ? helpText(options) : commandHelp(options, name, command))
    return EXIT.ok
  }
  const config = loadConfig({ ...options, argv, env, needs: command.needs ?? [] })
  const args = config.rest.slice(probe.rest[0] === name ? 1 : 0)
  const spared = (command.without ?? []).map((setting) => `${settings[setting]?.env} is required`)
  config.problems = config.problems.filter((problem) => !spared.some((start) => problem.startsWith(start)))
  if (config.mode === 'print') out(`${configReport(config)}\n`)
  if (config.problems.length > 0) {
    err(refusalText(program, config.problems))
    return EXIT.config
  }
  if (config.mode !== 'run') {
    if (config.mode === 'check') out('the configuration is valid\n')
    return EXIT.ok
  }
  if (name === 'serve' && args.length > 0) {
    err(`${program}: '${args[0]}' is not an option. --help lists them.\n`)
    return EXIT.usage
  }
  try {
    return await command.run(config, args)
  } catch (error) {
    if (error instanceof StartRefused) {
      err(refusalText(program, error.reasons))
      return EXIT.config
    }
    const { code, address, port, message } = error as NodeJS.ErrnoException & { address?: string; port?: number }
    if (code === 'EADDRINUSE' || code === 'EACCES' || code === 'EADDRNOTAVAIL') {
      err(`${program} cannot listen on ${address}:${port} (${code}): ${listenAdvice(code, port)}\n`)
      return EXIT.unavailable
    }
    // A server that fails is a bug and says so with its stack; a command that fails has a person in front of it.
    if (name === 'serve') throw error
    err(`${program} ${name} failed: ${message}\n`)
    return EXIT.failed
  }
}

function listenAdvice(code: string, port: number | undefined): string {
  if (code === 'EADDRNOTAVAIL') return 'this machine has no such address; choose another with --listen'
  if (code === 'EACCES') return 'ports below 1024 need a privilege; choose another with --listen'
  const holder = port === undefined ? undefined : findPortHolder(port)
  const who = holder
    ? `process ${holder.pid} (${holder.command}) holds it`
    : 'another process holds it (ss -ltnp shows which, as its user or as root)'
  return `${who}. End that one, or choose another address or port with --listen`
}

function refusalText(program: string, reasons: string[]): string {
  return `${program} does not start:\n${reasons.map((reason) => `  - ${reason}\n`).join('')}`
}

function commandHelp<Table extends SettingsTable>(
  { program, version, settings }: ProgramOptions<Table>,
  name: string,
  command: Command<Table>,
): string {
  const needed = Object.keys(settings)
    .filter((one) => isNeeded(settings[one] as Setting<unknown>, one, command))
    .map((one) => settings[one] as Setting<unknown>)
  const usage = command.usage ?? [name]
  return asStarted([
    `loci ${program} ${version}`,
    '',
    `${command.summary}`,
    '',
    ...usage.map((line, at) => `${at === 0 ? 'usage:' : '      '} node ${program}/main.ts ${line}`),
    '',
    needed.length === 0
      ? 'It needs no setting.'
      : `It needs ${needed.map(({ env }) => env).join(', ')}; NAME_FILE reads the value from a file.`,
    `node ${program}/main.ts --help lists every command and setting.`,
    '',
  ])
}

/** An installed package has no TypeScript: there the programs are the commands `loci-management` and `loci-daemon`. */
function asStarted(lines: string[]): string {
  const text = lines.join('\n')
  return import.meta.url.endsWith('.ts') ? text : text.replaceAll(/node (daemon|management)\/main\.ts/g, 'loci-$1')
}

function isNeeded<Table extends SettingsTable>(
  { fallback, optional, forCommand }: Setting<unknown>,
  name: keyof Table,
  { needs = [], without = [] }: Command<Table>,
): boolean {
  if (needs.includes(name)) return true
  return fallback === undefined && !optional && !forCommand && !without.includes(name)
}

function helpText<Table extends SettingsTable>({
  program,
  version,
  commands,
  settings,
}: ProgramOptions<Table>): string {
  const wide = Math.max(...Object.keys(commands).map((name) => name.length))
  return asStarted([
    `loci ${program} ${version}`,
    '',
    `usage: node ${program}/main.ts [command] [options]`,
    '',
    ...Object.entries(commands).map(([name, { summary }]) => `  ${name.padEnd(wide)}  ${summary}`),
    '',
    '  --print-config  show every setting, where it comes from, secrets masked',
    '  --check-config  check the configuration and end',
    '  --config FILE   JSON object of settings (LOCI_CONFIG)',
    '',
    'Each setting is a flag, a variable, or a key of the file; NAME_FILE reads the value from a file.',
    '',
    ...Object.values(settings).flatMap((setting) => [
      `  ${setting.secret ? `${setting.env}_FILE` : `${flagOf(setting)}, ${setting.env}`}`,
      `      ${setting.doc}${fallbackText(setting)}`,
    ]),
    '',
  ])
}

function fallbackText({ fallback }: Setting<unknown>): string {
  return fallback === undefined || fallback === '' ? '' : ` Default: ${fallback}.`
}
