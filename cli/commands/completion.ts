// Completion of words in four shells. Each script asks this very command line for candidates, so it is never behind it.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { withLoci } from '../profiles/connection.ts'
import { readProfiles } from '../profiles/profiles.ts'
import { type Call, type Command, GLOBAL, type Result } from '../tree/command.ts'
import { argument } from './given.ts'

const SCRIPTS: Readonly<Record<string, string>> = {
  bash: `_loci() {
  local IFS=$'\\n'
  COMPREPLY=($(loci __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _loci loci`,
  zsh: `#compdef loci
_loci() {
  local -a found
  found=("\${(@f)$(loci __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  compadd -- $found
}
compdef _loci loci`,
  fish: `function __loci
    set -l words (commandline -opc) (commandline -ct)
    loci __complete -- $words[2..-1] 2>/dev/null
end
complete -c loci -f -a '(__loci)'`,
  powershell: `Register-ArgumentCompleter -Native -CommandName loci -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $words = @($commandAst.CommandElements | Select-Object -Skip 1 | ForEach-Object { $_.ToString() })
  if ($wordToComplete -eq '') { $words += '' }
  loci __complete '--' @words 2>$null | ForEach-Object { [System.Management.Automation.CompletionResult]::new($_) }
}`,
}

export async function script(call: Call): Promise<Result> {
  const shell = argument(call, 0)
  const text = SCRIPTS[shell] as string
  if (!call.has('install')) return { data: { shell, script: text }, lines: [text] }
  const { home, env } = call.host
  const config = env.XDG_CONFIG_HOME || join(home, '.config')
  const file = {
    bash: join(env.XDG_DATA_HOME || join(home, '.local', 'share'), 'bash-completion', 'completions', 'loci'),
    zsh: join(home, '.zsh', 'completions', '_loci'),
    fish: join(config, 'fish', 'completions', 'loci.fish'),
    powershell: join(config, 'powershell', 'loci.ps1'),
  }[shell] as string
  const isThere = existsSync(file) && readFileSync(file, 'utf8') === `${text}\n`
  if (!isThere) {
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, `${text}\n`)
  }
  const next: Readonly<Record<string, string>> = {
    zsh: 'in ~/.zshrc, before compinit: fpath=(~/.zsh/completions $fpath)',
    powershell: `in $PROFILE: . '${file}'`,
  }
  return { data: { shell, file, changed: !isThere }, lines: [file, ...(next[shell] ? [next[shell]] : [])] }
}

/** What may stand where the cursor is, a line each. Quiet about every failure: a shell waits for it. */
export async function candidates(call: Call, all: readonly Command[]): Promise<Result> {
  const given = call.arguments
  const current = given.at(-1) ?? ''
  const before = given.slice(0, -1)
  const found = await candidatesOf(
    call,
    all.filter(({ hidden }) => !hidden),
    before,
    current,
  )
  const fitting = [...new Set(found)].filter((one) => one.startsWith(current)).sort()
  return { data: { candidates: fitting }, lines: fitting }
}

async function candidatesOf(
  call: Call,
  commands: readonly Command[],
  before: readonly string[],
  current: string,
): Promise<string[]> {
  const words = before.filter((word) => !word.startsWith('-'))
  const depth = words.findIndex(
    (_, at) => !commands.some(({ path }) => `${path} `.startsWith(`${words.slice(0, at + 1).join(' ')} `)),
  )
  const named = depth === -1 ? words : words.slice(0, depth)
  const command = commands.find(({ path }) => path === named.join(' '))
  const options = [...(command?.options ?? []).filter(({ hidden }) => !hidden), ...GLOBAL]
  const last = before.at(-1)
  const awaited = options.find(
    ({ name, short, value }) => value && (last === `--${name}` || (short && last === `-${short}`)),
  )
  if (awaited) return awaited.choices ? [...awaited.choices] : valuesOf(call, awaited.name)
  if (current.startsWith('-')) return options.map(({ name }) => `--${name}`)
  const next = commands
    .map(({ path }) => path.split(' '))
    .filter((path) => path.length > named.length && named.every((word, at) => path[at] === word))
    .map((path) => path[named.length] as string)
  const place = command?.arguments?.[words.length - named.length]
  const values = place?.choices ? [...place.choices] : place?.completes ? await valuesOf(call, place.completes) : []
  return depth === -1 ? [...next, ...values] : values
}

async function valuesOf(call: Call, kind: string): Promise<string[]> {
  try {
    if (kind === 'profile') return [...readProfiles(call.host).profiles.keys()]
    if (kind !== 'service') return []
    let slugs: string[] = []
    await withLoci(call, async (loci) => {
      slugs = (await loci.services.list().all(200)).flatMap(({ info }) => info?.slug ?? [])
      return { data: null }
    })
    return slugs
  } catch {
    return []
  }
}
