// Management's entry: the only file of it that reads the environment.

import { requireSettings } from '@loci/chassis/config.ts'
import { drainOnSignal, exitOnBug, runProgram } from '@loci/chassis/program.ts'
import { migrate } from '@loci/postgres/migrate.ts'
import { rolesSql } from '@loci/postgres/roles.ts'
import { operatorCommands } from './commands/commands.ts'
import manifest from './package.json' with { type: 'json' }
import { SCHEMA } from './schema.ts'

const out = (text: string) => process.stdout.write(text)
const err = (text: string) => process.stderr.write(text)
const exit = (code: number) => process.exit(code)

const code = await runProgram({
  program: 'management',
  version: manifest.version,
  argv: process.argv.slice(2),
  env: process.env,
  out,
  err,
  commands: {
    serve: {
      summary: 'serve the control plane (the default)',
      async run(config) {
        // Read here and not above: a command need not wait for the server's parts.
        const { createManagement } = await import('./app.ts')
        const { MANAGEMENT_SETTINGS } = await import('./settings.ts')
        const { createLog } = await import('@loci/chassis/log.ts')
        const settings = requireSettings(config, MANAGEMENT_SETTINGS)
        const log = createLog({ level: settings.logLevel, program: 'management' })
        exitOnBug(log, exit)
        for (const warning of config.warnings) log.warn({ reason: warning }, 'configuration')
        const management = await createManagement({ settings, log, version: manifest.version })
        management.lifecycle.onMove(({ from, to, reason }) => log.info({ from: from ?? '', to, reason }, 'lifecycle'))
        drainOnSignal({
          log,
          lifecycle: management.lifecycle,
          servers: management.servers,
          drainGraceMs: settings.drainGraceMs,
          drainMs: settings.drainMs,
          close: management.close,
          exit,
        })
        await management.start()
        return undefined
      },
    },
    migrate: {
      summary: 'bring the control database to this version’s schema, as loci_management_owner',
      needs: ['databaseOwnerUrl'],
      without: ['databaseUrl', 'sealingKeys'],
      async run(config) {
        const { databaseOwnerUrl, databaseCa } = config.values
        const { version } = await migrate({
          ownerUrl: databaseOwnerUrl as string,
          ...(databaseCa ? { ca: databaseCa } : {}),
          program: 'management',
          schema: SCHEMA,
          log: (line) => err(`${line}\n`),
        })
        out(`schema ${version}\n`)
        return 0
      },
    },
    'roles-sql': {
      summary:
        'print the SQL with which a database administrator prepares a database: roles-sql <database> [login] | psql',
      without: ['databaseUrl', 'sealingKeys'],
      async run(_config, [database = 'loci_control', login]) {
        out(rolesSql({ database, program: 'management', ...(login ? { login } : {}) }))
        return 0
      },
    },
    ...operatorCommands({ out, err }),
  },
})
if (code !== undefined) process.exit(code)
