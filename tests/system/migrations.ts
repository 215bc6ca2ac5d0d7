// A migration holds no lock that readers or writers wait for while it reads rows, however large a table is; neither
// does the upkeep of partitions. Every numbered file meets tables of 10^6 rows that the files before it made, is
// applied by `migrate`, and each of its commands is shown with what it locked and for how long.

import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SCHEMA as CELL } from '@loci/daemon/schema.ts'
import { SCHEMA as CONTROL } from '@loci/management/schema.ts'
import { sqlState } from '@loci/postgres/errors.ts'
import { migrate } from '@loci/postgres/migrate.ts'
import { readMigrations, type Schema } from '@loci/postgres/migrations.ts'
import { openPool } from '@loci/postgres/pool.ts'
import { type DatabaseProgram, loginsOf, rolesSql } from '@loci/postgres/roles.ts'
import { databaseSql } from '@loci/postgres/testing/database-sql.ts'
import { startThrowaway, type Throwaway } from '@loci/postgres/testing/throwaway.ts'
import { type Command, commandsOf, watchDdl } from '../robustness/ddl-watch.ts'
import { insertSamples } from '../robustness/sample-rows.ts'
import { type Report, reportOn } from '../world/report.ts'
import { runSql } from '../world/sql.ts'

const ROWS = process.argv.includes('--short') ? 20_000 : 1_000_000
/** Of every other table as many as show that one was read. */
const ROWS_OF_OTHERS = 1_000
const LARGE = ['databases', 'due', 'records']
/** What a check asks of a column beyond its type and a list. */
const COLUMNS: Record<string, Record<string, string>> = { cells: { public_keys: `'["x"]'` } }
const CHECK_VIOLATION = '23514'
const EMPTY_DIGEST = createHash('sha256').digest('hex')

interface Kept {
  keep: string
  table: string
  /** A partition of long ago, and the times of it. */
  old: string
  from: string
  to: string
}

const UPKEEP: Record<DatabaseProgram, [Kept, ...Kept[]]> = {
  daemon: [
    {
      keep: 'keep_event_partitions',
      table: 'events',
      old: 'events_2020010100',
      from: '2020-01-01',
      to: '2020-01-01 06:00',
    },
    {
      keep: 'keep_slot_partitions',
      table: 'slot_versions',
      old: 'slot_versions_20200106',
      from: '2020-01-06',
      to: '2020-01-13',
    },
    { keep: 'keep_audit_partitions', table: 'audit', old: 'audit_202001', from: '2020-01-01', to: '2020-02-01' },
  ],
  management: [
    { keep: 'keep_event_partitions', table: 'events', old: 'events_20200101', from: '2020-01-01', to: '2020-01-02' },
    { keep: 'keep_audit_partitions', table: 'audit', old: 'audit_202001', from: '2020-01-01', to: '2020-02-01' },
  ],
}

await reportOn(async (report) => {
  await using postgres = await startThrowaway()
  for (const [program, schema] of [
    ['daemon', CELL],
    ['management', CONTROL],
  ] as const) {
    const database = program === 'daemon' ? 'loci_cell' : 'loci_control'
    await runSql(postgres.adminUrl(), databaseSql(database))
    const adminUrl = postgres.adminUrl(database)
    await runSql(adminUrl, rolesSql({ database, program }))
    await watchDdl(adminUrl)
    const fixture = { report, postgres, program, database, adminUrl, schema }
    await numberedFiles(fixture)
    await upkeep(fixture)
  }
})

interface Fixture {
  report: Report
  postgres: Throwaway
  program: DatabaseProgram
  database: string
  adminUrl: string
  schema: Schema
}

async function numberedFiles(fixture: Fixture): Promise<void> {
  const { report, program, schema } = fixture
  const directory = mkdtempSync(join(tmpdir(), 'loci-migrations-'))
  try {
    const files = readdirSync(schema.migrations).filter((file) => file.endsWith('.sql'))
    for (const file of files.toSorted()) {
      const isLast = file === files.toSorted().at(-1)
      copyMigration(schema, file, directory, isLast)
      const applied = { migrations: directory, functions: isLast ? schema.functions : [] }
      const commands = await applyOn(fixture, applied)
      tellCommands(report, commands)
      const locked = [...new Set(commands.flatMap(({ blocked }) => Object.keys(blocked)))]
      const wrong = wrongOf(commands)
      report.promise(
        `${program} ${file}: nobody waits for rows`,
        wrong.length === 0,
        wrong.join('; ') || `${locked.length} tables that were there locked, no row of them read`,
      )
    }
    if (program === 'daemon') await badMigrations(fixture, directory)
  } finally {
    rmSync(directory, { recursive: true })
  }
}

/** As it stands, but for the digest of functions: those of the newest are made with the newest alone. */
function copyMigration(schema: Schema, file: string, directory: string, isLast: boolean): void {
  const { text } = readMigrations(schema).find(({ version }) => Number(file.slice(0, 4)) === version) as {
    text: string
  }
  const bare = text.replaceAll(/^-- functions: .*\n/gm, '')
  const digest = isLast ? (/^-- functions: (\S+)/m.exec(text)?.[1] ?? '') : EMPTY_DIGEST
  writeFileSync(join(directory, file), bare.replace(/^(-- serves: .*\n)/, `$1-- functions: ${digest}\n`))
}

async function applyOn({ postgres, program, database, adminUrl }: Fixture, schema: Schema): Promise<Command[]> {
  const empty = await fill(adminUrl)
  const ownerUrl = postgres.url(loginsOf(program).owner, database)
  const commands = await commandsOf(adminUrl, () => migrate({ ownerUrl, program, schema, log: () => {} }))
  const locked = commands.flatMap(({ blocked }) => Object.keys(blocked))
  const unknown = empty.filter((name) => locked.includes(`loci.${name}`))
  if (unknown.length > 0) throw new Error(`say in COLUMNS how to fill ${unknown}: it is locked, and empty`)
  return commands
}

/** Every table that has no row yet; those whose checks a sample does not meet stay empty, and are named. */
async function fill(adminUrl: string): Promise<string[]> {
  const empty: string[] = []
  const tables = await runSql<{ name: string }>(
    adminUrl,
    `select relname as name from pg_class where relnamespace = to_regnamespace('loci') and relkind = 'r' and not relispartition
       and relname <> 'migrations'`,
  )
  for (const { name } of tables) {
    if ((await runSql(adminUrl, `select 1 from loci.${name} limit 1`)).length > 0) continue
    const rows = LARGE.includes(name) ? ROWS : ROWS_OF_OTHERS
    await insertSamples(adminUrl, name, { text: `'x' || n`, columns: COLUMNS[name] ?? {}, rows }).catch((error) => {
      if (sqlState(error) !== CHECK_VIOLATION) throw error
      empty.push(name)
    })
  }
  return empty
}

/** What takes no such lock may take its time; hundreds of functions take theirs too. */
function wrongOf(commands: Command[]): string[] {
  return commands.flatMap(({ tag, ms, blocked, rowsRead }) => {
    const waiting = Object.entries(blocked).map(([table, who]) => `${who} of ${table}`)
    if (waiting.length === 0) return []
    if (tag === 'CREATE FUNCTION') return [`functions are made while ${waiting} wait: give them the next number`]
    return rowsRead > 0 ? [`${tag} read ${rowsRead} rows in ${Math.round(ms)} ms while ${waiting} waited`] : []
  })
}

function tellCommands(report: Report, commands: Command[]): void {
  const known = new Set<string>()
  for (const { tag, ms, blocked, heldMs } of commands)
    for (const [table, who] of Object.entries(blocked)) {
      if (known.has(table)) continue
      known.add(table)
      report.note(`${tag} (${ms.toFixed(1)} ms) locks ${table}: ${who} wait ${heldMs.toFixed(0)} ms, to the commit`)
    }
}

async function badMigrations(fixture: Fixture, directory: string): Promise<void> {
  const { report, schema } = fixture
  const newest = readdirSync(directory).toSorted().at(-1) as string
  const digest = /^-- functions: \S+$/m.exec(readFileSync(join(directory, newest), 'utf8'))?.[0]
  const bad: [name: string, text: string][] = [
    ['an index without concurrently', 'create index planted on loci.records (created_at)'],
    [
      'a column with a default of each row',
      'alter table loci.databases add column planted timestamptz default clock_timestamp()',
    ],
    ['a constraint that is checked at once', `alter table loci.due add constraint planted check (kind <> '')`],
    ['functions made with a change of a table', 'alter table loci.due add column planted text'],
  ]
  let version = Number(newest.slice(0, 4))
  for (const [name, text] of bad) {
    version += 1
    const file = `${String(version).padStart(4, '0')}-planted.sql`
    writeFileSync(join(directory, file), `-- serves: 0001\n${digest}\n${text};\n`)
    const commands = await applyOn(fixture, { migrations: directory, functions: schema.functions })
    report.mutant(name, wrongOf(commands)[0])
  }
}

/** A partition ahead is missing and one is old; the second time somebody reads the table and does not end. */
async function upkeep(fixture: Fixture): Promise<void> {
  const { report, program, adminUrl } = fixture
  for (const kept of UPKEEP[program]) {
    const { keep, table, old } = kept
    const newest = await agePartitions(adminUrl, kept)
    const commands = await commandsOf(adminUrl, () => runSql(adminUrl, `select loci.${keep}()`))
    tellCommands(report, commands)
    const wrong = [...wrongOf(commands), ...lockingToMake(commands, table)]
    const left = await listPartitions(adminUrl, table)
    report.promise(
      `${program} ${keep}: nobody waits for a partition that is made, nor for the rows of one that is dropped`,
      wrong.length === 0 && left.includes(newest) && !left.includes(old),
      wrong.join('; ') || `${commands.length} commands`,
    )
    await agePartitions(adminUrl, kept)
    await using _reader = await readerOf(adminUrl, table)
    await runSql(adminUrl, `select loci.${keep}()`).catch(({ message }) => report.note(message))
    const under = await listPartitions(adminUrl, table)
    report.promise(
      `${program} ${keep}: under a reader that stays what is missing is made, and what is old is left`,
      under.includes(newest) && under.includes(old),
      under.join(', '),
    )
  }
  if (program === 'management') await badUpkeep(fixture, UPKEEP.management[0])
}

function lockingToMake(commands: Command[], table: string): string[] {
  return commands.flatMap(({ tag, blocked }) => {
    const who = tag === 'DROP TABLE' ? undefined : blocked[`loci.${table}`]
    return who ? [`${tag} of a partition: ${who} of loci.${table} wait`] : []
  })
}

async function badUpkeep({ report, adminUrl }: Fixture, kept: Kept): Promise<void> {
  const [whole] = await runSql<{ text: string }>(
    adminUrl,
    `select pg_get_functiondef('loci.${kept.keep}'::regproc) as text`,
  )
  const text = (whole?.text ?? '')
    .replace(
      "(like loci.events including all)', v_name)",
      "partition of loci.events for values from (%L) to (%L)', v_name, v_day, v_day + 1)",
    )
    .replace(/ {4}execute format\('alter table loci\.events attach.*\n/, '')
  await runSql(adminUrl, text)
  await agePartitions(adminUrl, kept)
  const commands = await commandsOf(adminUrl, () => runSql(adminUrl, `select loci.${kept.keep}()`))
  report.mutant('a partition that is made as one', lockingToMake(commands, kept.table)[0])
}

/** Drops the newest partition, which it names, and makes an old one; both the table and that one have rows. */
async function agePartitions(adminUrl: string, { table, old, from, to }: Kept): Promise<string> {
  const there = await listPartitions(adminUrl, table)
  const newest = there.at(-1) as string
  await runSql(adminUrl, `drop table loci.${newest}`)
  if (!there.includes(old))
    await runSql(
      adminUrl,
      `create table loci.${old} partition of loci.${table} for values from ('${from} +00') to ('${to} +00')`,
    )
  const columns = await runSql<{ name: string; value: string }>(
    adminUrl,
    `select attname as name, case when atttypid = 'timestamptz'::regtype then '$at$'
       when atttypid in ('json'::regtype, 'jsonb'::regtype) then '''{}'''
       when atttypid in ('int4'::regtype, 'int8'::regtype) then 'n' else '''x''' end as value
     from pg_attribute where attrelid = 'loci.${table}'::regclass and attnum > 0 and attnotnull and not atthasdef`,
  )
  for (const at of ['now()', `timestamptz '${from} +00'`])
    await runSql(
      adminUrl,
      `insert into loci.${table} (${columns.map(({ name }) => name).join(', ')})
       select ${columns.map(({ value }) => value.replace('$at$', at)).join(', ')} from generate_series(1, 1000) n on conflict do nothing`,
    )
  return newest
}

async function listPartitions(adminUrl: string, table: string): Promise<string[]> {
  const rows = await runSql<{ name: string }>(
    adminUrl,
    `select relname as name from pg_inherits join pg_class on oid = inhrelid where inhparent = 'loci.${table}'::regclass order by 1`,
  )
  return rows.map(({ name }) => name)
}

/** Somebody who reads a table in a transaction that stays open. */
async function readerOf(adminUrl: string, table: string): Promise<AsyncDisposable> {
  const pool = openPool({ url: adminUrl, applicationName: 'reader', connectionsMax: 1, onError: () => {} })
  const client = await pool.client()
  await client.query({
    text: `begin; set local idle_in_transaction_session_timeout = 0; select count(*) from loci.${table}`,
  })
  return {
    async [Symbol.asyncDispose]() {
      client.release(new Error('done'))
      await pool.close()
    },
  }
}
