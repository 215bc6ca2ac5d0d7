// Slots by key, the list and the statistics. Reads and writes of one instance that arrive together share a call.

import { type Claim, type Claims, inProgress, REPEAT_ERRORS } from '@loci/acts/idempotency/idempotency.ts'
import { ApiError } from '@loci/chassis/api-error.ts'
import { type Call, type Route, reply, route } from '@loci/chassis/route.ts'
import { keyParams } from '@loci/contract/kv.ts'
import {
  type SlotWrite,
  slot,
  slotBatch,
  slotBatchResult,
  slotDeleted,
  slotList,
  slotPatch,
  slotStatistics,
  slotWrite,
  slotWritten,
  utilizationPct,
} from '@loci/contract/working-memory.ts'
import { createBatches } from '@loci/postgres/batches.ts'
import { isUnreadable } from '@loci/postgres/errors.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import type { Activity } from '../access/activity.ts'
import type { Caller, CapabilityAccess } from '../access/capability-access.ts'
import type { InstanceKeys } from '../databases/instance-keys.ts'
import { macsOf } from '../databases/macs.ts'
import type { Quota } from '../databases/quota.ts'
import { conditionOf } from '../databases/versions.ts'
import { tooManyKept } from '../idempotency/idempotency.ts'
import { findAnswer, isClaimed, settledAnswer } from '../idempotency/store.ts'
import { type ActResult, commitWrites, configOf, type SlotAct, type SlotWritten } from './commits.ts'
import { noSlot, slotDamaged, type Write } from './document.ts'
import { batchAnswer, type KeptBatch, writtenOfKept } from './kept-batch.ts'
import { createKnownDocuments } from './known-documents.ts'
import { type Source, sizeOf } from './slots.ts'
import { findSlots, type ListRow, listSlots, readDocuments, type SlotRow, unreadable } from './store.ts'

interface SlotOptions {
  access: CapabilityAccess
  pool: Pool
  quota: Quota
  keys: InstanceKeys
  claims: Claims<Caller>
  activity: Pick<Activity, 'evicted'>
}

/** In one statement. */
const BATCH_MAX = 64
/** While one commit of an instance is written to disk, the next is planned and answered. */
const WRITE_LANES = 2
/** A value of 16 KiB as clients write it that escape everything beyond ASCII, and what is around it. */
const SLOT_BODY_BYTES_MAX = 160 * 1024

/** What every route of working memory has in common. */
export const SHARED = { tag: 'working memory', subservice: 'working_memory', refusesUnknownNames: true } as const

export function slotRoutes({ access, pool, quota, keys, claims, activity }: SlotOptions): Route[] {
  const known = createKnownDocuments()
  // One commit of a database at a time: its writes keep their order, plan on each other and share what a commit costs.
  const acts = createBatches<SlotAct, ActResult>({
    async run(instanceId, batch) {
      const results = await commitWrites(pool, known, { instanceId, macs: macsOf(await keys.of(instanceId)) }, batch)
      const written = results.flatMap((result) => (Array.isArray(result) ? result : []))
      activity.evicted(
        instanceId,
        written.flatMap(({ evicted }) => evicted.map(({ reasonCode }) => reasonCode)),
      )
      return results
    },
    runningMax: 1,
    lanes: WRITE_LANES,
    batchMax: BATCH_MAX,
    sizeOf: ({ writes }) => writes.length,
    groupOf: ({ database }) => database,
  })
  const lists = createBatches<string, ListRow>({
    run: (instanceId, databases) => listSlots(pool, instanceId, databases),
    runningMax: 2,
    batchMax: BATCH_MAX,
    groupOf: (database) => database,
  })
  const reads = createBatches<{ database: string; key: string }, SlotRow>({
    run: (instanceId, wanted) => findSlots(pool, instanceId, wanted),
    runningMax: 2,
    batchMax: BATCH_MAX,
    groupOf: ({ database }) => database,
  })

  async function commitAll({ instance, database }: Caller, writes: Write[], claim?: Claim) {
    const act = { database, databasesMax: instance.limits.databases, writes, claim }
    const result = await acts.add(instance.id, act).catch((error) => {
      throw claim && isClaimed(error) ? inProgress() : error
    })
    if (result === 'answers') throw tooManyKept(instance)
    if (result instanceof Error) throw result
    return result
  }

  async function commit(caller: Caller, write: Write): Promise<SlotWritten> {
    const [written] = (await commitAll(caller, [write])) as [SlotWritten]
    return written
  }

  return [
    route(
      {
        ...SHARED,
        method: 'GET',
        path: '/v1/working-memory/slots',
        access: access.capability('wm:read'),
        summary: 'List the slots.',
        answers: { 200: slotList },
        errors: ['DATA_DAMAGED'],
      },
      async ({ caller }) => {
        const { count, slots, version, damaged, ...layers } = await lists
          .add(caller.instance.id, caller.database)
          .catch(asDamage)
        const { capacity } = configOf(layers)
        const rest = JSON.stringify({ count, capacity, asOfSeq: version, ...damagedOf(damaged) })
        return reply(200, `{"slots":[${slots}],${rest.slice(1)}`)
      },
    ),

    route(
      {
        ...SHARED,
        method: 'GET',
        path: '/v1/working-memory/stats',
        access: access.capability('wm:read'),
        summary: 'Read how full the working memory is.',
        answers: { 200: slotStatistics },
        errors: ['DATA_DAMAGED'],
      },
      async ({ caller: { instance, database } }) => {
        const [snapshot] = await readDocuments(pool, instance.id, [{ database, wanted: [] }]).catch(asDamage)
        const { document, evictions, ...layers } = snapshot as NonNullable<typeof snapshot>
        const { capacity } = configOf(layers)
        const there = document.slots.flatMap(({ meta, expiresAt }) =>
          meta && (expiresAt === null || expiresAt > document.now) ? [meta] : [],
        )
        return {
          slotCount: there.length,
          capacity,
          utilizationPct: utilizationPct(there.length, capacity),
          pinned: there.filter(({ pinned }) => pinned).length,
          bytes: there.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
          evictions,
        }
      },
    ),

    route(
      {
        ...SHARED,
        method: 'PUT',
        path: '/v1/working-memory/slots/{key}',
        access: access.capability('wm:write'),
        summary: 'Write a slot.',
        details:
          'With If-Match only over that version, with `If-None-Match: *` only where there is none. Over capacity another one leaves.',
        conditions: ['if-match', 'if-none-match'],
        params: keyParams,
        body: slotWrite,
        bodyBytesMax: SLOT_BODY_BYTES_MAX,
        answers: { 200: slotWritten },
        errors: ['VERSION_CONFLICT', 'WORKING_MEMORY_FULL', 'QUOTA_EXCEEDED', 'INVALID_STATE', 'DATA_DAMAGED'],
      },
      async (call) => {
        const { caller, params, body, headers } = call
        const ifMatch = conditionOf(headers)
        await quota.requireRoom(caller.instance, roomOf([{ key: params.key, body }]), pool)
        const write: Write = { op: 'put', key: params.key, body, ifMatch, source: sourceOf(call) }
        return written(await commit(caller, write))
      },
    ),

    route(
      {
        ...SHARED,
        method: 'GET',
        path: '/v1/working-memory/slots/{key}',
        access: access.capability('wm:read'),
        summary: 'Read a slot.',
        params: keyParams,
        answers: { 200: slot },
        errors: ['NOT_FOUND', 'DATA_DAMAGED'],
      },
      async ({ caller, params: { key } }) => {
        const { text, intact } = await reads.add(caller.instance.id, { database: caller.database, key }).catch(asDamage)
        if (intact === null) throw noSlot()
        if (!intact) throw slotDamaged(key)
        return reply(200, text)
      },
    ),

    route(
      {
        ...SHARED,
        method: 'PATCH',
        path: '/v1/working-memory/slots/{key}',
        access: access.capability('wm:write', { also: 'wm:read' }),
        summary: 'Change a slot by a JSON merge patch.',
        details: 'With If-Match only that version.',
        conditions: ['if-match'],
        params: keyParams,
        body: slotPatch,
        bodyBytesMax: SLOT_BODY_BYTES_MAX,
        answers: { 200: slotWritten },
        errors: [
          ...(['NOT_FOUND', 'VERSION_CONFLICT', 'WORKING_MEMORY_FULL', 'QUOTA_EXCEEDED'] as const),
          ...(['INVALID_STATE', 'DATA_DAMAGED'] as const),
        ],
      },
      async (call) => {
        const { caller, params, body, headers } = call
        const ifMatch = conditionOf(headers)
        const bytes = 2 * (SLOT_OVERHEAD_BYTES + Buffer.byteLength(JSON.stringify(body)))
        await quota.requireRoom(caller.instance, { records: 0, bytes }, pool)
        const write: Write = { op: 'patch', key: params.key, patch: body, ifMatch, source: sourceOf(call) }
        return written(await commit(caller, write))
      },
    ),

    route(
      {
        ...SHARED,
        method: 'DELETE',
        path: '/v1/working-memory/slots/{key}',
        access: access.capability('wm:delete'),
        summary: 'Delete a slot.',
        details:
          'With If-Match only that version. Each version stays for 30 days from its writing, on the plan free for 7.',
        conditions: ['if-match'],
        params: keyParams,
        answers: { 200: slotDeleted },
        errors: ['NOT_FOUND', 'VERSION_CONFLICT', 'INVALID_STATE', 'DATA_DAMAGED'],
      },
      async ({ caller, params: { key }, headers }) => {
        const { version } = await commit(caller, { op: 'delete', key, ifMatch: conditionOf(headers) })
        if (version === undefined) throw noSlot()
        return { deleted: true, key, version }
      },
    ),

    route(
      {
        ...SHARED,
        method: 'POST',
        path: '/v1/working-memory/slots/batch',
        access: access.capability('wm:write', { servedByHandler: true }),
        summary: 'Put and delete several slots, all or nothing.',
        body: slotBatch,
        answers: { 200: slotBatchResult },
        errors: [
          ...(['VERSION_CONFLICT', 'WORKING_MEMORY_FULL', 'QUOTA_EXCEEDED', 'INVALID_STATE'] as const),
          ...(['OPERATION_NOT_ALLOWED', 'DATA_DAMAGED', ...REPEAT_ERRORS] as const),
        ],
      },
      async (call) => {
        const { caller, body } = call
        const { operations } = body
        // Whoever may only delete (a suspended instance) may delete many at once.
        caller.requireServed(operations.every(({ op }) => op === 'delete') ? 'delete' : 'write')
        if (operations.some(({ op }) => op === 'delete')) caller.requireOperation('wm:delete')
        const source = sourceOf(call)
        const writes = operations.map((operation): Write => {
          const ifMatch = operation.ifVersion ?? null
          if (operation.op === 'delete') return { op: 'delete', key: operation.key, ifMatch }
          const { op, key, ifVersion: _, ...own } = operation
          return { op, key, body: own, ifMatch, source }
        })
        const fill = async (_: unknown, kept: object) => batchAnswer(writes, writtenOfKept(kept as KeptBatch))
        const claim = await claims.claimOf(call)
        const puts = writes.flatMap((write) => (write.op === 'put' ? [write] : []))
        try {
          if (puts.length > 0) await quota.requireRoom(caller.instance, roomOf(puts), pool)
          const done = await commitAll(caller, writes, claim)
          if (done !== 'known') return batchAnswer(writes, done)
        } catch (refusal) {
          // A repeat of what was done before there was no room any more is still answered.
          const stored = claim && isRefusal(refusal) ? await settledAnswer(pool, claim) : undefined
          if (!claim || !stored) throw refusal
          return claims.replay(pool, call, claim, stored, { fill })
        }
        const known = claim as Claim
        return claims.replay(pool, call, known, await findAnswer(pool, known.scope), { fill })
      },
    ),
  ]
}

/** Nothing was done, and why is known. */
function isRefusal(error: unknown): boolean {
  return error instanceof ApiError && error.code !== 'IDEMPOTENCY_IN_PROGRESS'
}

function written({ text, evicted }: SlotWritten) {
  return reply(200, `${(text as string).slice(0, -1)},"evicted":${JSON.stringify(evicted)}}`)
}

/** Who wrote, by the credential and nothing else. A chain with children has a slash in its holder. */
export function sourceOf({
  caller,
  requestId,
}: Pick<Call<Caller, unknown, unknown, unknown>, 'caller' | 'requestId'>): Source {
  return {
    type: 'api',
    ref: requestId,
    actor: caller.actor,
    trust: caller.holder.includes('/') ? 'delegated' : 'holder',
  }
}

/** Of the fields of a slot beside its value: its explanation, its source, its times. */
const SLOT_OVERHEAD_BYTES = 1_200

/** What the puts may add at most: each to the document and to the history. Slots are bytes, not records. */
function roomOf(puts: { key: string; body: SlotWrite }[]): { records: number; bytes: number } {
  const bytes = puts.reduce(
    (sum, { key, body }) => sum + Buffer.byteLength(key) + sizeOf(body) + SLOT_OVERHEAD_BYTES,
    0,
  )
  return { records: 0, bytes: 2 * bytes }
}

export function damagedOf(refs: (string | null)[] | null): object {
  return refs === null || refs.length === 0 ? {} : { damaged: refs.map((ref) => ({ ref, reason: 'digest_mismatch' })) }
}

/** A document that cannot be read is damage, not an empty list. */
export function asDamage(error: unknown): never {
  throw isUnreadable(error) ? unreadable(error) : error
}
