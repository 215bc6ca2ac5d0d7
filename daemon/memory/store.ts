// All SQL of records. Reads and writes are calls of one function each, which sets the row-level security context
// itself.

import type { Claim } from '@loci/acts/idempotency/idempotency.ts'
import { ApiError } from '@loci/chassis/api-error.ts'
import { isUnreadable, sqlState } from '@loci/postgres/errors.ts'
import type { Pool, Sql } from '@loci/postgres/pool.ts'
import { execute } from '@loci/postgres/transaction.ts'
import { enteringLocks } from '../databases/locks.ts'
import { countWritten, type Due } from '../databases/store.ts'
import { wakeEvents } from '../events/store.ts'
import { claimLocks, claimValues, dropExpired, inClaimOrder } from '../idempotency/store.ts'
import type { RecordRow } from './records.ts'
import { placesOf } from './writes/places.ts'

/** A record to be stored, as the function takes it. */
export interface NewRecord {
  id: string
  key: string | null
  sourceEventId: string | null
  /** HMAC of the contextId; null: the open context. */
  context: string | null
  value: string
  isOverride: boolean
  supersedes: string | null
  body: string
  occurredAt: Date | null
  ttlMs: number | null
}

/** Records that are stored all or none, with a claim on an Idempotency-Key or without; or one on its own. */
export interface StoreAct {
  database: string
  databasesMax: number
  records: NewRecord[]
  isWhole: boolean
  claim?: Claim | undefined
}

export interface RecordOutcome extends Omit<RecordRow, 'seq'> {
  /** `known`: the record of that source event, as it stands. */
  outcome: 'done' | 'known' | 'forgotten' | 'missing' | 'damaged' | 'databases' | 'erasing' | 'gone'
}

/** Nothing was done where the outcome is not `stored`. */
export type ActOutcome =
  | { outcome: 'stored'; records: RecordOutcome[] }
  | { outcome: 'known' }
  | { outcome: 'answers' }
  | { outcome: 'refused'; at: number; why: RecordOutcome['outcome'] }

const TIMES = `created_at as "createdAt", valid_from as "validFrom", valid_to as "validTo", archived_at as "archivedAt", expires_at as "expiresAt"`
const COLUMNS = `id, key, source_event_id as "sourceEventId", version, body, ${TIMES}, digest`
const SHOWN = `(record).id, (record).seq, (record).key, (record).source_event_id as "sourceEventId", (record).changed_seq as version,
  (record).body, (record).created_at as "createdAt", (record).valid_from as "validFrom", (record).valid_to as "validTo",
  (record).archived_at as "archivedAt", (record).expires_at as "expiresAt", (record).digest, intact`

/** In one transaction, with its events: durable when this returns. Outcomes in the order of the acts. */
export async function commitRecords(pool: Pool, instanceId: string, acts: StoreAct[]): Promise<ActOutcome[]> {
  try {
    const done = await storeActs(pool, instanceId, acts)
    wakeEvents(pool, instanceId)
    return done
  } catch (error) {
    const [act, ...others] = acts
    const refused = act && others.length === 0 ? refusedOf(error) : undefined
    if (act && refused) {
      await countWritten(
        pool,
        instanceId,
        act.records.slice(0, refused.at).map(({ body }) => body),
      )
      return [refused]
    }
    throw isUnreadable(error) ? unreadable(error) : error
  }
}

async function storeActs(pool: Pool, instanceId: string, acts: StoreAct[]): Promise<ActOutcome[]> {
  const claiming = inClaimOrder(acts)
  const claims = claiming.map(({ claim }) => claim)
  const records = acts.flatMap((act, at) => act.records.map((record) => ({ ...record, act, at })))
  const places = placesOf(records.map((record) => ({ database: record.act.database, record })))
  const column = <Value>(of: (record: (typeof records)[number]) => Value) => records.map(of)
  const { rows } = await execute<RecordOutcome & { claim: number | null }>(pool, {
    name: 'mem_write_acts',
    text: `select claim, outcome, ${COLUMNS} from loci.mem_write_acts($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13,
      $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25) order by ord`,
    values: [
      instanceId,
      acts[0]?.databasesMax,
      column(({ act, at }) => (act.isWhole ? at + 1 : null)),
      places.map(({ nth }) => nth),
      places.map(({ first }) => first),
      places.map(({ place }) => place),
      places.map(({ shared }) => shared),
      column(({ act }) => act.database),
      column(({ id }) => id),
      column(({ key }) => key),
      column(({ sourceEventId }) => sourceEventId),
      column(({ context }) => context),
      column(({ value }) => value),
      column(({ isOverride }) => isOverride),
      column(({ supersedes }) => supersedes),
      column(({ body }) => body),
      column(({ occurredAt }) => occurredAt),
      column(({ ttlMs }) => ttlMs),
      claims[0]?.scope[2],
      claims[0]?.sealedWith,
      claiming.map((act) => acts.indexOf(act) + 1),
      ...claimValues(claims),
    ],
    locks: () => [...claimLocks(claims), ...enteringLocks(instanceId, acts, 'due row', 'event head')],
  })
  const stopped = rows.filter(({ claim }) => claim !== null)
  if (stopped.length > 0) return storeRest(pool, instanceId, acts, claiming, stopped)
  let next = 0
  return acts.map(({ records: own }) => {
    next += own.length
    const outcomes = rows
      .slice(next - own.length, next)
      .map((row, at) => ({ ...(own[at] as NewRecord), ...known(row) }))
    return { outcome: 'stored', records: outcomes }
  })
}

/** Of a new record the function answers only what its writer cannot know. */
function known(row: RecordOutcome): RecordOutcome {
  if (row.outcome === 'known') return row
  const { body, key, sourceEventId, ...made } = row
  return made as RecordOutcome
}

/** Nothing was done yet: those whose claim stops them are told, the others are done without them. */
async function storeRest(
  pool: Pool,
  instanceId: string,
  acts: StoreAct[],
  claiming: (StoreAct & { claim: Claim })[],
  stopped: { claim: number | null; outcome: string }[],
): Promise<ActOutcome[]> {
  const told = new Map<StoreAct | undefined, ActOutcome>()
  for (const { claim, outcome } of stopped)
    if (outcome !== 'expired') told.set(claiming[Number(claim) - 1], { outcome } as ActOutcome)
  await dropExpired(pool, claiming, stopped)
  const rest = acts.filter((act) => !told.has(act))
  const done = rest.length > 0 ? await commitRecords(pool, instanceId, rest) : []
  return acts.map((act) => told.get(act) ?? (done.shift() as ActOutcome))
}

/** Only a batch of one act reports its refusal; the acts of a larger batch are retried one at a time. */
function refusedOf(error: unknown): Extract<ActOutcome, { outcome: 'refused' }> | undefined {
  const { detail = '' } = error as { detail?: string }
  const [, ord, why] = /^(\d+) (\w+) 0$/.exec(detail) ?? []
  if (sqlState(error) !== 'LC001' || why === undefined) return undefined
  return { outcome: 'refused', at: Number(ord) - 1, why: why as RecordOutcome['outcome'] }
}

export function unreadable(cause: unknown): ApiError {
  return new ApiError(
    'DATA_DAMAGED',
    'The stored records under this request cannot be read. Nothing was done; GET /v1/kv/consistency says more.',
    { cause },
  )
}

/**
 * Of a row that does not fit its digest nothing is handed out but its id, which may be what rotted; of one that cannot
 * be read there is only its number.
 */
export type StoredRecord =
  | (RecordRow & { intact: true })
  | { id: string | null; seq: number; intact: false; isUnreadable?: boolean }

/** As SHOWN, of the functions that read around what cannot be read. */
const SHOWN_AROUND = SHOWN.replace('(record).seq', 'seq').replace(
  /intact$/,
  'coalesce(intact, false) as intact, intact is null as "isUnreadable"',
)

/** What `read` answers; where something on its way cannot be read, what `around` answers. */
export async function readAround<Result>(read: () => Promise<Result>, around: () => Promise<Result>): Promise<Result> {
  try {
    return await read()
  } catch (error) {
    if (!isUnreadable(error)) throw error
    return around()
  }
}

/** Each of them, undefined where there is none, in one call; throws when one of them cannot be read. */
export async function findRecords(
  sql: Sql,
  instanceId: string,
  wanted: { database: string; id: string }[],
): Promise<(StoredRecord | undefined)[]> {
  const { rows } = await sql.query<StoredRecord | { intact: null }>({
    name: 'mem_get_each',
    text: `select ${SHOWN} from loci.mem_get_each($1, $2, $3)`,
    values: [instanceId, wanted.map(({ database }) => database), wanted.map(({ id }) => id)],
  })
  return rows.map((row) => (row.intact === null ? undefined : row))
}

/** A page ends with the record that goes over it. */
export const PAGE_BYTES_MAX = 1024 * 1024

/** Newest or oldest first, behind the number `after`. */
export async function listRecords(
  sql: Sql,
  instanceId: string,
  database: string,
  { after, limit, order }: { after: number | null; limit: number; order: 'asc' | 'desc' },
): Promise<StoredRecord[]> {
  const [name, from] = order === 'desc' ? ['mem_list', after ?? Number.MAX_SAFE_INTEGER] : ['mem_list_up', after ?? -1]
  const { rows } = await readAround(
    () =>
      sql.query<StoredRecord>({
        name,
        text: `select ${SHOWN} from loci.${name}($1, $2, $3, $4, $5)`,
        values: [instanceId, database, from, limit, PAGE_BYTES_MAX],
      }),
    () =>
      sql.query<StoredRecord>({
        name: `${name}_around`,
        text: `select ${SHOWN_AROUND} from loci.${name}_around($1, $2, $3, $4)`,
        values: [instanceId, database, from, limit],
      }),
  )
  return rows
}

/** As its head counts them: superseded ones too, and those whose time was over a moment ago. */
export async function countRecords(sql: Sql, instanceId: string, database: string): Promise<number> {
  const { rows } = await sql.query<{ total: number }>({
    name: 'mem_total',
    text: 'select loci.mem_total($1, $2) as total',
    values: [instanceId, database],
  })
  return rows[0]?.total ?? 0
}

/** Those of the numbers that are there, in their order: the second stage of a recall. */
export async function findNumbered(
  sql: Sql,
  instanceId: string,
  database: string,
  seqs: number[],
): Promise<StoredRecord[]> {
  const values = [instanceId, database, seqs]
  const { rows } = await readAround(
    () =>
      sql.query<StoredRecord>({
        name: 'mem_get_numbered',
        text: `select ${SHOWN} from loci.mem_get_numbered($1, $2, $3)`,
        values,
      }),
    () =>
      sql.query<StoredRecord>({
        name: 'mem_get_numbered_around',
        text: `select ${SHOWN_AROUND} from loci.mem_get_numbered_around($1, $2, $3)`,
        values,
      }),
  )
  return rows
}

/** Each of them as it was at a version, undefined where it is gone. */
export async function findAsOf(
  sql: Sql,
  instanceId: string,
  database: string,
  wanted: { id: string; version: number }[],
): Promise<(StoredRecord | undefined)[]> {
  const { rows } = await sql.query<StoredRecord | { intact: null }>({
    name: 'mem_get_as_of',
    text: `select ${SHOWN} from loci.mem_get_as_of($1, $2, $3, $4)`,
    values: [instanceId, database, wanted.map(({ id }) => id), wanted.map(({ version }) => version)],
  })
  return rows.map((row) => (row.intact === null ? undefined : row))
}

/** Puts the next expiry of the database on the list of due work. */
export async function nextExpiry(pool: Pool, { instanceId, database }: Due): Promise<void> {
  await execute(pool, {
    name: 'mem_expiry_next',
    text: 'select loci.mem_expiry_next($1, $2)',
    values: [instanceId, database],
    locks: () => enteringLocks(instanceId, [{ database }], 'due row'),
  })
}
