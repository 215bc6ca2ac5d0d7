// A daemon process in front of a Postgres of its own, with two tenants and a ledger of every entry that they were told
// is stored.

import { createHash, randomBytes } from 'node:crypto'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ask } from '@loci/chassis/testing/request.ts'
import { addTenant, listAll, putAll, type TestTenant } from '@loci/daemon/testing/tenant.ts'
import { migrate } from '@loci/postgres/migrate.ts'
import { schemaIn } from '@loci/postgres/migrations.ts'
import { rolesSql } from '@loci/postgres/roles.ts'
import { databaseSql } from '@loci/postgres/testing/database-sql.ts'
import { startThrowaway, type Throwaway } from '@loci/postgres/testing/throwaway.ts'
import { type LociProcess, startProgram, untilReady } from '../world/process.ts'
import { runSql } from '../world/sql.ts'

export interface Ledger {
  tenant: TestTenant
  db: string
  /** JSON of each value, by key. */
  entries: Map<string, string>
}

export interface RotCell {
  postgres: Throwaway
  tenants: TestTenant[]
  ledgers: Ledger[]
  sql<Row extends object = Record<string, unknown>>(text: string, values?: unknown[]): Promise<Row[]>
  /** One more tenant. */
  join(limits: Parameters<typeof addTenant>[1]): Promise<TestTenant>
  /** Stops the server, does the damage, starts it again. */
  whileStopped(work: () => void): Promise<void>
  /** How often a process of the server died of what it read. */
  crashes(): number
  /** The file of loci.entries. */
  heapFile(): Promise<string>
  close(): Promise<void>
}

interface RotOptions {
  dataChecksums: boolean
  rowsPerDatabase: number
  root?: string
  start?: typeof startProgram
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const DATABASE = 'loci_cell'
const DATABASES = ['notes', 'users', 'sessions']

export async function startRotCell({
  dataChecksums,
  rowsPerDatabase,
  root = ROOT,
  start = startProgram,
}: RotOptions): Promise<RotCell> {
  // Without autovacuum, so that nothing but the test changes the file; without a warning for every try to read a bad
  // page.
  const postgres = await startThrowaway({ dataChecksums, settings: { autovacuum: 'off', log_min_messages: 'error' } })
  const adminUrl = postgres.adminUrl(DATABASE)
  await runSql(postgres.adminUrl(), databaseSql(DATABASE))
  await runSql(adminUrl, rolesSql({ database: DATABASE, program: 'daemon' }))
  await migrate({
    ownerUrl: postgres.url('loci_daemon_owner', DATABASE),
    program: 'daemon',
    schema: schemaIn(`${root}/daemon`, `${root}/libs/acts`),
    log: () => {},
  })
  const daemon: LociProcess = await start('daemon', {
    LOCI_LISTEN: '127.0.0.1:0',
    LOCI_DATABASE_URL: postgres.url('loci_daemon', DATABASE),
    LOCI_SEALING_KEYS: `rot:${randomBytes(32).toString('base64')}`,
    LOCI_ADMIN_TOKEN_DIGESTS: createHash('sha256')
      .update(`loci_adm_${randomBytes(32).toString('base64url')}`)
      .digest('hex'),
    LOCI_DRAIN_GRACE_MS: '0',
    LOCI_DRAIN_MS: '0',
  })
  await untilReady(daemon.url)
  const sql: RotCell['sql'] = (text, values) => runSql(adminUrl, text, values)
  const cell = { ask: (line: string, options?: Parameters<typeof ask>[2]) => ask(daemon.url, line, options), sql }
  const tenants = [await addTenant(cell), await addTenant(cell)]
  const ledgers: Ledger[] = []
  for (const [at, tenant] of tenants.entries()) {
    for (const db of DATABASES) {
      const entries = entriesOf(`${at}${db}`, rowsPerDatabase)
      await putAll(tenant, db, entries)
      ledgers.push({
        tenant,
        db,
        entries: new Map(Object.entries(entries).map(([key, value]) => [key, JSON.stringify(value)])),
      })
    }
  }
  // Reads leave hint bits behind; the file is then as it is in a store that has been in use.
  for (const { tenant, db } of ledgers) await listAll(tenant, db)
  return {
    postgres,
    tenants,
    ledgers,
    sql,
    join: (limits) => addTenant(cell, limits),
    async whileStopped(work) {
      // A server that is just picking itself up after a crash takes a minute to stop.
      await untilAnswering(tenants[0] as TestTenant)
      await postgres.stop()
      work()
      await postgres.start()
      await untilAnswering(tenants[0] as TestTenant)
    },
    crashes: () =>
      readFileSync(join(postgres.directory, 'postgres.log'), 'utf8').split(/was terminated by signal \d+/).length - 1,
    async heapFile() {
      const [row] = await sql<{ path: string }>(`select pg_relation_filepath('loci.entries') as path`)
      return `${postgres.dataDirectory}/${row?.path}`
    },
    async close() {
      await daemon.stop()
      await postgres.remove().catch(() => rmSync(postgres.directory, { recursive: true, force: true }))
    },
  }
}

/**
 * Keys as people make them: numbered, random, of other scripts; mostly small values, a few that Postgres stores out of
 * line.
 */
function entriesOf(seed: string, count: number): Record<string, unknown> {
  const digest = (text: string) => createHash('sha256').update(`${seed}/${text}`).digest('hex')
  const keyOf = (n: number) =>
    [`user:${String(n).padStart(5, '0')}`, digest(`${n}`).slice(0, 20), `übung/${n}/€`][n % 3] as string
  const contentOf = (n: number) =>
    n % 97 === 0
      ? { blob: Array.from({ length: 80 }, (_, at) => digest(`${n}.${at}`)).join('') }
      : { n, note: digest(`value ${n}`).slice(0, n % 60) }
  return Object.fromEntries(Array.from({ length: count }, (_, n) => [keyOf(n), contentOf(n)]))
}

async function untilAnswering(tenant: TestTenant): Promise<void> {
  for (let tries = 0; tries < 200; tries += 1) {
    const answer = await tenant.call('GET /v1/system/info').catch(() => undefined)
    const store = await tenant
      .call('GET /v1/kv/entries?limit=1&prefix=none', undefined, { db: 'empty' })
      .catch(() => undefined)
    if (answer?.status === 200 && store?.status === 200) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error('the daemon did not find its database again')
}
