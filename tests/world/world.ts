// A whole loci on loopback: one throwaway PostgreSQL with a control and a cell database, management, and replicas of one daemon.

import { createHash, randomBytes } from 'node:crypto'
import { databaseSql, rolesSql } from '@loci/postgres/roles.ts'
import { startThrowaway, type Throwaway } from '@loci/postgres/throwaway.ts'
import { type LociProcess, type ProgramName, runCommand, startProgram, untilReady } from './process.ts'
import { runSql } from './sql.ts'

export interface World {
  postgres: Throwaway
  daemons: LociProcess[]
  management: LociProcess | undefined
  adminToken: string
  /** The settings of a further replica; `extra` overrides. */
  daemonSettings(extra?: Record<string, string>): Record<string, string>
  managementSettings(extra?: Record<string, string>): Record<string, string>
  startDaemon(extra?: Record<string, string>): Promise<LociProcess>
  stop(): Promise<void>
}

export interface WorldOptions {
  replicas?: number
  management?: boolean
  postgres?: Throwaway
  settings?: Record<string, string>
  log?(line: string): void
}

const DATABASES: Record<ProgramName, string> = { daemon: 'loci_cell', management: 'loci_control' }

export async function startWorld({
  replicas = 2,
  management = true,
  settings = {},
  log = () => {},
  ...options
}: WorldOptions = {}): Promise<World> {
  const postgres = options.postgres ?? (await startThrowaway())
  log(`PostgreSQL  port ${postgres.port}, ${postgres.directory}`)
  const adminToken = `loci_adm_${randomBytes(32).toString('base64url')}`
  const daemons: LociProcess[] = []
  const daemonSettings = (extra: Record<string, string> = {}) => ({
    LOCI_LISTEN: '127.0.0.1:0',
    LOCI_DATABASE_URL: postgres.url('loci_app', DATABASES.daemon),
    LOCI_ADMIN_TOKEN_DIGESTS: createHash('sha256').update(adminToken).digest('hex'),
    LOCI_DRAIN_GRACE_MS: '500',
    ...settings,
    ...extra,
  })
  const managementSettings = (extra: Record<string, string> = {}) => ({
    LOCI_LISTEN: '127.0.0.1:0',
    LOCI_DATABASE_URL: postgres.url('loci_app', DATABASES.management),
    LOCI_DRAIN_GRACE_MS: '500',
    ...settings,
    ...extra,
  })
  const world: World = {
    postgres,
    daemons,
    management: undefined,
    adminToken,
    daemonSettings,
    managementSettings,
    async startDaemon(extra) {
      const daemon = await startProgram('daemon', daemonSettings(extra))
      daemons.push(daemon)
      await untilReady(daemon.url)
      return daemon
    },
    async stop() {
      await Promise.all([...daemons, ...(world.management ? [world.management] : [])].map((process) => process.stop()))
      await postgres.remove()
    },
  }
  try {
    await prepareDatabase(postgres, 'daemon')
    for (let i = 0; i < replicas; i += 1) await world.startDaemon()
    if (management) {
      await prepareDatabase(postgres, 'management')
      world.management = await startProgram('management', managementSettings())
      await untilReady(world.management.url)
    }
    return world
  } catch (error) {
    await world.stop()
    throw error
  }
}

/** As an administrator does it: database and roles as superuser, then the program's own migrate as loci_owner. */
export async function prepareDatabase(postgres: Throwaway, program: ProgramName): Promise<void> {
  const database = DATABASES[program]
  await runSql(postgres.adminUrl(), databaseSql(database))
  await runSql(postgres.adminUrl(database), rolesSql({ database }))
  const { code, stderr } = await runCommand(program, ['migrate'], {
    LOCI_DATABASE_OWNER_URL: postgres.url('loci_owner', database),
  })
  if (code !== 0) throw new Error(`${program} migrate ended with ${code}: ${stderr}`)
}
