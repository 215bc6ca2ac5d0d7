import { newId } from '@loci/contract/ids.ts'
import type { Sql } from '@loci/postgres/pool.ts'

export type RevocationKind = 'jti' | 'org' | 'ten' | 'svc' | 'sub'

export interface RevocationName {
  kind: RevocationKind
  /** Of a jti: the service it is looked for in, or '*' for any of the cell; '' for the other kinds. */
  svc: string
  value: string
}

export interface Revocation extends RevocationName {
  /** '' = management's own, else the cell whose administration made it. */
  cellId: string
  notBefore: Date | null
  expiresAt: Date
  auditId: string | null
}

/** A revocation is never taken back or shortened by another that comes later. */
export async function upsertRevocation(sql: Sql, revocation: Revocation): Promise<void> {
  const { cellId, kind, svc, value, notBefore, expiresAt, auditId } = revocation
  await sql.query({
    name: 'revocations_upsert',
    text: `insert into loci.revocations as known (cell_id, kind, svc, value, not_before, expires_at, origin, audit_id, id)
      values ($1, $2, $3, $4, $5, $6, 'management', $7, $8)
      on conflict (cell_id, kind, svc, value) do update set
        not_before = greatest(known.not_before, excluded.not_before),
        expires_at = greatest(known.expires_at, excluded.expires_at),
        audit_id = coalesce(excluded.audit_id, known.audit_id)`,
    values: [cellId, kind, svc, value, notBefore, expiresAt, auditId, newId('rev')],
  })
}

export interface Published {
  /** Null: of a jti, or all of them are withdrawn. */
  notBefore: Date | null
  expiresAt: Date
  revokedAt: Date
  /** The cell's own is. */
  isWithdrawn: boolean
}

/** What is published to a cell: management's revocation or the cell's own, whichever reaches further. */
export async function findRevocation(
  sql: Sql,
  cellId: string,
  { kind, svc, value }: RevocationName,
): Promise<Published> {
  const { rows } = await sql.query<Published>({
    name: 'revocations_find',
    text: `select max(not_before) filter (where withdrawn_at is null) as "notBefore", max(expires_at) as "expiresAt",
        max(created_at) as "revokedAt", bool_or(withdrawn_at is not null) as "isWithdrawn"
      from loci.revocations where cell_id in ('', $1) and kind = $2 and svc = $3 and value = $4`,
    values: [cellId, kind, svc, value],
  })
  return rows[0] as Published
}

export interface Folded {
  jtis: string[]
  /** An epoch of this moment covers them all. */
  notBefore: Date
  /** When the last of them could hit nothing any more. */
  expiresAt: Date
}

/**
 * Where a service has more than `max` revocations by jti that can still hit a token, takes out all but the newest
 * `keep`. Only those that are a minute old: a token was issued before it was revoked, and clocks that differ by less do
 * not matter then.
 */
export async function takeOldest(
  sql: Sql,
  serviceId: string,
  { max, keep }: { max: number; keep: number },
): Promise<Folded | undefined> {
  const { rows: counted } = await sql.query<{ count: number }>({
    name: 'revocations_count',
    text: `select count(*)::int as count from (
        select from loci.revocations where cell_id = '' and kind = 'jti' and svc = $1 and expires_at > now() limit $2) as counted`,
    values: [serviceId, max + 1],
  })
  if ((counted[0]?.count ?? 0) <= max) return undefined
  const { rows } = await sql.query<Omit<Folded, 'jtis'> & { jtis: string[] | null }>({
    name: 'revocations_take_oldest',
    // By one moment and not by a join of the rows with themselves, which took more than 2 s without statistics.
    text: `with gone as (
        delete from loci.revocations where cell_id = '' and kind = 'jti' and svc = $1 and created_at <= least(now() - interval '1 minute', (
          select created_at from loci.revocations where cell_id = '' and kind = 'jti' and svc = $1 order by created_at desc offset $2 limit 1))
        returning value, created_at, expires_at
      )
      select array_agg(value) as jtis, max(created_at) + interval '1 minute' as "notBefore", max(expires_at) as "expiresAt" from gone`,
    values: [serviceId, keep],
  })
  const [row] = rows
  return row?.jtis ? { ...row, jtis: row.jtis } : undefined
}

/** Those that every cell has. */
export async function listEpochs(sql: Sql): Promise<RevocationName[]> {
  const { rows } = await sql.query<RevocationName>({
    name: 'revocations_epochs',
    text: `select kind, svc, value from loci.revocations
      where cell_id = '' and kind in ('org', 'ten', 'sub') and expires_at > now() order by kind, value`,
  })
  return rows
}

/** Takes away what can hit no token any more, a day late: clocks differ. */
export async function deleteExpired(sql: Sql): Promise<void> {
  await sql.query({ text: `delete from loci.revocations where expires_at < now() - interval '1 day'` })
  // As text, which an index can have: our times are of one length and all UTC, so their order is the same.
  await sql.query({
    text: `delete from loci.feed_items where kind = 'revocation' and body->>'expires_at' < $1`,
    values: [new Date(Date.now() - 86_400_000).toISOString()],
  })
}
