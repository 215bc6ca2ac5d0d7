// Management's entry: the only file of it that reads the environment.

import { fileURLToPath } from 'node:url'
import { requireSettings } from '@loci/chassis/config.ts'
import { runProgram } from '@loci/chassis/program.ts'
import { databaseCommands } from '@loci/postgres/commands.ts'
import { logBrokenLockOrder } from '@loci/postgres/lock-order.ts'
import { operatorCommands } from './commands/commands.ts'
import manifest from './package.json' with { type: 'json' }
import { SCHEMA } from './schema.ts'
import { REGISTRY } from './settings.ts'

/** Of the checkout, after a build, and of the package. */
const CONSOLE = fileURLToPath(new URL('../console/dist', import.meta.url))

const out = (text: string) => process.stdout.write(text)
const err = (text: string) => process.stderr.write(text)
const exit = (code: number) => process.exit(code)
const { env } = process

const code = await runProgram({
  ...REGISTRY,
  version: manifest.version,
  argv: process.argv.slice(2),
  env,
  out,
  err,
  commands: {
    serve: {
      summary: 'serve the control plane (the default)',
      async run(config) {
        // Read here and not above: a command need not wait for the server's parts.
        const { createManagement } = await import('./app.ts')
        const { runServer } = await import('@loci/chassis/serve.ts')
        const create: typeof createManagement = (options) => {
          logBrokenLockOrder(options.log)
          return createManagement({ ...options, consoleFolder: CONSOLE })
        }
        const settings = requireSettings(config, REGISTRY.settings)
        return runServer({ program: 'management', version: manifest.version, config, settings, env, create, exit })
      },
    },
    ...databaseCommands({
      program: 'management',
      schema: SCHEMA,
      database: 'loci_control',
      without: ['databaseUrl', 'sealingKeys'],
      out,
      err,
    }),
    ...operatorCommands({ out, err }),
  },
})
if (code !== undefined) process.exit(code)
