// All SQL of the two reports.

import type { Pool, Sql } from '@loci/postgres/pool.ts'
import type { KnownDamage } from '../../databases/known-damage.ts'
import { headOf } from '../../databases/locks.ts'
import type { Chunk, Head, Settled, Walker } from '../../databases/reports/walker.ts'
import { enterInstance, withInstance } from '../../databases/store.ts'
import { placeOf } from '../store.ts'

export interface StoreFacts {
  engineVersion: string
  schemaVersion: number
  isReadOnly: boolean
  fsync: string
  synchronousCommit: string
  dataChecksums: string
}

export async function readFacts(sql: Sql): Promise<StoreFacts> {
  const { rows } = await sql.query<StoreFacts>({
    name: 'kv_facts',
    text: `select split_part(current_setting('server_version'), ' ', 1) as "engineVersion", (select max(version) from loci.migrations) as "schemaVersion",
        current_setting('transaction_read_only') = 'on' as "isReadOnly", current_setting('fsync') as fsync,
        current_setting('synchronous_commit') as "synchronousCommit", current_setting('data_checksums') as "dataChecksums"`,
  })
  return rows[0] as StoreFacts
}

/**
 * Of the standbys that our role may see: Postgres shows the others as rows without a state. Numbered, because tenants
 * read it, and the names of standbys are usually those of hosts.
 */
export async function listReplication(
  sql: Sql,
): Promise<{ name: string; state: string; lagBytes: number | null; sync: string }[]> {
  const { rows } = await sql.query<{ name: string; state: string; lagBytes: number | null; sync: string }>({
    name: 'kv_replication',
    text: `select 'standby ' || row_number() over (order by application_name, pid) as name, state, sync_state as sync,
        case when pg_is_in_recovery() then null else pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn)::float8 end as "lagBytes"
      from pg_stat_replication where state is not null order by application_name, pid`,
  })
  return rows
}

export async function listDatabases(
  sql: Sql,
  instanceId: string,
  limit: number,
): Promise<{ name: string; keys: number; bytes: number }[]> {
  const { rows } = await sql.query<{ name: string; keys: number; bytes: number }>({
    name: 'kv_databases',
    text: 'select name, keys, bytes from loci.kv_databases($1, $2) order by name',
    values: [instanceId, limit],
  })
  return rows
}

export interface ProbeTimes {
  writeMs: number
  commitMs: number
  readMs: number
  isFound: boolean
}

/** Writes, commits and reads back in three steps on one connection, so that each has its time. */
export async function runProbe(pool: Pool, instanceId: string, nonce: string): Promise<ProbeTimes> {
  const client = await pool.client()
  try {
    let since = performance.now()
    const lap = () => {
      const ms = Math.round((performance.now() - since) * 1000) / 1000
      since = performance.now()
      return ms
    }
    await client.query({ text: 'begin' })
    const isThere = await enterInstance(client, instanceId)
    lap()
    // As text: a timestamp of PostgreSQL has more digits than a Date.
    const written = isThere
      ? await client.query<{ at: string }>({
          name: 'kv_probe_write',
          text: `insert into loci.probes (instance_id, nonce, at) values ($1, $2, clock_timestamp())
            on conflict (instance_id) do update set nonce = excluded.nonce, at = clock_timestamp() returning at::text`,
          values: [instanceId, nonce],
        })
      : undefined
    const writeMs = lap()
    await client.query({ text: 'commit' })
    const commitMs = lap()
    await client.query({ text: 'begin' })
    await enterInstance(client, instanceId)
    lap()
    // Found, or another probe was written over it since.
    const read = await client.query<{ isFound: boolean }>({
      name: 'kv_probe_read',
      text: `select exists (select from loci.probes where instance_id = $1 and (nonce = $2 or at >= $3)) as "isFound"`,
      values: [instanceId, nonce, written?.rows[0]?.at],
    })
    const readMs = lap()
    await client.query({ text: 'commit' })
    return { writeMs, commitMs, readMs, isFound: read.rows[0]?.isFound ?? false }
  } finally {
    // An open transaction is noticed there and its connection not used again.
    client.release()
  }
}

/** Verifies entries: what kv hands in for the consistency report. */
export function createKvWalker(damage: KnownDamage): Walker {
  return {
    domain: 'kv',
    noun: ['entry', 'entries'],
    listHeads,
    verifyChunk: (sql, instanceId, database, chunk) => verifyChunk(sql, damage, instanceId, database, chunk),
    settle,
  }
}

async function listHeads(sql: Sql, instanceId: string, withStrays: boolean): Promise<Head[]> {
  const { rows } = await sql.query<Head>({
    name: 'kv_heads',
    text: `select name, state, seq::text, keys::text, bytes::text, a, b, unsettled, verified_seq::text as "verifiedSeq" from loci.kv_heads($1, $2) order by name collate "C"`,
    values: [instanceId, withStrays],
  })
  return rows
}

async function verifyChunk(
  sql: Sql,
  damage: KnownDamage,
  instanceId: string,
  database: string,
  chunk: { after: string | null; limit: number; ms: number },
): Promise<Chunk> {
  const { rows } = await sql.query<Chunk>({
    name: 'kv_verify_chunk',
    text: `select rows, bytes, a, b, version_max::text as "versionMax", go_on_after as "goOnAfter", damaged_keys as "damagedKeys", damaged_states as "damagedStates",
        damaged_a as "damagedA", damaged_b as "damagedB", expired, expired_bytes as "expiredBytes", expired_visible as "expiredVisible"
      from loci.kv_verify_chunk($1, $2, $3, $4, $5, $6)`,
    values: [
      instanceId,
      database,
      chunk.after,
      chunk.limit,
      chunk.ms,
      damage.find(placeOf(instanceId, database), '', chunk.after),
    ],
  })
  const found = rows[0] as Chunk
  const unreadable = found.damagedKeys.filter(
    (key, at): key is string => key !== null && found.damagedStates[at] === 'page_unreadable',
  )
  damage.remember(placeOf(instanceId, database), unreadable)
  return found
}

/**
 * What a check found good, remembered for the next incremental one; and where the sums were in doubt, made anew from
 * what was read. Only while the database is still the one that was read.
 */
async function settle(pool: Pool, instanceId: string, { database, seq, rows, bytes, a, b }: Settled): Promise<void> {
  await withInstance(pool, instanceId, async (sql) => {
    const { rows: settled } = await sql.query<{ more: string }>({
      name: 'kv_settle',
      text: `update loci.databases h set kv_bytes = $5, kv_set_a = $6, kv_set_b = $7, kv_unsettled = false
        from (select kv_bytes from loci.databases where instance_id = $1 and name = $2 and kv_unsettled for update) old
        where h.instance_id = $1 and h.name = $2 and h.seq = $3 and h.kv_keys = $4 and h.kv_unsettled
        returning (h.kv_bytes - old.kv_bytes)::text as more`,
      values: [instanceId, database, seq, rows, bytes, a, b],
      locks: () => [headOf(instanceId, database)],
    })
    if (settled[0])
      await sql.query({
        name: 'kv_settle_totals',
        text: 'select loci.add_totals($1, 0, $2)',
        values: [instanceId, settled[0].more],
      })
    await sql.query({
      name: 'kv_verified',
      text: `insert into loci.verified (instance_id, database, seq, rows, verified_at)
        values ($1, $2, $3, $4, clock_timestamp())
        on conflict (instance_id, database)
          do update set seq = excluded.seq, rows = excluded.rows, verified_at = excluded.verified_at`,
      values: [instanceId, database, seq, rows],
    })
  })
}
