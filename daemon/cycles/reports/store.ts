// All SQL of the consistency report of cycles: each against its hash and its decisions, and each against the next, up
// to the hash in the head.

import type { Pool, Sql } from '@loci/postgres/pool.ts'
import { headOf } from '../../databases/locks.ts'
import { type Chunk, type Head, NOTHING, type Settled, type Walker } from '../../databases/reports/walker.ts'
import { withInstance } from '../../databases/store.ts'
import { findDamage, type Link } from '../chain.ts'
import { quarantine } from '../upkeep/store.ts'

export function createCycleWalker(): Walker {
  return { domain: 'cognitive', noun: ['cycle', 'cycles'], listHeads, verifyChunk, settle, quarantine }
}

async function listHeads(sql: Sql, instanceId: string, withStrays: boolean): Promise<Head[]> {
  const { rows } = await sql.query<Head>({
    name: 'cycle_heads',
    text: `select name, state, seq::text, keys::text, bytes::text, a, b, unsettled, verified_seq::text as "verifiedSeq"
      from loci.cycle_heads($1, $2) order by name collate "C"`,
    values: [instanceId, withStrays],
  })
  return rows
}

/** 423 with their decisions took .3 to .5 s on two busy cores: 1,000 can run into the time limit of a statement. */
const CYCLES_MAX = 200

interface VerifiedRow extends Omit<Link, 'seq'> {
  seq: number | null
  total: number
  headHash: Buffer | null
  prunedThrough: number
  prunedHash: Buffer | null
  configIntact: boolean
  id: string | null
  bytes: number
  a: string
  b: string
  decided: boolean
}

async function verifyChunk(
  sql: Sql,
  instanceId: string,
  database: string,
  { after, limit: rowsMax }: { after: string | null; limit: number },
): Promise<Chunk> {
  const limit = Math.min(rowsMax, CYCLES_MAX)
  const from = after === null || after === '' ? 0 : Number(after)
  const { rows } = await sql.query<VerifiedRow>({
    name: 'cycle_verify',
    text: `select total, head_hash as "headHash", pruned_through as "prunedThrough", pruned_hash as "prunedHash",
        config_intact as "configIntact", seq, state, id, hash, prev_hash as "prevHash", bytes, a, b, decided
      from loci.cycle_verify($1, $2, $3, $4)`,
    values: [instanceId, database, from, limit],
  })
  const [first] = rows
  const config = first?.configIntact === false && from === 0 ? ['config'] : []
  const links = rows.filter((row): row is VerifiedRow & Link => row.seq !== null)
  if (!first || links.length === 0) return { ...NOTHING, uncounted: config, goOnAfter: null }
  const { total, headHash, prunedThrough, prunedHash } = first
  // One more than asked for is read: what stands behind the last of them says what its hash was.
  const newest = links[0] as Link
  const damage = findDamage(links, { above: newest.seq === total ? headHash : undefined, prunedThrough, prunedHash })
  const end = Math.min(Math.max(from, prunedThrough) + limit, total)
  const own = links.filter(({ seq }) => seq <= end)
  const good = own.filter(({ seq }) => !damage.has(seq))
  const damaged = own.filter(({ seq, state }) => damage.has(seq) && state !== 'intact' && state !== 'missing')
  const broken = own.filter(({ seq, state }) => damage.has(seq) && (state === 'intact' || state === 'missing'))
  // What stands in the sums of the head: a row that was rewritten counts with another hash.
  const counted = own.filter(({ state }) => state === 'intact')
  return {
    ...NOTHING,
    rows: counted.length,
    bytes: counted.reduce((sum, { bytes }) => sum + bytes, 0),
    a: xorOf(counted.map(({ a }) => a)),
    b: xorOf(counted.map(({ b }) => b)),
    damagedKeys: damaged.map(({ id, seq }) => id ?? `cycle ${seq}`),
    damagedStates: damaged.map(({ state }) => (state === 'page_unreadable' ? state : 'digest_mismatch')),
    uncounted: [...config, ...good.filter(({ decided }) => !decided).map(({ id }) => `decisions of ${id}`)],
    besides: broken.map(({ id, seq, state }) =>
      state === 'missing'
        ? { type: 'missing', ref: `cycle ${seq}`, detail: `Cycle ${seq} is not there.` }
        : {
            type: 'chain_break',
            ref: id ?? `cycle ${seq}`,
            detail: `Cycle ${seq} is not the one that the next one, or the head, is linked to.`,
          },
    ),
    found: own.flatMap(({ seq, id }) => {
      const reason = damage.get(seq)
      return reason === undefined ? [] : [{ seq, ref: id, reason }]
    }),
    chain: { checked: own.length, failed: own.length - good.length },
    goOnAfter: end < total ? String(end) : null,
  }
}

function xorOf(parts: string[]): string {
  return parts.reduce((sum, part) => sum ^ BigInt(part), 0n).toString()
}

/** Remembers what was found good, and makes the sums anew where they were in doubt, while nothing was written since. */
async function settle(pool: Pool, instanceId: string, { database, seq, rows, bytes, a, b }: Settled): Promise<void> {
  await withInstance(pool, instanceId, async (sql) => {
    const { rows: settled } = await sql.query<{ more: string }>({
      name: 'cycle_settle',
      text: `update loci.databases h set cyc_bytes = $5, cyc_set_a = $6, cyc_set_b = $7, cyc_unsettled = false, cyc_verified = h.seq,
          cyc_checked_seq = h.cyc_total, cyc_checked_at = date_trunc('milliseconds', clock_timestamp()), cyc_damaged = null
        from (select cyc_bytes from loci.databases where instance_id = $1 and name = $2 for update) old
        where h.instance_id = $1 and h.name = $2 and h.seq = $3 and h.cyc_total - h.cyc_pruned_through = $4
        returning (h.cyc_bytes - old.cyc_bytes)::text as more`,
      values: [instanceId, database, seq, rows, bytes, a, b],
      locks: () => [headOf(instanceId, database)],
    })
    if (settled[0] && settled[0].more !== '0')
      await sql.query({
        name: 'cycle_settle_totals',
        text: 'select loci.add_totals($1, 0, $2)',
        values: [instanceId, settled[0].more],
      })
  })
}
