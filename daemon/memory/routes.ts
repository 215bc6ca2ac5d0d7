import { type Claim, type Claims, inProgress, REPEAT_ERRORS } from '@loci/acts/idempotency/idempotency.ts'
import { ApiError } from '@loci/chassis/api-error.ts'
import { type Call, type Route, reply, route } from '@loci/chassis/route.ts'
import { isId, newId } from '@loci/contract/ids.ts'
import {
  type RecordWrite,
  record,
  recordBatch,
  recordBatchResult,
  recordStored,
  recordWrite,
} from '@loci/contract/memory.ts'
import { idPath } from '@loci/contract/wire.ts'
import { type Batches, createBatches } from '@loci/postgres/batches.ts'
import { isUnreadable } from '@loci/postgres/errors.ts'
import type { Pool, Sql } from '@loci/postgres/pool.ts'
import type { Caller, CapabilityAccess } from '../access/capability-access.ts'
import type { InstanceKeys } from '../databases/instance-keys.ts'
import { type Macs, macsOf } from '../databases/macs.ts'
import { entryRefusal, type Quota } from '../databases/quota.ts'
import { tooManyKept } from '../idempotency/idempotency.ts'
import { findAnswer, isClaimed } from '../idempotency/store.ts'
import type { RecallIndex } from './index/recall-index.ts'
import { bodyOf, heardFrom, momentOf, type RecordBody, recordText, type Source } from './records.ts'
import { noRecord, recordDamaged } from './refusals.ts'
import {
  type ActOutcome,
  commitRecords,
  findAsOf,
  findRecords,
  type NewRecord,
  type RecordOutcome,
  type StoreAct,
  type StoredRecord,
} from './store.ts'

interface RecordOptions {
  access: CapabilityAccess
  pool: Pool
  index: Pick<RecallIndex, 'encoder' | 'encodeLater'>
  quota: Quota
  keys: InstanceKeys
  claims: Claims<Caller>
}

export const SHARED = { tag: 'memory', subservice: 'memory', refusesUnknownNames: true } as const

/** Records in one statement. */
const BATCH_MAX = 64
/** 16 KiB of content and of metadata as clients write them that escape everything beyond ASCII, and the rest. */
const RECORD_BODY_BYTES_MAX = 256 * 1024

const WRITE_ERRORS = [
  ...(['NOT_FOUND', 'MEMORY_FORGOTTEN', 'QUOTA_EXCEEDED', 'INVALID_STATE', 'DATA_DAMAGED'] as const),
  ...REPEAT_ERRORS,
]

type WriteCall = Call<Caller, unknown, unknown, unknown>

export function recordRoutes({ access, pool, index, quota, keys, claims }: RecordOptions): Route[] {
  // One commit of an instance at a time: records keep their order and share what a call and a commit cost. With two at
  // once, as slots have, each would carry half as many, and the second would still wait for the first at the head of
  // the events.
  // Each route by itself: a call files all its Idempotency-Keys under one.
  const commits = () =>
    createBatches<StoreAct, ActOutcome>({
      run: (instanceId, batch) => commitRecords(pool, instanceId, batch),
      runningMax: 1,
      batchMax: BATCH_MAX,
      sizeOf: ({ records }) => records.length,
      groupOf: ({ database }) => database,
    })
  const singles = commits()
  const batches = commits()
  const reads = createBatches<{ database: string; id: string }, StoredRecord | undefined>({
    run: (instanceId, wanted) => findRecords(pool, instanceId, wanted),
    runningMax: 1,
    batchMax: BATCH_MAX,
    groupOf: ({ database }) => database,
  })
  return [
    route(
      {
        ...SHARED,
        method: 'POST',
        path: '/v1/memory/records',
        access: access.capability('memory:write'),
        summary: 'Store a memory.',
        details: 'A known `sourceEventId` is answered with its record.',
        body: recordWrite,
        bodyBytesMax: RECORD_BODY_BYTES_MAX,
        answers: { 200: recordStored },
        errors: WRITE_ERRORS,
      },
      (call) => store(call, singles, [call.body], ([text]) => text as string),
    ),

    route(
      {
        ...SHARED,
        method: 'POST',
        path: '/v1/memory/records/batch',
        access: access.capability('memory:write'),
        summary: 'Store several memories, all or nothing.',
        body: recordBatch,
        answers: { 200: recordBatchResult },
        errors: WRITE_ERRORS,
      },
      (call) => store(call, batches, call.body.records, (texts) => `{"records":[${texts.join(',')}]}`),
    ),

    route(
      {
        ...SHARED,
        method: 'GET',
        path: '/v1/memory/records/{id}',
        access: access.capability('memory:read'),
        summary: 'Read a memory, also one that was superseded.',
        params: idPath,
        answers: { 200: record },
        errors: ['NOT_FOUND', 'DATA_DAMAGED'],
      },
      async ({ caller, params: { id } }) => {
        if (!isId('mem', id)) throw noRecord()
        const found = await reads.add(caller.instance.id, { database: caller.database, id }).catch((error) => {
          throw isUnreadable(error) ? recordDamaged(id, error) : error
        })
        if (!found) throw noRecord()
        if (!found.intact) throw recordDamaged(id)
        return reply(200, recordText(found))
      },
    ),
  ]

  async function store(
    call: WriteCall,
    acts: Batches<StoreAct, ActOutcome>,
    writes: RecordWrite[],
    answer: (texts: string[]) => string,
  ) {
    const { caller } = call
    const { instance, database } = caller
    const macs = macsOf(await keys.of(instance.id))
    const source = sourceOf(call)
    const records = writes.map((write) => newRecord(write, macs, source))
    const claim = await claims.claimOf(call)
    const fill = async (sql: Sql, kept: object) =>
      JSON.parse(answer(await refilled(sql, caller, (kept as Kept).records))) as object
    try {
      if (records.length > 0) await quota.requireRoom(instance, roomOf(records), pool)
    } catch (refusal) {
      // A repeat of what was done before the quota was used up is still answered.
      const stored = claim && (await findAnswer(pool, claim.scope))
      if (!stored) throw refusal
      return claims.replay(pool, call, claim, stored, { fill })
    }
    const isWhole = claim !== undefined || records.length !== 1
    const act = { database, databasesMax: instance.limits.databases, records, isWhole, claim }
    const done = await acts.add(instance.id, act).catch((error) => {
      throw claim && isClaimed(error) ? inProgress() : error
    })
    if (done.outcome === 'known') {
      const { scope } = claim as Claim
      return claims.replay(pool, call, claim as Claim, await findAnswer(pool, scope), { fill })
    }
    if (done.outcome === 'answers') throw tooManyKept(instance)
    if (done.outcome === 'refused') throw refusalOf(caller, done.why, writes.length > 1 ? done.at : undefined)
    const refused = done.records.find(({ outcome }) => outcome !== 'done' && outcome !== 'known')
    if (refused) throw refusalOf(caller, refused.outcome)
    const stored = records.filter((_, at) => done.records[at]?.outcome === 'done')
    if (index.encoder) index.encodeLater(stored.map(({ body }) => JSON.parse(body) as RecordBody))
    return reply(200, answer(done.records.map(recordText)))
  }

  /** What a repeat is answered with: the records as they were then, from what the store has of them now. */
  async function refilled(sql: Sql, { instance, database }: Caller, kept: Kept['records']): Promise<string[]> {
    const wanted = kept.map(([id, version]) => ({ id, version }))
    const found = await findAsOf(sql, instance.id, database, wanted)
    return wanted.map(({ id }, at) => {
      const row = found[at]
      return row?.intact ? recordText(row) : JSON.stringify({ id, redacted: true })
    })
  }
}

/** What mem_write_acts() keeps of an answer. */
interface Kept {
  records: [id: string, version: number][]
}

function newRecord(sent: RecordWrite, macs: Macs, source: Source): NewRecord {
  const write = heardFrom(sent, source)
  return {
    id: newId('mem'),
    key: write.key ?? null,
    sourceEventId: write.sourceEventId ?? null,
    context: write.contextId === undefined ? null : macs.context(write.contextId),
    value: macs.value(write.content),
    isOverride: write.override ?? false,
    supersedes: write.supersedes ?? null,
    body: bodyOf(write, source),
    occurredAt: momentOf(write.occurredAt) ?? null,
    ttlMs: write.ttlMs ?? null,
  }
}

/** Who wrote, by the credential and nothing else. A chain with children has a slash in its holder. */
function sourceOf({ caller, requestId }: Pick<WriteCall, 'caller' | 'requestId'>): Source {
  const trust = caller.holder.includes('/') ? 'delegated' : 'holder'
  return { type: 'api', ref: requestId, actor: caller.actor, trust }
}

/** Of a row beside its body: its key, its source event, its digest. */
const ROW_BYTES = 600

function roomOf(records: NewRecord[]): { records: number; bytes: number } {
  return {
    records: records.length,
    bytes: records.reduce((sum, { body }) => sum + Buffer.byteLength(body) + ROW_BYTES, 0),
  }
}

export function damagedOf(rows: StoredRecord[]): object {
  const damaged = rows.flatMap((row) =>
    row.intact ? [] : [{ ref: row.id, reason: row.isUnreadable ? 'page_unreadable' : 'digest_mismatch' }],
  )
  return damaged.length === 0 ? {} : { damaged }
}

/** `at`: of a batch, which of its records is refused. */
function refusalOf(caller: Caller, why: RecordOutcome['outcome'], at?: number): ApiError {
  const details = at === undefined ? {} : { details: { index: at } }
  const refusal = entryRefusal(why, caller.instance.limits.databases)
  if (refusal) return refusal
  if (why === 'forgotten')
    return new ApiError(
      'MEMORY_FORGOTTEN',
      'This content was deleted and is not learned again. Send override: true to store it all the same.',
      details,
    )
  if (why === 'missing')
    return new ApiError('NOT_FOUND', 'There is no record of the id that `supersedes` names.', details)
  return new ApiError('DATA_DAMAGED', 'The record that this one refers to is damaged. Nothing was stored.', details)
}
