// Clearing, and the two ways back: by the token of a clear, or by the version of a slot.
//
// The token is the clear's id and an HMAC of it under the instance's own key: a repeat of the request gives the same
// one, and nothing secret is stored. It works once, for 24 hours, in its instance and database, and never over a slot
// that was written since.

import { createHmac, randomUUID, timingSafeEqual } from 'node:crypto'
import { appendAudit } from '@loci/acts/audit/store.ts'
import { REPEAT_ERRORS, type RunAct } from '@loci/acts/idempotency/idempotency.ts'
import { ApiError } from '@loci/chassis/api-error.ts'
import { type Route, route } from '@loci/chassis/route.ts'
import type { SealingKey } from '@loci/chassis/setting-values.ts'
import { slotClearQuery, slotRestore, slotsCleared, slotsRestored } from '@loci/contract/working-memory.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import type { Activity } from '../access/activity.ts'
import type { Caller, CapabilityAccess } from '../access/capability-access.ts'
import type { InstanceKeys } from '../databases/instance-keys.ts'
import { macsOf } from '../databases/macs.ts'
import type { Quota } from '../databases/quota.ts'
import { appendEvents } from '../events/store.ts'
import { configDamaged, writePlanned, writtenOf } from './commits.ts'
import type { Plan, Write } from './document.ts'
import { SHARED, sourceOf } from './routes.ts'
import { bodyOf, type Source } from './slots.ts'
import { findVersions, insertClear, useClear } from './store.ts'

interface ClearOptions {
  access: CapabilityAccess
  quota: Quota
  keys: InstanceKeys
  act: RunAct<Caller>
  activity: Pick<Activity, 'evicted'>
}

const UNDO_MS = 24 * 3_600_000

export function slotClearRoutes({ access, quota, keys, act, activity }: ClearOptions): Route[] {
  return [
    route(
      {
        ...SHARED,
        method: 'POST',
        path: '/v1/working-memory/slots/clear',
        access: access.capability('wm:delete'),
        summary: 'Clear the slots that are not pinned.',
        details: 'The answer has a token that brings them back within 24 hours.',
        query: slotClearQuery,
        answers: { 200: slotsCleared },
        errors: ['QUOTA_EXCEEDED', 'INVALID_STATE', 'DATA_DAMAGED', ...REPEAT_ERRORS],
      },
      async (call) => {
        const { caller, query } = call
        const instanceKey = await keys.of(caller.instance.id)
        const isDryRun = query.dryRun === 'true'
        const tokenOf = (id: string) => undoToken(instanceKey.key, caller.database, id)
        const work = async (sql: Sql, { actor, requestId }: { actor: string; requestId?: string | undefined }) => {
          const where = whereOf(caller, instanceKey)
          const clear = (plan: Plan) => plan.clear(query.includePinned === 'true')
          const { result, now, committed, version, events } = await writePlanned(sql, where, [], clear, { isDryRun })
          const body = {
            ok: true,
            cleared: result.cleared.length,
            retained: result.retained.length,
            retainedKeys: result.retained,
            clearedAt: new Date(now).toISOString(),
            asOfSeq: committed?.versions.at(-1) ?? version,
            dryRun: isDryRun,
            undo: null,
          }
          if (isDryRun) return { status: 200, body }
          const id = randomUUID()
          if (committed) await insertClear(sql, { ...where, now }, { id, pairs: result.cleared })
          const { instance, database } = caller
          const detail = {
            database,
            cleared: body.cleared,
            retained: body.retained,
            includePinned: query.includePinned === 'true',
          }
          // A clear that finds something follows a write that was counted, and is not refused. This one could go on for
          // ever.
          if (!committed) await quota.requireTraces(instance, sql)
          // Also of a clear that found nothing: who asked for one wanted something gone.
          const entry = { actor, requestId, chain: instance.id, action: 'slots.clear', subject: database, detail }
          // Behind the kept answer, which locks the row of the instance: that comes before the head of the audit.
          const last = async (end: Sql) => {
            await appendAudit(end, entry)
            await appendEvents(end, instance.id, events)
          }
          if (!committed) return { status: 200, body, last }
          const expiresAt = new Date(now + UNDO_MS).toISOString()
          return {
            status: 200,
            body: { ...body, undo: { token: tokenOf(id), expiresAt } },
            kept: { ...body, undo: { id, expiresAt } },
            last,
          }
        }
        const fill = async (_: Sql, kept: object) => {
          const { undo } = kept as { undo: { id: string; expiresAt: string } | null }
          return { ...kept, undo: undo && { token: tokenOf(undo.id), expiresAt: undo.expiresAt } }
        }
        return act(call, work, { fill })
      },
    ),

    route(
      {
        ...SHARED,
        method: 'POST',
        path: '/v1/working-memory/slots/restore',
        access: access.capability('wm:write', { also: 'wm:read' }),
        summary: 'Undo a clear by its token, or write a former version of a slot again.',
        details:
          '`missing`: cleared slots whose version is no longer kept (erased since, or older than the history of the plan: 30 days, free 7).',
        body: slotRestore,
        answers: { 200: slotsRestored },
        errors: [
          ...(['NOT_FOUND', 'WORKING_MEMORY_FULL', 'QUOTA_EXCEEDED', 'INVALID_STATE', 'DATA_DAMAGED'] as const),
          ...REPEAT_ERRORS,
        ],
      },
      async (call) => {
        const { caller, body } = call
        const instanceKey = await keys.of(caller.instance.id)
        const source = sourceOf(call)
        const work = async (sql: Sql) => {
          const isUndo = 'undoToken' in body
          const pairs = isUndo ? await pairsOf(sql, caller, instanceKey.key, body.undoToken) : [body]
          const writes = await writesOf(sql, caller, pairs, source, isUndo)
          const found = new Set(writes.map(({ key }) => key))
          const missing = pairs.flatMap(({ key }) => (found.has(key) ? [] : [key]))
          return restore(sql, whereOf(caller, instanceKey), caller, { writes, missing, isUndo })
        }
        return act(call, work, { fill: (sql, kept) => refilled(sql, caller, kept as Kept) })
      },
    ),
  ]

  async function restore(
    sql: Sql,
    where: Where,
    caller: Caller,
    { writes, missing, isUndo }: { writes: Extract<Write, { op: 'put' }>[]; missing: string[]; isUndo: boolean },
  ) {
    const { result, plan, committed, events } = await writePlanned(sql, where, [], (fresh, { configIntact }) => {
      if (!configIntact) throw configDamaged()
      const there = isUndo ? writes.filter(({ key }) => fresh.isThere(key)).map(({ key }) => key) : []
      if (there.length > 0)
        throw new ApiError(
          'INVALID_STATE',
          `Slots were written since the clear: ${there.join(', ')}. Nothing was restored.`,
          {
            details: { keys: there },
          },
        )
      return writes.map((write) => fresh.apply(write))
    })
    // Behind the write, whose bytes are counted by then: the first look of a day locks the row of the instance, which
    // comes after the head.
    await quota.requireFit(caller.instance, sql)
    const written = result.map((applied) => writtenOf(applied, plan.steps, committed))
    const evicted = written.flatMap((one) => one.evicted)
    const reasonCodes = evicted.map(({ reasonCode }) => reasonCode)
    sql.afterCommit(() => activity.evicted(caller.instance.id, reasonCodes))
    const pairs = written.map(({ version }, at) => ({ key: writes[at]?.key as string, version: version as number }))
    return {
      status: 200,
      body: {
        ok: true,
        restored: writes.length,
        slots: written.map(({ text }) => JSON.parse(text as string)),
        missing,
        evicted,
      },
      kept: { restored: writes.length, pairs, missing, evicted } satisfies Kept,
      last: (last: Sql) => appendEvents(last, caller.instance.id, events),
    }
  }
}

/** Content stands as references: a repeat is filled from the history. */
interface Kept {
  restored: number
  pairs: { key: string; version: number }[]
  missing: string[]
  evicted: object[]
}

async function refilled(sql: Sql, caller: Caller, { restored, pairs, missing, evicted }: Kept): Promise<object> {
  const rows = await findVersions(sql, placeOf(caller), pairs)
  const texts = new Map(rows.map(({ key, version, text, intact }) => [`${version} ${key}`, intact ? text : undefined]))
  const slots = pairs.map(({ key, version }) => {
    const text = texts.get(`${version} ${key}`)
    return text === undefined ? { key, version, redacted: true } : JSON.parse(text)
  })
  return { ok: true, restored, slots, missing, evicted }
}

async function pairsOf(sql: Sql, caller: Caller, instanceKey: Buffer, token: string) {
  const id = idOfToken(instanceKey, caller.database, token)
  const pairs = id === undefined ? undefined : await useClear(sql, { ...placeOf(caller), id })
  if (!pairs) throw new ApiError('NOT_FOUND', 'There is no such undo token, or it was used, or its 24 hours are over.')
  return pairs
}

async function writesOf(
  sql: Sql,
  caller: Caller,
  pairs: { key: string; version: number }[],
  source: Source,
  isUndo: boolean,
): Promise<Extract<Write, { op: 'put' }>[]> {
  const rows = await findVersions(sql, placeOf(caller), pairs)
  // A clear is undone without what was erased since, or was written so long ago that its version is dropped: the answer
  // names it.
  if (!isUndo && rows.length < pairs.length)
    throw new ApiError('NOT_FOUND', 'There is no such version, or it is older than the history that the plan keeps.')
  return rows.map(({ key, text, intact }) => {
    if (!intact)
      throw new ApiError('DATA_DAMAGED', `The stored version of '${key}' is damaged. Nothing was restored.`, {
        details: { ref: key },
      })
    return { op: 'put', key, body: bodyOf(text), ifMatch: null, source }
  })
}

function undoToken(instanceKey: Buffer, database: string, id: string): string {
  const seal = createHmac('sha256', instanceKey).update(`loci undo token\n${database}\n${id}`).digest('base64url')
  return `undo_${id}.${seal}`
}

function idOfToken(instanceKey: Buffer, database: string, token: string): string | undefined {
  const id = /^undo_([0-9a-f-]{36})\./.exec(token)?.[1]
  if (id === undefined) return undefined
  const [given, own] = [Buffer.from(token), Buffer.from(undoToken(instanceKey, database, id))]
  return given.length === own.length && timingSafeEqual(given, own) ? id : undefined
}

function placeOf({ instance, database }: Caller) {
  return { instanceId: instance.id, database }
}

type Where = ReturnType<typeof whereOf>

function whereOf(caller: Caller, instanceKey: SealingKey) {
  return { ...placeOf(caller), databasesMax: caller.instance.limits.databases, macs: macsOf(instanceKey) }
}
