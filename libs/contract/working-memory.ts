// Working memory: the specification's "Working-memory resources", and what we add to them.

import { z } from 'zod'
import { configInForce, configSettings, configUpdateResult, configWarnings } from './configuration.ts'
import { batchOf, batchOutcome, key, TTL_MS_MAX, value } from './kv.ts'
import { anyObject, idOf, queryInteger, timestamp } from './wire.ts'

const TAGS_MAX = 32
const EVIDENCE_REFS_MAX = 64

export const tagged = {
  tags: z.array(z.string().min(1).max(64)).max(TAGS_MAX).optional(),
  evidenceRefs: z.array(z.string().min(1).max(256)).max(EVIDENCE_REFS_MAX).optional(),
}

/** As PUT takes it and PATCH merges into it. */
const slotBody = {
  value,
  kind: z.string().min(1).max(64).optional(),
  salience: z.number().min(-2).max(2).optional(),
  pinned: z.boolean().optional(),
  ttlMs: z.int().min(1).max(TTL_MS_MAX).nullable().optional(),
  ...tagged,
  ephemeral: z.boolean().optional(),
}

export const slotWrite = z.object(slotBody).meta({ id: 'SlotWrite' })
export type SlotWrite = z.infer<typeof slotWrite>

/** A JSON merge patch (RFC 7396) of a SlotWrite: null removes. What it makes is checked as a SlotWrite. */
export const slotPatch = z
  .object({
    value: z.unknown(),
    kind: slotBody.kind.nullable(),
    salience: slotBody.salience.nullable(),
    pinned: slotBody.pinned.nullable(),
    ttlMs: slotBody.ttlMs,
    tags: slotBody.tags.nullable(),
    evidenceRefs: slotBody.evidenceRefs.nullable(),
    ephemeral: slotBody.ephemeral.nullable(),
  })
  .partial()
  .meta({ id: 'SlotPatch' })
export type SlotPatch = z.infer<typeof slotPatch>

/** Contributions of the parts sum to the score. */
export const explanation = z
  .object({
    score: z.number(),
    parts: z.array(z.object({ name: z.string(), value: z.number(), weight: z.number(), contribution: z.number() })),
  })
  .meta({ id: 'Explanation' })
export type Explanation = z.infer<typeof explanation>

const slotFields = {
  id: idOf('slt'),
  key: z.string(),
  kind: z.string(),
  value: z.unknown(),
  recordId: z.string().nullable(),
  version: z.int(),
  etag: z.string(),
  activation: z.number().meta({ description: 'At its last write, or the last cycle that judged it.' }),
  salience: z.number(),
  pinned: z.boolean(),
  ephemeral: z.boolean(),
  ttlMs: z.int().nullable(),
  expiresAt: timestamp.nullable(),
  createdAt: timestamp,
  updatedAt: timestamp,
  lastAccessedAt: timestamp.nullable(),
  accessCount: z.int(),
  sizeBytes: z.int(),
  source: z.object({ type: z.string(), ref: z.string().nullable(), actor: z.string().nullable(), trust: z.string() }),
  explain: explanation,
  evidenceRefs: z.array(z.string()),
  tags: z.array(z.string()),
  digest: z.string(),
}
export const slot = z.object(slotFields).meta({ id: 'Slot' })

/** Why a slot left; `displacedBy` is the key that took its room. */
const evicted = z.array(
  z.object({
    key: z.string(),
    reasonCode: z.string(),
    reason: z.string(),
    displacedBy: z.string().nullable(),
    explain: explanation,
  }),
)

export const slotWritten = z.object({ ...slotFields, evicted }).meta({ id: 'SlotWritten' })

const damaged = z.array(
  z.object({ ref: z.string().nullable(), reason: z.enum(['digest_mismatch', 'page_unreadable']) }),
)

export const slotList = z
  .object({
    slots: z.array(slot),
    count: z.int(),
    capacity: z.int(),
    asOfSeq: z.int(),
    damaged: damaged.optional(),
  })
  .meta({ id: 'SlotList', description: 'In the order in which the slots were made.' })

export const slotDeleted = z
  .object({ deleted: z.literal(true), key: z.string(), version: z.int() })
  .meta({ id: 'SlotDeleted' })

export const slotBatch = batchOf(slotBody).meta({ id: 'SlotBatch' })
export const slotBatchResult = z
  .object({ results: z.array(batchOutcome.extend({ evicted: evicted.optional() })) })
  .meta({ id: 'SlotBatchResult' })

export const slotStatistics = z
  .object({
    slotCount: z.int(),
    capacity: z.int(),
    utilizationPct: z.number(),
    pinned: z.int(),
    bytes: z.int(),
    evictions: z.int(),
  })
  .meta({ id: 'SlotStatistics' })

export const slotHistoryQuery = z.object({
  cursor: z.string().min(1).max(100).optional(),
  limit: queryInteger({ min: 1, max: 200, fallback: 50 }),
})

export const slotHistory = z
  .object({ versions: z.array(slot), nextCursor: z.string().nullable(), damaged: damaged.optional() })
  .meta({ id: 'SlotHistory', description: 'Newest first.' })

export const evictionListQuery = slotHistoryQuery.extend({
  content: z.enum(['true', 'false']).default('false').meta({ description: 'true: with the value of each slot.' }),
})

export const evictionList = z
  .object({
    evictions: z.array(
      z.object({
        seq: z.int(),
        key: z.string(),
        version: z.int(),
        reasonCode: z.string(),
        reason: z.string(),
        displacedBy: z.string().nullable(),
        policy: z.string().nullable(),
        explain: explanation,
        evictedAt: timestamp,
        recoverableUntil: timestamp,
        value: z.unknown().optional().meta({ description: 'With `content=true`: what the slot said.' }),
        recordId: z
          .string()
          .nullable()
          .optional()
          .meta({ description: 'With `content=true`: the memory that it stood for when it was written.' }),
        redacted: z
          .literal(true)
          .optional()
          .meta({ description: 'With `content=true`: the value was erased, or is no longer kept.' }),
      }),
    ),
    nextCursor: z.string().nullable(),
    damaged: damaged.optional(),
  })
  .meta({ id: 'EvictionList', description: 'Newest first.' })

const queryFlag = z.enum(['true', 'false']).default('false')

export const slotClearQuery = z.object({ dryRun: queryFlag, includePinned: queryFlag })

export const slotsCleared = z
  .object({
    ok: z.literal(true),
    cleared: z.int(),
    retained: z.int(),
    retainedKeys: z.array(z.string()),
    clearedAt: timestamp,
    asOfSeq: z.int(),
    dryRun: z.boolean(),
    undo: z.object({ token: z.string(), expiresAt: timestamp }).nullable(),
  })
  .meta({ id: 'SlotsCleared' })

export const slotRestore = z
  .union([
    z.object({ undoToken: z.string().min(1).max(200) }),
    z.object({ key, version: z.int().min(1).max(Number.MAX_SAFE_INTEGER) }),
  ])
  .meta({ id: 'SlotRestore' })

export const slotsRestored = z
  .object({
    ok: z.literal(true),
    restored: z.int(),
    slots: z.array(z.union([slot, z.object({ key: z.string(), version: z.int(), redacted: z.literal(true) })])),
    missing: z.array(z.string()).meta({
      description:
        'Keys of a clear that were not restored: erased since, or older than the history of the plan (30 days, free 7).',
    }),
    evicted,
  })
  .meta({ id: 'SlotsRestored' })

export const slotConfig = anyObject.meta({ id: 'SlotConfig' })
export const slotConfigInForce = configInForce.meta({ id: 'SlotConfigInForce' })
export const slotSettings = configSettings.meta({ id: 'SlotSettings' })

export const slotConfigUpdate = configUpdateResult
  .extend({
    version: z.int(),
    warnings: configWarnings,
  })
  .meta({ id: 'SlotConfigUpdate' })

/** Rounded to the nearest integer; 0 when capacity is 0 (specification, Statistics). */
export function utilizationPct(slotCount: number, capacity: number): number {
  return capacity === 0 ? 0 : Math.round((slotCount / capacity) * 100)
}
