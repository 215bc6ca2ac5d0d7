// What partners and holders of capabilities tell, on its way into the store: under the quota, in the order in which it
// came, and answered when it is durable.

import type { RunAct } from '@loci/acts/idempotency/idempotency.ts'
import { ApiError } from '@loci/chassis/api-error.ts'
import { createTurn } from '@loci/chassis/turn.ts'
import type { Projection } from '@loci/contract/projections.ts'
import { createBatches } from '@loci/postgres/batches.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import type { Instance } from '../access/authority.ts'
import type { Caller } from '../access/capability-access.ts'
import type { InstanceKeys } from '../databases/instance-keys.ts'
import { entryRefusal, type Quota } from '../databases/quota.ts'
import { countWritten } from '../databases/store.ts'
import { type NewProjection, type NewRecord, newProjection, type Teller } from './projections.ts'
import {
  type ActOutcome,
  commitProjections,
  type IngestAct,
  type IngestOutcome,
  refusedOf,
  storeWithin,
} from './store.ts'

interface IngestOptions {
  pool: Pool
  quota: Quota
  keys: InstanceKeys
}

/** Who tells, and where: by the credential and nothing else. */
export interface TellingCaller extends Teller {
  instance: Instance
  database: string
}

/** What was sent; of an array all or nothing is stored, and a refusal says which. */
interface Sent {
  projections: Projection[]
  isArray: boolean
  /** Throws when the credential is not good for it. */
  require?(projection: Projection): void
}

/** Of each that was sent, in its order. */
export interface Told {
  id: string
  seq: number
  isDuplicate: boolean
}

export interface Ingest {
  tell(caller: TellingCaller, sent: Sent): Promise<Told[]>
  /** In one transaction with the claim on its Idempotency-Key. For projections that become no records. */
  tellAct(
    run: RunAct<Caller>,
    call: Parameters<RunAct<Caller>>[0],
    caller: TellingCaller,
    sent: Sent & { answerOf(told: Told[]): object },
  ): ReturnType<RunAct<Caller>>
}

/** Projections in one statement; a longer array is one by itself. */
const BATCH_MAX = 64

/** Of a row beside its body: its id, its HMACs, its digest; of a record as much again. */
const ROW_BYTES = 400

export function createIngest({ pool, quota, keys }: IngestOptions): Ingest {
  // One commit of an instance at a time: projections keep their order and share what a commit costs.
  const acts = createBatches<IngestAct, ActOutcome>({
    run: (instanceId, batch) => commitProjections(pool, instanceId, batch),
    runningMax: 1,
    batchMax: BATCH_MAX,
    sizeOf: ({ projections }) => projections.length,
    groupOf: ({ database }) => database,
  })
  return {
    async tell(caller, sent) {
      const { act, refusal } = await actOf(caller, sent)
      const done = await acts.add(caller.instance.id, act)
      if (done.outcome === 'refused') throw refusalOf(caller, done.why, refusal, done.at)
      const [first] = done.projections
      if (!sent.isArray && first && first.outcome !== 'done' && first.outcome !== 'duplicate')
        throw refusalOf(caller, first.outcome, refusal)
      return done.projections.map(toldOf)
    },
    async tellAct(run, call, caller, sent) {
      const { act, refusal } = await actOf(caller, sent)
      const { id } = caller.instance
      try {
        return await run(call, async (sql) => {
          const stored = await storeWithin(sql, id, { ...act, isWhole: true })
          return { status: 200, body: sent.answerOf(stored.map(toldOf)) }
        })
      } catch (error) {
        const refused = refusedOf(error)
        if (!refused) throw error
        await countWritten(
          pool,
          id,
          act.projections.slice(0, refused.at).map(({ body }) => body),
        )
        throw refusalOf(caller, refused.why, refusal, sent.isArray ? refused.at : undefined)
      }
    },
  }

  async function actOf(caller: TellingCaller, { projections: sent, isArray, require }: Sent) {
    const { instance, database, partner } = caller
    const sealing = await keys.of(instance.id)
    const turn = createTurn()
    const projections: NewProjection[] = []
    for (const [index, one] of sent.entries()) {
      await turn()
      const made = atIndex(isArray ? index : undefined, () => {
        require?.(one)
        return newProjection(one, caller, sealing)
      })
      projections.push(made)
    }
    const refusal = await quota.requireRoom(instance, roomOf(projections), pool).then(() => undefined, onlyQuota)
    const act = { database, databasesMax: instance.limits.databases, partner, projections, isWhole: isArray }
    return { act: { ...act, isFull: refusal !== undefined }, refusal }
  }
}

function toldOf({ outcome, id, seq }: IngestOutcome): Told {
  return { id, seq, isDuplicate: outcome === 'duplicate' }
}

/** A refusal of one envelope of an array says which. */
export function atIndex<Value>(index: number | undefined, work: () => Value): Value {
  try {
    return work()
  } catch (error) {
    if (index === undefined || !(error instanceof ApiError)) throw error
    throw new ApiError(error.code, `Projection ${index} of the array: ${error.message}`, {
      details: Array.isArray(error.options.details)
        ? error.options.details
        : { ...(error.options.details as object), index },
    })
  }
}

function roomOf(projections: NewProjection[]): { records: number; bytes: number } {
  const sizeOf = ({ body, record }: NewProjection) =>
    ROW_BYTES + Buffer.byteLength(body ?? '') + (record ? recordBytes(record) : 0)
  return {
    // What is remembered is a record of memory, and its projection bytes; so is a retraction.
    records: projections.filter(({ body, record }) => body !== null || record !== null).length,
    bytes: projections.reduce((sum, one) => sum + sizeOf(one), 0),
  }
}

function recordBytes({ body }: NewRecord): number {
  return Buffer.byteLength(body) + ROW_BYTES
}

/** Repeats of what was stored before the quota was used up are still answered. */
function onlyQuota(error: unknown): ApiError {
  if (error instanceof ApiError && error.code === 'QUOTA_EXCEEDED') return error
  throw error
}

function refusalOf(
  { instance }: TellingCaller,
  why: IngestOutcome['outcome'],
  full: ApiError | undefined,
  index?: number,
): ApiError {
  const details = index === undefined ? {} : { details: { index } }
  const refusal = entryRefusal(why, instance.limits.databases) ?? (why === 'full' ? full : undefined)
  if (refusal) return new ApiError(refusal.code, refusal.message, { ...refusal.options, ...details })
  if (why === 'conflict')
    return new ApiError(
      'PROJECTION_CONFLICT',
      'A projection of this event and class, or of this projection_id, is there with other content. Nothing was stored; send a new source_event_id, with `supersedes` to take the former back.',
      details,
    )
  return new ApiError('DATA_DAMAGED', 'The projection that this one repeats is damaged. Nothing was stored.', details)
}
