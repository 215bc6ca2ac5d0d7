// What the trace of a memory is read from. Beside ../store.ts the one place that knows the tables.

import { noteScanned } from '@loci/meter/meter.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import type { Due } from '../../../databases/store.ts'
import type { RecordBody } from '../../../memory/records.ts'
import type { Presentations } from '../../../working-memory/activation.ts'
import type { Meta } from '../../../working-memory/slots.ts'
import type { CycleRow } from '../../rows.ts'

export interface Traced {
  content: string
  occurredAt: string | null
  createdAt: number
  /** Null: once, when it happened. */
  presented: Presentations | null
  supersedes: string[]
  supersededBy: string | null
}

/** Undefined: there is none. */
export async function readTraced(
  pool: Pool,
  { instanceId, database }: Due,
  id: string,
): Promise<Traced | 'damaged' | undefined> {
  const { rows } = await pool.query<{
    body: string
    presented: string | null
    createdAt: Date
    intact: boolean
    supersedes: string[]
    supersededBy: string | null
  }>({
    name: 'timeline_record',
    text: `select body, presented, created_at as "createdAt", intact, supersedes, superseded_by as "supersededBy"
      from loci.timeline_record($1, $2, $3)`,
    values: [instanceId, database, id],
  })
  const [row] = rows
  if (!row?.intact) return row ? 'damaged' : undefined
  const { content, occurredAt } = JSON.parse(row.body) as RecordBody
  const presented = row.presented === null ? null : (JSON.parse(row.presented) as Presentations)
  const { supersedes, supersededBy } = row
  return { content, occurredAt, createdAt: row.createdAt.getTime(), presented, supersedes, supersededBy }
}

/** A slot that said what the memory says. */
export interface StayOfRecord {
  key: string
  createdAt: number
  /** The last cycle before it came, or the one that brought it. */
  admittedCycle: number
  /** Of the memory that it stood for; null: it was put. */
  recordId: string | null
  endedAt: number | null
}

/** Newest first; of the newest `ends` with when each left. `mac`: HMAC of the value, in hex. */
export async function listStaysOf(
  pool: Pool,
  { instanceId, database }: Due,
  { mac, limit, ends }: { mac: string; limit: number; ends: number },
): Promise<StayOfRecord[]> {
  const { rows } = await pool.query<{ key: string; meta: string; endedAt: Date | null }>({
    name: 'timeline_versions',
    text: 'select key, meta, ended_at as "endedAt" from loci.timeline_versions($1, $2, $3, $4, $5)',
    values: [instanceId, database, Buffer.from(mac, 'hex'), limit, ends],
  })
  noteScanned(rows.length)
  return rows.map(({ key, meta, endedAt }) => {
    const { createdAt, admittedCycle, record } = JSON.parse(meta) as Meta
    return { key, createdAt, admittedCycle, recordId: record?.id ?? null, endedAt: endedAt?.getTime() ?? null }
  })
}

/** Of one halving. */
const READS_EACH = 20

/** The cycles of these numbers, and those that began at these moments, oldest first. */
export async function findCycles(
  pool: Pool,
  { instanceId, database }: Due,
  { seqs, times }: { seqs: number[]; times: number[] },
): Promise<Pick<CycleRow, 'seq' | 'id' | 'startedAt' | 'decisionsHash'>[]> {
  const { rows } = await pool.query<Pick<CycleRow, 'seq' | 'id' | 'startedAt' | 'decisionsHash'>>({
    name: 'timeline_cycles',
    text: `select seq, id, started_at as "startedAt", decisions_hash as "decisionsHash" from loci.timeline_cycles($1, $2, $3, $4)`,
    values: [instanceId, database, seqs, times.map((ms) => new Date(ms))],
  })
  noteScanned(seqs.length + times.length * READS_EACH)
  return rows
}
