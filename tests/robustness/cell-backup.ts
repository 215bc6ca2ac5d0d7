// A backup of a cell's database, and copies of it: put in the place of the cell's own under running daemons, or beside
// it for a daemon of its own.

import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { databaseSql } from '@loci/postgres/testing/database-sql.ts'
import type { Throwaway } from '@loci/postgres/testing/throwaway.ts'
import { runSql } from '../world/sql.ts'

const CELL = 'loci_cell'

export async function dumpCell(postgres: Throwaway, directory: string): Promise<string> {
  const file = join(directory, 'cell.dump')
  await promisify(execFile)(join(postgres.binDirectory, 'pg_dump'), ['-Fc', '-f', file, postgres.adminUrl(CELL)])
  return file
}

/** A database of that name, with what the dump has. */
export async function restoreBeside(postgres: Throwaway, file: string, name: string): Promise<void> {
  await runSql(postgres.adminUrl(), databaseSql(name))
  // Rights on the database itself come with it alone.
  await runSql(postgres.adminUrl(), `grant connect, temporary on database ${name} to public`)
  const to = ['--exit-on-error', '-d', postgres.adminUrl(name), file]
  await promisify(execFile)(join(postgres.binDirectory, 'pg_restore'), to)
}

/** In one moment: the daemons lose their connections and find the restored database under the name that they know. */
export async function putInPlace(postgres: Throwaway, name: string): Promise<void> {
  const admin = postgres.adminUrl()
  await runSql(admin, `alter database ${CELL} with allow_connections false`)
  await runSql(admin, `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${CELL}'`)
  for (let tries = 0; ; tries += 1) {
    try {
      await runSql(admin, `alter database ${CELL} rename to loci_cell_former`)
      break
    } catch (error) {
      if (tries === 50) throw error
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
  await runSql(admin, `alter database ${name} rename to ${CELL}`)
}

/** Tables with a row that has the word, as text or as bytes; from the catalog, so a later table is not forgotten. */
export async function tracesIn(url: string, word: string): Promise<string[]> {
  const tables = await runSql<{ name: string }>(
    url,
    `select format('%I.%I', schemaname, tablename) as name from pg_tables
      where schemaname not in ('pg_catalog', 'information_schema') order by 1`,
  )
  const looks = tables.map(
    ({ name }) =>
      `select '${name}' as name where exists (select from ${name} t where t::text ilike '%' || $1 || '%' or t::text like '%' || $2 || '%')`,
  )
  const hex = Buffer.from(word).toString('hex')
  const found = await runSql<{ name: string }>(url, looks.join(' union all '), [word, hex])
  return [...new Set(found.map(({ name }) => name.replace(/^loci\./, '').replace(/_\d{8}$/, '')))].sort()
}
