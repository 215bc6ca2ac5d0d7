import { ApiError } from '@loci/chassis/api-error.ts'
import { parseBySchema } from '@loci/chassis/input.ts'
import { type Call, type Route, route } from '@loci/chassis/route.ts'
import { createTurn } from '@loci/chassis/turn.ts'
import {
  PROJECTIONS_MAX,
  type Projection,
  projection,
  projectionBody,
  projectionIngest,
  projectionResults,
} from '@loci/contract/projections.ts'
import { createBatches } from '@loci/postgres/batches.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import type { PartnerAccess, PartnerCaller } from '../access/partner.ts'
import type { InstanceKeys } from '../databases/instance-keys.ts'
import { entryRefusal, type Quota } from '../databases/quota.ts'
import { type NewProjection, type NewRecord, newProjection } from './projections.ts'
import { type ActOutcome, commitProjections, type IngestAct, type IngestOutcome } from './store.ts'

interface ProjectionOptions {
  access: { partner: PartnerAccess }
  pool: Pool
  quota: Quota
  keys: InstanceKeys
  /** The path segment of the partner. */
  partnerName: string
}

/** Projections in one statement; a longer array is one by itself. */
const BATCH_MAX = 64
const ARRAY_BYTES_MAX = 4 * 1024 * 1024
const SINGLE_BYTES_MAX = 1024 * 1024

/** Of a row beside its body: its id, its HMACs, its digest; of a record as much again. */
const ROW_BYTES = 400

export function projectionRoutes({ access, pool, quota, keys, partnerName }: ProjectionOptions): Route[] {
  // One commit of an instance at a time: projections keep their order and share what a commit costs.
  const acts = createBatches<IngestAct, ActOutcome>({
    run: (instanceId, batch) => commitProjections(pool, instanceId, batch),
    runningMax: 1,
    batchMax: BATCH_MAX,
    sizeOf: ({ projections }) => projections.length,
    groupOf: ({ database }) => database,
  })
  return [
    route(
      {
        tag: 'projections',
        subservice: 'projections',
        method: 'POST',
        path: `/v1/${partnerName}/projections`,
        access: access.partner('projections'),
        summary: 'Tell what happened; durable before the answer. The same again is answered with the first one’s id.',
        body: projectionBody,
        documentedBody: projectionIngest,
        bodyBytesMax: ARRAY_BYTES_MAX,
        ignoresUnknownNames: true,
        answers: { 200: projectionResults },
        errors: ['PROJECTION_CONFLICT', 'QUOTA_EXCEEDED', 'INVALID_STATE', 'DATA_DAMAGED'],
      },
      async (call) => {
        const isArray = Array.isArray(call.body)
        const sent = isArray ? await envelopesOf(call.body as unknown[]) : [envelopeOf(call)]
        const results = await ingest(call, sent, isArray)
        return isArray ? results : results[0]
      },
    ),
  ]

  async function ingest({ caller }: IngestCall, sent: Projection[], isArray: boolean) {
    const { instance, database, partner } = caller
    const sealing = await keys.of(instance.id)
    const turn = createTurn()
    const projections: NewProjection[] = []
    for (const [index, one] of sent.entries()) {
      await turn()
      const made = atIndex(isArray ? index : undefined, () => {
        caller.requireClass(one.projection_class)
        return newProjection(one, caller, sealing)
      })
      projections.push(made)
    }
    const refusal = await quota.requireRoom(instance, roomOf(projections), pool).then(() => undefined, onlyQuota)
    const act = { database, databasesMax: instance.limits.databases, partner, projections, isWhole: isArray }
    const done = await acts.add(instance.id, { ...act, isFull: refusal !== undefined })
    if (done.outcome === 'refused') throw refusalOf(caller, done.why, refusal, done.at)
    const [first] = done.projections
    if (!isArray && first && first.outcome !== 'done' && first.outcome !== 'duplicate')
      throw refusalOf(caller, first.outcome, refusal)
    const lociNamespace = [instance.organizationId, instance.tenantId, instance.id, database].join('/')
    return done.projections.map(({ outcome, id, seq }, at) => ({
      accepted: true,
      projectionId: id,
      projectionClass: sent[at]?.projection_class,
      sourceEventId: sent[at]?.source_event_id,
      lociNamespace,
      appliedSeq: seq,
      duplicate: outcome === 'duplicate',
    }))
  }
}

type IngestCall = Call<PartnerCaller, unknown, unknown, unknown>

function envelopeOf({ body, bodyBytes }: IngestCall): Projection {
  if (bodyBytes > SINGLE_BYTES_MAX)
    throw new ApiError('PAYLOAD_TOO_LARGE', `A single projection may have at most ${SINGLE_BYTES_MAX} bytes.`)
  return parseBySchema(projection, body, 'body')
}

async function envelopesOf(body: unknown[]): Promise<Projection[]> {
  if (body.length === 0 || body.length > PROJECTIONS_MAX)
    throw new ApiError('VALIDATION_ERROR', `An array has 1 to ${PROJECTIONS_MAX} projections.`)
  const turn = createTurn()
  const envelopes: Projection[] = []
  for (const [index, one] of body.entries()) {
    await turn()
    envelopes.push(atIndex(index, () => parseBySchema(projection, one, `body.${index}`)))
  }
  return envelopes
}

/** A refusal of one envelope of an array says which. */
function atIndex<Value>(index: number | undefined, work: () => Value): Value {
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
  { instance }: PartnerCaller,
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
