import type { Sql } from '@loci/postgres/pool.ts'
import { instanceGone } from '../access/capability.ts'

export interface Scope {
  instanceId: string
  database: string
  route: string
  holder: string
  key: string
}

/**
 * True for the first. A second one waits here until the first has committed or gone. An answer older than 24 hours counts as
 * none, and its row is taken over.
 */
export async function claimKey(sql: Sql, scope: Scope, fingerprint: Buffer, sealedWith: string): Promise<boolean> {
  const { rows } = await sql.query<{ isThere: boolean }>({
    name: 'instance_enter',
    text: 'select loci.enter_instance($1) as "isThere"',
    values: [scope.instanceId],
  })
  if (!rows[0]?.isThere) throw instanceGone()
  // A few of the instance's old ones go with each new one, so that they never pile up and nobody has to sweep.
  await sql.query({
    name: 'idempotency_prune',
    // now(), not clock_timestamp(), which would never be a condition on the index.
    text: `delete from loci.idempotency where (instance_id, database, route, holder, key) in (
      select instance_id, database, route, holder, key from loci.idempotency
      where instance_id = $1 and created_at < now() - interval '24 hours' order by created_at limit 20 for update skip locked)`,
    values: [scope.instanceId],
  })
  const { rowCount } = await sql.query({
    name: 'idempotency_claim',
    text: `insert into loci.idempotency as old (instance_id, database, route, holder, key, fingerprint, sealed_with, status, answer, created_at)
      values ($1, $2, $3, $4, $5, $6, $7, 0, '{}', clock_timestamp())
      on conflict (instance_id, database, route, holder, key) do update
        set fingerprint = excluded.fingerprint, sealed_with = excluded.sealed_with, created_at = excluded.created_at
        where old.created_at < clock_timestamp() - interval '24 hours'`,
    values: [scope.instanceId, scope.database, scope.route, scope.holder, scope.key, fingerprint, sealedWith],
  })
  return rowCount === 1
}

export async function storeAnswer(sql: Sql, scope: Scope, status: number, answer: object): Promise<void> {
  await sql.query({
    name: 'idempotency_store',
    text: `update loci.idempotency set status = $6, answer = $7 where instance_id = $1 and database = $2 and route = $3 and holder = $4 and key = $5`,
    values: [scope.instanceId, scope.database, scope.route, scope.holder, scope.key, status, JSON.stringify(answer)],
  })
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
