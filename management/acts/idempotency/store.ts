import type { StoredAnswer } from '@loci/acts/idempotency/idempotency.ts'
import type { Sql } from '@loci/postgres/pool.ts'

/** Needs no transaction, and in one leaves the scope's organization in use: every creation with a key asks for its answer first. */
export async function findAnswer(sql: Sql, scope: string[]): Promise<StoredAnswer | undefined> {
  const { rows } = await sql.query<StoredAnswer>({
    name: 'idempotency_find',
    text: `select fingerprint, sealed_with as "sealedWith", status, body, headers, ref
      from loci.idempotency_answer($1, $2, $3, $4)`,
    values: scope,
  })
  return rows[0]
}
