import { setTimeout as sleep } from 'node:timers/promises'
import { ADVISORY_LOCKS } from './advisory-locks.ts'
import { sqlState } from './errors.ts'
import { explainDatabaseError, wrongDatabase, wrongOwner } from './first-contact.ts'
import { type Migration, readMigrations, releasesBetween, type Schema } from './migrations.ts'
import type { Client, Pool, Sql } from './pool.ts'
import { openPool } from './pool.ts'
import type { DatabaseProgram } from './roles.ts'

export interface MigrateOptions {
  /** Connects as a login of loci_owner's, directly: a pooler that shares sessions would lose the lock. */
  ownerUrl: string
  ca?: string
  /** Whose database it must be. */
  program: DatabaseProgram
  schema: Schema
  log(line: string): void
}

const LOCK_WAIT_MS_MAX = 60_000
const DDL_TRIES_MAX = 8
/** A few looks in the second that the DDL waits. */
const WATCH_MS = 200

/** Brings a database up to the newest file. Forward only: there is no way back but a new migration. */
export async function migrate(options: MigrateOptions): Promise<{ applied: string[]; version: number }> {
  const { schema, log, program } = options
  const migrations = readMigrations(schema)
  const pool = openPool({
    url: options.ownerUrl,
    ...(options.ca !== undefined && { ca: options.ca }),
    applicationName: 'loci-migrate',
    // One session migrates, the other one looks whom it waits for.
    connectionsMax: 2,
    connectMs: 5_000,
    statementMs: 0,
    onError: (error) => log(`the connection broke: ${error.message}`),
  })
  try {
    const client = await pool.client().catch((error) => {
      throw new Error(explainDatabaseError(error, program, 'LOCI_DATABASE_OWNER_URL'), { cause: error })
    })
    try {
      const wrong =
        (await wrongDatabase(client, program, 'LOCI_DATABASE_OWNER_URL')) ?? (await wrongOwner(client, program))
      if (wrong) throw new Error(wrong)
      await takeLock(client, log)
      await prepareDatabase(client)
      return await applyPending({ client, pool, log }, migrations)
    } finally {
      // Ending the session also gives up the lock, whatever state we are in.
      client.release(new Error('done'))
    }
  } finally {
    await pool.close()
  }
}

export interface SchemaState {
  state: 'current' | 'behind' | 'ahead' | 'incompatible'
  /** The newest migration that the database has. */
  version: number
  /** The newest migration that this code knows. */
  required: number
  reason: string
}

/**
 * Can this code run on this database? `behind`: not yet, wait for migrate. `ahead`: yes, the database has newer
 * migrations that still serve us. `incompatible`: never, only other code can.
 */
export async function schemaState(sql: Sql, schema: Schema): Promise<SchemaState> {
  const migrations = readMigrations(schema)
  const required = migrations.length
  const recorded = await listRecorded(sql)
  const version = recorded.at(-1)?.version ?? 0
  const result = (state: SchemaState['state'], reason: string) => ({ state, version, required, reason })

  const tooNew = recorded.find((record) => record.serves > required)
  if (tooNew) {
    const needs = `migration ${label(tooNew)} serves only code that knows migration ${tooNew.serves} or newer`
    return result('incompatible', `${needs}, this code knows ${required}: start a newer release`)
  }
  const changed = recorded.find((record) => record.checksum !== (migrations[record.version - 1] ?? record).checksum)
  if (changed) {
    return result('incompatible', `migration ${label(changed)} of the database is not the one in ${schema.migrations}`)
  }
  if (version < required) {
    return result('behind', `the database is at migration ${version}, this code needs ${required}: run migrate`)
  }
  if (version > required) {
    return result('ahead', `the database is at migration ${version}, which still serves this code (${required})`)
  }
  return result('current', `the database is at migration ${version}`)
}

type Recorded = Omit<Migration, 'text' | 'functions' | 'release'>

async function listRecorded(sql: Sql): Promise<Recorded[]> {
  // Asking first, because a failed statement would spoil the transaction that the caller may be in.
  const exists = await sql.query<{ found: boolean }>({
    text: `select to_regclass('loci.migrations') is not null as found`,
  })
  if (!exists.rows[0]?.found) return []
  const recorded = await sql.query<Recorded>({
    text: 'select version, name, serves, checksum from loci.migrations order by version',
  })
  return recorded.rows
}

async function takeLock(client: Client, log: (line: string) => void): Promise<void> {
  const deadline = Date.now() + LOCK_WAIT_MS_MAX
  for (let told = false; ; told = true) {
    const { rows } = await client.query<{ taken: boolean }>({
      text: 'select pg_try_advisory_lock($1) as taken',
      values: [ADVISORY_LOCKS.migrate],
    })
    if (rows[0]?.taken) return
    const holder = await describeHolder(client)
    if (Date.now() > deadline) {
      throw new Error(
        `another migration still holds the lock (${holder}): let it finish or end it, then run this again`,
      )
    }
    if (!told) log(`waiting for another migration (${holder})`)
    await sleep(100 + 100 * Math.random())
  }
}

async function describeHolder(client: Client): Promise<string> {
  const { rows } = await client.query<{ holder: string }>({
    // Since when it is there Postgres shows to the login itself alone, and we are loci_owner here.
    text: `select format('process %s, role %s, %s', a.pid, a.usename, a.application_name) as holder
           from pg_locks l join pg_stat_activity a using (pid)
           where l.locktype = 'advisory' and l.granted and l.objsubid = 1
             and l.database = (select oid from pg_database where datname = current_database())
             and (l.classid::bigint << 32 | l.objid::bigint) = $1`,
    values: [ADVISORY_LOCKS.migrate],
  })
  return rows[0]?.holder ?? 'just ending'
}

async function prepareDatabase(client: Client): Promise<void> {
  const { rows } = await client.query<{ prepared: boolean; hasApp: boolean }>({
    text: `select to_regclass('loci.migrations') is not null as prepared,
             exists (select from pg_roles where rolname = 'loci_app') as "hasApp"`,
  })
  if (rows[0]?.prepared) return
  if (!rows[0]?.hasApp) {
    throw new Error('the role loci_app does not exist: let the database administrator run the roles script first')
  }
  await client.query({
    text: `begin;
      create schema if not exists loci;
      create table loci.migrations (
        version int primary key,
        name text not null,
        checksum text not null,
        serves int not null,
        applied_at timestamptz not null default clock_timestamp()
      );
      comment on table loci.migrations is 'without row-level security: versions of the schema, no tenant';
      grant usage on schema loci to loci_app;
      grant select on loci.migrations to loci_app;
      commit`,
  })
}

interface Session {
  client: Client
  pool: Pool
  log(line: string): void
}

async function applyPending({ client, pool, log }: Session, migrations: Migration[]) {
  const recorded = await listRecorded(client)
  for (const [index, record] of recorded.entries()) {
    if (record.version !== index + 1) {
      throw new Error(`loci.migrations has no row ${index + 1}: restore the table from a backup, nothing was applied`)
    }
    const file = migrations[index]
    if (file && file.checksum !== record.checksum) {
      throw new Error(
        `migration ${label(file)} was changed after it was applied: restore the file, and write what you want to ` +
          'change as a new migration',
      )
    }
  }
  if (recorded.length > migrations.length) {
    log(
      `the database is at migration ${recorded.length}, newer than this release (${migrations.length}): nothing to do`,
    )
  }
  await refuseSkipped(client, migrations, recorded.length)
  const applied: string[] = []
  for (const migration of migrations.slice(recorded.length)) {
    const startedAt = Date.now()
    await apply({ client, pool, log }, migration)
    applied.push(label(migration))
    log(`applied ${label(migration)} in ${Date.now() - startedAt} ms`)
  }
  return { applied, version: Math.max(recorded.length, migrations.length) }
}

/** While programs run that are older than the release before ours: they would serve on a schema they never met. */
async function refuseSkipped(client: Client, migrations: Migration[], version: number): Promise<void> {
  const { from, to, skipped } = releasesBetween(migrations, version)
  if (skipped.length === 0) return
  const { rows } = await client.query<{ name: string; count: number }>({ text: RUNNING })
  if (rows.length === 0) return
  const running = rows.map(({ name, count }) => `${name} with ${count} connection${count === 1 ? '' : 's'}`).join(', ')
  throw new Error(
    `the database is of release ${from}, this is ${to}, and ${skipped.join(', ')} was skipped while programs run (${running}): ` +
      `migrate with ${skipped[0]} and replace the replicas first, or stop them all and run this again; nothing was applied`,
  )
}

/** Programs name their connections so; commands and tests are called otherwise. */
const RUNNING = `select application_name as name, count(*)::int as count from pg_stat_activity
  where datname = current_database() and application_name in ('loci-daemon', 'loci-management',
    'loci-daemon-background', 'loci-management-background')
  group by application_name order by application_name`

// The DDL waits at most a second for its locks, because everyone who wants the table queues up behind it. Giving up
// and coming back lets them through.
async function apply({ client, pool, log }: Session, migration: Migration): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    const watch = await watchWaits(client, pool, (waits) => log(`${label(migration)} waits for ${waits}`))
    try {
      const isBare = /^-- no transaction\r?$/m.test(migration.text)
      if (isBare) await applyBare(client, migration)
      await applyInTransaction(client, migration, isBare ? '' : migration.text)
      return
    } catch (error) {
      const isLocked = sqlState(error) === '55P03'
      const waits = isLocked ? `; it waited for ${watch.last()}` : ''
      if (!isLocked || tries >= DDL_TRIES_MAX) {
        throw new Error(
          `migration ${label(migration)} failed: ${(error as Error).message}${waits}; nothing of it is recorded`,
          { cause: error },
        )
      }
      log(`${label(migration)}: a table was locked for too long, trying again (${tries} of ${DDL_TRIES_MAX})${waits}`)
    } finally {
      await watch.stop()
    }
    await sleep(tries * (200 + 200 * Math.random()))
  }
}

/** Tells once of each thing that the session of `client` waits for, and of whom. */
async function watchWaits(client: Client, pool: Pool, tell: (waits: string) => void) {
  const own = await client.query<{ pid: number }>({ text: 'select pg_backend_pid() as pid' })
  const stopping = new AbortController()
  const told = new Set<string>()
  let last = 'a lock'
  const look = async () => {
    const { rows } = await pool.query<{ waits: string }>({ text: WAITS, values: [own.rows[0]?.pid] })
    if (!rows[0]) return
    last = rows[0].waits
    if (!told.has(last)) tell(last)
    told.add(last)
  }
  const watching = (async () => {
    // Beside the migration, and no condition of it: without a second connection it goes on unwatched.
    for (let isUp = true; isUp && !stopping.signal.aborted; ) {
      await sleep(WATCH_MS, undefined, { signal: stopping.signal }).catch(() => {})
      if (!stopping.signal.aborted)
        isUp = await look().then(
          () => true,
          () => false,
        )
    }
  })()
  return {
    last: () => last,
    async stop() {
      stopping.abort()
      await watching
    },
  }
}

/** What a session waits for, and who stands before it. A transaction: `create index concurrently` awaits older ones. */
const WAITS = `select coalesce(l.relation::regclass::text, 'a transaction') || ' (' || coalesce(string_agg(
      format('process %s, role %s, %s', a.pid, a.usename, a.application_name), '; ' order by a.pid), 'just ending') || ')' as waits
    from pg_locks l left join pg_stat_activity a on a.pid = any (pg_blocking_pids($1))
    where l.pid = $1 and not l.granted group by l.relation`

async function applyInTransaction(client: Client, migration: Migration, text: string): Promise<void> {
  try {
    await client.query({ text: `begin; set local lock_timeout = '1s'` })
    if (text) await client.query({ text })
    for (const file of migration.functions)
      await client.query({ text: file.text }).catch((error) => {
        throw Object.assign(error, { message: `${file.path}: ${error.message}` })
      })
    await record(client, migration)
    await client.query({ text: 'commit' })
  } catch (error) {
    await client.query({ text: 'rollback' }).catch(() => {}) // The session is about to end; `error` says why.
    throw error
  }
}

/**
 * For one `create index concurrently if not exists …`. It may run twice if we die before it is recorded, so it must
 * be idempotent. It waits for every older transaction to end, but blocks nobody meanwhile, hence the longer limit.
 */
async function applyBare(client: Client, migration: Migration): Promise<void> {
  await client.query({ text: `set lock_timeout = '60s'` })
  await client.query({ text: migration.text })
  const { rows } = await client.query<{ name: string }>({
    text: `select indexrelid::regclass::text as name from pg_index
           where not indisvalid and indrelid in (select oid from pg_class where relnamespace = 'loci'::regnamespace)`,
  })
  if (rows[0]) {
    // `if not exists` is content with the half-built index that an interrupted run leaves behind.
    throw new Error(`index ${rows[0].name} is half-built: drop index concurrently ${rows[0].name}, then migrate again`)
  }
}

async function record(client: Client, { version, name, checksum, serves }: Migration): Promise<void> {
  await client.query({
    text: 'insert into loci.migrations (version, name, checksum, serves) values ($1, $2, $3, $4)',
    values: [version, name, checksum, serves],
  })
}

function label({ version, name }: { version: number; name: string }): string {
  return `${String(version).padStart(4, '0')}-${name}`
}
