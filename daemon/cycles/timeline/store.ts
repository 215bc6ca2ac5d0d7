// What the timeline is read from: the one place that knows in which tables stays, their versions and the decisions of
// cycles are kept. What it hands out says nothing of them.

import { isUnreadable } from '@loci/postgres/errors.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import type { ConfigLayers } from '../../databases/config/store.ts'
import { type Due, withDatabase } from '../../databases/store.ts'
import type { Presentations } from '../../working-memory/activation.ts'
import type { Why } from '../../working-memory/document.ts'
import type { Meta } from '../../working-memory/slots.ts'
import type { CycleRow } from '../rows.ts'
import type { Decision } from '../shapes.ts'

/** What a slot was, as it was written; undefined where it does not fit its digest. */
export interface Said {
  value: unknown
  recordId: string | null
  pinned: boolean
  activation: number
  createdAt: number
  admittedCycle: number
  isPut: boolean
  seen: Presentations
}

export interface HeldSlot {
  key: string | null
  expiresAt: number | null
  said: Said | undefined
}

/** What is held, and how far everything reaches, of one moment. */
export interface Mind extends ConfigLayers {
  now: number
  /** The database's number then: what has a higher one came after. */
  seq: number
  cycles: number
  /** Nothing from before it is kept whole; null: everything is. */
  keptFrom: number | null
  slots: HeldSlot[]
}

interface MindRow extends ConfigLayers {
  now: Date
  seq: number
  cycles: number
  keptFrom: Date | null
  key: string | null
  expires: Date | null
  text: string | null
  meta: string | null
  intact: boolean | null
}

/** One statement: of one moment. Undefined: there is no such database. */
export async function readMind(pool: Pool, place: Due): Promise<Mind | undefined> {
  const rows = await withDatabase(pool, place, async (sql) => {
    const found = await sql.query<MindRow>({
      name: 'timeline_mind',
      text: `select date_trunc('milliseconds', clock_timestamp()) as now, h.seq, h.cyc_total as cycles,
          (select max(t) from unnest(array[loci.cycle_decisions_from(h.cyc_trimmed_to), loci.history_from($1),
            (select c.started_at from loci.cycles c where c.instance_id = $1 and c.database = $2 and c.seq = h.cyc_pruned_through + 1
              and h.cyc_pruned_through > 0)]) t where t > h.created_at) as "keptFrom",
          l.service, l.sent, l.intact as "configIntact", s.key, case when s.intact then s.expires end as expires,
          case when s.intact then s.text end as text, case when s.intact then s.meta end as meta, s.intact
        from loci.databases h cross join lateral loci.config_layers($1, $2, 'working-memory') l
        left join loci.working_memory w on w.instance_id = $1 and w.database = $2 left join lateral loci.wm_slots(w) s on true
        where h.instance_id = $1 and h.name = $2 order by s.n`,
      values: [place.instanceId, place.database],
    })
    return found.rows
  })
  const [head] = rows ?? []
  if (!rows || !head) return undefined
  const { now, seq, cycles, keptFrom, service, sent, configIntact } = head
  return {
    ...{ seq, cycles, service, sent, configIntact },
    now: now.getTime(),
    keptFrom: keptFrom?.getTime() ?? null,
    slots: rows.flatMap(({ key, expires, text, meta, intact }) =>
      intact === null ? [] : [{ key, expiresAt: expires?.getTime() ?? null, said: saidOf(text, meta) }],
    ),
  }
}

function saidOf(text: string | null, meta: string | null): Said | undefined {
  if (text === null || meta === null) return undefined
  const { value, recordId, pinned, activation } = JSON.parse(text) as Said
  const { createdAt, admittedCycle, isPut, record, seen } = JSON.parse(meta) as Meta
  return {
    ...{ value, recordId, pinned, activation, createdAt, admittedCycle },
    isPut: isPut ?? record === null,
    seen,
  }
}

/** A slot that left. */
export interface End {
  seq: number
  at: number
  key: string
  version: number
  /** Undefined: it does not fit its digest. */
  why: Why | undefined
}

/** From `from` until before `to`, with a number below `below`; newest first, or oldest first where it goes forward. */
export async function listEnds(
  pool: Pool,
  { instanceId, database }: Due,
  range: { from: number | null; to: number | null; below: number; isForward: boolean; limit: number },
): Promise<End[]> {
  const { rows } = await pool.query<Omit<End, 'at' | 'why'> & { at: Date; why: string; intact: boolean }>({
    name: 'timeline_ends',
    text: 'select seq, at, key, version, why, intact from loci.timeline_ends($1, $2, $3, $4, $5, $6, $7)',
    values: [
      ...[instanceId, database],
      ...[range.from, range.to].map((ms) => (ms === null ? null : new Date(ms))),
      ...[range.below, range.isForward, range.limit],
    ],
  })
  return rows.map(({ intact, why, at, ...row }) => ({
    ...row,
    at: at.getTime(),
    why: intact ? (JSON.parse(why) as Why) : undefined,
  }))
}

/** A slot as it was at one of its versions. */
export interface VersionOf {
  key: string
  version: number
}

/** Undefined: it is no longer kept, or was erased. `said` undefined: it does not fit its digest. */
export type VersionFound = { bytes: number; said: Said | undefined } | undefined

/** In the order of what is asked. */
export async function readSaid(pool: Pool, place: Due, wanted: readonly VersionOf[]): Promise<VersionFound[]> {
  if (wanted.length === 0) return []
  const { instanceId, database } = place
  const rows = await withDatabase(pool, place, async (sql) => {
    const found = await sql.query<{ n: number; text: string; meta: string; intact: boolean }>({
      name: 'timeline_said',
      text: `select w.n::int as n, v.text, v.meta, loci.slot_is_intact($1, $2, v.key, v.text, v.version, v.expires, v.meta, v.digest) as intact
        from unnest($3::text[], $4::bigint[]) with ordinality as w(key, version, n)
        join loci.slot_versions v on v.instance_id = $1 and v.database = $2 and v.key = w.key and v.version = w.version`,
      values: [instanceId, database, wanted.map(({ key }) => key), wanted.map(({ version }) => version)],
    })
    return found.rows
  })
  const found = new Map(rows?.map((row) => [row.n, row]))
  return wanted.map((_, at) => {
    const row = found.get(at + 1)
    return row && { bytes: row.text.length, said: row.intact ? saidOf(row.text, row.meta) : undefined }
  })
}

/** What a cycle decided; `over`: it has left by its age; `lost`: it is lost, or not what the cycle's hash says. */
export type Ledger = { bytes: number; decisions: Decision[] } | 'over' | 'lost'

type OfCycle = Pick<CycleRow, 'seq' | 'startedAt' | 'decisionsHash'>

/** In the order of the cycles. One that cannot be read hides no other. */
export async function readLedgers(pool: Pool, place: Due, cycles: readonly OfCycle[]): Promise<Ledger[]> {
  try {
    return await readAll(pool, place, cycles)
  } catch (error) {
    if (!isUnreadable(error)) throw error
    if (cycles.length === 1) return ['lost']
  }
  const ledgers: Ledger[] = []
  for (const cycle of cycles) ledgers.push(...(await readLedgers(pool, place, [cycle])))
  return ledgers
}

async function readAll(pool: Pool, { instanceId, database }: Due, cycles: readonly OfCycle[]): Promise<Ledger[]> {
  const { rows } = await pool.query<{ body: string | null; isOver: boolean }>({
    name: 'timeline_ledgers',
    text: `select d.body, d.is_over as "isOver" from unnest($3::bigint[], $4::timestamptz[], $5::bytea[]) with ordinality as c(seq, at, hash, n),
        lateral loci.cycle_decisions_of($1, $2, c.seq, c.at, c.hash) d order by c.n`,
    values: [
      ...[instanceId, database],
      cycles.map(({ seq }) => seq),
      cycles.map(({ startedAt }) => startedAt),
      cycles.map(({ decisionsHash }) => decisionsHash),
    ],
  })
  return rows.map(({ body, isOver }) => {
    if (body === null) return isOver ? 'over' : 'lost'
    return { bytes: body.length, decisions: JSON.parse(body) as Decision[] }
  })
}
