// A whole loci on loopback: one throwaway PostgreSQL with a control and a cell database, management, and replicas of
// one daemon.

import { createHash, randomBytes } from 'node:crypto'
import { newKeyPair, type PrivateJwk } from '@loci/capability/jws.ts'
import type { IdentityProvider, TestPerson } from '@loci/management/testing/identity-provider.ts'
import { loginsOf, rolesSql } from '@loci/postgres/roles.ts'
import { databaseSql } from '@loci/postgres/testing/database-sql.ts'
import { freePort } from '@loci/postgres/testing/free-port.ts'
import { startThrowaway, type Throwaway } from '@loci/postgres/testing/throwaway.ts'
import { type LociProcess, type ProgramName, type Programs, runCommand, startProgram, untilReady } from './process.ts'
import { type SignInProvider, type StartProvider, startOwnProvider } from './sign-in-provider.ts'
import { runSql } from './sql.ts'

export interface World {
  postgres: Throwaway
  daemons: LociProcess[]
  management: LociProcess | undefined
  /** What its daemons sign with: for a test that steals it. */
  cellKey: PrivateJwk
  /** What management calls the cell of the daemons. */
  cellId: string | undefined
  adminToken: string
  /** Where people sign in, in a world that has some. */
  signIn: SignInProvider | undefined
  /** The same, with its counts and faults, where it is the one of `npm run dev`. */
  identityProvider: IdentityProvider | undefined
  /** What browsers and cells know management as. */
  publicUrl: string
  /** A command of its programs. */
  runCommand: Programs['runCommand']
  /** The settings of a further replica; `extra` overrides. */
  daemonSettings(extra?: Record<string, string>): Record<string, string>
  managementSettings(extra?: Record<string, string>): Record<string, string>
  startDaemon(extra?: Record<string, string>): Promise<LociProcess>
  /** One more process of the same control plane, on a port of its own; it stops with the world. */
  startManagement(extra?: Record<string, string>): Promise<LociProcess>
  stop(): Promise<void>
}

export interface WorldOptions {
  replicas?: number
  management?: boolean
  /** With a billing webhook: without one every plan is covered. */
  isBilled?: boolean
  /** Who can sign in, at a provider of the world's own; none: nobody can. */
  people?: TestPerson[]
  /** Another provider than that of `npm run dev`. */
  startProvider?: StartProvider
  /** Of management, when something stands between it and browsers; no cell finds it there. */
  publicUrl?: string
  postgres?: Throwaway
  settings?: Record<string, string>
  /** With the bounds that operators have: for who measures, or takes the store away. */
  asShipped?: boolean
  /** Other programs than those of the checkout. */
  programs?: Programs
  log?(line: string): void
}

/** What a payment provider of the world would send; a new one with each process. */
export const BILLING_SECRET = randomBytes(24).toString('base64url')

/**
 * A test of what is answered, and not how soon, waits for a machine that stands still: on a busy one PostgreSQL took
 * more than 2 s for a statement of 20 ms, and right answers became 503.
 */
const PATIENCE = { LOCI_DATABASE_STATEMENT_MS: '20000', LOCI_QUEUE_MS: '5000' }

const DATABASES: Record<ProgramName, string> = { daemon: 'loci_cell', management: 'loci_control' }

export async function startWorld({
  replicas = 2,
  management = true,
  isBilled = false,
  people,
  startProvider = startOwnProvider,
  settings: own = {},
  asShipped = false,
  programs = { startProgram, runCommand },
  log = () => {},
  ...options
}: WorldOptions = {}): Promise<World> {
  const settings = { ...(asShipped ? {} : PATIENCE), ...own }
  const postgres = options.postgres ?? (await startThrowaway())
  log(`PostgreSQL  port ${postgres.port}, ${postgres.directory}`)
  const adminToken = `loci_adm_${randomBytes(32).toString('base64url')}`
  const sealingKeys = `world:${randomBytes(32).toString('base64')}`
  // Management's public URL must be known before it listens: cells and cookies are bound to it.
  const managementUrl = `http://127.0.0.1:${await freePort()}`
  // Of the first replica: what services are told as their address must lead somewhere.
  const endpoint = `127.0.0.1:${await freePort()}`
  const cellKey = newKeyPair()
  const { publicUrl = managementUrl } = options
  const signIn = people && (await startProvider({ people, redirectUri: `${publicUrl}${SIGNED_IN}` }))
  const daemons: LociProcess[] = []
  const further: LociProcess[] = []
  const daemonSettings = (extra: Record<string, string> = {}) => ({
    LOCI_LISTEN: '127.0.0.1:0',
    LOCI_DATABASE_URL: postgres.url('loci_daemon', DATABASES.daemon),
    LOCI_SEALING_KEYS: sealingKeys,
    LOCI_ADMIN_TOKEN_DIGESTS: createHash('sha256').update(adminToken).digest('hex'),
    LOCI_DRAIN_GRACE_MS: '500',
    ...(world.cellId
      ? {
          LOCI_MANAGEMENT_URL: managementUrl,
          LOCI_CELL_ID: world.cellId,
          LOCI_CELL_KEY: JSON.stringify(cellKey.privateJwk),
        }
      : {}),
    ...settings,
    ...extra,
  })
  const managementSettings = (extra: Record<string, string> = {}) => ({
    LOCI_LISTEN: managementUrl.slice('http://'.length),
    LOCI_PUBLIC_URL: publicUrl,
    LOCI_DATABASE_URL: postgres.url('loci_management', DATABASES.management),
    LOCI_SEALING_KEYS: sealingKeys,
    LOCI_DRAIN_GRACE_MS: '500',
    ...(isBilled ? { LOCI_BILLING_WEBHOOK_SECRETS: BILLING_SECRET } : {}),
    ...(signIn ? signInSettings(signIn) : {}),
    ...settings,
    ...extra,
  })
  const world: World = {
    cellKey: cellKey.privateJwk,
    postgres,
    daemons,
    management: undefined,
    cellId: undefined,
    adminToken,
    signIn,
    identityProvider: signIn?.own,
    publicUrl,
    runCommand: programs.runCommand,
    daemonSettings,
    managementSettings,
    async startDaemon(extra) {
      const daemon = await programs.startProgram('daemon', daemonSettings(extra))
      daemons.push(daemon)
      await untilReady(daemon.url)
      return daemon
    },
    async startManagement(extra) {
      const process = await programs.startProgram(
        'management',
        managementSettings({ LOCI_LISTEN: '127.0.0.1:0', ...extra }),
      )
      further.push(process)
      await untilReady(process.url)
      return process
    },
    async stop() {
      const processes = [...daemons, ...further, ...(world.management ? [world.management] : [])]
      await Promise.all(processes.map((process) => process.stop()))
      await signIn?.stop()
      await postgres.remove()
    },
  }
  try {
    // One after the other: both make the roles of the one server.
    await prepareDatabase(postgres, 'daemon', programs, settings)
    if (management) await prepareDatabase(postgres, 'management', programs, settings)
    if (management) {
      world.management = await programs.startProgram('management', managementSettings())
      await untilReady(world.management.url)
      const place = [
        '--name',
        'cell-1',
        '--region',
        'us-east-1',
        '--capacity',
        '1000',
        '--endpoint',
        `http://${endpoint}`,
      ]
      const { code, stdout, stderr } = await programs.runCommand(
        'management',
        ['cells', 'add', ...place, '--public-key', cellKey.publicJwk.x],
        managementSettings(),
      )
      if (code !== 0) throw new Error(`management cells add ended with ${code}: ${stderr}`)
      world.cellId = JSON.parse(stdout).cell_id
    }
    await Promise.all(
      Array.from({ length: replicas }, (_, at) => world.startDaemon(at === 0 ? { LOCI_LISTEN: endpoint } : {})),
    )
    return world
  } catch (error) {
    await world.stop()
    throw error
  }
}

/** The page of management that a browser comes back to. */
const SIGNED_IN = '/signed-in'

function signInSettings({ issuer, audience, client, scopes }: SignInProvider): Record<string, string> {
  return {
    LOCI_OIDC_ISSUER: issuer,
    LOCI_OIDC_CLIENT_ID: client.id,
    LOCI_OIDC_CLIENT_SECRET: client.secret,
    LOCI_OIDC_AUDIENCE: audience,
    LOCI_OIDC_REDIRECT_URIS: client.redirectUri,
    LOCI_OIDC_SCOPES: scopes,
  }
}

/** As an administrator does it: database and roles as superuser, then the program's own migrate as its owner. */
export async function prepareDatabase(
  postgres: Throwaway,
  program: ProgramName,
  programs: Pick<Programs, 'runCommand'> = { runCommand },
  { LOCI_DATABASE_CA: ca }: Record<string, string> = {},
): Promise<void> {
  const database = DATABASES[program]
  // Where each database has a server of its own, it was made there.
  const isThere = await runSql(postgres.adminUrl(database), 'select').then(
    () => true,
    () => false,
  )
  if (!isThere) await runSql(postgres.adminUrl(), databaseSql(database))
  await runSql(postgres.adminUrl(database), rolesSql({ database, program }))
  const { code, stderr } = await programs.runCommand(program, ['migrate'], {
    LOCI_DATABASE_OWNER_URL: postgres.url(loginsOf(program).owner, database),
    ...(ca === undefined ? {} : { LOCI_DATABASE_CA: ca }),
  })
  if (code !== 0) throw new Error(`${program} migrate ended with ${code}: ${stderr}`)
}
