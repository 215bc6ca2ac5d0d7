import { usage } from '../failure.ts'
import type { Command } from './command.ts'
import { exitCodeLines, helpOf, treeOf } from './help.ts'

/** `commands`: all of them, this one too, which are not there yet when it is made. */
export function helpCommand(commands: () => readonly Command[]): Command {
  return {
    path: 'help',
    summary: 'say how a command is used; with --json the whole tree; help exit-codes',
    arguments: [
      { name: 'command', optional: true },
      { name: 'verb', optional: true },
    ],
    async run(call) {
      const words = call.arguments
      if (words[0] === 'exit-codes') return { data: { exit_codes: exitCodeLines() }, lines: exitCodeLines() }
      const path = words.join(' ')
      const isKnown = path === '' || commands().some((one) => `${one.path} `.startsWith(`${path} `))
      if (!isKnown) throw usage(`'${path}' is no command.`, 'loci --help lists what there is.')
      return { data: treeOf(commands()), lines: helpOf(commands(), words) }
    },
  }
}
