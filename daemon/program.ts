// The daemon's entry: the only file of it that reads the environment.

import { createHash, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { newKeyPair } from '@loci/capability/jws.ts'
import { requireSettings } from '@loci/chassis/config.ts'
import { runProgram } from '@loci/chassis/program.ts'
import { isId } from '@loci/contract/ids.ts'
import { databaseCommands } from '@loci/postgres/commands.ts'
import { logBrokenLockOrder } from '@loci/postgres/lock-order.ts'
import { openPool } from '@loci/postgres/pool.ts'
import { restoreInstance } from './databases/restore/restore-instance.ts'
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
        // Read here and not above: a command, or a start that a setting ends, takes .35 s of processor and not 1.0.
        const { createDaemon } = await import('./app.ts')
        const { runServer } = await import('@loci/chassis/serve.ts')
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
    'restore-instance': {
      summary:
        'put one instance back from a restored copy of the cell’s database, as loci_daemon_owner: restore-instance <service> <file with the url of the copy>',
      needs: ['databaseOwnerUrl'],
      without: NOTHING_SECRET,
      async run({ values: { databaseOwnerUrl, databaseCa } }, [service = '', file]) {
        if (!file || !isId('svc', service))
          throw new Error('say: restore-instance svc_… <file with the url of the copy>')
        const open = (url: string) =>
          openPool({
            ...{ url, applicationName: 'loci-restore', connectionsMax: 1, connectMs: 5_000, statementMs: 0 },
            ...(databaseCa ? { ca: databaseCa } : {}),
            onError: (error) => err(`the connection broke: ${error.message}\n`),
          })
        const [living, copy] = [open(databaseOwnerUrl as string), open(readFileSync(file, 'utf8').trim())]
        try {
          out(`${JSON.stringify(await restoreInstance(living, copy, service))}\n`)
          return 0
        } finally {
          await Promise.all([living.close(), copy.close()])
        }
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
