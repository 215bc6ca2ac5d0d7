// All SQL of what is kept of cycles: what was found damaged, the schedule, and what leaves.

import type { Pool, Sql } from '@loci/postgres/pool.ts'
import { execute } from '@loci/postgres/transaction.ts'
import { dueOf, enteringLocks, headOf } from '../../databases/locks.ts'
import type { Due } from '../../databases/store.ts'
import { LANGUAGES } from '../../memory/analysis/item.ts'

/** Every list and the statistics say so from now on. */
export async function quarantine(
  pool: Pool,
  { instanceId, database }: Due,
  found: { seq: number; ref: string | null; reason: string }[],
): Promise<void> {
  await execute(pool, {
    name: 'cycle_quarantine',
    text: 'select loci.cycle_quarantine($1, $2, $3, $4, $5)',
    values: [
      instanceId,
      database,
      found.map(({ seq }) => seq),
      found.map(({ ref }) => ref),
      found.map(({ reason }) => reason),
    ],
    locks: () => enteringLocks(instanceId, [{ database }]),
  })
}

/** In the transaction that has written the configuration. */
export async function setSchedule(sql: Sql, { instanceId, database }: Due): Promise<void> {
  await sql.query({
    name: 'cycle_schedule',
    text: 'select loci.cycle_schedule($1, $2, $3)',
    values: [instanceId, database, LANGUAGES],
    locks: () => [headOf(instanceId, database), dueOf(instanceId, database)],
  })
}

/** Their heads are held until the commit. */
const FOLLOWING_MAX = 50

/** The handler of due work `config`: the configuration of the service has changed. */
export async function followService(sql: Sql, { instanceId }: Due): Promise<void> {
  await sql.query({
    name: 'cycle_follow_service',
    text: 'select loci.cycle_follow_service($1, $2, $3)',
    values: [instanceId, FOLLOWING_MAX, LANGUAGES],
    locks: () => enteringLocks(instanceId, [{ database: 'each in turn' }], 'due row'),
  })
}

/** A commit each; a database with more is due again at once. */
const PRUNED_MAX = 1_000

/** The handler of due work `history`. */
export async function pruneCycles(sql: Sql, { instanceId, database }: Due): Promise<void> {
  await sql.query({
    name: 'cycle_prune',
    text: 'select loci.cycle_prune($1, $2, $3)',
    values: [instanceId, database, PRUNED_MAX],
    locks: () => enteringLocks(instanceId, [{ database }], 'due row'),
  })
}

export interface DueCycle {
  /** Something came in since the last cycle. */
  isFresh: boolean
  /** As many events wait as the configuration says. */
  isPressed: boolean
  /** Of the last cycle. */
  number: number | null
}

/** Where nothing came in since the last cycle, the due row is gone. */
export async function checkDue(sql: Sql, { instanceId, database }: Due): Promise<DueCycle> {
  const { rows } = await sql.query<DueCycle>({
    name: 'cycle_due',
    text: 'select is_fresh as "isFresh", is_pressed as "isPressed", number from loci.cycle_due($1, $2)',
    values: [instanceId, database],
    locks: () => enteringLocks(instanceId, [{ database }], 'due row'),
  })
  return rows[0] as DueCycle
}

export interface CycleContent {
  seq: number
  isFocus: boolean
  metadata: string | null
}

/**
 * Cycles that may hold a value: those with it as their focus, and those that have taken in what was stored at these
 * moments; none that ended after `until`. In a transaction that has entered the database.
 */
export async function listCyclesOf(
  sql: Sql,
  { instanceId, database }: Due,
  { mac, storedAt, until }: { mac: Buffer | null; storedAt: Date[]; until: Date | null },
): Promise<CycleContent[]> {
  const { rows } = await sql.query<CycleContent>({
    name: 'cycles_of_value',
    text: `select c.seq, true as "isFocus", c.metadata from loci.cycles c
        where c.instance_id = $1 and c.database = $2 and c.focus_mac = $3 and c.completed_at <= coalesce($5::timestamptz, 'infinity')
      union all select c.seq, false, c.metadata from loci.cycles c
        where c.instance_id = $1 and c.database = $2 and c.seq = any (loci.cycle_storing($1, $2, $4)) and c.focus_mac is distinct from $3`,
    values: [instanceId, database, mac, storedAt, until],
  })
  return rows
}

/** By the numbers of the cycles. In a transaction that has entered the database. */
export async function eraseContent(
  sql: Sql,
  { instanceId, database }: Due,
  { focus, metadata }: { focus: number[]; metadata: number[] },
): Promise<void> {
  await sql.query({
    name: 'cycle_erase',
    text: 'select loci.cycle_erase($1, $2, $3, $4)',
    values: [instanceId, database, focus, metadata],
    locks: () => [headOf(instanceId, database)],
  })
}
