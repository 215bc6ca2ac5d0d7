import type { Sql } from '@loci/postgres/pool.ts'
import { instanceGone } from '../access/served.ts'

export interface Scope {
  instanceId: string
  database: string
  route: string
  holder: string
  key: string
}

/**
 * `isFirst`: nobody has claimed the key. A second one waits here until the first has committed or gone. An answer older than 24 hours
 * counts as none, and its row is taken over. `answers`: how many the instance keeps.
 */
export async function claimKey(
  sql: Sql,
  scope: Scope,
  fingerprint: Buffer,
  sealedWith: string,
): Promise<{ isFirst: boolean; answers: number }> {
  const { rows } = await sql.query<{ isThere: boolean; answers: number }>({
    name: 'instance_enter_keyed',
    text: `select loci.enter_instance($1) as "isThere",
      coalesce((select keyed_answers from loci.instances where id = $1), 0)::int as answers`,
    values: [scope.instanceId],
  })
  const [instance] = rows
  if (!instance?.isThere) throw instanceGone()
  const { rowCount } = await sql.query({
    name: 'idempotency_claim',
    text: `insert into loci.idempotency as old (instance_id, database, route, holder, key, fingerprint, sealed_with, status, answer, created_at)
      values ($1, $2, $3, $4, $5, $6, $7, 0, '{}', clock_timestamp())
      on conflict (instance_id, database, route, holder, key) do update
        set fingerprint = excluded.fingerprint, sealed_with = excluded.sealed_with, created_at = excluded.created_at
        where old.created_at < clock_timestamp() - interval '24 hours'`,
    values: [scope.instanceId, scope.database, scope.route, scope.holder, scope.key, fingerprint, sealedWith],
  })
  return { isFirst: rowCount === 1, answers: instance.answers }
}

/** Counted into what the instance holds. In the transaction of the claim. */
export async function keepAnswer(sql: Sql, scope: Scope, status: number, kept: object): Promise<void> {
  await sql.query({
    name: 'idempotency_keep',
    text: 'select loci.keep_answer($1, $2, $3, $4, $5, $6, $7)',
    values: [scope.instanceId, scope.database, scope.route, scope.holder, scope.key, status, JSON.stringify(kept)],
  })
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

export async function findAnswer(
  sql: Sql,
  scope: Scope,
): Promise<{ fingerprint: Buffer; sealedWith: string; status: number; answer: object } | undefined> {
  const { rows } = await sql.query<{ fingerprint: Buffer; sealedWith: string; status: number; answer: object }>({
    name: 'idempotency_find',
    text: `select fingerprint, sealed_with as "sealedWith", status, answer from loci.idempotency
      where instance_id = $1 and database = $2 and route = $3 and holder = $4 and key = $5 and status > 0`,
    values: [scope.instanceId, scope.database, scope.route, scope.holder, scope.key],
  })
  return rows[0]
}
