// One run of the command line: parse, do, print. Results go to standard output, everything else to standard error; with
// --json standard output has exactly one document, whatever happens.

import { CommandFailure, EXIT, failureOf, usage } from '../failure.ts'
import type { Host } from '../host.ts'
import type { Call, Command, Result } from './command.ts'
import { helpOf } from './help.ts'
import { type Parsed, parse, requireArguments } from './parse.ts'

export async function run(host: Host, commands: readonly Command[]): Promise<number> {
  const startedAt = performance.now()
  const ownWords = host.argv.includes('--') ? host.argv.slice(0, host.argv.indexOf('--')) : host.argv
  const isJson = ownWords.includes('--json')
  let name = ''
  let call: Call | undefined
  const finish = (document: object, exit: number) => {
    if (isJson) host.out(`${JSON.stringify(document)}\n`)
    return exit
  }
  try {
    const parsed = parse(commands, isVersion(ownWords) ? ['version'] : host.argv)
    name = parsed.words.join('.')
    if (parsed.values.has('help') || host.argv.length === 0 || (parsed.words.length === 0 && !isJson)) {
      const lines = helpOf(commands, parsed.words)
      if (!isJson) print(host, lines)
      return finish({ ok: true, command: name || 'help', data: { help: lines } }, EXIT.ok)
    }
    const { command } = parsed
    if (!command) throw withoutVerb(commands, parsed.words.join(' '))
    requireArguments(command, parsed.arguments)
    if (isJson && command.streams) throw usage(`loci ${command.path} goes on for as long as it runs: it has no --json.`)
    call = callOf(host, parsed, isJson)
    const {
      data,
      lines = [],
      exit = EXIT.ok,
    } = await (command.hearsSignal ? command.run(call) : untilInterrupted(host, command.run(call)))
    if (!isJson) print(host, lines)
    const duration_ms = Math.round(performance.now() - startedAt)
    return finish({ ok: exit === EXIT.ok, command: name, ...idOf(call), duration_ms, data }, exit)
  } catch (error) {
    const failure = failureOf(error)
    if (!isJson) sayFailure(host, failure)
    if (failure.exit === EXIT.bug && ownWords.includes('--verbose')) host.err(`${(error as Error).stack}\n`)
    const { hint, requestId, retryAfterMs, details } = failure.fields
    return finish(
      {
        ok: false,
        command: name || null,
        ...(requestId ? { request_id: requestId } : call ? idOf(call) : {}),
        error: {
          code: failure.code,
          message: failure.message,
          ...(hint ? { hint } : {}),
          ...(retryAfterMs === undefined ? {} : { retry_after: Math.ceil(retryAfterMs / 1_000) }),
          ...(details === undefined ? {} : { details }),
        },
      },
      failure.exit,
    )
  }
}

/** As it is asked of every program, where it stands in place of a command. */
function isVersion(words: readonly string[]): boolean {
  return words.some((word) => word === '--version' || word === '-V') && words.every((word) => word.startsWith('-'))
}

function withoutVerb(commands: readonly Command[], group: string): CommandFailure {
  const verbs = commands.flatMap(({ path, hidden }) =>
    path.startsWith(`${group} `) && !hidden ? [path.slice(group.length + 1)] : [],
  )
  return usage(`loci ${group} needs a verb: ${verbs.join(', ')}.`, `loci ${group} --help says more.`)
}

/** A command that hears the signal ends by itself; another one is left where it is. */
async function untilInterrupted(host: Host, work: Promise<Result>): Promise<Result> {
  const interrupted = new Promise<never>((_, reject) => {
    const stop = () =>
      setTimeout(() => reject(new CommandFailure('interrupted', 'INTERRUPTED', 'Interrupted.')), 200).unref()
    if (host.signal.aborted) stop()
    else host.signal.addEventListener('abort', stop, { once: true })
  })
  return Promise.race([work, interrupted])
}

function callOf(host: Host, { arguments: words, values }: Parsed, isJson: boolean): Call {
  const isQuiet = values.has('quiet') || isJson
  return {
    host,
    arguments: words,
    isJson,
    text: (name) => values.get(name)?.[0],
    has: (name) => values.has(name),
    list: (name) => values.get(name) ?? [],
    say: (line) => {
      if (!isQuiet) host.err(`${line}\n`)
    },
    requestId: undefined,
  }
}

function idOf({ requestId }: Call): object {
  return requestId ? { request_id: requestId } : {}
}

function print(host: Host, lines: readonly string[]): void {
  if (lines.length > 0) host.out(`${lines.join('\n')}\n`)
}

function sayFailure(host: Host, { code, message, fields }: CommandFailure): void {
  host.err(`error ${code}  ${message}\n`)
  if (fields.hint) host.err(`  ${fields.hint.replaceAll('\n', '\n  ')}\n`)
  if (fields.requestId) host.err(`  request ${fields.requestId}\n`)
}
