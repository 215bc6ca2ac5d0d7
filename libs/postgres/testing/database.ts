import { createHash, randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { ADVISORY_LOCKS } from '../advisory-locks.ts'
import { migrate } from '../migrate.ts'
import { readMigrations, type Schema } from '../migrations.ts'
import type { Pool, Sql } from '../pool.ts'
import { openPool } from '../pool.ts'
import { type DatabaseProgram, grantsSql, loginsOf, rolesSql } from '../roles.ts'
import { changeUrl } from './change-url.ts'
import { databaseSql } from './database-sql.ts'
import { startThrowaway } from './throwaway.ts'

export interface TestDatabase {
  name: string
  appUrl: string
  ownerUrl: string
  adminUrl: string
  [Symbol.asyncDispose](): Promise<void>
}

/** For a server that asks for one; a throwaway asks nobody. */
const PASSWORD = 'test'

/** A database of its own for one test, with this schema. A clone, because migrating takes longer. */
export async function testDatabase({
  schema,
  program = 'daemon',
}: {
  schema: Schema
  program?: DatabaseProgram
}): Promise<TestDatabase> {
  const server = await testServer()
  const template = await requireTemplate(server.adminUrl, schema, program)
  const name = `loci_test_${randomBytes(8).toString('hex')}`
  await asAdmin(server.adminUrl, (sql) => cloneDatabase(sql, template, name, program))
  return databaseCalled(name, server.adminUrl, program)
}

/** What a restore leaves: the same rows in another database. Nobody may be connected to the one it is made of. */
export async function copyDatabase(
  original: TestDatabase,
  { program = 'daemon' }: { program?: DatabaseProgram } = {},
): Promise<TestDatabase> {
  const server = await testServer()
  const name = `${original.name}_copy_${randomBytes(4).toString('hex')}`
  await asAdmin(server.adminUrl, (sql) => cloneDatabase(sql, original.name, name, program))
  return databaseCalled(name, server.adminUrl, program)
}

async function cloneDatabase(sql: Sql, template: string, name: string, program: DatabaseProgram): Promise<void> {
  // wal_log, measured for a database of this size: 12 ms in memory and 22 ms on a disk; file_copy 12 ms and
  // 32 to 64 ms, because it forces two checkpoints, which also flush what every other test has written.
  await sql.query({ text: `create database ${name} template ${template} strategy wal_log` })
  await sql.query({ text: grantsSql({ database: name, program }) })
}

function databaseCalled(name: string, adminUrl: string, program: DatabaseProgram): TestDatabase {
  const logins = loginsOf(program)
  return {
    name,
    appUrl: changeUrl(adminUrl, { user: logins.app, password: PASSWORD, database: name }),
    ownerUrl: changeUrl(adminUrl, { user: logins.owner, password: PASSWORD, database: name }),
    adminUrl: changeUrl(adminUrl, { database: name }),
    async [Symbol.asyncDispose]() {
      await asAdmin(adminUrl, (sql) => sql.query({ text: `drop database if exists ${name} with (force)` }))
    },
  }
}

let ownServer: Promise<{ adminUrl: string }> | undefined

/** The server that the test runner started for all test files, or one that this process starts for itself. */
export function testServer(): Promise<{ adminUrl: string }> {
  const given = process.env.TEST_POSTGRES_URL
  if (given) return Promise.resolve({ adminUrl: given })
  ownServer ??= startThrowaway().then((server) => ({ adminUrl: server.adminUrl() }))
  return ownServer
}

const templates = new Map<string, Promise<string>>()

function requireTemplate(adminUrl: string, schema: Schema, program: DatabaseProgram): Promise<string> {
  const key = `${adminUrl} ${schema.migrations} ${program}`
  const found = templates.get(key) ?? makeTemplate(adminUrl, schema, program)
  templates.set(key, found)
  return found
}

/** One template per schema and server, made by whichever test process comes first. */
async function makeTemplate(adminUrl: string, schema: Schema, program: DatabaseProgram): Promise<string> {
  const contents = readMigrations(schema).map((migration) => migration.checksum)
  const hash = createHash('sha256')
    .update(JSON.stringify([contents, rolesSql({ database: '', program })]))
    .digest('hex')
  const template = `loci_template_${hash.slice(0, 16)}`
  const unfinished = `${template}_unfinished`
  await asAdmin(adminUrl, async (sql) => {
    while (!(await tryLock(sql))) await sleep(20)
    const { rows } = await sql.query({ text: `select from pg_database where datname = $1`, values: [template] })
    if (rows.length > 0) return
    // Renamed only when it is whole: a process that dies here leaves nothing that looks like a template.
    await sql.query({ text: `drop database if exists ${unfinished} with (force)` })
    await sql.query({ text: databaseSql(unfinished) })
    await asAdmin(changeUrl(adminUrl, { database: unfinished }), (inside) =>
      inside.query({
        text: rolesSql({ database: unfinished, program, appPassword: PASSWORD, ownerPassword: PASSWORD }),
      }),
    )
    const ownerUrl = changeUrl(adminUrl, {
      user: loginsOf(program).owner,
      password: PASSWORD,
      database: unfinished,
    })
    await migrate({ ownerUrl, program, schema, log: () => {} })
    await sql.query({ text: `alter database ${pg.escapeIdentifier(unfinished)} rename to ${template}` })
  })
  return template
}

async function tryLock(sql: Sql): Promise<boolean> {
  const { rows } = await sql.query<{ taken: boolean }>({
    text: 'select pg_try_advisory_lock($1) as taken',
    values: [ADVISORY_LOCKS.testTemplate],
  })
  return rows[0]?.taken ?? false
}

/** For what a test does itself: the bounds of the product are for the product, not for filling 10,000 rows. */
export const PATIENT = { connectMs: 10_000, statementMs: 60_000 }

/** For what a test asks the database itself. */
export function testPool(url: string, connectionsMax = 1): Pool {
  // The statement that needed the connection fails by itself.
  return openPool({ ...PATIENT, url, applicationName: 'test', connectionsMax, onError: () => {} })
}

/** A connection for one piece of work: one that stays open would keep the test process from ending. */
async function asAdmin<T>(url: string, work: (sql: Sql) => Promise<T>): Promise<T> {
  const pool = openPool({
    url,
    applicationName: 'loci-test-database',
    connectionsMax: 1,
    ...PATIENT,
    onError: () => {}, // The statement that needed the connection fails by itself.
  })
  try {
    const client = await pool.client()
    try {
      return await work(client)
    } finally {
      client.release()
    }
  } finally {
    await pool.close()
  }
}
