// The plan's records and bytes of an instance, over all domains. Its totals are read at most once a second while they
// are far from the limit and at every write when it is near, so a quota is exact but for the writes that are on their
// way at the same moment. What has expired uses up nothing, also before it is swept: nobody is refused because of it.
//
// Some of what an instance does stays behind outside its bytes: events for a day, acts in the audit for 400 days, a
// tombstone for each value that was deleted, for ever. Their number in a day follows the plan too, and so do the bytes
// that are written in it, however few of them stay: they pass through the write-ahead log, and its archive keeps them.
// Who has used one up writes nothing more until midnight, UTC; deletions go on, because there are only as many as there
// were writes before.

import { ApiError } from '@loci/chassis/api-error.ts'
import { createCache } from '@loci/chassis/cache.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import type { Instance } from '../access/authority.ts'
import { instanceGone } from '../access/served.ts'
import type { Totals } from './store.ts'

export interface Quota {
  /** Throws 403 QUOTA_EXCEEDED when nothing more may be put. */
  requireRoom(instance: Instance, more: Totals, sql: Sql): Promise<void>
  /** Throws it when what the transaction of `sql` has written does not fit; for an act that locks heads first. */
  requireFit(instance: Instance, sql: Sql): Promise<void>
  /** Throws it when as much was left behind today as the plan has; whoever holds too much is let in. */
  requireTraces(instance: Instance, sql: Sql): Promise<void>
}

/** What it holds, and what it has left behind today: events, acts in the audit, bytes in the write-ahead log. */
export interface Usage extends Totals {
  events: number
  acts: number
  written: number
}

type Limits = Pick<Instance['limits'], 'records' | 'bytes' | 'bytes_written_per_day'>
type ReadUsage = (sql: Sql, instanceId: string, room: Totals) => Promise<Usage>

/** One event in a day for so many bytes of the plan, and one act for each record: about as much as it may hold. */
const EVENT_BYTES = 1_000
/** However small the plan. */
const EVENTS_MIN = 10_000
const ACTS_MIN = 1_000

const DAY_MS = 24 * 60 * 60 * 1_000
const FRESH_MS = 1_000
const NEAR = 0.9
const REMEMBERED_MAX = 20_000

/** `read` is handed the caller's own connection: whoever holds one and waits for a second can wait for ever. */
export function createQuota(read: ReadUsage): Quota {
  const known = createCache<{ usage: Usage; at: number }>(REMEMBERED_MAX)
  async function usageOf({ id, limits }: Instance, { records, bytes }: Totals, sql: Sql): Promise<Usage> {
    const last = known.find(id)
    const traces = tracesMax(limits)
    const isNear =
      last !== undefined &&
      (last.usage.bytes + bytes >= limits.bytes * NEAR ||
        last.usage.records + records >= limits.records * NEAR ||
        last.usage.events >= traces.events * NEAR ||
        last.usage.acts >= traces.acts * NEAR ||
        last.usage.written + bytes >= traces.written * NEAR)
    if (last && !isNear && performance.now() - last.at <= FRESH_MS) return last.usage
    // Who comes meanwhile goes by what is known; near the limit everybody reads.
    if (last) last.at = performance.now()
    const usage = { ...(await read(sql, id, { records: limits.records - records, bytes: limits.bytes - bytes })) }
    known.keep(id, { usage, at: performance.now() })
    return usage
  }

  async function requireRoom(instance: Instance, more: Totals, sql: Sql): Promise<void> {
    const { limits } = instance
    const usage = await usageOf(instance, more, sql)
    if (usage.bytes + more.bytes > limits.bytes) throw exceeded('bytes', limits.bytes)
    if (usage.records + more.records > limits.records) throw exceeded('records', limits.records)
    requireTraces(usage, limits)
    // What is admitted counts at once, until the next reading knows it.
    usage.bytes += more.bytes
    usage.records += more.records
    usage.written += more.bytes
  }

  return {
    requireRoom,
    async requireFit(instance, sql) {
      // Always read: what is remembered knows nothing of this transaction.
      known.drop(instance.id)
      await requireRoom(instance, { records: 0, bytes: 0 }, sql)
    },
    async requireTraces(instance, sql) {
      requireTraces(await usageOf(instance, { records: 0, bytes: 0 }, sql), instance.limits)
    },
  }
}

function requireTraces({ events, acts, written }: Usage, limits: Limits): void {
  const traces = tracesMax(limits)
  if (events >= traces.events) throw usedUp('events', traces.events)
  if (acts >= traces.acts) throw usedUp('audited acts', traces.acts)
  if (written >= traces.written) throw usedUp('written bytes', traces.written)
}

/** In a day. */
function tracesMax({ bytes, records, bytes_written_per_day: written }: Limits) {
  return {
    events: Math.max(EVENTS_MIN, Math.floor(bytes / EVENT_BYTES)),
    acts: Math.max(ACTS_MIN, records),
    written: written ?? Number.POSITIVE_INFINITY,
  }
}

function exceeded(what: string, limit: number): ApiError {
  return new ApiError(
    'QUOTA_EXCEEDED',
    `The instance has used up the ${limit} ${what} of its plan. Delete something or choose a larger plan; reads and deletions go on.`,
  )
}

function usedUp(what: string, limit: number): ApiError {
  return new ApiError(
    'QUOTA_EXCEEDED',
    `The instance has used up the ${limit} ${what} that its plan has for a day. Write again after midnight UTC, or choose a larger plan; reads and deletions go on.`,
    { details: { resetsAt: nextMidnight(Date.now()).toISOString() } },
  )
}

/** When the next day of UTC begins. */
function nextMidnight(nowMs: number): Date {
  return new Date((Math.floor(nowMs / DAY_MS) + 1) * DAY_MS)
}

/** Why enter_database let nothing be written; undefined for every other outcome. */
export function entryRefusal(outcome: string, databasesMax: number): ApiError | undefined {
  if (outcome === 'gone') return instanceGone()
  if (outcome === 'erasing')
    return new ApiError('INVALID_STATE', 'The database is being erased. Write again when that is over.', {
      retryAfterMs: 1_000,
    })
  if (outcome !== 'databases') return undefined
  return new ApiError(
    'QUOTA_EXCEEDED',
    `The instance has reached the ${databasesMax} databases of its plan. The first write to a new name makes a database: use one that exists, or choose a larger plan.`,
  )
}
