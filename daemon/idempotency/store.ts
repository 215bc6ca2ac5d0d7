import type { Answers, StoredAnswer } from '@loci/acts/idempotency/idempotency.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import { instanceGone } from '../access/served.ts'

export async function enterInstance(sql: Sql, instanceId: string): Promise<void> {
  const { rows } = await sql.query<{ isThere: boolean }>({
    name: 'instance_enter',
    text: 'select loci.enter_instance($1) as "isThere"',
    values: [instanceId],
  })
  if (!rows[0]?.isThere) throw instanceGone()
}

/** How many the instance keeps. */
export async function countAnswers(sql: Sql, instanceId: string): Promise<number> {
  const { rows } = await sql.query<{ answers: number }>({
    name: 'idempotency_count',
    text: 'select keyed_answers::int as answers from loci.instances where id = $1',
    values: [instanceId],
  })
  return rows[0]?.answers ?? 0
}

export const answers: Answers = {
  async claim(sql, scope, fingerprint, sealedWith) {
    const { rowCount } = await sql.query({
      name: 'idempotency_claim',
      text: `insert into loci.idempotency as old (instance_id, database, route, holder, key, fingerprint, sealed_with, status, answer, created_at)
        values ($1, $2, $3, $4, $5, $6, $7, 0, '{}', clock_timestamp())
        on conflict (instance_id, database, route, holder, key) do update
          set fingerprint = excluded.fingerprint, sealed_with = excluded.sealed_with, created_at = excluded.created_at
          where old.created_at < clock_timestamp() - interval '24 hours'`,
      values: [...scope, fingerprint, sealedWith],
    })
    return rowCount === 1
  },

  /** Counted into what the instance holds. */
  async keep(sql, scope, { status, body, kept = body }) {
    await sql.query({
      name: 'idempotency_keep',
      text: 'select loci.keep_answer($1, $2, $3, $4, $5, $6, $7)',
      values: [...scope, status, JSON.stringify(kept)],
    })
  },

  async find(sql, scope) {
    const { rows } = await sql.query<StoredAnswer>({
      name: 'idempotency_find',
      text: `select fingerprint, sealed_with as "sealedWith", status, answer as body, null as headers, null as ref from loci.idempotency
        where instance_id = $1 and database = $2 and route = $3 and holder = $4 and key = $5 and status > 0`,
      values: scope,
    })
    return rows[0]
  },
}

/** Removes answers that are older than a day, of up to 20 instances; how many there were. */
export async function sweepAnswers(sql: Sql, limit: number): Promise<number> {
  const { rows } = await sql.query<{ id: string }>({
    name: 'idempotency_old_instances',
    text: `select id from loci.instances where keyed_since < now() - interval '24 hours' order by keyed_since limit 20`,
  })
  let removed = 0
  let failure: unknown
  for (const { id } of rows) {
    try {
      const swept = await sql.query<{ removed: number }>({
        name: 'idempotency_sweep',
        text: 'select loci.sweep_answers($1, $2) as removed',
        values: [id, limit],
      })
      removed += swept.rows[0]?.removed ?? 0
    } catch (error) {
      // One instance in trouble must not keep the sweeper from the others; whoever called logs it.
      failure ??= error
    }
  }
  if (failure) throw new Error('sweep keyed answers', { cause: failure })
  return removed
}
