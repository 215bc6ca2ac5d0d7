// All SQL of entries. Reads and writes are calls of one function each, which sets the row-level security context
// itself.

import { ApiError } from '@loci/chassis/api-error.ts'
import { isUnreadable } from '@loci/postgres/errors.ts'
import type { Pool, Sql } from '@loci/postgres/pool.ts'
import { execute } from '@loci/postgres/transaction.ts'
import type { KnownDamage } from '../databases/known-damage.ts'
import type { Due, Totals } from '../databases/store.ts'

export interface EntryRow {
  key: string
  value: string
  version: number
  createdAt: Date
  updatedAt: Date
  expiresAt: Date | null
  digest: Buffer
  intact: true
}

/** A row that does not fit its digest: nothing of it is handed out, and its key may be what rotted. */
export interface DamagedRow {
  key: string | null
  intact: false
}

export interface Write {
  database: string
  op: 'put' | 'delete'
  key: string
  value: string | null
  ttlMs: number | null
  /** null = any, -1 = must exist, else the version. */
  ifMatch: number | null
}

export interface WriteOutcome {
  /** `gone`: the instance was deleted while the write was on its way. */
  outcome: 'done' | 'conflict' | 'missing' | 'databases' | 'damaged' | 'erasing' | 'gone'
  version: number
  createdAt: Date
  updatedAt: Date
  expiresAt: Date | null
  digest: Buffer
}

const COLUMNS = `value, version, created_at as "createdAt", updated_at as "updatedAt", expires_at as "expiresAt", digest, intact`

/** Each of them, undefined where there is none, in one call; throws when one of them can not be read. */
export async function findEach(
  sql: Sql,
  instanceId: string,
  wanted: { database: string; key: string }[],
): Promise<(EntryRow | DamagedRow | undefined)[]> {
  const { rows } = await sql.query<Omit<EntryRow, 'key' | 'intact'> & { intact: boolean | null }>({
    name: 'kv_get_each',
    text: `select ${COLUMNS} from loci.kv_get_each($1, $2, $3)`,
    values: [instanceId, wanted.map(({ database }) => database), wanted.map(({ key }) => key)],
  })
  return rows.map((row, at) => {
    const { key } = wanted[at] as { key: string }
    if (row.intact === null) return undefined
    return row.intact ? { key, ...row, intact: true } : { key, intact: false }
  })
}

/** A page ends with the entry that goes over it. */
export const PAGE_BYTES_MAX = 4 * 1024 * 1024

interface Range {
  from: string
  below: string | null
  after: string | null
  limit: number
}

export async function listEntries(
  sql: Sql,
  instanceId: string,
  database: string,
  { from, below, after, limit }: Range,
): Promise<(EntryRow | DamagedRow)[]> {
  const { rows } = await sql.query<EntryRow | DamagedRow>({
    name: 'kv_list',
    text: `select key, ${COLUMNS} from loci.kv_list($1, $2, $3, $4, $5, $6, $7)`,
    values: [instanceId, database, from, below, after, limit, PAGE_BYTES_MAX],
  })
  return rows
}

/** Those of the keys that are there, in their order. */
export async function findEntries(
  sql: Sql,
  instanceId: string,
  database: string,
  keys: string[],
): Promise<(EntryRow | DamagedRow)[]> {
  const { rows } = await sql.query<EntryRow | DamagedRow>({
    name: 'kv_get_many',
    text: `select key, ${COLUMNS} from loci.kv_get_many($1, $2, $3)`,
    values: [instanceId, database, keys],
  })
  return rows
}

export interface Walked {
  key: string | null
  /** `stopped`: the time was over; the walk goes on after this key. */
  state: 'ok' | 'digest_mismatch' | 'page_unreadable' | 'stopped'
  isExpired: boolean
}

/** Keys and their state, read around whatever can not be read. */
export async function walkEntries(
  sql: Sql,
  damage: KnownDamage,
  instanceId: string,
  database: string,
  walk: { prefix: string; after: string | null; limit: number; ms: number },
): Promise<Walked[]> {
  const known = damage.find(placeOf(instanceId, database), walk.prefix, walk.after)
  const { rows } = await sql.query<Walked>({
    name: 'kv_walk',
    text: `select key, state, is_expired as "isExpired" from loci.kv_walk($1, $2, $3, $4, $5, $6, $7)`,
    values: [instanceId, database, walk.prefix, walk.after, walk.limit, walk.ms, known],
  })
  const unreadable = rows.flatMap(({ key, state }) => (state === 'page_unreadable' && key !== null ? [key] : []))
  damage.remember(placeOf(instanceId, database), unreadable)
  return rows
}

/** Of what is known to be damaged. */
export function placeOf(instanceId: string, database: string): string {
  return `entries/${instanceId}/${database}`
}

const WRITE = `select outcome, version, created_at as "createdAt", updated_at as "updatedAt", expires_at as "expiresAt", digest
  from loci.kv_write($1, $2, $3, $4, $5, $6, $7, $8) order by ord`

/** In the caller's transaction. Outcomes in the order of the writes. */
export async function writeEntries(
  sql: Sql,
  instanceId: string,
  databasesMax: number,
  writes: Write[],
): Promise<WriteOutcome[]> {
  const { rows } = await sql.query<WriteOutcome>(writeStatement(instanceId, databasesMax, writes))
  return rows
}

/** In a transaction of its own: durable when this returns. */
export async function commitEntries(
  pool: Pool,
  instanceId: string,
  batch: { write: Write; databasesMax: number }[],
): Promise<WriteOutcome[]> {
  const databasesMax = batch[0]?.databasesMax ?? 0
  const writes = batch.map(({ write }) => write)
  try {
    const { rows } = await execute<WriteOutcome>(pool, writeStatement(instanceId, databasesMax, writes))
    return rows
  } catch (error) {
    // The server met damage and said so: it has taken the statement back, whatever it did to the connection.
    if (isUnreadable(error))
      throw new ApiError(
        'DATA_DAMAGED',
        'The stored data under this write can not be read. Nothing was done; GET /v1/kv/consistency says more.',
        { cause: error },
      )
    throw error
  }
}

function writeStatement(instanceId: string, databasesMax: number, writes: Write[]) {
  return {
    name: 'kv_write',
    text: WRITE,
    values: [
      instanceId,
      databasesMax,
      writes.map(({ database }) => database),
      writes.map(({ op }) => op),
      writes.map(({ key }) => key),
      writes.map(({ value }) => value),
      writes.map(({ ttlMs }) => ttlMs),
      writes.map(({ ifMatch }) => ifMatch),
    ],
  }
}

/** Of what was put, as the server computed them then. */
export async function digestsOf(
  sql: Sql,
  instanceId: string,
  writes: Write[],
  outcomes: Omit<WriteOutcome, 'digest'>[],
): Promise<Buffer[]> {
  const { rows } = await sql.query<{ digest: Buffer }>({
    name: 'kv_digests',
    text: `select case when w.value is null then ''::bytea
        else loci.entry_digest($1, w.database, w.key, w.value, w.version, w.created, w.updated, w.expires) end as digest
      from unnest($2::text[], $3::text[], $4::text[], $5::bigint[], $6::timestamptz[], $7::timestamptz[], $8::timestamptz[])
        with ordinality as w(database, key, value, version, created, updated, expires, n) order by w.n`,
    values: [
      instanceId,
      writes.map(({ database }) => database),
      writes.map(({ key }) => key),
      writes.map(({ value }) => value),
      outcomes.map(({ version }) => version),
      outcomes.map(({ createdAt }) => createdAt),
      outcomes.map(({ updatedAt }) => updatedAt),
      outcomes.map(({ expiresAt }) => expiresAt),
    ],
  })
  return rows.map(({ digest }) => digest)
}

/**
 * What the instance holds over all domains. Expired entries that are not swept yet are left out where it would be over `room` with them:
 * an answer within `room` may count some of them, one that is over counts none.
 */
export async function readUsage(sql: Sql, instanceId: string, room: Totals): Promise<Totals> {
  const { rows } = await sql.query<Totals>({
    name: 'kv_usage_within',
    text: 'select records, bytes from loci.kv_usage_within($1, $2, $3)',
    values: [instanceId, room.records, room.bytes],
  })
  return rows[0] as Totals
}

/** A commit each; a database with more is due again at once. */
const EXPIRED_MAX = 500

/** Removes what has expired in a database: the handler of due work `expiry`. */
export async function expireEntries(sql: Sql, { instanceId, database }: Due): Promise<void> {
  await sql.query({
    name: 'kv_expire',
    text: 'select loci.kv_expire($1, $2, $3)',
    values: [instanceId, database, EXPIRED_MAX],
  })
}
