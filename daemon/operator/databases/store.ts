// All SQL of whole databases, and of what an instance holds over all domains.

import { appendAudit } from '@loci/acts/audit/store.ts'
import { maybe } from '@loci/postgres/lock-order.ts'
import type { Pool, Sql } from '@loci/postgres/pool.ts'
import { execute, transaction } from '@loci/postgres/transaction.ts'
import { enteringLocks, instanceRow } from '../../databases/locks.ts'
import type { Usage } from '../../databases/quota.ts'
import type { Due, Totals } from '../../databases/store.ts'

export interface ListedDatabase {
  name: string
  records: number
  slots: number
  keys: number
  bytes: number
  createdAt: Date
}

/** By name, those behind `after`. */
export async function listDatabases(
  sql: Sql,
  instanceId: string,
  { after, limit }: { after: string; limit: number },
): Promise<ListedDatabase[]> {
  const { rows } = await sql.query<ListedDatabase>({
    name: 'db_list',
    text: `select name, records, slots, keys, bytes, created_at as "createdAt" from loci.db_list($1, $2, $3)`,
    values: [instanceId, after, limit],
  })
  return rows
}

/**
 * What the instance holds over all domains. Expired entries that are not swept yet are left out where it would be over
 * `room` with them: an answer within `room` may count some of them, one that is over counts none. And what it has left
 * today.
 */
export async function readUsage(sql: Sql, instanceId: string, room: Totals): Promise<Usage> {
  const { rows } = await sql.query<Usage>({
    name: 'kv_usage_within',
    text: 'select u.records, u.bytes, t.events, t.acts, t.written from loci.kv_usage_within($1, $2, $3) u, loci.traces_today($1) t',
    values: [instanceId, room.records, room.bytes],
    // Once a day.
    locks: () => [maybe(instanceRow(instanceId))],
  })
  return rows[0] as Usage
}

export interface Begun {
  outcome: 'begun' | 'erasing' | 'none' | 'gone'
  /** The id of its audit entry; null: it was begun before, or there is none. */
  receipt: string | null
}

/** From its commit on nothing of the database is read, and nobody writes to it. */
export function beginErasure(
  pool: Pool,
  { instanceId, database }: Due,
  entry: { actor: string; requestId: string },
): Promise<Begun> {
  return transaction(pool, async (sql) => {
    const { rows } = await sql.query<{ outcome: Begun['outcome'] }>({
      name: 'db_erase',
      text: 'select outcome from loci.db_erase($1, $2)',
      values: [instanceId, database],
      locks: () => enteringLocks(instanceId, [{ database }], 'due row'),
    })
    const outcome = rows[0]?.outcome ?? 'gone'
    if (outcome !== 'begun') return { outcome, receipt: null }
    const act = { chain: instanceId, action: 'database.erase', subject: database, detail: { database } }
    return { outcome, receipt: await appendAudit(sql, { ...act, ...entry }) }
  })
}

/** True: nothing is left of it. */
export async function eraseSome(pool: Pool, { instanceId, database }: Due, limit: number): Promise<boolean> {
  const { rows } = await execute<{ isGone: boolean }>(pool, {
    name: 'db_erase_some',
    text: 'select loci.db_erase_some($1, $2, $3) as "isGone"',
    values: [instanceId, database, limit],
    locks: () => enteringLocks(instanceId, [{ database }], 'due row', 'event head'),
  })
  return rows[0]?.isGone ?? true
}

/** Puts the row of management's ledger into the cell's own. True: the database is of the life that it ended. */
export async function replayDatabase(
  pool: Pool,
  { instanceId, database }: Due,
  { seq, at }: { seq: number; at: string },
): Promise<boolean> {
  const { rows } = await execute<{ isErasing: boolean }>(pool, {
    name: 'db_replay',
    text: 'select loci.db_replay($1, $2, $3, $4) as "isErasing"',
    values: [instanceId, database, seq, at],
    locks: () => enteringLocks(instanceId, [{ database }], 'due row'),
  })
  return rows[0]?.isErasing ?? false
}
