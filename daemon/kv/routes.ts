import { type Claim, type Claims, inProgress, REPEAT_ERRORS } from '@loci/acts/idempotency/idempotency.ts'
import { ApiError } from '@loci/chassis/api-error.ts'
import { type Route, reply, route } from '@loci/chassis/route.ts'
import {
  entry,
  entryBatch,
  entryBatchResult,
  entryDeleted,
  entryList,
  entryListQuery,
  entryWrite,
  keyParams,
} from '@loci/contract/kv.ts'
import { createBatches } from '@loci/postgres/batches.ts'
import { isUnreadable } from '@loci/postgres/errors.ts'
import type { Pool, Sql } from '@loci/postgres/pool.ts'
import type { PoolShares } from '@loci/postgres/shares.ts'
import type { Caller, CapabilityAccess } from '../access/capability-access.ts'
import { cursorOf, positionOf } from '../databases/cursors.ts'
import type { KnownDamage } from '../databases/known-damage.ts'
import { entryRefusal, type Quota } from '../databases/quota.ts'
import { conditionOf } from '../databases/versions.ts'
import { tooManyKept } from '../idempotency/idempotency.ts'
import { findAnswer, isClaimed } from '../idempotency/store.ts'
import { readPage } from './damage.ts'
import { valueText } from './entries.ts'
import { type KeptBatch, outcomesOf } from './kept-batch.ts'
import {
  type ActOutcome,
  commitActs,
  type DamagedRow,
  digestsOf,
  type EntryRow,
  findEach,
  type Write,
  type WriteAct,
  type WriteOutcome,
} from './store.ts'

interface KvOptions {
  access: CapabilityAccess
  pool: Pool
  shares: PoolShares
  quota: Quota
  damage: KnownDamage
  claims: Claims<Caller>
}

/**
 * A value of 256 KiB as clients write it that escape everything beyond ASCII: three times as much, and its
 * surroundings.
 */
const ENTRY_BODY_BYTES_MAX = 800 * 1024

/** Entries in one statement. */
const BATCH_MAX = 64

export function kvRoutes({ access, pool, shares, quota, damage, claims }: KvOptions): Route[] {
  const shared = { tag: 'kv', subservice: 'kv', refusesUnknownNames: true } as const
  // One commit of an instance at a time, so that its writes keep their order and share what a commit costs.
  const acts = createBatches<WriteAct & { database: string }, ActOutcome>({
    run: (instanceId, batch) => commitActs(pool, instanceId, batch),
    runningMax: 1,
    batchMax: BATCH_MAX,
    sizeOf: ({ writes }) => writes.length,
    groupOf: ({ database }) => database,
  })
  const commit = async (caller: Caller, act: Omit<WriteAct, 'databasesMax'>): Promise<WriteOutcome[] | 'known'> => {
    const { instance, database } = caller
    const limited = { ...act, database, databasesMax: instance.limits.databases }
    const done = await acts.add(instance.id, limited).catch((error) => {
      throw act.claim && isClaimed(error) ? inProgress() : error
    })
    if (done.outcome === 'known') return 'known'
    if (done.outcome === 'answers') throw tooManyKept(instance)
    if (done.outcome === 'written') return done.writes
    throw refusalOf(caller, act.writes[done.at], done.write)
  }
  const write = async (caller: Caller, one: Write): Promise<WriteOutcome> => {
    const [written] = (await commit(caller, { writes: [one], isWhole: false })) as [WriteOutcome]
    if (written.outcome === 'done' || written.outcome === 'missing') return written
    throw refusalOf(caller, one, written)
  }
  const reads = createBatches<{ database: string; key: string }, EntryRow | DamagedRow | undefined>({
    run: (instanceId, wanted) => findEach(pool, instanceId, wanted),
    runningMax: 1,
    batchMax: BATCH_MAX,
    groupOf: ({ database }) => database,
  })
  return [
    route(
      {
        ...shared,
        method: 'PUT',
        path: '/v1/kv/entries/{key}',
        access: access.capability('kv:write'),
        summary: 'Write an entry.',
        details: 'With If-Match only over that version, with `If-None-Match: *` only where there is none.',
        conditions: ['if-match', 'if-none-match'],
        params: keyParams,
        body: entryWrite,
        bodyBytesMax: ENTRY_BODY_BYTES_MAX,
        answers: { 200: entry },
        errors: ['VERSION_CONFLICT', 'QUOTA_EXCEEDED', 'INVALID_STATE', 'DATA_DAMAGED'],
      },
      async ({ caller, params, body, headers }) => {
        const text = valueText(body.value)
        const put: Write = {
          database: caller.database,
          op: 'put',
          key: params.key,
          value: text,
          ttlMs: body.ttlMs ?? null,
          ifMatch: conditionOf(headers),
        }
        await quota.requireRoom(caller.instance, roomOf([put]), pool)
        const outcome = await write(caller, put)
        return reply(200, entryText({ key: params.key, value: text, ...outcome }))
      },
    ),

    route(
      {
        ...shared,
        method: 'GET',
        path: '/v1/kv/entries/{key}',
        access: access.capability('kv:read'),
        summary: 'Read an entry.',
        params: keyParams,
        answers: { 200: entry },
        errors: ['NOT_FOUND', 'DATA_DAMAGED'],
      },
      async ({ caller, params }) => {
        const row = await reads
          .add(caller.instance.id, { database: caller.database, key: params.key })
          .catch((error) => {
            throw isUnreadable(error) ? damaged(params.key, error) : error
          })
        if (!row) throw new ApiError('NOT_FOUND', 'There is no such entry.')
        if (!row.intact) throw damaged(params.key)
        return reply(200, entryText(row))
      },
    ),

    route(
      {
        ...shared,
        method: 'DELETE',
        path: '/v1/kv/entries/{key}',
        access: access.capability('kv:delete'),
        summary: 'Delete an entry.',
        details: 'With If-Match only that version.',
        conditions: ['if-match'],
        params: keyParams,
        answers: { 200: entryDeleted },
        errors: ['NOT_FOUND', 'VERSION_CONFLICT', 'INVALID_STATE', 'DATA_DAMAGED'],
      },
      async ({ caller, params, headers }) => {
        const deletion: Write = {
          database: caller.database,
          op: 'delete',
          key: params.key,
          value: null,
          ttlMs: null,
          ifMatch: conditionOf(headers),
        }
        const outcome = await write(caller, deletion)
        if (outcome.outcome === 'missing') throw new ApiError('NOT_FOUND', 'There is no such entry.')
        return { deleted: true, key: params.key, version: outcome.version }
      },
    ),

    route(
      {
        ...shared,
        method: 'GET',
        path: '/v1/kv/entries',
        access: access.capability('kv:read'),
        summary: 'List entries by key in order of code points, or backwards.',
        details: 'With `keysOnly` without their values.',
        query: entryListQuery,
        answers: { 200: entryList },
        errors: ['DATA_DAMAGED'],
      },
      async ({ caller, query }) => {
        const list = query.order === 'desc' ? 'd' : 'k'
        const request = {
          prefix: query.prefix ?? '',
          after: query.cursor === undefined ? null : positionOf(list, query.cursor),
          limit: query.limit,
          isBack: query.order === 'desc',
          isBare: query.keysOnly === 'true',
        }
        // A few lists of an instance at once: what a list costs is known when it is answered.
        return shares.inTurn(caller.instance.id, async () => {
          const page = await readPage(pool, damage, caller.instance.id, caller.database, request)
          const nextCursor = page.nextAfter === null ? null : cursorOf(list, page.nextAfter)
          const rest = JSON.stringify({ nextCursor, ...(page.damaged.length > 0 ? { damaged: page.damaged } : {}) })
          return reply(200, `{"entries":[${page.rows.map(entryText).join(',')}],${rest.slice(1)}`)
        })
      },
    ),

    route(
      {
        ...shared,
        method: 'POST',
        path: '/v1/kv/entries/batch',
        access: access.capability('kv:write', { servedByHandler: true }),
        summary: 'Put and delete several entries, all or nothing.',
        body: entryBatch,
        answers: { 200: entryBatchResult },
        errors: [
          ...(['VERSION_CONFLICT', 'QUOTA_EXCEEDED', 'INVALID_STATE', 'OPERATION_NOT_ALLOWED'] as const),
          ...(['DATA_DAMAGED', ...REPEAT_ERRORS] as const),
        ],
      },
      async (call) => {
        const { caller, body } = call
        // Whoever may only delete (a suspended instance) may delete many at once.
        caller.requireServed(body.operations.every(({ op }) => op === 'delete') ? 'delete' : 'write')
        if (body.operations.some(({ op }) => op === 'delete')) caller.requireOperation('kv:delete')
        const writes = body.operations.map(
          (operation): Write => ({
            database: caller.database,
            op: operation.op,
            key: operation.key,
            value: operation.op === 'put' ? valueText(operation.value) : null,
            ttlMs: operation.op === 'put' ? (operation.ttlMs ?? null) : null,
            ifMatch: operation.ifVersion ?? null,
          }),
        )
        const fill = async (sql: Sql, kept: object) => {
          const outcomes = outcomesOf(kept as KeptBatch, writes)
          const digests = await digestsOf(sql, caller.instance.id, writes, outcomes)
          return batchAnswer(
            writes,
            outcomes.map((outcome, at) => ({ ...outcome, digest: digests[at] as Buffer })),
          )
        }
        const claim = await claims.claimOf(call)
        const room = roomOf(writes, claim?.scope.at(-1)?.length)
        try {
          if (room.records > 0) await quota.requireRoom(caller.instance, room, pool)
        } catch (refusal) {
          // A repeat of what was done before the quota was used up is still answered.
          const stored = claim && (await findAnswer(pool, claim.scope))
          if (!stored) throw refusal
          return claims.replay(pool, call, claim, stored, { fill })
        }
        const outcomes = await commit(caller, { writes, isWhole: true, claim })
        if (outcomes !== 'known') return batchAnswer(writes, outcomes)
        const known = claim as Claim
        return claims.replay(pool, call, known, await findAnswer(pool, known.scope), { fill })
      },
    ),
  ]
}

/** What the puts would add if none of them were there yet, and about what is kept of the answer. */
function roomOf(writes: Write[], keyLength?: number): { records: number; bytes: number } {
  const kept = keyLength === undefined ? 0 : 800 + 2 * keyLength + 6 * writes.length
  const puts = writes.filter(({ op }) => op === 'put')
  const bytes = puts.reduce((sum, { key, value }) => sum + Buffer.byteLength(key) + Buffer.byteLength(value ?? ''), 0)
  return { records: puts.length, bytes: bytes + kept }
}

function batchAnswer(writes: Write[], outcomes: WriteOutcome[]): object {
  const results = outcomes.map((outcome, at) => {
    const { op, key } = writes[at] as Write
    return op === 'delete'
      ? { op, key, version: outcome.version, deleted: outcome.outcome === 'done' }
      : {
          op,
          key,
          version: outcome.version,
          expiresAt: outcome.expiresAt?.toISOString() ?? null,
          digest: outcome.digest.toString('base64url'),
        }
  })
  return { results }
}

function refusalOf(
  caller: Caller,
  write: Write | undefined,
  { outcome, version }: Pick<WriteOutcome, 'outcome' | 'version'>,
) {
  const refused = entryRefusal(outcome, caller.instance.limits.databases)
  if (refused) return refused
  if (outcome === 'damaged') return damaged(write?.key ?? '')
  const current = version === 0 ? 'does not exist' : `has version ${version}`
  const asked = write?.ifMatch === 0 ? 'it was to be created' : 'another was asked for'
  return new ApiError('VERSION_CONFLICT', `The entry '${write?.key}' ${current}; ${asked}. Nothing was written.`, {
    details: { currentVersion: version === 0 ? null : version },
  })
}

function damaged(key: string, cause?: unknown): ApiError {
  const message =
    'The entry is damaged and is not shown. Write it again or delete it, without a version in If-Match; GET /v1/kv/consistency says more.'
  return new ApiError('DATA_DAMAGED', message, { details: { ref: key }, ...(cause === undefined ? {} : { cause }) })
}

/**
 * As text: the value is JSON already, and taking it apart only to put it together again costs more than all the rest of
 * a read.
 */
function entryText({ key, value, version, createdAt, updatedAt, expiresAt, digest }: Shown): string {
  const expires = expiresAt === null ? 'null' : `"${expiresAt.toISOString()}"`
  const shown = value === null ? '' : `"value":${value},`
  return `{"key":${JSON.stringify(key)},${shown}"version":${version},"createdAt":"${createdAt.toISOString()}","updatedAt":"${updatedAt.toISOString()}","expiresAt":${expires},"digest":"${digest.toString('base64url')}"}`
}

/** Without its value: null. */
type Shown = Omit<EntryRow, 'intact' | 'value'> & { value: string | null }
