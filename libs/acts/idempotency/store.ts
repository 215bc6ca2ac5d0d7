import assert from 'node:assert/strict'
import { ACT_LOCKS } from '@loci/postgres/lock-order.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import type { Answers, Outcome } from './idempotency.ts'

/**
 * In `loci.idempotency`, whose primary key has these columns, the owner's first. Every call has the owner's rows in
 * sight.
 */
export function createAnswers(columns: readonly string[]): Omit<Answers, 'find'> {
  const names = columns.join(', ')
  const values = columns.map((_, at) => `$${at + 1}`).join(', ')
  const ofScope = columns.map((column, at) => `${column} = $${at + 1}`).join(' and ')
  const next = (n: number) => `$${columns.length + n}`
  return {
    async claim(sql, { scope, fingerprint, sealedWith }) {
      ACT_LOCKS.note(sql, 'idempotency key', scope.join(' '))
      const { rowCount } = await sql.query({
        name: 'idempotency_claim',
        text: `insert into loci.idempotency as old (${names}, fingerprint, sealed_with, status, created_at)
          values (${values}, ${next(1)}, ${next(2)}, 0, clock_timestamp())
          on conflict (${names}) do update
            set fingerprint = excluded.fingerprint, sealed_with = excluded.sealed_with, status = 0, body = null, headers = null,
              ref = null, created_at = excluded.created_at
            where old.created_at < clock_timestamp() - interval '24 hours'`,
        values: [...scope, fingerprint, sealedWith],
      })
      return rowCount === 1
    },
    async keep(sql, { scope }, { status, body, headers, issued, kept = body }: Outcome) {
      const { rowCount } = await sql.query({
        name: 'idempotency_keep',
        text: `update loci.idempotency set status = ${next(1)}, body = ${next(2)}, headers = ${next(3)}, ref = ${next(4)} where ${ofScope}`,
        values: [
          ...scope,
          status,
          issued === undefined ? JSON.stringify(kept) : null,
          headers ? JSON.stringify(headers) : null,
          issued ?? null,
        ],
      })
      // Work that leaves another owner's rows in sight would lose its answer, and every repeat would be told to wait.
      assert.equal(rowCount, 1, 'the claim of this act is not in sight')
    },
  }
}

/** Of the owner in sight, up to a number. */
export async function countAnswers(sql: Sql, column: string, owner: string, max: number): Promise<number> {
  const { rows } = await sql.query<{ count: number }>({
    name: 'idempotency_count',
    text: `select count(*)::int as count from (select from loci.idempotency where ${column} = $1 limit $2) as kept`,
    values: [owner, max],
  })
  return rows[0]?.count ?? 0
}
