// Looks at every table of a database as the role that serves requests: what it sees and may do without a tenant, as one
// tenant, and as that tenant with another's rows. And at the plans of the functions that read entries, which row-level
// security must not spoil.

import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Throwaway } from '@loci/postgres/testing/throwaway.ts'
import { runSql } from '../world/sql.ts'
import { insertSamples } from './sample-rows.ts'

export interface AuditedDatabase {
  postgres: Throwaway
  database: string
  /** The setting that names the tenant. */
  setting: string
  /** Two who must not know of each other, in the column that names the owner. */
  owners: [string, string]
}

export interface RlsAudit {
  closed: string[]
  open: string[]
  checks: number
  problems: string[]
}

interface Table {
  name: string
  isClosed: boolean
  isPartition: boolean
  owner: string
  comment: string | null
  column: string | null
}

const OWNER_COLUMNS = ['instance_id', 'organization_id', 'chain']

export async function auditRls({ postgres, database, setting, owners }: AuditedDatabase): Promise<RlsAudit> {
  const adminUrl = postgres.adminUrl(database)
  const login = database === 'loci_cell' ? 'loci_daemon' : 'loci_management'
  const appUrl = postgres.url(login, database)
  const [own, foreign] = owners
  const audit: RlsAudit = { closed: [], open: [], checks: 0, problems: [] }
  const expect = (table: string, what: string, isGood: boolean) => {
    audit.checks += 1
    if (!isGood) audit.problems.push(`${database}.${table}: ${what}`)
  }
  const [role] = await runSql<{ isFree: boolean }>(
    adminUrl,
    `select bool_or(rolsuper or rolbypassrls) as "isFree" from pg_roles where rolname in ('loci_app', '${login}')`,
  )
  expect('*', `${login} is held by no policy`, role?.isFree === false)
  for (const table of await listTables(adminUrl)) {
    const { name, column, isPartition } = table
    expect(name, 'belongs to the role that serves requests', !['loci_app', login].includes(table.owner))
    expect(name, 'TRUNCATE is not refused', (await attempt(appUrl, `truncate loci.${name}`)) === 'refused')
    if (!table.isClosed) {
      audit.open.push(name)
      expect(
        name,
        'no row-level security, and no comment says why',
        /^without row-level security: ./.test(table.comment ?? ''),
      )
      continue
    }
    audit.closed.push(name)
    if (column === null) {
      expect(name, 'has no column that names its owner', false)
      continue
    }
    // The audit has a setting of its own; that of the tenant shows none of it.
    const names = column === 'chain' ? 'loci.chain' : setting
    const within = (tenant: string | null, text: string) =>
      tenant === null ? text : `begin; select set_config('${names}', '${tenant}', true); ${text}`
    if (!isPartition) for (const owner of owners) await ensureRow(adminUrl, name, column, owner)
    const count = (tenant: string | null, where = 'true') =>
      attempt(appUrl, within(tenant, `select count(*)::int as n from loci.${name} where ${where}`))
    const seesNothing = async (tenant: string | null, where?: string) =>
      [0, 'refused'].includes(await count(tenant, where))
    expect(name, 'shows rows without a tenant', await seesNothing(null))
    expect(name, 'shows rows to an empty tenant', await seesNothing(''))
    expect(name, 'shows the rows of others', await seesNothing(own, `${column} <> '${own}'`))
    if (isPartition) continue
    const owned = await count(own, `${column} = '${own}'`)
    expect(
      name,
      'hides the tenant’s own rows, so the rest of this proves nothing',
      typeof owned === 'number' && owned > 0,
    )
    const [row] = await runSql<{ row: object }>(
      adminUrl,
      // The name of the table's row, not of a column: one has a column `t`.
      `select to_jsonb(sampled) as row from loci.${name} sampled where ${column} = $1 limit 1`,
      [foreign],
    )
    const literal = `'${JSON.stringify(row?.row).replaceAll("'", "''")}'::jsonb`
    const asForeign = `insert into loci.${name} select * from jsonb_populate_record(null::loci.${name}, ${literal})`
    expect(name, 'takes a row of another', (await attempt(appUrl, within(own, asForeign))) === 'refused')
    expect(name, 'takes a row without a tenant', (await attempt(appUrl, within(null, asForeign))) === 'refused')
    const given = `update loci.${name} set ${column} = '${foreign}' where ${column} = '${own}'`
    expect(name, 'lets a row be given away', (await attempt(appUrl, within(own, given))) === 'refused')
    for (const change of [`update loci.${name} set ${column} = ${column}`, `delete from loci.${name}`]) {
      const touched = `with t as (${change} where ${column} = '${foreign}' returning 1) select count(*)::int as n from t`
      expect(
        name,
        `${change.split(' ')[0]} reaches the rows of others`,
        [0, 'refused'].includes(await attempt(appUrl, within(own, touched))),
      )
    }
  }
  return audit
}

function listTables(adminUrl: string): Promise<Table[]> {
  return runSql<Table>(
    adminUrl,
    `select c.relname as name, c.relrowsecurity and c.relforcerowsecurity as "isClosed", c.relispartition as "isPartition",
       pg_get_userbyid(c.relowner) as owner, obj_description(c.oid, 'pg_class') as comment,
       (select a.attname from pg_attribute a where a.attrelid = c.oid and a.attname = any($1) and not a.attisdropped
         order by array_position($1::text[], a.attname::text) limit 1) as column
     from pg_class c where c.relnamespace = 'loci'::regnamespace and c.relkind in ('r', 'p') order by c.relname`,
    [OWNER_COLUMNS],
  )
}

/** A table that nothing has written to yet would pass every check. Foreign keys are left out of it. */
async function ensureRow(adminUrl: string, table: string, column: string, owner: string): Promise<void> {
  const found = await runSql(adminUrl, `select 1 from loci.${table} where ${column} = $1 limit 1`, [owner])
  // Texts of its own for each owner: some are unique.
  const columns = { [column]: `'${owner}'` }
  if (found.length === 0) await insertSamples(adminUrl, table, { columns, text: `'audit of ${owner}'`, rows: 1 })
}

/** The number that it answered, or that it was refused; any other failure is one of the audit's own. */
async function attempt(url: string, text: string): Promise<number | 'refused'> {
  try {
    const [row] = await runSql<{ n?: number }>(url, text)
    return row?.n ?? -1
  } catch (error) {
    if ((error as { code?: string }).code === '42501') return 'refused'
    throw new Error(`the audit could not run: ${text}`, { cause: error })
  }
}

export interface PlannedCall {
  call: string
  settings?: string
  /** Must be in the plans of its statements. */
  needs: RegExp[]
}

/**
 * What the statements inside a function are planned as when loci_app calls it; undefined when that is as it should be.
 */
export async function planProblem(
  postgres: Throwaway,
  { call, settings = '', needs }: PlannedCall,
): Promise<string | undefined> {
  const text = `load 'auto_explain'; set auto_explain.log_min_duration = 0; set auto_explain.log_nested_statements = on;
    set auto_explain.log_level = notice; ${settings} set role loci_app; begin; select ${call}; rollback`
  const { stderr } = await promisify(execFile)(
    join(postgres.binDirectory, 'psql'),
    [
      '-X',
      '-q',
      '-h',
      postgres.socketDirectory,
      '-p',
      String(postgres.port),
      '-U',
      'postgres',
      '-d',
      'loci_cell',
      '-v',
      'ON_ERROR_STOP=1',
      '-c',
      text,
    ],
    { timeout: 10_000 },
  )
  if (/Seq Scan on (entries|databases|idempotency)/.test(stderr)) return `${call} scans a table:\n${stderr}`
  const missing = needs.find((pattern) => !pattern.test(stderr))
  return missing ? `${call} lacks ${missing} in its plans:\n${stderr}` : undefined
}
