// Asks the database how it is, so that readiness can say what no request has met yet.

import { setTimeout as sleep } from 'node:timers/promises'
import { DatabaseUnavailableError } from '@loci/contract/outcomes.ts'
import { sqlState } from './errors.ts'
import type { Pool, Sql } from './pool.ts'
import { transaction } from './transaction.ts'

/** What is wrong with a database that answers; undefined when it can be read and written. */
export async function readProblem(sql: Sql): Promise<string | undefined> {
  const { rows } = await sql.query<{ readOnly: boolean }>({
    name: 'watch',
    text: `select current_setting('transaction_read_only') = 'on' as "readOnly"`,
  })
  return rows[0]?.readOnly ? 'read-only: writes fail, and from a standby nothing is read' : undefined
}

/** As PostgreSQL says it of a write: what such a server is in trouble with is `read_only` (store-trouble.ts). */
const READ_ONLY = '25006'

/**
 * For connections that serve requests, asked when they are opened: a standby may not have yet what was acknowledged,
 * and a server that is being restored has what was deleted since, until its recovery is over and it has another life.
 */
export async function requirePrimary(query: <Row extends object>(text: string) => Promise<Row[]>): Promise<void> {
  const [server] = await query<{ isStandby: boolean }>('select pg_is_in_recovery() as "isStandby"')
  if (!server?.isStandby) return
  const cause = Object.assign(new Error('it is in recovery'), { code: READ_ONLY })
  throw new DatabaseUnavailableError('PostgreSQL is a standby, or its recovery is not over: nothing is read from it', {
    cause,
  })
}

/** One round trip, for a health check that must really ask. */
export async function pingDatabase(sql: Sql): Promise<{ latencyMs: number }> {
  const startedAt = performance.now()
  await sql.query({ name: 'ping', text: 'select 1' })
  return { latencyMs: Math.round((performance.now() - startedAt) * 100) / 100 }
}

/**
 * Fails as a write would when the disk of the server is full. A sort of a megabyte that may use 64 kB of memory goes
 * through a temporary file: it needs no table and no privilege, and the file is gone when the statement ends.
 */
export async function probeSpace(pool: Pool): Promise<void> {
  await transaction(
    pool,
    async (sql) => {
      await sql.query({ text: `set local work_mem = '64kB'` })
      await sql.query({ text: SPACE_PROBE })
    },
    { readOnly: true },
  )
}

export const SPACE_PROBE = `select max(sorted.filler) from
  (select repeat(n::text, 250) as filler from generate_series(1, 1000) as n order by 1 offset 1) as sorted`

export interface OldestSnapshot {
  xmin: string
  /** Transactions that began since. */
  transactions: number
}

/**
 * The oldest snapshot that keeps dead rows of this database from being removed: of a session (backend_xmin is shown to
 * every role), a standby with feedback, a replication slot, a prepared transaction. Workers of autovacuum, which have
 * no user, hold nothing back.
 */
export async function readOldestSnapshot(sql: Sql): Promise<OldestSnapshot | undefined> {
  const { rows } = await sql.query<OldestSnapshot>({
    name: 'oldest_snapshot',
    text: `select xmin::text, age(xmin) as transactions from (
        select backend_xmin as xmin from pg_stat_activity
          where usesysid is not null and pid <> pg_backend_pid() and (datname is null or datname = current_database())
        union all select xmin from pg_replication_slots
        union all select transaction from pg_prepared_xacts where database = current_database()
      ) as held where xmin is not null order by age(xmin) desc limit 1`,
  })
  return rows[0]
}

/**
 * Partitioned tables that have no partition for now or for an hour from now: what is written then would fail. By their
 * bounds, so that it holds for every table that is partitioned by time.
 */
export async function listPartitionGaps(sql: Sql): Promise<string[]> {
  const { rows } = await sql.query<{ name: string }>({
    name: 'partition_gaps',
    text: `with bounds as (
        select i.inhparent, pg_get_expr(c.relpartbound, c.oid) as bound
        from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where c.relpartbound is not null
      ), spans as (
        select inhparent, substring(bound from $$FROM \\('([^']+)'\\)$$)::timestamptz as low,
          substring(bound from $$TO \\('([^']+)'\\)$$)::timestamptz as high
        from bounds where bound like 'FOR VALUES FROM%'
      )
      select c.relname as name from pg_partitioned_table p join pg_class c on c.oid = p.partrelid
      where c.relnamespace = (select oid from pg_namespace where nspname = 'loci') and p.partstrat = 'r'
        and exists (select from unnest(array[now(), now() + interval '1 hour']) as moment
          where not exists (select from spans s where s.inhparent = c.oid and s.low <= moment and moment < s.high))
      order by c.relname`,
  })
  return rows.map(({ name }) => name)
}

const LOCK_NOT_AVAILABLE = '55P03'
const KEEP_TRIES_MAX = 8
const KEEP_AGAIN_MS = 250

/**
 * Makes the partitions of several tables; one that cannot be made now keeps none of the others from it. A replica that
 * is at it holds the lock for longer than we may wait for it: asked again, it has made them.
 */
export async function keepEach(sql: Pool, keeps: ((sql: Pool) => Promise<void>)[]): Promise<void> {
  const failures: unknown[] = []
  for (const keep of keeps) await keepOne(() => keep(sql)).catch((error) => failures.push(error))
  if (failures.length > 0) throw failures[0]
}

async function keepOne(keep: () => Promise<void>): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await keep()
    } catch (error) {
      if (tries >= KEEP_TRIES_MAX || sqlState(error) !== LOCK_NOT_AVAILABLE) throw error
      await sleep(KEEP_AGAIN_MS)
    }
  }
}
