// All SQL of the consistency report of slots. A document is read whole, then what was appended beside it, by pages.
// History and evictions are verified row by row. They are no part of the head's sums: their bytes are counted in the
// document, by week.

import type { Pool, Sql } from '@loci/postgres/pool.ts'
import { headOf } from '../../databases/locks.ts'
import { type Chunk, type Head, NOTHING, type Settled, type Walker } from '../../databases/reports/walker.ts'
import { withInstance } from '../../databases/store.ts'

export function createSlotWalker(): Walker {
  return { domain: 'working-memory', noun: ['slot', 'slots'], listHeads, verifyChunk, settle }
}

async function listHeads(sql: Sql, instanceId: string, withStrays: boolean): Promise<Head[]> {
  const { rows } = await sql.query<Head>({
    name: 'wm_heads',
    text: `select name, state, seq::text, keys::text, bytes::text, a, b, unsettled, verified_seq::text as "verifiedSeq"
      from loci.wm_heads($1, $2) order by name collate "C"`,
    values: [instanceId, withStrays],
  })
  return rows
}

/** Behind the document, before the first version. */
const HISTORY = 'h'

async function verifyChunk(
  sql: Sql,
  instanceId: string,
  database: string,
  { after, limit }: { after: string | null; limit: number },
): Promise<Chunk> {
  if (after === null || after === '') {
    const { rows } = await sql.query<Omit<Chunk, 'goOnAfter' | 'expiredVisible'>>({
      name: 'wm_verify',
      text: `select rows, bytes, a, b, version_max::text as "versionMax", damaged_keys as "damagedKeys", damaged_states as "damagedStates",
          damaged_a as "damagedA", damaged_b as "damagedB", expired, expired_bytes as "expiredBytes", uncounted
        from loci.wm_verify($1, $2)`,
      values: [instanceId, database],
    })
    return { ...(rows[0] as (typeof rows)[number]), expiredVisible: 0, goOnAfter: HISTORY }
  }
  const { rows } = await sql.query<{
    uncounted: string[]
    bytes: number
    counted: number | null
    goOnAfter: string | null
  }>({
    name: 'wm_verify_appended',
    text: `select uncounted, bytes, counted, go_on_after as "goOnAfter" from loci.wm_verify_appended($1, $2, $3, $4)`,
    values: [instanceId, database, after === HISTORY ? null : after, limit],
  })
  const { uncounted, bytes, counted, goOnAfter } = rows[0] as (typeof rows)[number]
  const isWhole = counted === null || counted === bytes
  const detail = `The document counts ${counted} bytes of history and evictions; ${bytes} are there.`
  const found = { type: (counted ?? 0) > bytes ? 'missing' : 'surplus', ref: 'history', detail }
  return { ...NOTHING, uncounted, goOnAfter, besides: isWhole ? [] : [found] }
}

/** Remembers what was found good, and makes the sums anew where they were in doubt, while nothing was written since. */
async function settle(pool: Pool, instanceId: string, { database, seq, rows, bytes, a, b }: Settled): Promise<void> {
  await withInstance(pool, instanceId, async (sql) => {
    const { rows: settled } = await sql.query<{ more: string }>({
      name: 'wm_settle',
      text: `update loci.databases h set wm_bytes = $5, wm_set_a = $6, wm_set_b = $7, wm_unsettled = false, wm_verified = h.seq
        from (select wm_bytes from loci.databases where instance_id = $1 and name = $2 for update) old
        where h.instance_id = $1 and h.name = $2 and h.seq = $3 and h.wm_slots = $4
        returning (h.wm_bytes - old.wm_bytes)::text as more`,
      values: [instanceId, database, seq, rows, bytes, a, b],
      locks: () => [headOf(instanceId, database)],
    })
    if (settled[0] && settled[0].more !== '0')
      await sql.query({
        name: 'wm_settle_totals',
        text: 'select loci.add_totals($1, 0, $2)',
        values: [instanceId, settled[0].more],
      })
  })
}
