import { ADVISORY_LOCKS } from '@loci/postgres/advisory-locks.ts'
import type { Sql } from '@loci/postgres/pool.ts'

export type KeyState = 'next' | 'active' | 'retiring' | 'removed'

export interface SigningKeyRow {
  kid: string
  x: string
  state: KeyState
  createdAt: Date
  signedUntil: Date
  retireAt: Date | null
}

const COLUMNS = `kid, x, state, created_at as "createdAt", signed_until as "signedUntil", retire_at as "retireAt"`

/** Oldest first. */
export async function listKeyRows(sql: Sql): Promise<SigningKeyRow[]> {
  const { rows } = await sql.query<SigningKeyRow>({
    name: 'keys_list',
    text: `select ${COLUMNS} from loci.signing_keys order by created_at, kid`,
  })
  return rows
}

/** Held to the end of a transaction that changes keys: two replicas must not both make the first key. */
export async function lockKeys(sql: Sql): Promise<void> {
  await sql.query({ name: 'keys_lock', text: `select pg_advisory_xact_lock(${ADVISORY_LOCKS.signingKeys})` })
}

export async function insertKey(
  sql: Sql,
  key: { kid: string; x: string; sealed: string; sealedWith: string; state: 'next' | 'active' },
): Promise<SigningKeyRow> {
  const { rows } = await sql.query<SigningKeyRow>({
    name: 'keys_insert',
    text: `insert into loci.signing_keys (kid, x, private_sealed, sealed_with, state) values ($1, $2, $3, $4, $5)
      returning ${COLUMNS}`,
    values: [key.kid, key.x, key.sealed, key.sealedWith, key.state],
  })
  return rows[0] as SigningKeyRow
}

export interface ActiveKeyRow {
  kid: string
  x: string
  sealed: string
  sealedWith: string
  signedUntil: Date
}

export async function findActiveKey(sql: Sql): Promise<ActiveKeyRow | undefined> {
  const { rows } = await sql.query<ActiveKeyRow>({
    name: 'keys_active',
    text: `select kid, x, private_sealed as sealed, sealed_with as "sealedWith", signed_until as "signedUntil"
      from loci.signing_keys where state = 'active'`,
  })
  return rows[0]
}

/** False when the key has stopped signing meanwhile. */
export async function raiseSignedUntil(sql: Sql, kid: string, until: Date): Promise<boolean> {
  const { rowCount } = await sql.query({
    name: 'keys_raise_signed_until',
    text: `update loci.signing_keys set signed_until = greatest(signed_until, $2) where kid = $1 and state = 'active'`,
    values: [kid, until],
  })
  return rowCount === 1
}

export interface DueChanges {
  isEmpty: boolean
  /** A published key that may sign from now on. */
  promote: string | null
  /** Keys of which nothing that they signed can still be valid. */
  remove: string[]
}

/**
 * A key may sign once every cell has said that it applied it, two seconds ago so that all replicas of the cell have
 * read it too, or 30 s after it was published, whichever comes first: a cell that is down for longer must not hold up a
 * rotation.
 */
export async function listDueChanges(sql: Sql, epoch: string): Promise<DueChanges> {
  const { rows } = await sql.query<{ isEmpty: boolean; promote: string | null; remove: string[] | null }>({
    name: 'keys_due',
    text: `select not exists (select from loci.signing_keys where state in ('next', 'active')) as "isEmpty",
      (select kid from loci.signing_keys k where state = 'next' and (
        created_at < now() - interval '30 seconds'
        or not exists (
          select from loci.cells c left join loci.feed_items f on f.cell_id = c.id and f.kind = 'key' and f.key = k.kid
          where (c.heard_epoch = $1 and c.heard_seq >= f.seq and c.heard_seq_at < now() - interval '2 seconds') is not true
        ))) as promote,
      (select array_agg(kid order by kid) from loci.signing_keys where state = 'retiring' and retire_at < now()) as remove`,
    values: [epoch],
  })
  const row = rows[0]
  return { isEmpty: row?.isEmpty ?? false, promote: row?.promote ?? null, remove: row?.remove ?? [] }
}

/** Signs no more, so its private half is deleted; verifies until its last token has expired, plus a minute. */
export async function retireActive(sql: Sql): Promise<SigningKeyRow | undefined> {
  const { rows } = await sql.query<SigningKeyRow>({
    name: 'keys_retire',
    text: `update loci.signing_keys set state = 'retiring', private_sealed = null, sealed_with = null,
        retire_at = greatest(signed_until, now()) + interval '1 minute'
      where state = 'active' returning ${COLUMNS}`,
  })
  return rows[0]
}

export async function activate(sql: Sql, kid: string): Promise<SigningKeyRow> {
  const { rows } = await sql.query<SigningKeyRow>({
    name: 'keys_activate',
    text: `update loci.signing_keys set state = 'active' where kid = $1 and state = 'next' returning ${COLUMNS}`,
    values: [kid],
  })
  return rows[0] as SigningKeyRow
}

export async function markRemoved(sql: Sql, kid: string): Promise<SigningKeyRow> {
  const { rows } = await sql.query<SigningKeyRow>({
    name: 'keys_remove',
    text: `update loci.signing_keys set state = 'removed' where kid = $1 returning ${COLUMNS}`,
    values: [kid],
  })
  return rows[0] as SigningKeyRow
}
