// Every command of `loci`, in the order of its help.

import type { Command } from './command.ts'
import { CREDENTIALS } from './credentials.ts'
import { helpCommand } from './help-command.ts'
import { IMPORT } from './import.ts'
import { LOCAL } from './local.ts'
import { MEMORY } from './memory.ts'
import { MIND } from './mind.ts'
import { PROFILES } from './profiles.ts'
import { SERVICES } from './services.ts'
import { TOOLS } from './tools.ts'

export const COMMANDS: readonly Command[] = [
  ...LOCAL,
  ...MEMORY,
  ...IMPORT,
  ...MIND,
  ...SERVICES,
  ...CREDENTIALS,
  ...PROFILES,
  ...TOOLS,
  helpCommand(() => COMMANDS),
  {
    path: 'version',
    summary: 'the version of this command line, also as --version; doctor compares it with the server',
    run: async ({ host: { version } }) => ({ data: { version }, lines: [`loci ${version}`] }),
  },
  {
    path: '__complete',
    summary: 'what may stand where the cursor is',
    hidden: true,
    arguments: Array.from({ length: 32 }, () => ({ name: 'word', optional: true })),
    run: async (call) => (await import('../commands/completion.ts')).candidates(call, COMMANDS),
  },
]
