// All SQL of projections. Reads and writes are calls of one function each, which sets the row-level security context
// itself.

import { ApiError } from '@loci/chassis/api-error.ts'
import { isUnreadable, sqlState } from '@loci/postgres/errors.ts'
import type { Pool, Sql } from '@loci/postgres/pool.ts'
import { execute } from '@loci/postgres/transaction.ts'
import { dueOf, enteringLocks, headOf } from '../databases/locks.ts'
import { countWritten, type Due } from '../databases/store.ts'
import { wakeEvents } from '../events/store.ts'
import type { NewProjection } from './projections.ts'

/** What one request brings: one projection, or an array that is stored whole or not at all. */
export interface IngestAct {
  database: string
  databasesMax: number
  partner: string
  projections: NewProjection[]
  isWhole: boolean
  /** The quota is used up: repeats are answered, and nothing is stored. */
  isFull: boolean
}

export interface IngestOutcome {
  outcome: 'done' | 'duplicate' | 'conflict' | 'full' | 'damaged' | 'databases' | 'erasing' | 'gone'
  id: string
  seq: number
}

export type ActOutcome =
  | { outcome: 'stored'; projections: IngestOutcome[] }
  | { outcome: 'refused'; at: number; why: IngestOutcome['outcome'] }

/** In one transaction, with the records and events: durable when this returns. Outcomes in the order of the acts. */
export async function commitProjections(pool: Pool, instanceId: string, acts: IngestAct[]): Promise<ActOutcome[]> {
  try {
    return await storeActs(pool, instanceId, acts)
  } catch (error) {
    const [act, ...others] = acts
    const refused = act && others.length === 0 ? refusedOf(error) : undefined
    if (act && refused) {
      await countWritten(
        pool,
        instanceId,
        act.projections.slice(0, refused.at).map(({ body }) => body),
      )
      return [refused]
    }
    throw isUnreadable(error) ? unreadable(error) : error
  }
}

async function storeActs(pool: Pool, instanceId: string, acts: IngestAct[]): Promise<ActOutcome[]> {
  const { rows } = await execute<IngestOutcome>(pool, {
    name: 'prj_write',
    text: `select outcome, id, seq from loci.prj_write(${PARAMETERS}) order by ord`,
    values: valuesOf(instanceId, acts),
    locks: () => enteringLocks(instanceId, acts, 'due row', 'event head'),
  })
  if (acts.some(({ projections }) => projections.some(({ record }) => record !== null))) wakeEvents(pool, instanceId)
  let next = 0
  return acts.map(({ projections }) => {
    next += projections.length
    return { outcome: 'stored', projections: rows.slice(next - projections.length, next) }
  })
}

/**
 * In the transaction of an act, which keeps its answer behind this: for projections that become no records, as those
 * have events. One that is refused fails the transaction (refusedOf).
 */
export async function storeWithin(sql: Sql, instanceId: string, act: IngestAct): Promise<IngestOutcome[]> {
  const { rows } = await sql.query<IngestOutcome>({
    name: 'prj_store',
    text: `select outcome, id, seq from loci.prj_store(${PARAMETERS}) order by ord`,
    values: valuesOf(instanceId, [act]),
    locks: () => enteringLocks(instanceId, [act], 'due row'),
  })
  return rows
}

const PARAMETERS = Array.from({ length: 22 }, (_, at) => `$${at + 1}`).join(', ')

function valuesOf(instanceId: string, acts: IngestAct[]): unknown[] {
  const all = acts.flatMap((act, at) => act.projections.map((projection) => ({ projection, act, at })))
  // Null where every value is: most columns of most calls, and nobody writes or reads their NULLs.
  const column = <Value>(of: (one: NewProjection, act: IngestAct, at: number) => Value | null) => {
    const values = all.map(({ projection, act, at }) => of(projection, act, at))
    return values.some((value) => value !== null) ? values : null
  }
  return [
    instanceId,
    acts[0]?.databasesMax,
    column((_, act, at) => (act.isWhole ? at + 1 : null)),
    column((_, act) => act.database),
    column((_, act) => act.partner),
    column(({ id }) => id),
    column(({ isGiven }) => isGiven),
    column((_, act) => act.isFull),
    column((one) => one.class),
    column(({ key }) => key),
    column(({ content }) => content),
    column(({ taskClass }) => taskClass),
    column(({ body }) => body),
    column(({ target }) => target),
    column(({ ttlMs }) => ttlMs),
    column(({ record }) => record?.id ?? null),
    column(({ record }) => record?.context ?? null),
    column(({ record }) => record?.value ?? null),
    column(({ record }) => record?.body ?? null),
    column(({ record }) => record?.occurredAt ?? null),
    column(({ said }) => said),
    column(({ intent }) => intent),
  ]
}

/** Of an array that was alone in its call; of several nobody is told, and each is tried alone. */
export function refusedOf(error: unknown): Extract<ActOutcome, { outcome: 'refused' }> | undefined {
  const { detail = '' } = error as { detail?: string }
  const [, ord, why] = /^(\d+) (\w+) 0$/.exec(detail) ?? []
  if (sqlState(error) !== 'LC001' || why === undefined) return undefined
  return { outcome: 'refused', at: Number(ord) - 1, why: why as IngestOutcome['outcome'] }
}

function unreadable(cause: unknown): ApiError {
  return new ApiError(
    'DATA_DAMAGED',
    'The stored projections under this request cannot be read. Nothing was done; GET /v1/kv/consistency says more.',
    { cause },
  )
}

export interface PendingEvent {
  seq: number
  partner: string
  id: string
  body: string
  /** Until its content is erased. */
  ttlMs: number | null
}

/** Of what one cycle takes in: an event may have half a megabyte, and a thousand of them the memory of the replica. */
const PENDING_BYTES_MAX = 1024 * 1024

/** The events that no cycle has taken in, the oldest first. Damaged ones wait. */
export async function listPending(
  sql: Sql,
  instanceId: string,
  database: string,
  limit: number,
): Promise<PendingEvent[]> {
  const { rows } = await sql.query<PendingEvent>({
    name: 'prj_pending',
    text: `select seq, partner, id, body, ttl_ms as "ttlMs" from loci.prj_pending($1, $2, $3, $4) order by seq`,
    values: [instanceId, database, limit, PENDING_BYTES_MAX],
  })
  return rows
}

export interface ForgottenPage {
  found: number
  erased: number
  /** The last number; null: none is left. */
  next: number | null
}

/** Takes a value out of projections. In the transaction that erases it. */
export async function forgetIn(
  sql: Sql,
  { instanceId, database }: Due,
  { mac, after, through, limit }: { mac: Buffer; after: number; through: number; limit: number },
): Promise<ForgottenPage> {
  const { rows } = await sql.query<ForgottenPage>({
    name: 'prj_forget',
    text: 'select hits as found, erased, last as next from loci.prj_forget($1, $2, $3, $4, $5, $6)',
    values: [instanceId, database, mac, after, limit, through],
    locks: () => [headOf(instanceId, database), dueOf(instanceId, database)],
  })
  return rows[0] as ForgottenPage
}
