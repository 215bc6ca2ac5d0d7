// Entries of the key-value store, its health and its consistency check.

import { z } from 'zod'
import { queryInteger, timestamp } from './wire.ts'

const KEY_BYTES_MAX = 256
export const TTL_MS_MAX = 10 * 365 * 24 * 3_600_000

/** 1 to 256 bytes of UTF-8 without control characters; also the key of a slot. */
export const key = z
  .string()
  .refine(
    // Three bytes at most for each unit of UTF-16, so that most keys need no counting.
    (text) =>
      text.length > 0 && (text.length * 3 <= KEY_BYTES_MAX || new TextEncoder().encode(text).length <= KEY_BYTES_MAX),
    `must have 1 to ${KEY_BYTES_MAX} bytes of UTF-8`,
  )
  .refine((text) => !/\p{Cc}/u.test(text) && text.isWellFormed(), 'must have no control characters')
  .meta({ examples: ['user:ada'], minLength: 1, maxLength: KEY_BYTES_MAX })

export const keyParams = z.object({ key })

const ttlMs = z.int().min(1).max(TTL_MS_MAX)
/** `undefined` is not JSON: a body without `value` is refused. */
export const value = z.unknown().refine((given) => given !== undefined, 'is required')

export const entryWrite = z.object({ value, ttlMs: ttlMs.optional() }).meta({ id: 'EntryWrite' })

export const entry = z
  .object({
    key: z.string(),
    value: z.unknown(),
    version: z.int(),
    createdAt: timestamp,
    updatedAt: timestamp,
    expiresAt: timestamp.nullable(),
    digest: z.string(),
  })
  .meta({ id: 'Entry' })

/** `ref` is the key; null if the key itself is damaged. */
const damaged = z.array(
  z.object({ ref: z.string().nullable(), reason: z.enum(['digest_mismatch', 'page_unreadable']) }),
)

export const entryList = z
  .object({
    entries: z.array(entry.partial({ value: true })).meta({ description: 'With `keysOnly` without their values.' }),
    nextCursor: z.string().nullable(),
    damaged: damaged.optional(),
  })
  .meta({ id: 'EntryList' })

export const entryListQuery = z.object({
  prefix: z.string().max(KEY_BYTES_MAX).optional(),
  cursor: z.string().min(1).max(1_000).optional(),
  limit: queryInteger({ min: 1, max: 1_000, fallback: 100 }),
  order: z.enum(['asc', 'desc']).default('asc'),
  keysOnly: z.enum(['true', 'false']).default('false'),
})

export const entryDeleted = z
  .object({ deleted: z.literal(true), key: z.string(), version: z.int() })
  .meta({ id: 'EntryDeleted' })

const ifVersion = z.int().min(0).optional().meta({
  description: 'The version that must be the present one; 0: it must not exist. Else nothing of the batch is done.',
})

/** `body`: what a put has besides its key, of an entry or a slot. */
export function batchOf<Body extends z.core.$ZodLooseShape>(body: Body) {
  const operation = z.discriminatedUnion('op', [
    z.object({ op: z.literal('put'), key, ifVersion, ...body }),
    z.object({ op: z.literal('delete'), key, ifVersion }),
  ])
  return z.object({ operations: z.array(operation).max(100) })
}

export const batchOutcome = z.object({
  op: z.enum(['put', 'delete']),
  key: z.string(),
  version: z.int(),
  deleted: z.boolean().optional(),
  expiresAt: timestamp.nullable().optional(),
  digest: z.string().optional(),
})

export const entryBatch = batchOf({ value, ttlMs: ttlMs.optional() }).meta({ id: 'EntryBatch' })
export const entryBatchResult = z.object({ results: z.array(batchOutcome) }).meta({ id: 'EntryBatchResult' })

export const kvHealth = z
  .object({
    status: z.enum(['ok', 'degraded', 'failed']),
    /** What is wrong, when it is `failed`. */
    detail: z.string().optional(),
    engine: z.literal('postgresql'),
    /** null, as everything that only the store can say: it does not answer. */
    engineVersion: z.string().nullable(),
    schemaVersion: z.int().nullable(),
    /** null: not done, because the store is read-only. */
    probe: z.object({ writeMs: z.number().nullable(), commitMs: z.number().nullable(), readMs: z.number().nullable() }),
    durability: z.object({
      fsync: z.string().nullable(),
      synchronousCommit: z.string().nullable(),
      dataChecksums: z.string().nullable(),
    }),
    replication: z.array(
      z.object({ name: z.string(), state: z.string(), lagBytes: z.number().nullable(), sync: z.string() }),
    ),
    databases: z.array(z.object({ name: z.string(), keys: z.int(), bytes: z.int() })),
    latencyMs: z.number(),
    checkedAt: timestamp,
  })
  .meta({ id: 'KvHealth' })

export const kvConsistencyQuery = z.object({
  mode: z.enum(['incremental', 'full']).default('incremental'),
  // A cursor of ours must hold the longest key, quoted twice.
  cursor: z.string().min(1).max(4_000).optional(),
})

export const kvConsistency = z
  .object({
    status: z.enum(['consistent', 'inconsistent', 'unknown']),
    mode: z.enum(['incremental', 'full']),
    summary: z.object({ rows: z.int(), bytes: z.int(), issues: z.int() }),
    checks: z.array(z.object({ name: z.string(), checked: z.int(), failed: z.int() })),
    issues: z.array(
      z.object({
        severity: z.string(),
        type: z.string(),
        domain: z.string(),
        database: z.string(),
        ref: z.string().nullable(),
        detail: z.string(),
        repair: z.string(),
      }),
    ),
    rootDigest: z.string(),
    coverage: z.object({
      complete: z.boolean(),
      nextCursor: z.string().nullable(),
      rowsTotal: z.int().min(0).meta({
        description:
          'Rows that the whole walk reads, on all pages, as the heads counted them when it began: `summary.rows` of the pages add up to it, but for what was written or ended meanwhile.',
      }),
    }),
    startedAt: timestamp,
    durationMs: z.int(),
  })
  .meta({ id: 'KvConsistency' })
