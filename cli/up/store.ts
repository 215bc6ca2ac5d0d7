// What `loci up` asks PostgreSQL for as its administrator: that it answers, and the two databases with their logins.

import { openPool, type Pool } from '@loci/postgres/pool.ts'
import { type DatabaseProgram, loginsOf, rolesSql } from '@loci/postgres/roles.ts'

export interface Passwords {
  app: string
  owner: string
}

async function withPool<Value>(url: string, work: (pool: Pool) => Promise<Value>): Promise<Value> {
  const pool = openPool({
    url,
    applicationName: 'loci-up',
    connectionsMax: 1,
    connectMs: 10_000,
    statementMs: 60_000,
    onError: () => {}, // The statement that needed the connection fails by itself.
  })
  try {
    return await work(pool)
  } finally {
    await pool.close()
  }
}

export async function readVersion(url: string): Promise<string> {
  const { rows } = await withPool(url, (pool) =>
    pool.query<{ version: string }>({ text: `select current_setting('server_version') as version` }),
  )
  return rows[0]?.version ?? ''
}

/** Which of them there are. */
export async function findDatabases(url: string, names: readonly string[]): Promise<string[]> {
  const { rows } = await withPool(url, (pool) =>
    pool.query<{ name: string }>({
      text: 'select datname as name from pg_database where datname = any($1)',
      values: [names],
    }),
  )
  return rows.map(({ name }) => name)
}

export async function findLogins(url: string, names: readonly string[]): Promise<string[]> {
  const { rows } = await withPool(url, (pool) =>
    pool.query<{ name: string }>({
      text: 'select rolname as name from pg_roles where rolname = any($1)',
      values: [names],
    }),
  )
  return rows.map(({ name }) => name)
}

/** Makes the database where it is not there, and its logins with these passwords; again it changes nothing. */
export async function prepareDatabase(
  url: string,
  { database, program, passwords }: { database: string; program: DatabaseProgram; passwords: Passwords },
): Promise<void> {
  const [known] = await findDatabases(url, [database])
  if (!known)
    await withPool(url, (pool) =>
      pool.query({ text: `create database ${database} encoding 'UTF8' template template0` }),
    )
  const sql = rolesSql({ database, program, appPassword: passwords.app, ownerPassword: passwords.owner })
  await withPool(changeUrl(url, { database }), (pool) => pool.query({ text: sql }))
}

/** The same server, by another login or another database. */
function changeUrl(
  url: string,
  { login, password, database }: { login?: string; password?: string; database: string },
): string {
  const [, scheme = '', who = '', host = '', query = ''] =
    /^(postgres(?:ql)?:\/\/)([^@/]*@)?([^/?]*)[^?]*(\?.*)?$/.exec(url) ?? []
  const shown = login === undefined ? who : `${encodeURIComponent(login)}:${encodeURIComponent(password ?? '')}@`
  return `${scheme}${shown}${host}/${database}${query}`
}

/** The password in an address that loginUrl() made. */
export function passwordIn(url: string): string {
  return decodeURIComponent(/^[a-z]+:\/\/[^@/:]*:([^@/]*)@/.exec(url)?.[1] ?? '')
}

export function loginUrl(
  url: string,
  {
    database,
    program,
    passwords,
    as,
  }: { database: string; program: DatabaseProgram; passwords: Passwords; as: 'app' | 'owner' },
): string {
  return changeUrl(url, { login: loginsOf(program)[as], password: passwords[as], database })
}
