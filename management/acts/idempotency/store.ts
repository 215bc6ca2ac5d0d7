import type { Sql } from '@loci/postgres/pool.ts'

export interface Scope {
  organizationId: string
  caller: string
  route: string
  key: string
}

export interface StoredAnswer {
  fingerprint: Buffer
  sealedWith: string
  status: number
  body: object
  headers: Record<string, string> | null
  ref: string | null
}

const OF_SCOPE = 'organization_id = $1 and caller = $2 and route = $3 and key = $4'
const valuesOf = ({ organizationId, caller, route, key }: Scope) => [organizationId, caller, route, key]

/**
 * True for the first. A second one waits here until the first has committed or gone. An answer older than 24 hours counts as
 * none, and its row is taken over.
 */
export async function claimKey(sql: Sql, scope: Scope, fingerprint: Buffer, sealedWith: string): Promise<boolean> {
  const { rowCount } = await sql.query({
    name: 'idempotency_claim',
    text: `insert into loci.idempotency as old (organization_id, caller, route, key, fingerprint, sealed_with, status, created_at)
      values ($1, $2, $3, $4, $5, $6, 0, clock_timestamp())
      on conflict (organization_id, caller, route, key) do update
        set fingerprint = excluded.fingerprint, sealed_with = excluded.sealed_with, status = 0, body = null, headers = null,
          ref = null, created_at = excluded.created_at
        where old.created_at < clock_timestamp() - interval '24 hours'`,
    values: [...valuesOf(scope), fingerprint, sealedWith],
  })
  return rowCount === 1
}

export async function storeAnswer(
  sql: Sql,
  scope: Scope,
  {
    status,
    body,
    headers,
    issued,
    kept: reduced = body,
  }: { status: number; body: object; headers?: Record<string, string>; issued?: string; kept?: object },
): Promise<void> {
  const kept = issued === undefined ? JSON.stringify(reduced) : null
  await sql.query({
    name: 'idempotency_store',
    text: `update loci.idempotency set status = $5, body = $6, headers = $7, ref = $8 where ${OF_SCOPE}`,
    values: [...valuesOf(scope), status, kept, headers ? JSON.stringify(headers) : null, issued ?? null],
  })
}

/** Needs no transaction, and in one leaves the scope's organization in use. */
export async function findAnswer(sql: Sql, scope: Scope): Promise<StoredAnswer | undefined> {
  const { rows } = await sql.query<StoredAnswer>({
    name: 'idempotency_find',
    text: `select fingerprint, sealed_with as "sealedWith", status, body, headers, ref
      from loci.idempotency_answer($1, $2, $3, $4)`,
    values: valuesOf(scope),
  })
  return rows[0]
}

/** Of the organization in use, up to a number. */
export async function countAnswers(sql: Sql, organizationId: string, max: number): Promise<number> {
  const { rows } = await sql.query<{ count: number }>({
    name: 'idempotency_count',
    text: `select count(*)::int as count from (select from loci.idempotency where organization_id = $1 limit $2) as kept`,
    values: [organizationId, max],
  })
  return rows[0]?.count ?? 0
}
