// docs/commands.md: every command of `loci`, from the table that the parser and --help use.

import { COMMANDS } from '@loci/cli/tree/commands.ts'
import { exitCodeLines, treeOf } from '@loci/cli/tree/help.ts'

interface Shown {
  name: string
  short?: string
  value?: string
  repeatable?: boolean
  choices?: string[]
  summary: string
}

interface Tree {
  commands: { command: string; usage: string; summary: string; options: Shown[]; json: boolean }[]
  options: Shown[]
}

export function commandsPage(): string {
  const { commands, options } = treeOf(COMMANDS) as Tree
  const groups = Map.groupBy(commands, ({ command }) => command.split(' ')[0] as string)
  const parts = [...groups].map(([name, own]) => {
    const rows = own.map(({ usage, summary, options: taken, json }) => {
      const shown = taken.map(optionText).join('; ')
      return `| \`${usage.replace(' [options]', '')}\` | ${summary}${json ? '' : ' (no `--json`)'} | ${shown} |`
    })
    return `## ${name}\n\n| command | does | options |\n|---|---|---|\n${rows.join('\n')}\n`
  })
  return `# Commands

What \`loci\` can be told. \`loci help --json\` prints the same as JSON. Results are on standard output, everything else
on standard error; \`--json\` prints one document, \`{"ok":true,"command":…,"data":…}\` or \`{"ok":false,"error":{"code":…}}\`.
Options win over variables, variables over \`.loci/context.json\` of the directory, that over the profile.

## For every command

| option | does |
|---|---|
${options.map((option) => `| ${optionText({ ...option, summary: '' })} | ${option.summary} |`).join('\n')}

${parts.join('\n')}
## Exit codes

| code | meaning |
|---|---|
${exitCodeLines()
  .map((line) => `| ${line.trim().replace(/\s+/, ' | ')} |`)
  .join('\n')}
`
}

function optionText({ name, short, value, repeatable, choices, summary }: Shown): string {
  const flag = `\`${short ? `${short}, ` : ''}${name}${value ? ` <${value}>` : ''}\``
  const more = [summary, choices ? choices.join(', ') : '', repeatable ? 'may be repeated' : ''].filter(
    (one) => one !== '',
  )
  return more.length > 0 ? `${flag} ${more.join('; ')}` : flag
}
