// SQL of what a cycle is computed on: one call for all that begin together.

import type { Sql } from '@loci/postgres/pool.ts'
import type { ConfigLayers } from '../../databases/config/store.ts'
import type { Due } from '../../databases/store.ts'
import type { RecordBody } from '../../memory/records.ts'
import { INDEX_COLUMNS, type IndexRow, type IndexState, indexOf, TAIL_MAX } from '../../memory/upkeep/store.ts'
import type { Presentations } from '../../working-memory/activation.ts'
import type { Resident } from '../../working-memory/document.ts'
import { type restOf, SLOTS_BYTES_MAX } from '../../working-memory/slots.ts'

/** A record as a cycle reads it. */
export interface RecordRow {
  id: string
  seq: number
  key: string | null
  storedAt: number
  expiresAt: number | null
  presented: Presentations | null
  body: RecordBody
}

/** What the store has about an observation. */
export interface KnownRow {
  isDuplicate: boolean
  isForgotten: boolean
  /** The newest that says the same. */
  equal: RecordRow | null
  current: RecordRow[] | null
  superseded: RecordRow | null
  context: [number: number, position: number] | null
}

/** What is asked about an observation: HMACs in hex; how the body of a record begins that says the same. */
export interface Lookup {
  sourceEventId: string | null
  value: string
  key: string | null
  supersedes: string | null
  context: string | null
  same: string
}

/** A slot as a cycle reads it: with what it says, as it is sent. */
export interface HeldSlot extends Omit<Resident, 'text'> {
  said: SaidSlot | null
}

export interface SaidSlot {
  value: unknown
  ephemeral?: boolean
  kind: string
  tags: string[]
  evidenceRefs: string[]
  ttlMs: number | null
  updatedAt: string
  source: Parameters<typeof restOf>[0]['source']
}

/** Everything that a cycle is computed on, of one moment. */
export interface CycleState extends IndexState {
  at: Date
  /** Of the last cycle. */
  number: number
  /** Of the document of working memory. */
  version: number
  documentDigest: Buffer
  slots: HeldSlot[]
  /** Of the record that each slot stands for; 0: it has none, or one that no longer holds. */
  recordSeqs: number[]
  slotConfig: ConfigLayers
  configVersion: number
  /** Which configurations these are: the commit compares it. */
  settings: string
  configIntact: boolean
  focus: string | null
  focusAt: Date | null
  contexts: number
  openContext: number | null
  openPosition: number | null
  openAt: Date | null
  known: KnownRow[]
  due: RecordRow[]
  /** Events that wait. */
  pending: number
  /** Of all this but the index. */
  readBytes: number
}

/** Null is what is not there: the database, or its document. */
interface StateRow extends IndexRow {
  at: Date
  number: number | null
  version: number | null
  documentDigest: Buffer | null
  keys: (string | null)[] | null
  versions: number[] | null
  expires: (Date | null)[] | null
  /** JSON, as the slots: what was verified is put together as it is and parsed once. */
  metas: string | null
  slotTexts: string | null
  intact: boolean[] | null
  recordSeqs: number[]
  wmService: string | null
  wmSent: string | null
  wmIntact: boolean
  configVersion: number | null
  settings: string
  configIntact: boolean
  focus: string | null
  focusAt: Date | null
  contexts: number | null
  openContext: number | null
  openPosition: number | null
  openAt: Date | null
  known: string
  due: string
  pending: number | null
}

/**
 * Of the records that are found, and of those that are due: four times what slots may have. Bodies have up to 60 KB,
 * so a thousand of them would take the replica's memory, and seconds to parse.
 */
const RECORDS_BYTES_MAX = 4 * SLOTS_BYTES_MAX

/** What is read for one cycle: `have`: the number up to which the texts of the tail are known. */
export interface StateAsk {
  database: string
  have: number
  lookups: Lookup[]
  due: { leadMs: number; graceMs: number; max: number }
}

/** Of databases of one instance, in their order, all of one moment. */
export async function readStates(sql: Sql, instanceId: string, asks: readonly StateAsk[]): Promise<CycleState[]> {
  const lookups = asks.flatMap((ask) => ask.lookups)
  let last = 0
  // As JSON: with arrays PostgreSQL would plan the statement for their lengths, at every call.
  const each = asks.map(({ database, have, lookups: own, due }) => {
    const first = last + 1
    last += own.length
    return { database, first, last, lead: due.leadMs, grace: due.graceMs, max: due.max, have }
  })
  const { rows } = await sql.query<StateRow>({
    name: 'cycle_read',
    text: `select ${INDEX_COLUMNS}, at, number, version, document_digest as "documentDigest", keys, versions, expires,
        '[' || array_to_string(metas, ',', 'null') || ']' as metas, '[' || array_to_string(slot_texts, ',', 'null') || ']' as "slotTexts", intact,
        record_seqs as "recordSeqs", wm_service as "wmService", wm_sent as "wmSent",
        wm_intact as "wmIntact", config_version as "configVersion", settings, r.config_intact as "configIntact", focus, focus_at as "focusAt",
        contexts, open_context as "openContext", open_position as "openPosition", open_at as "openAt", known, due, pending
      from rows from (json_to_recordset($2::json)
            as (database text, first int, last int, lead float8, grace float8, max int, have bigint))
          with ordinality as q(q_database, q_first, q_last, q_lead, q_grace, q_max, q_have, q_n),
        lateral loci.cycle_read($1, q_database, ($3::text[])[q_first:q_last], ($4::text[])[q_first:q_last], ($5::text[])[q_first:q_last],
          ($6::text[])[q_first:q_last], ($7::text[])[q_first:q_last], ($8::text[])[q_first:q_last], q_lead, q_grace, q_max, $9) r,
        lateral loci.mem_index($1, q_database, q_have, null, $10) i
      order by q_n`,
    values: [
      instanceId,
      JSON.stringify(each),
      lookups.map(({ sourceEventId }) => sourceEventId),
      lookups.map(({ value }) => value),
      lookups.map(({ key }) => key),
      lookups.map(({ supersedes }) => supersedes),
      lookups.map(({ context }) => context),
      lookups.map(({ same }) => same),
      ...[RECORDS_BYTES_MAX, TAIL_MAX],
    ],
  })
  return rows.map(stateOf)
}

function stateOf(row: StateRow): CycleState {
  return {
    ...row,
    ...indexOf(row),
    number: row.number ?? 0,
    version: row.version ?? 0,
    documentDigest: row.documentDigest ?? Buffer.alloc(0),
    slots: slotsOf(row),
    recordSeqs: row.recordSeqs.map(Number),
    readBytes: [row.known, row.due, row.slotTexts].reduce((sum, text) => sum + (text?.length ?? 0), 0),
    slotConfig: { service: row.wmService, sent: row.wmSent, configIntact: row.wmIntact },
    configVersion: row.configVersion ?? 0,
    settings: row.settings,
    contexts: row.contexts ?? 0,
    known: JSON.parse(row.known) as KnownRow[],
    due: JSON.parse(row.due) as RecordRow[],
    pending: row.pending ?? 0,
  }
}

function slotsOf({ keys, versions, expires, intact, metas, slotTexts }: StateRow): HeldSlot[] {
  if (keys === null) return []
  const metasOf = JSON.parse(metas ?? '[]') as HeldSlot['meta'][]
  const said = JSON.parse(slotTexts ?? '[]') as (SaidSlot | null)[]
  return keys.map((key, at) => {
    const isIntact = intact === null || intact[at] === true
    return {
      key: key ?? '',
      version: versions?.[at] ?? 0,
      expiresAt: expires?.[at]?.getTime() ?? null,
      meta: isIntact ? metasOf[at] : undefined,
      said: isIntact ? (said[at] ?? null) : null,
    }
  })
}

/** Those of the numbers that hold, as of the number that everything else was read at. */
export async function readRecords(
  sql: Sql,
  { instanceId, database }: Due,
  { seq, at, seqs }: { seq: number; at: Date; seqs: number[] },
): Promise<{ rows: RecordRow[]; bytes: number }> {
  if (seqs.length === 0) return { rows: [], bytes: 0 }
  const { rows } = await sql.query<{ records: string }>({
    name: 'cycle_records',
    text: 'select loci.cycle_records($1, $2, $3, $4, $5, $6) as records',
    values: [instanceId, database, seq, at, seqs, RECORDS_BYTES_MAX],
  })
  const { records = '[]' } = rows[0] ?? {}
  return { rows: JSON.parse(records) as RecordRow[], bytes: records.length }
}
