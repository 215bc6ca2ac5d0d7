// The daemon's entry: the only file of it that reads the environment.

import { createHash, randomBytes } from 'node:crypto'
import { newKeyPair } from '@loci/capability/jws.ts'
import { requireSettings } from '@loci/chassis/config.ts'
import { createLog } from '@loci/chassis/log.ts'
import { drainOnSignal, exitOnBug, runProgram } from '@loci/chassis/program.ts'
import type { SettingName } from '@loci/chassis/settings.ts'
import { migrate } from '@loci/postgres/migrate.ts'
import { rolesSql } from '@loci/postgres/roles.ts'
import { createDaemon } from './app.ts'
import manifest from './package.json' with { type: 'json' }
import { SCHEMA } from './schema.ts'
import { DAEMON_SETTINGS } from './settings.ts'

const out = (text: string) => process.stdout.write(text)
const err = (text: string) => process.stderr.write(text)
const exit = (code: number) => process.exit(code)

/** What a command needs that neither serves nor reads a secret. */
const NOTHING_SECRET: SettingName[] = ['databaseUrl', 'adminTokenDigests', 'sealingKeys']

const code = await runProgram({
  program: 'daemon',
  version: manifest.version,
  argv: process.argv.slice(2),
  env: process.env,
  out,
  err,
  commands: {
    serve: {
      summary: 'serve the instances of the cell (the default)',
      async run(config) {
        const settings = requireSettings(config, DAEMON_SETTINGS)
        const log = createLog({ level: settings.logLevel, program: 'daemon' })
        exitOnBug(log, exit)
        for (const warning of config.warnings) log.warn({ reason: warning }, 'configuration')
        const daemon = await createDaemon({ settings, log, version: manifest.version })
        daemon.lifecycle.onMove(({ from, to, reason }) => log.info({ from: from ?? '', to, reason }, 'lifecycle'))
        drainOnSignal({
          log,
          lifecycle: daemon.lifecycle,
          servers: daemon.servers,
          drainGraceMs: settings.drainGraceMs,
          drainMs: settings.drainMs,
          close: daemon.close,
          exit,
        })
        await daemon.start()
        return undefined
      },
    },
    migrate: {
      summary: 'bring the cell’s database to this version’s schema, as loci_daemon_owner',
      needs: ['databaseOwnerUrl'],
      without: NOTHING_SECRET,
      async run(config) {
        const { databaseOwnerUrl, databaseCa } = config.values
        const { version } = await migrate({
          ownerUrl: databaseOwnerUrl as string,
          ...(databaseCa ? { ca: databaseCa } : {}),
          program: 'daemon',
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
      without: NOTHING_SECRET,
      async run(_config, [database = 'loci_cell', login]) {
        out(rolesSql({ database, program: 'daemon', ...(login ? { login } : {}) }))
        return 0
      },
    },
    'admin-token': {
      summary:
        'make an admin token: the token on the first line, its digest for LOCI_ADMIN_TOKEN_DIGESTS on the second',
      without: NOTHING_SECRET,
      async run() {
        const token = `loci_adm_${randomBytes(32).toString('base64url')}`
        out(`${token}\n${createHash('sha256').update(token).digest('hex')}\n`)
        return 0
      },
    },
    'cell-key': {
      summary:
        'make the key of a cell: the private JWK for LOCI_CELL_KEY on the first line, the public key for `management cells add` on the second',
      without: NOTHING_SECRET,
      async run() {
        const { publicJwk, privateJwk } = newKeyPair()
        out(`${JSON.stringify(privateJwk)}\n${publicJwk.x}\n`)
        return 0
      },
    },
  },
})
if (code !== undefined) process.exit(code)
