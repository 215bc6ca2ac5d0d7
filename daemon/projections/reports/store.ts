// All SQL of the consistency report of projections: each row against its digest, all of them against the head's sums.

import type { Pool, Sql } from '@loci/postgres/pool.ts'
import { headOf } from '../../databases/locks.ts'
import { type Chunk, type Head, NOTHING, type Settled, type Walker } from '../../databases/reports/walker.ts'
import { withInstance } from '../../databases/store.ts'

export function createProjectionWalker(): Walker {
  return { domain: 'advice', noun: ['projection', 'projections'], listHeads, verifyChunk, settle }
}

async function listHeads(sql: Sql, instanceId: string, withStrays: boolean): Promise<Head[]> {
  const { rows } = await sql.query<Head>({
    name: 'prj_heads',
    text: `select name, state, seq::text, keys::text, bytes::text, a, b, unsettled, verified_seq::text as "verifiedSeq"
      from loci.prj_heads($1, $2) order by name collate "C"`,
    values: [instanceId, withStrays],
  })
  return rows
}

async function verifyChunk(
  sql: Sql,
  instanceId: string,
  database: string,
  { after, limit }: { after: string | null; limit: number },
): Promise<Chunk> {
  const { rows } = await sql.query<Omit<Chunk, 'expired' | 'expiredBytes' | 'expiredVisible'>>({
    name: 'prj_verify',
    text: `select rows, bytes, a, b, version_max as "versionMax", damaged_keys as "damagedKeys", damaged_states as "damagedStates",
        damaged_a as "damagedA", damaged_b as "damagedB", go_on_after as "goOnAfter"
      from loci.prj_verify($1, $2, $3, $4)`,
    values: [instanceId, database, after === null || after === '' ? 0 : after, limit],
  })
  return { ...NOTHING, ...(rows[0] as (typeof rows)[number]) }
}

/** Remembers what was found good, and makes the sums anew where they were in doubt, while nothing was written since. */
async function settle(pool: Pool, instanceId: string, { database, seq, rows, bytes, a, b }: Settled): Promise<void> {
  await withInstance(pool, instanceId, async (sql) => {
    const { rows: settled } = await sql.query<{ more: string }>({
      name: 'prj_settle',
      text: `update loci.databases h set prj_bytes = $5, prj_set_a = $6, prj_set_b = $7, prj_unsettled = false, prj_verified = h.seq
        from (select prj_bytes from loci.databases where instance_id = $1 and name = $2 for update) old
        where h.instance_id = $1 and h.name = $2 and h.seq = $3 and h.prj_rows = $4
        returning (h.prj_bytes - old.prj_bytes)::text as more`,
      values: [instanceId, database, seq, rows, bytes, a, b],
      locks: () => [headOf(instanceId, database)],
    })
    if (settled[0] && settled[0].more !== '0')
      await sql.query({
        name: 'prj_settle_totals',
        text: 'select loci.add_totals($1, 0, $2)',
        values: [instanceId, settled[0].more],
      })
  })
}
