// Do all replicas of a database have the same sealing keys? Fingerprints, cursors and API keys hang on them, so a
// replica with others refuses what its neighbours accept, and nobody sees why. For each key the database keeps a value
// that is derived from it.

import { hkdfSync } from 'node:crypto'
import type { Sql } from './pool.ts'

export interface CheckedKey {
  id: string
  key: Buffer
}

const READ_ONLY = '25006'

/** For a process that serves: notes the keys that are new. Returns why the keys cannot be right. */
export async function noteSealingKeys(sql: Sql, keys: CheckedKey[]): Promise<string[]> {
  const known = await readChecks(sql)
  const problems = problemsOf(known, keys)
  const added = keys.filter(({ id }) => !known.has(id))
  if (problems.length > 0 || added.length === 0) return problems
  await sql
    .query({
      name: 'sealing_checks_note',
      text: `insert into loci.sealing_checks (id, value) select * from unnest($1::text[], $2::bytea[]) on conflict do nothing`,
      values: [added.map(({ id }) => id), added.map(checkOf)],
    })
    // A database that only reads (a fail-over under way) is no reason not to serve reads; the next start notes it.
    .catch((error: { code?: string }) => {
      if (error.code !== READ_ONLY) throw error
    })
  // Two replicas that start at once with different keys under one id: one of them reads the other's here.
  return problemsOf(await readChecks(sql), keys)
}

/** Since when the key that seals is known, in seconds; undefined where none was noted. */
export async function readKeyAge(sql: Sql, keys: CheckedKey[]): Promise<number | undefined> {
  const { rows } = await sql.query<{ ageS: number }>({
    name: 'sealing_key_age',
    text: `select extract(epoch from now() - first_seen_at)::float8 as "ageS" from loci.sealing_checks where id = $1`,
    values: [keys[0]?.id],
  })
  return rows[0]?.ageS
}

/** For commands: what they seal must be readable for the serving processes, so the key must be one of theirs. */
export async function sealingKeyProblems(sql: Sql, keys: CheckedKey[]): Promise<string[]> {
  const known = await readChecks(sql)
  // Nothing has served yet: what is made now, the first start must accept.
  if (known.size === 0) return noteSealingKeys(sql, keys)
  const problems = problemsOf(known, keys)
  const first = keys[0]
  if (problems.length > 0 || !first || known.has(first.id)) return problems
  return [
    `LOCI_SEALING_KEYS begins with '${first.id}', which no serving process has: what is made with it would be refused. ` +
      `Serve with it first, or put one of ${listed(known)} in front`,
  ]
}

function problemsOf(known: Map<string, Buffer>, keys: CheckedKey[]): string[] {
  const other = keys.find((key) => known.get(key.id)?.equals(checkOf(key)) === false)
  if (other)
    return [
      `LOCI_SEALING_KEYS has another key under the id '${other.id}' than this database knows: ` +
        'give every replica and command the same keys, and a new key a new id',
    ]
  if (known.size > 0 && !keys.some(({ id }) => known.has(id)))
    return [
      `LOCI_SEALING_KEYS has none of the keys that this database knows (${listed(known)}): ` +
        'give every replica and command the same keys; a new one goes in front of the old',
    ]
  return []
}

function listed(known: Map<string, Buffer>): string {
  return [...known.keys()].map((id) => `'${id}'`).join(', ')
}

async function readChecks(sql: Sql): Promise<Map<string, Buffer>> {
  const { rows } = await sql.query<{ id: string; value: Buffer }>({
    name: 'sealing_checks_read',
    text: 'select id, value from loci.sealing_checks order by first_seen_at desc, id',
  })
  return new Map(rows.map(({ id, value }) => [id, value]))
}

function checkOf({ key }: CheckedKey): Buffer {
  return Buffer.from(hkdfSync('sha256', key, '', 'loci sealing key check', 32))
}
