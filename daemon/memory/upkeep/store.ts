// All SQL of the index and of erasure: segments, the tail, and what leaves.

import type { Pool, Sql } from '@loci/postgres/pool.ts'
import { execute } from '@loci/postgres/transaction.ts'
import { enteringLocks } from '../../databases/locks.ts'
import type { Due } from '../../databases/store.ts'
import type { RecordBody } from '../records.ts'
import { readAround } from '../store.ts'

/** A segment in the list of a database; its body is read by id. */
export interface SegmentRow {
  id: number
  from: number
  through: number
  items: number
  format: number
  /** Of its digest: the same id may be another segment in a database that was restored or made anew. */
  mark: string
  /** Mark of the encoder that made the vectors of all its items; 0 without one. */
  encoded: number
}

/** A record as the analyser needs it. */
export interface TextRow {
  seq: number
  /** Of its id: the same number may be another record in a database that was restored or made anew. */
  mark: bigint
  context: number
  position: number
  storedAt: number
  key: string | null
  body: RecordBody
}

export interface IndexState {
  /** By the database's clock, which the times of records are by. */
  now: Date
  /** Of this database of that name, and of all its records: numbers are of one life, if it was not restored. */
  life: string
  sums: string
  /** The database's number; 0 when there is no such database. */
  seq: number
  /** Records up to this number stand in the segments, as they were at `indexedAt`. */
  through: number
  indexedAt: number
  erasedAt: number
  segments: SegmentRow[]
  /** Records behind `through`, whether they hold or not, and the number of the last that was read. */
  tailRows: number
  tailThrough: number | null
  /** Numbers of those that hold, and the marks of those of them up to `have` by xor. */
  tail: number[]
  tailMark: bigint
  /** Those of them above `have`, and the damaged ones among these, which have no text. */
  texts: TextRow[]
  damaged: Pick<TextRow, 'seq' | 'mark'>[]
  /** Something in the tail cannot be read: all texts that can are here, whatever the caller has. */
  isAround: boolean
  /** Numbers of records that stand in a segment and no longer hold. */
  changed: number[]
  /** Records that no longer hold, and did at `asOf`; and whether there may be more of them than are read. */
  closed: TextRow[]
  isClosedCut: boolean
  /** Of records that ended: how many could not be read, or more of one moment. Their numbers are not known. */
  unreadable: number
  service: string | null
  sent: string | null
}

type TextArray = [
  ...[seq: number, mark: string],
  ...([context: number, position: number, storedAt: number, body: TextRow['body'], key: string | null] | []),
]
type SegmentArray = [
  ...[id: number, from: number, through: number, items: number, format: number, mark: string],
  encoded: number,
]

export interface IndexRow
  extends Omit<IndexState, 'segments' | 'tailMark' | 'texts' | 'damaged' | 'isAround' | 'closed' | 'unreadable'> {
  segments: string | null
  tailMark: string
  texts: string
  closed: string
}

const NO_INDEX = {
  ...{ life: '', sums: '', seq: 0, through: 0, indexedAt: 0, erasedAt: 0 },
  ...{ tailRows: 0, tailThrough: null, isClosedCut: false, sent: null },
}

/** Beyond any tail. */
export const TAIL_MAX = 1_000_000

interface IndexOptions {
  have?: number
  asOf?: Date | null
  tailMax?: number
}

/** Of one moment. `have`: the number up to which the caller has the texts of the tail. */
export function readIndex(sql: Sql, instanceId: string, database: string, options: IndexOptions): Promise<IndexState> {
  return readAround(
    () => readStraight(sql, instanceId, database, options),
    async () => {
      const state = await readStraight(sql, instanceId, database, { ...options, have: 0, tailMax: 0 })
      const tail = await readTailAround(sql, instanceId, database, state)
      const ended = await readEndedAround(sql, instanceId, database, state, options.asOf ?? null)
      return { ...state, ...tail, ...ended, isAround: true }
    },
  )
}

/** As mem_index reads. */
const CLOSED_MAX = 4_096

/** What no longer holds, around what cannot be read of it: nobody can say of which record that is. */
async function readEndedAround(
  sql: Sql,
  instanceId: string,
  database: string,
  { through, indexedAt, seq, now }: IndexState,
  asOf: Date | null,
): Promise<Pick<IndexState, 'changed' | 'closed' | 'isClosedCut' | 'unreadable'>> {
  const { rows: changed } = await sql.query<{ seq: number | null }>({
    name: 'mem_changed_around',
    text: 'select seq from loci.mem_changed_around($1, $2, $3, $4, $5)',
    values: [instanceId, database, through, indexedAt + 1, seq],
  })
  const { rows: closed } =
    asOf === null
      ? { rows: [] }
      : await sql.query<{ text: string | null }>({
          name: 'mem_closed_around',
          text: 'select text from loci.mem_closed_around($1, $2, $3, $3, $4, $5)',
          values: [instanceId, database, asOf, now, CLOSED_MAX],
        })
  const texts = closed.flatMap(({ text }) => (text ? textOf(JSON.parse(text) as TextArray) : []))
  return {
    changed: changed.flatMap(({ seq: own }) => (own === null ? [] : [own])),
    closed: texts.sort((one, other) => one.seq - other.seq),
    isClosedCut: closed.length >= CLOSED_MAX,
    unreadable:
      changed.filter(({ seq: own }) => own === null).length + closed.filter(({ text }) => text === null).length,
  }
}

/** The tail, around what cannot be read of it. A moment later: what was closed in between is missing, as if it held. */
async function readTailAround(sql: Sql, instanceId: string, database: string, { through, seq }: IndexState) {
  const rows = await rangeAround(sql, instanceId, database, { from: through + 1, through: seq })
  const tailThrough = rows.at(-1)?.[0] ?? null
  const tail = rows.map(([own]) => own)
  return { tailRows: rows.length, tailThrough, tail, texts: rows.flatMap(textOf), damaged: damagedIn(rows) }
}

async function readStraight(
  sql: Sql,
  instanceId: string,
  database: string,
  { have = 0, asOf = null, tailMax = TAIL_MAX }: IndexOptions,
): Promise<IndexState> {
  const { rows } = await sql.query<IndexRow>({
    name: 'mem_index',
    text: `select ${INDEX_COLUMNS} from loci.mem_index($1, $2, $3, $4, $5)`,
    values: [instanceId, database, have, asOf, tailMax],
  })
  return indexOf(rows[0] as IndexRow)
}

/** Of mem_index. */
export const INDEX_COLUMNS = `now, life, sums, seq, through, indexed_at as "indexedAt", erased_at as "erasedAt", segments,
  tail_rows as "tailRows", tail_through as "tailThrough", tail, tail_mark as "tailMark", texts, changed, closed,
  is_closed_cut as "isClosedCut", service, sent`

export function indexOf(row: IndexRow): IndexState {
  if (row.segments === null)
    return {
      ...{ ...NO_INDEX, now: row.now, service: row.service, segments: [], tail: [], tailMark: 0n },
      ...{ texts: [], damaged: [], isAround: false, changed: [], closed: [], unreadable: 0 },
    }
  const texts = JSON.parse(row.texts) as TextArray[]
  return {
    ...row,
    segments: segmentsOf(row.segments),
    // bigint[] arrives as texts.
    tail: row.tail.map(Number),
    tailMark: BigInt(row.tailMark),
    changed: row.changed.map(Number),
    texts: texts.flatMap(textOf),
    damaged: damagedIn(texts),
    isAround: false,
    closed: textsOf(row.closed),
    unreadable: 0,
  }
}

function segmentsOf(text: string): SegmentRow[] {
  const rowOf = ([id, from, through, items, format, mark, encoded]: SegmentArray): SegmentRow => {
    return { id, from, through, items, format, mark, encoded }
  }
  return (JSON.parse(text) as SegmentArray[]).map(rowOf)
}

function damagedIn(texts: TextArray[]): IndexState['damaged'] {
  return texts.filter((array) => array.length === 2).map(([seq, mark]) => ({ seq, mark: BigInt(mark) }))
}

function textsOf(text: string): TextRow[] {
  return (JSON.parse(text) as TextArray[]).flatMap(textOf)
}

function textOf([seq, mark, context, position, storedAt, body, key = null]: TextArray): TextRow[] {
  if (context === undefined || position === undefined || storedAt === undefined || body === undefined) return []
  return [{ seq, mark: BigInt(mark), context, position, storedAt, key, body }]
}

/** Of the records in a range that hold: what a segment that cannot be used would say. */
export async function readTexts(
  sql: Sql,
  instanceId: string,
  database: string,
  { from, through }: { from: number; through: number },
): Promise<TextRow[]> {
  return readAround(
    async () => {
      const { rows } = await sql.query<{ texts: string }>({
        name: 'mem_range',
        text: 'select loci.mem_range($1, $2, $3, $4) as texts',
        values: [instanceId, database, from, through],
      })
      return textsOf(rows[0]?.texts ?? '[]')
    },
    async () => (await rangeAround(sql, instanceId, database, { from, through })).flatMap(textOf),
  )
}

/** At most 4,096 at a time. */
async function rangeAround(
  sql: Sql,
  instanceId: string,
  database: string,
  { from, through }: { from: number; through: number },
): Promise<TextArray[]> {
  const { rows } = await sql.query<{ texts: string }>({
    name: 'mem_range_around',
    text: 'select loci.mem_range_around($1, $2, $3, $4) as texts',
    values: [instanceId, database, from, through],
  })
  return JSON.parse(rows[0]?.texts ?? '[]') as TextArray[]
}

export interface SegmentBody {
  id: number
  body: Buffer
  digest: Buffer
}

/** Those of the segments that are there, in any order. */
export async function readSegments(
  sql: Sql,
  instanceId: string,
  database: string,
  ids: number[],
): Promise<SegmentBody[]> {
  const { rows } = await sql.query<{ id: number; body: string; digest: Buffer }>({
    name: 'mem_segments',
    text: 'select id, body, digest from loci.mem_segments($1, $2, $3)',
    values: [instanceId, database, ids],
  })
  return rows.map(({ id, body, digest }) => ({ id, body: Buffer.from(body, 'base64'), digest }))
}

/** A segment to be published. */
export interface NewSegment extends Omit<SegmentRow, 'id' | 'mark' | 'encoded'> {
  body: Uint8Array
  digest: Buffer
}

/** What replaces which. */
export interface Replacement {
  replaced: number[]
  segments: NewSegment[]
}

function replacementValues({ replaced, segments }: Replacement): unknown[] {
  return [
    replaced,
    segments.map(({ from }) => from),
    segments.map(({ through }) => through),
    segments.map(({ items }) => items),
    segments.map(({ format }) => format),
    segments.map(({ body }) => Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('base64')),
    segments.map(({ digest }) => digest.toString('hex')),
  ]
}

/** `moved`: the index is another than the one that was read; nothing was done. */
export async function commitIndex(
  pool: Pool,
  { instanceId, database }: Due,
  { erasedAt, segments }: Pick<IndexState, 'erasedAt' | 'segments'>,
  { through, at, ...replacement }: Replacement & { through: number; at: number },
): Promise<'done' | 'moved' | 'none' | 'erasing' | 'gone'> {
  const { rows } = await execute<{ outcome: 'done' | 'moved' | 'none' | 'erasing' | 'gone' }>(pool, {
    name: 'mem_index_commit',
    text: 'select loci.mem_index_commit($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) as outcome',
    values: [
      instanceId,
      database,
      segments.map(({ id }) => id),
      erasedAt,
      at,
      through,
      ...replacementValues(replacement),
    ],
    locks: () => enteringLocks(instanceId, [{ database }], 'due row'),
  })
  return rows[0]?.outcome ?? 'gone'
}

/** Damaged segments are built again from the records, soon. */
export async function dropSegments(pool: Pool, instanceId: string, database: string, ids: number[]): Promise<void> {
  await execute(pool, {
    name: 'mem_drop_segments',
    text: 'select loci.mem_drop_segments($1, $2, $3)',
    values: [instanceId, database, ids],
    locks: () => enteringLocks(instanceId, [{ database }], 'due row'),
  })
}

export interface Places {
  seqs: number[]
  /** Those that cover one of the numbers. */
  segments: SegmentRow[]
  /** The database's number then. */
  read: number
  /** Of the value of the record; null: none was asked for. */
  mac: Buffer | null
}

/** A value that was erased in a former life of the database, and the database's number then. */
export interface ErasedValue {
  mac: Buffer
  through: number
  at: Date
}

/**
 * Where a record stands, and at most `limit` others that say the same; or at most `limit` that have the value; or else
 * of the records whose time is over, at most `limit`.
 */
export async function findPlaces(
  sql: Sql,
  { instanceId, database }: Due,
  { id, value, limit }: { id?: string; value?: ErasedValue; limit: number },
): Promise<Places> {
  type Row = Omit<Places, 'seqs' | 'segments'> & { seqs: string[]; segments: string }
  const { rows } = await sql.query<Row>({
    name: 'mem_places',
    text: 'select seqs, segments, read, mac from loci.mem_places($1, $2, $3, $4, $5, $6)',
    values: [instanceId, database, id ?? null, limit, value?.mac ?? null, value?.through ?? null],
  })
  const { seqs, segments, ...rest } = rows[0] as Row
  return { seqs: seqs.map(Number), segments: segmentsOf(segments), ...rest }
}

/** `replayed`: a tombstone and the ledger have its value already. */
export type Why = 'erased' | 'replayed' | 'expired'

export interface Erased {
  outcome: 'done' | 'moved' | 'none' | 'erasing' | 'gone'
  at: Date
  erased: number
  segments: number
  tombstone: Buffer | null
  events: object[]
  /** Of the records. */
  ids: string[]
  stored: Date[]
  /** Null: all of them were damaged. */
  content: string | null
}

/** In the caller's transaction, who appends audit and events, last. */
export async function eraseRecords(
  sql: Sql,
  { instanceId, database }: Due,
  { seqs, read, why, ...replacement }: Replacement & { seqs: number[]; read: number; why: Why },
): Promise<Erased> {
  const { rows } = await sql.query<Erased>({
    name: 'mem_erase',
    text: `select outcome, at, erased, segments, tombstone, events, ids, stored, content
      from loci.mem_erase($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
    values: [instanceId, database, seqs, why, ...replacementValues(replacement), read],
    locks: () => enteringLocks(instanceId, [{ database }], 'due row'),
  })
  return rows[0] as Erased
}
