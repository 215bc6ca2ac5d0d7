// SQL of what a cycle is computed on: one call for all that begin together.

import type { Sql } from '@loci/postgres/pool.ts'
import type { ConfigLayers } from '../../databases/config/store.ts'
import type { Due } from '../../databases/store.ts'
import type { RecordBody } from '../../memory/records.ts'
import { INDEX_COLUMNS, type IndexRow, type IndexState, indexOf, TAIL_MAX } from '../../memory/upkeep/store.ts'
import type { Presentations } from '../../working-memory/activation.ts'
import type { Resident } from '../../working-memory/document.ts'
import { SLOTS_BYTES_MAX } from '../../working-memory/slots.ts'
import { residentOf } from '../../working-memory/store.ts'

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

/** Everything that a cycle is computed on, of one moment. */
export interface CycleState extends IndexState {
  at: Date
  /** Of the last cycle. */
  number: number
  /** Of the document of working memory. */
  version: number
  documentDigest: Buffer
  slots: Resident[]
  /** Of the record that each slot stands for; 0: it has none, or one that no longer holds. */
  recordSeqs: number[]
  slotConfig: ConfigLayers
  configVersion: number
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

interface StateRow extends IndexRow {
  at: Date
  number: number
  version: number
  documentDigest: Buffer
  keys: (string | null)[]
  versions: number[]
  expires: (Date | null)[]
  /** JSON, as the texts of the slots: an array of text takes thirty times as long to parse. */
  metas: string | null
  slotTexts: string | null
  intact: boolean[] | null
  recordSeqs: number[]
  wmService: string | null
  wmSent: string | null
  wmIntact: boolean
  configVersion: number
  configIntact: boolean
  focus: string | null
  focusAt: Date | null
  contexts: number
  openContext: number | null
  openPosition: number | null
  openAt: Date | null
  known: string
  due: string
  pending: number
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
        array_to_json(metas)::text as metas, array_to_json(slot_texts)::text as "slotTexts", intact,
        record_seqs as "recordSeqs", wm_service as "wmService", wm_sent as "wmSent",
        wm_intact as "wmIntact", config_version as "configVersion", r.config_intact as "configIntact", focus, focus_at as "focusAt",
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

function stateOf({ keys, versions, expires, intact, ...row }: StateRow): CycleState {
  const listOf = (json: string | null) => JSON.parse(json ?? '[]') as (string | null)[]
  const [metas, texts] = [listOf(row.metas), listOf(row.slotTexts)]
  const slots = { keys, versions, expires, metas, texts, intact }
  return {
    ...row,
    ...indexOf(row),
    slots: keys.map((_, at) => residentOf(slots, at)),
    recordSeqs: row.recordSeqs.map(Number),
    readBytes: [row.known, row.due, ...texts].reduce((sum, text) => sum + (text?.length ?? 0), 0),
    slotConfig: { service: row.wmService, sent: row.wmSent, configIntact: row.wmIntact },
    known: JSON.parse(row.known) as KnownRow[],
    due: JSON.parse(row.due) as RecordRow[],
  }
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
