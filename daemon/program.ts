// The daemon's entry: the only file of it that reads the environment.

import { createHash, randomBytes } from 'node:crypto'
import { newKeyPair } from '@loci/capability/jws.ts'
import { requireSettings } from '@loci/chassis/config.ts'
import { runProgram } from '@loci/chassis/program.ts'
import { runServer } from '@loci/chassis/serve.ts'
import { databaseCommands } from '@loci/postgres/commands.ts'
import { logBrokenLockOrder } from '@loci/postgres/lock-order.ts'
import { createDaemon } from './app.ts'
import manifest from './package.json' with { type: 'json' }
import { SCHEMA } from './schema.ts'
import { REGISTRY } from './settings.ts'

const out = (text: string) => process.stdout.write(text)
const err = (text: string) => process.stderr.write(text)
const exit = (code: number) => process.exit(code)
const { env } = process

/** What a command needs that neither serves nor reads a secret. */
const NOTHING_SECRET: (keyof typeof REGISTRY.settings)[] = ['databaseUrl', 'adminTokenDigests', 'sealingKeys']

const code = await runProgram({
  ...REGISTRY,
  version: manifest.version,
  argv: process.argv.slice(2),
  env,
  out,
  err,
  commands: {
    serve: {
      summary: 'serve the instances of the cell (the default)',
      async run(config) {
        const settings = requireSettings(config, REGISTRY.settings)
        const create: typeof createDaemon = (options) => {
          logBrokenLockOrder(options.log)
          return createDaemon({ ...options, isWarmed: true })
        }
        return runServer({ program: 'daemon', version: manifest.version, config, settings, env, create, exit })
      },
    },
    ...databaseCommands({
      program: 'daemon',
      schema: SCHEMA,
      database: 'loci_cell',
      without: NOTHING_SECRET,
      out,
      err,
    }),
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
