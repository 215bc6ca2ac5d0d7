// SQL of what cells have revoked by themselves.

import { newId } from '@loci/contract/ids.ts'
import type { Sql } from '@loci/postgres/pool.ts'

export interface CellRevocation {
  cellId: string
  kind: 'jti' | 'org' | 'ten' | 'svc'
  svc: string
  value: string
  notBefore: Date | null
  expiresAt: Date
  auditId: string | null
  /** Null: of a token that management does not know. */
  organizationId: string | null
}

/**
 * `isChanged`: it is new, or reaches further. One that was withdrawn stays so while the same act is reported again, and
 * another act of the cell (another audit id) puts it back.
 */
export async function saveCellRevocation(
  sql: Sql,
  { cellId, kind, svc, value, notBefore, expiresAt, auditId, organizationId }: CellRevocation,
): Promise<{ isChanged: boolean; isWithdrawn: boolean }> {
  const { rowCount } = await sql.query({
    name: 'cell_revocations_save',
    text: `insert into loci.revocations as known
        (cell_id, kind, svc, value, not_before, expires_at, origin, audit_id, organization_id, id)
      values ($1, $2, $3, $4, $5, $6, 'cell', $7, $8, $9)
      on conflict (cell_id, kind, svc, value) do update set not_before = excluded.not_before,
        expires_at = greatest(known.expires_at, excluded.expires_at), audit_id = excluded.audit_id,
        organization_id = excluded.organization_id, withdrawn_at = null, created_at = now()
      where case when known.withdrawn_at is null then excluded.not_before > known.not_before
        else excluded.audit_id is distinct from known.audit_id end`,
    values: [cellId, kind, svc, value, notBefore, expiresAt, auditId, organizationId, newId('rev')],
  })
  if (rowCount === 1) return { isChanged: true, isWithdrawn: false }
  const { rows } = await sql.query<{ isWithdrawn: boolean }>({
    name: 'cell_revocations_withdrawn',
    text: `select withdrawn_at is not null as "isWithdrawn" from loci.revocations where cell_id = $1 and kind = $2 and svc = $3 and value = $4`,
    values: [cellId, kind, svc, value],
  })
  return { isChanged: false, isWithdrawn: rows[0]?.isWithdrawn ?? false }
}

/** Of the last minute. */
export async function countRecent(sql: Sql, cellId: string): Promise<number> {
  const { rows } = await sql.query<{ count: number }>({
    name: 'cell_revocations_recent',
    text: `select count(*)::int as count from loci.revocations where cell_id = $1 and created_at > now() - interval '1 minute'`,
    values: [cellId],
  })
  return rows[0]?.count ?? 0
}

/** By jti, without those that were withdrawn. */
export async function countTokens(sql: Sql, cellId: string): Promise<number> {
  const { rows } = await sql.query<{ count: number }>({
    name: 'cell_revocations_tokens',
    text: `select count(*)::int as count from loci.revocations where cell_id = $1 and kind = 'jti' and withdrawn_at is null`,
    values: [cellId],
  })
  return rows[0]?.count ?? 0
}

export interface KnownToken {
  jti: string
  auditId: string | null
  isWithdrawn: boolean
}

export async function listTokens(sql: Sql, cellId: string, jtis: string[]): Promise<KnownToken[]> {
  const { rows } = await sql.query<KnownToken>({
    name: 'cell_revocations_known',
    text: `select value as jti, audit_id as "auditId", withdrawn_at is not null as "isWithdrawn" from loci.revocations
      where cell_id = $1 and kind = 'jti' and svc = '*' and value = any($2)`,
    values: [cellId, jtis],
  })
  return rows
}

/** Whether an organization, or one of its tenants, has an instance in the cell. */
export async function hasPlaced(
  sql: Sql,
  cellId: string,
  organizationId: string,
  tenantId: string | null = null,
): Promise<boolean> {
  const { rows } = await sql.query<{ isThere: boolean }>({
    name: 'cell_revocations_placed',
    text: `select exists (select from loci.feed_items where cell_id = $1 and kind = 'instance' and body->>'org' = $2
      and ($3::text is null or body->>'ten' = $3)) as "isThere"`,
    values: [cellId, organizationId, tenantId],
  })
  return rows[0]?.isThere ?? false
}

export interface ListedRevocation extends CellRevocation {
  id: string
  createdAt: Date
  withdrawnAt: Date | null
}

const LISTED = `id, cell_id as "cellId", kind, svc, value, organization_id as "organizationId", not_before as "notBefore", expires_at as "expiresAt",
  audit_id as "auditId", created_at as "createdAt", withdrawn_at as "withdrawnAt"`

/** Newest first. */
export async function listCellRevocations(
  sql: Sql,
  { before, limit }: { before: string | undefined; limit: number },
): Promise<ListedRevocation[]> {
  const { rows } = await sql.query<ListedRevocation>({
    name: 'cell_revocations_list',
    text: `select ${LISTED} from loci.revocations where cell_id <> '' and ($1::text is null or id < $1) order by id desc limit $2`,
    values: [before ?? null, limit],
  })
  return rows
}

export async function findCellRevocation(sql: Sql, id: string): Promise<ListedRevocation | undefined> {
  const { rows } = await sql.query<ListedRevocation>({
    name: 'cell_revocations_find',
    text: `select ${LISTED} from loci.revocations where id = $1 and cell_id <> ''`,
    values: [id],
  })
  return rows[0]
}

/** With the cell's row locked. False when it is withdrawn already. */
export async function markWithdrawn(sql: Sql, id: string): Promise<boolean> {
  const { rowCount } = await sql.query({
    name: 'cell_revocations_withdraw',
    text: 'update loci.revocations set withdrawn_at = now() where id = $1 and withdrawn_at is null',
    values: [id],
  })
  return rowCount === 1
}
