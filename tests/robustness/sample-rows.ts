// Rows for any table, made from its columns and checks: enough to be found there, without any meaning.

import { runSql } from '../world/sql.ts'

export interface Samples {
  rows: number
  /** An expression for every text; `n` is the number of the row. */
  text: string
  /** Expressions for columns that are to have a certain value. */
  columns?: Record<string, string>
}

const PART = 50_000

/** Foreign keys and triggers are not asked. */
export async function insertSamples(adminUrl: string, table: string, samples: Samples): Promise<void> {
  const columns = await runSql<{ name: string; type: string }>(
    adminUrl,
    `select attname as name, format_type(atttypid, null) as type from pg_attribute where attrelid = 'loci.${table}'::regclass and attnum > 0
       and (attnotnull or attname = any($1)) and not attisdropped`,
    [await eitherFilled(adminUrl, table)],
  )
  const allowed = await allowedValues(adminUrl, table)
  const values = columns.map(({ name, type }) => {
    const value = allowed.get(name)
    return samples.columns?.[name] ?? (value === undefined ? sampleOf(type, samples.text) : `'${value}'`)
  })
  // In parts, each well within the time limit of a statement, on a busy machine too.
  for (let from = 1; from <= samples.rows; from += PART)
    await runSql(
      adminUrl,
      `begin; set local session_replication_role = replica;
       insert into loci.${table} (${columns.map(({ name }) => name).join(', ')}) select ${values.join(', ')}
         from generate_series(${from}, ${Math.min(from + PART - 1, samples.rows)}) n; commit`,
    )
}

/** Where a check wants one of two columns, the first of them. */
async function eitherFilled(adminUrl: string, table: string): Promise<string[]> {
  const checks = await checksOf(adminUrl, table)
  return checks.flatMap(({ text }) => /\((\w+) IS NULL\) = \(\w+ IS NOT NULL\)/.exec(text)?.[1] ?? [])
}

function checksOf(adminUrl: string, table: string): Promise<{ text: string }[]> {
  return runSql(
    adminUrl,
    `select pg_get_constraintdef(oid) as text from pg_constraint where conrelid = 'loci.${table}'::regclass and contype = 'c'`,
  )
}

/** The first of the list that a check holds a column to. A check of that column alone counts before one of several. */
async function allowedValues(adminUrl: string, table: string): Promise<Map<string, string>> {
  const checks = await checksOf(adminUrl, table)
  const isAlone = (text: string) => /^CHECK \(\(\w+ = ANY /.test(text)
  return new Map(
    checks
      .toSorted((a, b) => Number(isAlone(a.text)) - Number(isAlone(b.text)))
      .flatMap(({ text }) => {
        const [, name, value] = /\((\w+) = ANY \(ARRAY\['([^']+)'/.exec(text) ?? []
        return name && value ? [[name, value] as const] : []
      }),
  )
}

function sampleOf(type: string, text: string): string {
  if (type.endsWith('[]') || type.startsWith('json')) return `'{}'`
  if (type.startsWith('timestamp')) return 'now()'
  if (/int|numeric|double/.test(type)) return 'n'
  if (type === 'boolean') return 'true'
  if (type === 'uuid') return 'gen_random_uuid()'
  return type === 'bytea' ? 'int8send(n)' : text
}
