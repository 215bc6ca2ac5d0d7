import type { StoredAnswer } from '@loci/acts/idempotency/idempotency.ts'
import type { Sql } from '@loci/postgres/pool.ts'

/** Needs no transaction; in one it leaves the organization in use. Every keyed creation calls it first. */
export async function findAnswer(sql: Sql, scope: string[]): Promise<StoredAnswer | undefined> {
  const { rows } = await sql.query<StoredAnswer>({
    name: 'idempotency_find',
    text: `select fingerprint, sealed_with as "sealedWith", status, body, headers, ref
      from loci.idempotency_answer($1, $2, $3, $4)`,
    values: scope,
  })
  return rows[0]
}
