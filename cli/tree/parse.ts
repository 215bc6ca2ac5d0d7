// From the words of a command line to a command with its options. Options may stand anywhere behind the command, those
// of all commands before it too; `--` ends them.

import { usage } from '../failure.ts'
import { type Command, GLOBAL, type Option } from './command.ts'
import { nearest } from './nearest.ts'

export interface Parsed {
  /** Undefined where the words name a group or nothing. */
  command: Command | undefined
  /** The words that were taken as names. */
  words: readonly string[]
  arguments: readonly string[]
  values: ReadonlyMap<string, readonly string[]>
}

const ALIASES: Readonly<Record<string, string>> = { svc: 'services', working: 'wm' }

export function parse(commands: readonly Command[], argv: readonly string[]): Parsed {
  const words: string[] = []
  const rest: string[] = []
  const values = new Map<string, string[]>()
  let command: Command | undefined
  let isOpen = true
  for (let at = 0; at < argv.length; at += 1) {
    const token = argv[at] as string
    if (isOpen && token === '--') {
      isOpen = false
    } else if (isOpen && /^-./.test(token)) {
      const [name, inline] = splitOption(token)
      const option = findOption(command, name, words)
      const given = values.get(option.name) ?? []
      if (given.length > 0 && !option.many && option.value) throw usage(`--${option.name} is given twice.`)
      if (!option.value) {
        if (inline !== undefined) throw usage(`--${option.name} takes no value.`)
        values.set(option.name, ['true'])
        continue
      }
      const value = inline ?? argv[at + 1]
      if (value === undefined || (inline === undefined && value.startsWith('--')))
        throw usage(`--${option.name} needs a value: --${option.name} <${option.value}>.`)
      if (inline === undefined) at += 1
      if (option.choices && !option.choices.includes(value))
        throw usage(`--${option.name} is one of ${option.choices.join(', ')}, not '${value}'.`)
      values.set(option.name, [...given, value])
    } else {
      const word = words.length === 0 ? (ALIASES[token] ?? token) : token
      const path = [...words, word].join(' ')
      const isName = isOpen && rest.length === 0 && commands.some((one) => `${one.path} `.startsWith(`${path} `))
      if (isName) {
        words.push(word)
        command = commands.find((one) => one.path === path) ?? command
      } else if (command) rest.push(token)
      else throw unknownCommand(commands, words, token)
    }
  }
  return { command, words, arguments: rest, values }
}

function splitOption(token: string): [name: string, inline: string | undefined] {
  const at = token.indexOf('=')
  return token.startsWith('--') && at > 0 ? [token.slice(0, at), token.slice(at + 1)] : [token, undefined]
}

function findOption(command: Command | undefined, token: string, words: readonly string[]): Option {
  const options = [...(command?.options ?? []), ...GLOBAL]
  const found = options.find(({ name, short }) => token === `--${name}` || (short && token === `-${short}`))
  if (found) return found
  const near = nearest(
    token.replace(/^-+/, ''),
    options.filter(({ hidden }) => !hidden).map(({ name }) => name),
  )
  const where = words.length > 0 ? ` ${words.join(' ')}` : ''
  throw usage(
    `loci${where} has no option ${token}.`,
    near ? `Did you mean --${near}?` : `loci${where} --help lists them.`,
  )
}

function unknownCommand(commands: readonly Command[], words: readonly string[], token: string) {
  const known = commands
    .map(({ path }) => path.split(' '))
    .filter((path) => words.every((word, at) => path[at] === word))
    .map((path) => path[words.length] as string)
  const near = nearest(token, [...new Set(known)])
  const group = ['loci', ...words].join(' ')
  return usage(
    `'${[...words, token].join(' ')}' is no command.`,
    near ? `Did you mean: ${group} ${near}` : `${group} --help lists what there is.`,
  )
}

export function requireArguments(command: Command, given: readonly string[]): void {
  const wanted = command.arguments ?? []
  const missing = wanted.filter(({ optional }, at) => !optional && given[at] === undefined)
  const path = `loci ${command.path}`
  if (missing.length > 0)
    throw usage(
      `${missing.map(({ name }) => `<${name}>`).join(' ')} is missing.`,
      `${path} --help shows how it is used.`,
    )
  if (given.length > wanted.length)
    throw usage(
      `'${given[wanted.length]}' is one word too many.`,
      `A text of several words stands in quotes. ${path} --help shows how it is used.`,
    )
  for (const [at, { name, choices }] of wanted.entries()) {
    const value = given[at]
    if (value === undefined || !choices || choices.includes(value)) continue
    const near = nearest(value, choices)
    throw usage(`<${name}> is one of ${choices.join(', ')}, not '${value}'.`, near && `Did you mean ${near}?`)
  }
}
