// What --help says, for a command, a group, or everything; and the tree as JSON.

import { EXIT, EXIT_MEANINGS } from '../failure.ts'
import { type Command, GLOBAL, type Option } from './command.ts'

export function helpOf(all: readonly Command[], words: readonly string[]): string[] {
  const commands = all.filter(({ hidden }) => !hidden)
  const path = words.join(' ')
  const command = commands.find((one) => one.path === path)
  const below = commands.filter((one) => one.path.startsWith(`${path} `))
  if (path === '') return everything(commands)
  const title = command ? [usageOf(command), '', sentence(command.summary)] : [`loci ${path} …`]
  const verbs = below.length > 0 ? ['', ...table(below.map((one) => [usageOf(one), one.summary]))] : []
  const own = (command?.options ?? []).filter(({ hidden }) => !hidden)
  const options = own.length > 0 ? ['', 'Options:', ...table(own.map(optionRow))] : []
  return [...title, ...verbs, ...options, '', 'For every command:', ...table(GLOBAL.map(optionRow))]
}

function everything(commands: readonly Command[]): string[] {
  const groups = new Map<string, Command[]>()
  for (const command of commands) {
    const [first = ''] = command.path.split(' ')
    groups.set(first, [...(groups.get(first) ?? []), command])
  }
  const rows = [...groups].map(([name, own]): [string, string] => {
    const single = own.find(({ path }) => path === name)
    const verbs = own.flatMap(({ path }) => (path === name ? [] : [path.slice(name.length + 1)]))
    if (!single) return [`loci ${name}`, verbs.join(' | ')]
    return [`loci ${name}`, verbs.length > 0 ? `${single.summary}; ${verbs.join(' | ')}` : single.summary]
  })
  return [
    'loci: memory and judgement for agents, on your own machine or a server.',
    '',
    'Begin:',
    '  loci up -d',
    '  loci memory store "Ada prefers replies in Dutch" --user ada',
    '  loci memory recall "which language for Ada?" --user ada --why',
    '',
    ...table(rows),
    '',
    'loci <command> --help says more; loci help exit-codes, loci help --json.',
  ]
}

function usageOf({ path, arguments: taken = [], options = [] }: Command): string {
  const words = taken.map(({ name, optional }) => (optional ? `[${name}]` : `<${name}>`))
  const shown = options.filter(({ hidden }) => !hidden)
  return ['loci', path, ...words, ...(shown.length > 0 ? ['[options]'] : [])].join(' ')
}

function optionRow({ name, short, value, summary, many }: Option): [string, string] {
  const flag = `${short ? `-${short}, ` : ''}--${name}${value ? ` <${value}>` : ''}`
  return [flag, many ? `${summary} (may be repeated)` : summary]
}

function table(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.min(44, Math.max(...rows.map(([name]) => name.length)))
  return rows.map(([name, text]) => `  ${name.padEnd(width)}  ${text}`)
}

function sentence(text: string): string {
  return `${text[0]?.toUpperCase()}${text.slice(1)}.`
}

export function exitCodeLines(): string[] {
  return Object.entries(EXIT).map(
    ([name, code]) => `${String(code).padStart(3)}  ${EXIT_MEANINGS[name as keyof typeof EXIT]}`,
  )
}

export function treeOf(commands: readonly Command[]): object {
  const option = ({ name, short, value, many, choices, summary }: Option) => ({
    name: `--${name}`,
    ...(short ? { short: `-${short}` } : {}),
    ...(value ? { value } : {}),
    ...(many ? { repeatable: true } : {}),
    ...(choices ? { choices } : {}),
    summary,
  })
  return {
    commands: commands
      .filter(({ hidden }) => !hidden)
      .map((command) => ({
        command: command.path,
        usage: usageOf(command),
        summary: command.summary,
        arguments: (command.arguments ?? []).map(({ name, optional = false, choices }) => ({
          name,
          optional,
          ...(choices ? { choices } : {}),
        })),
        options: (command.options ?? []).filter(({ hidden }) => !hidden).map(option),
        json: !command.streams,
      })),
    options: GLOBAL.map(option),
    exit_codes: Object.fromEntries(
      Object.entries(EXIT).map(([name, code]) => [code, EXIT_MEANINGS[name as keyof typeof EXIT]]),
    ),
  }
}
