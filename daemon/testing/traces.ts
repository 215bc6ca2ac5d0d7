// What is erased is nowhere: every table of the database is looked through for its text.

import type { TestDaemon } from './daemon.ts'

/** Tables with a row that has the word, as text or as bytes. */
export async function tracesOf(daemon: TestDaemon, word: string): Promise<string[]> {
  const tables = await daemon.sql<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname not in ('pg_catalog', 'information_schema') order by 1`,
  )
  const looks = tables.map(
    ({ name }) =>
      `select '${name}' as name where exists (select from ${name} t where t::text ilike '%' || $1 || '%' or t::text like '%' || $2 || '%')`,
  )
  const hex = Buffer.from(word).toString('hex')
  const found = await daemon.sql<{ name: string }>(`${looks.join(' union all ')} order by 1`, [word, hex])
  return [...new Set(found.map(({ name }) => name.replace(/^loci\./, '').replace(/_\d{8}$/, '')))]
}
