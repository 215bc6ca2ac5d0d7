// Keeps the index of a database: makes segments of the tail, takes records out of them, and makes anew what cannot be
// used. Segments are made outside of any lock and published only while the index is still the one that they were made
// from; who is overtaken begins again.

import { ApiError } from '@loci/chassis/api-error.ts'
import { CommitUnknownError } from '@loci/contract/outcomes.ts'
import { sqlState } from '@loci/postgres/errors.ts'
import type { Pool, Sql } from '@loci/postgres/pool.ts'
import { transaction } from '@loci/postgres/transaction.ts'
import type { Checked } from '../../databases/erasure.ts'
import type { InstanceKeys } from '../../databases/instance-keys.ts'
import { type Due, postponeDue } from '../../databases/store.ts'
import { appendEvents } from '../../events/store.ts'
import type { Language, RecordText } from '../analysis/item.ts'
import { type Facets, facetsOf } from '../facets.ts'
import { FORMAT, openSegment, termsOfSegment } from '../index/format.ts'
import type { RecallIndex } from '../index/recall-index.ts'
import { nextExpiry } from '../store.ts'
import { putVectorsDue } from '../vectors/store.ts'
import { formatOf, languageOf } from './config.ts'
import { type ReadSegment, readingSegments } from './reading.ts'
import {
  fittingSegments,
  fittingTexts,
  ITEMS_MAX,
  mergeFrom,
  type Part,
  partsOf,
  segmentDigest,
  segmentKey,
} from './segments.ts'
import {
  commitIndex,
  dropSegments,
  type Erased,
  type ErasedValue,
  eraseRecords,
  findPlaces,
  type IndexState,
  type NewSegment,
  type Replacement,
  readIndex,
  readTexts,
  type SegmentRow,
  type TextRow,
} from './store.ts'

const OVERTAKEN_MAX = 5
/** Records that expire in one transaction. */
const EXPIRED_MAX = 500
/** Of the work of one claim, which holds for 5 s. */
const SWEEP_MS = 2_000
/** Records beside one that say the same and leave in its transaction. */
const EQUAL_MAX = 2_000
const TIMED_OUT = '57014'

/** As the analyser takes it. */
function recordTextOf({ seq, mark, context, position, storedAt, key, body }: TextRow, facets: Facets): RecordText {
  const occurredAt = body.occurredAt === null ? storedAt : Date.parse(body.occurredAt)
  const { actor, content, media, kind, tags } = body
  return {
    ...{ seq, mark, context, position, actor, occurredAt, content, media, kind, tags },
    isHinted: body.salienceHint > 0,
    hasContextId: body.contextId !== null,
    contextFacet: body.contextId === null ? 0 : facets.context(body.contextId),
    facets: [...(key === null ? [] : [facets.key(key)]), ...(body.metadata ? facets.members(body.metadata) : [])],
  }
}

/** The same for several: the key is asked for where there is one. Not from inside a transaction (InstanceKeys). */
export async function recordTextsOf(keys: InstanceKeys, instanceId: string, rows: TextRow[]): Promise<RecordText[]> {
  if (rows.length === 0) return []
  const facets = facetsOf(await keys.of(instanceId))
  return rows.map((row) => recordTextOf(row, facets))
}

/** The handler of due work `index`. */
export async function buildIndex(pool: Pool, index: RecallIndex, keys: InstanceKeys, due: Due): Promise<void> {
  for (let overtaken = 0; overtaken < OVERTAKEN_MAX; overtaken += 1) {
    const state = await readIndex(pool, due.instanceId, due.database, { tailMax: ITEMS_MAX })
    const plan = await planIndex(pool, index, keys, due, state)
    if ((await commitIndex(pool, due, state, plan)) === 'moved') continue
    index.forget(due.instanceId, keysOf(state.segments, plan.replaced))
    if (index.encoder && plan.segments.length > 0) await putVectorsDue(pool, due)
    return
  }
  throw new Error('writes of the database overtook the build of its index; it is due again')
}

/** What the index knows the replaced ones by. */
export function keysOf(segments: SegmentRow[], replaced: number[]): string[] {
  return segments.filter(({ id }) => replaced.includes(id)).map(segmentKey)
}

async function planIndex(
  pool: Pool,
  index: RecallIndex,
  keys: InstanceKeys,
  due: Due,
  state: IndexState,
): Promise<Replacement & { through: number; at: number }> {
  const language = languageOf(state)
  const format = formatOf(language)
  const changed = new Set(state.changed)
  const parts = partsOf(state, format)
  const texts = await recordTextsOf(keys, due.instanceId, state.texts)
  const tail = texts.slice(0, fittingTexts(texts))
  const hasTail = state.tailRows > 0
  // What no longer holds is left out of the texts, and is covered all the same.
  const seen = state.tailRows < ITEMS_MAX ? state.seq : (state.tailThrough as number)
  const taken = tail.length < texts.length ? (tail.at(-1)?.seq as number) : seen
  const through = hasTail ? taken : state.through
  const replaced: number[] = []
  const segments: NewSegment[] = []
  const publish = async (body: Uint8Array, from: number, to: number) => {
    const row = { from, through: to, items: openSegment(body).items, format }
    segments.push({ ...row, body, digest: segmentDigest(due, row, body) })
  }
  const read = readingSegments(pool, due)
  const bodyOf = (part: Part) => segmentBody(pool, index, keys, due, part, language, read)
  const counts = parts.map((part) => (part.isUsable ? part.items : ITEMS_MAX))
  const tailBody = hasTail ? await index.build(tail, language) : undefined
  const mergeable = tailBody ? parts.slice(mergeFrom([...counts, tail.length])) : []
  const bodies = await Promise.all(mergeable.map(bodyOf))
  const fitting = tailBody ? fittingSegments(bodies.map(termsOfSegment), termsOfSegment(tailBody)) : 0
  const merged = parts.length - fitting
  const changedIn = (part: Part) => [...changed].filter((seq) => seq >= part.from && seq <= part.through)
  const left = parts.slice(0, merged).filter((part) => !part.isUsable && part.isNewer)
  for (const part of parts.slice(0, merged)) {
    const dropped = changedIn(part)
    if (left.includes(part) || (part.isUsable && dropped.length === 0)) continue
    if (part.id !== undefined) replaced.push(part.id)
    await publish(await index.merge([await bodyOf(part)], dropped), part.from, part.through)
  }
  if (tailBody) {
    const absorbed = parts.slice(merged)
    for (const { id } of absorbed) if (id !== undefined) replaced.push(id)
    const body = await index.merge([...bodies.slice(bodies.length - fitting), tailBody], [...changed])
    await publish(body, absorbed[0]?.from ?? state.through + 1, through)
  }
  // What ended in a segment that is left as it is stays masked: it counts as changed until somebody takes it out.
  const at = left.some((part) => changedIn(part).length > 0) ? state.indexedAt : state.seq
  return { replaced, segments, through, at }
}

/** The body of a part: as it is stored, or from the records, and then it is stored anew, soon. */
export async function segmentBody(
  pool: Pool,
  index: RecallIndex,
  keys: InstanceKeys,
  due: Due,
  part: Part,
  language: Language,
  read = readingSegments(pool, due),
): Promise<Uint8Array> {
  const stored = part.isUsable ? await storedBody(read, due, part) : undefined
  if (stored) return stored
  if (part.isUsable) await dropSegments(pool, due.instanceId, due.database, [part.id])
  const texts = await readTexts(pool, due.instanceId, due.database, part)
  return index.build(await recordTextsOf(keys, due.instanceId, texts), language)
}

/** Undefined when it does not fit its digest, or cannot be read. */
export async function storedBody(read: ReadSegment, due: Due, segment: SegmentRow): Promise<Uint8Array | undefined> {
  const row = await read(segment)
  return row && segmentDigest(due, segment, row.body).equals(row.digest) ? row.body : undefined
}

/** What is done in the transaction of the erasure; it appends the events, last. */
export type Finish<Result> = (sql: Sql, erased: Erased, thinned: readonly Checked[]) => Promise<Result>

interface EraseOptions {
  /** Told the HMAC of the value before the transaction; shortens what the features do in it. Tells what it did. */
  thin?: (mac: Buffer, count: (erased: Checked) => void) => Promise<void>
}

/** What has been committed so far. */
interface Progress<Result> {
  results: Result[]
  /** By features, before the transaction that tells it. */
  thinned: Checked[]
}

/**
 * Erases a record and all that say the same, or those that have a value, or without either those whose time is over:
 * the records and, in the same transaction, the segments that have them. What `finish` answered: nothing when there is
 * none, several times where more than EQUAL_MAX say the same. The record itself leaves with the last of them. For a
 * value `finish` runs also when no record has it: something else may. A DELETE that fails
 * after a part of it was erased says so: it must not promise that nothing was done.
 */
export async function erase<Result>(
  pool: Pool,
  index: RecallIndex,
  due: Due,
  wanted: { id: string } | { value: ErasedValue } | { limit: number },
  finish: Finish<Result>,
  options: EraseOptions = {},
): Promise<Result[]> {
  const progress: Progress<Result> = { results: [], thinned: [] }
  try {
    await eraseInRounds(pool, index, due, wanted, finish, { ...options, progress })
    return progress.results
  } catch (cause) {
    const isPartlyDone = progress.results.length > 0 || progress.thinned.length > 0
    if (!('id' in wanted) || !isPartlyDone) throw cause
    throw new CommitUnknownError('an erasure failed after a part of it: repeat it', { cause })
  }
}

async function eraseInRounds<Result>(
  pool: Pool,
  index: RecallIndex,
  due: Due,
  wanted: { id: string } | { value: ErasedValue } | { limit: number },
  finish: Finish<Result>,
  { thin, progress }: EraseOptions & { progress: Progress<Result> },
): Promise<void> {
  const why = 'id' in wanted ? 'erased' : 'value' in wanted ? 'replayed' : 'expired'
  const { results, thinned } = progress
  for (let overtaken = 0; overtaken < OVERTAKEN_MAX; overtaken += 1) {
    const found = await findPlaces(pool, due, { limit: EQUAL_MAX, ...wanted })
    const isLast = why === 'expired' || found.seqs.length < (why === 'erased' ? EQUAL_MAX + 1 : EQUAL_MAX)
    const seqs = isLast || why === 'replayed' ? found.seqs : found.seqs.slice(1)
    const segments = found.segments.filter(({ from, through }) => seqs.some((seq) => seq >= from && seq <= through))
    if (seqs.length === 0 && why !== 'replayed') return
    if (found.mac) await thin?.(found.mac, (erased) => thinned.push(erased))
    const replacement = {
      replaced: segments.map(({ id }) => id),
      segments: await Promise.all(segments.map((segment) => without(pool, index, due, segment, seqs))),
    }
    const done = await transaction(pool, async (sql) => {
      const erased = await eraseRecords(sql, due, { seqs, read: found.read, why, ...replacement })
      const isDone = erased.outcome === 'done' && (erased.erased > 0 || why === 'replayed')
      return { outcome: erased.outcome, results: isDone ? [await finish(sql, erased, thinned)] : [] }
    })
    results.push(...done.results)
    if (done.results.length > 0) {
      thinned.length = 0
      index.forget(due.instanceId, keysOf(segments, replacement.replaced))
      if (isLast) return
      overtaken = -1
    } else if (done.outcome !== 'moved') return
  }
  throw new ApiError(
    'OVERLOADED',
    'Other changes of this memory came first, again and again. Nothing was done; try again.',
    {
      retryAfterMs: 200,
    },
  )
}

/** A segment without some of its records. One that cannot be used says so: it is made from the records, soon. */
async function without(
  sql: Sql,
  index: RecallIndex,
  due: Due,
  segment: SegmentRow,
  seqs: number[],
): Promise<NewSegment> {
  const dropped = seqs.filter((seq) => seq >= segment.from && seq <= segment.through)
  // Of another release: its layout may be another.
  const isReadable = Math.floor(segment.format / 65_536) === FORMAT
  const stored = isReadable ? await storedBody(readingSegments(sql, due), due, segment) : undefined
  const { from, through } = segment
  if (!stored) {
    const row = { from, through, items: 0, format: 0 }
    return { ...row, body: new Uint8Array(), digest: segmentDigest(due, row, new Uint8Array()) }
  }
  const body = await index.merge([stored], dropped)
  const row = { from, through, items: openSegment(body).items, format: segment.format }
  return { ...row, body, digest: segmentDigest(due, row, body) }
}

/** Databases whose sweeps have timed out; beyond them each begins again with EXPIRED_MAX. */
const SLOW_MAX = 10_000

/**
 * The handler of due work `records`: what has expired leaves, as if it had been deleted, and may be learned again. Each
 * transaction takes records of one segment; one that runs into the statement timeout is tried with a quarter of them,
 * and the next ones of that database take more step by step. What is left after SWEEP_MS is due again at once, behind
 * the work of others.
 */
export function sweepingRecords(pool: Pool, index: RecallIndex): (due: Due) => Promise<void> {
  const limits = new Map<string, number>()
  return async (due) => {
    const name = `${due.instanceId}/${due.database}`
    const endsAt = performance.now() + SWEEP_MS
    while (performance.now() < endsAt) {
      const limit = limits.get(name) ?? EXPIRED_MAX
      try {
        const isMore = await eraseExpired(pool, index, due, limit)
        // A slow moment passes: what it made small grows again.
        const grown = limit * 1.25
        if (isMore && grown < EXPIRED_MAX) limits.set(name, Math.ceil(grown))
        else limits.delete(name)
        if (!isMore) return await nextExpiry(pool, due)
      } catch (error) {
        if (sqlState(error) !== TIMED_OUT || limit === 1) throw error
        if (limits.size >= SLOW_MAX) limits.clear()
        limits.set(name, Math.ceil(limit / 4))
      }
    }
    await postponeDue(pool, 'records', due, 0)
  }
}

/** Whether there was one. */
async function eraseExpired(pool: Pool, index: RecallIndex, due: Due, limit: number): Promise<boolean> {
  const done = await erase(pool, index, due, { limit }, (sql, { events }) => appendEvents(sql, due.instanceId, events))
  return done.length > 0
}
