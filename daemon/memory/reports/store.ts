// All SQL of the consistency report of memory: the records by pages, then the segments. These are derived and no part
// of the head's sums.

import type { Pool, Sql } from '@loci/postgres/pool.ts'
import { headOf } from '../../databases/locks.ts'
import { type Chunk, type Head, NOTHING, type Settled, type Walker } from '../../databases/reports/walker.ts'
import { withInstance } from '../../databases/store.ts'

export function createRecordWalker(): Walker {
  return { domain: 'memory', noun: ['record', 'records'], listHeads, verifyChunk, settle }
}

async function listHeads(sql: Sql, instanceId: string, withStrays: boolean): Promise<Head[]> {
  const { rows } = await sql.query<Head>({
    name: 'mem_heads',
    text: `select name, state, seq::text, keys::text, bytes::text, a, b, unsettled, verified_seq::text as "verifiedSeq"
      from loci.mem_heads($1, $2) order by name collate "C"`,
    values: [instanceId, withStrays],
  })
  return rows
}

/** Behind the last record. */
const SEGMENTS = 's'

async function verifyChunk(
  sql: Sql,
  instanceId: string,
  database: string,
  { after, limit }: { after: string | null; limit: number },
): Promise<Chunk> {
  if (after === SEGMENTS) {
    const { rows } = await sql.query<{ uncounted: string[]; gaps: string[]; tombstones: number }>({
      name: 'mem_verify_segments',
      text: `select loci.mem_verify_segments($1, $2) as uncounted, loci.mem_index_gaps($1, $2) as gaps,
        loci.mem_count_tombstones($1, $2) as tombstones`,
      values: [instanceId, database],
    })
    const { gaps, ...found } = rows[0] as (typeof rows)[number]
    const detail = 'It is not there. Recall reads these records themselves until it is built again.'
    return { ...NOTHING, ...found, besides: gaps.map((ref) => ({ type: 'missing', ref, detail })), goOnAfter: null }
  }
  const { rows } = await sql.query<Chunk>({
    name: 'mem_verify',
    text: `select rows, bytes, a, b, version_max as "versionMax", damaged_keys as "damagedKeys", damaged_states as "damagedStates",
        damaged_a as "damagedA", damaged_b as "damagedB", expired, expired_bytes as "expiredBytes", expired_visible as "expiredVisible",
        forgotten, go_on_after as "goOnAfter"
      from loci.mem_verify($1, $2, $3, $4)`,
    values: [instanceId, database, after === null || after === '' ? 0 : after, limit],
  })
  const chunk = rows[0] as Chunk
  return { ...chunk, goOnAfter: chunk.goOnAfter ?? SEGMENTS }
}

/** Remembers what was found good, and makes the sums anew where they were in doubt, while nothing was written since. */
async function settle(pool: Pool, instanceId: string, { database, seq, rows, bytes, a, b }: Settled): Promise<void> {
  await withInstance(pool, instanceId, async (sql) => {
    const { rows: settled } = await sql.query<{ more: string }>({
      name: 'mem_settle',
      text: `update loci.databases h set mem_bytes = $5, mem_set_a = $6, mem_set_b = $7, mem_unsettled = false, mem_verified = h.seq
        from (select mem_bytes from loci.databases where instance_id = $1 and name = $2 for update) old
        where h.instance_id = $1 and h.name = $2 and h.seq = $3 and h.mem_records = $4
        returning (h.mem_bytes - old.mem_bytes)::text as more`,
      values: [instanceId, database, seq, rows, bytes, a, b],
      locks: () => [headOf(instanceId, database)],
    })
    if (settled[0] && settled[0].more !== '0')
      await sql.query({
        name: 'mem_settle_totals',
        text: 'select loci.add_totals($1, 0, $2)',
        values: [instanceId, settled[0].more],
      })
  })
}
