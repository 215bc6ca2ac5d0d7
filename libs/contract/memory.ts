// Memory records and recall; an observation of a cycle is a record before it is stored.

import { z } from 'zod'
import { key, TTL_MS_MAX } from './kv.ts'
import { anyObject, idOf, moment, queryInteger, timestamp } from './wire.ts'
import { explanation, tagged } from './working-memory.ts'

const label = z.string().min(1).max(256)

/** What an agent noticed: the body of a memory record, and what a cycle takes in. */
const observationFields = {
  content: z.string().min(1).meta({ description: 'At most 16 KiB of UTF-8.' }),
  key: key.optional().meta({ description: 'Names one current fact: a new record under it closes the former.' }),
  contextId: label.optional().meta({ description: 'A conversation or session. Without one: the open context.' }),
  actor: label.optional(),
  occurredAt: moment.optional(),
  media: z.string().min(1).max(4_096).optional().meta({ description: 'What a picture or recording shows, in words.' }),
  kind: z.string().min(1).max(64).optional(),
  ...tagged,
  sourceEventId: label.optional().meta({ description: 'The same one again is the same record.' }),
  supersedes: idOf('mem').optional(),
  salience: z.number().min(-2).max(2).optional().meta({ description: 'A hint, added to what the text shows.' }),
  dueAt: moment.optional(),
  ttlMs: z.int().min(1).max(TTL_MS_MAX).optional(),
  metadata: anyObject.optional(),
}

/** Without `override`: a cycle rejects what was deleted. */
export const observation = z.object(observationFields).meta({ id: 'Observation' })

export const recordWrite = z
  .object({
    ...observationFields,
    override: z.boolean().optional().meta({ description: 'Learn it although it was deleted before.' }),
  })
  .meta({ id: 'RecordWrite' })
export type RecordWrite = z.infer<typeof recordWrite>

export const recordBatch = z.object({ records: z.array(recordWrite).max(100) }).meta({ id: 'RecordBatch' })

/** Who wrote it, set by the way of writing and never by the body. */
const source = z.object({
  type: z.string(),
  ref: z.string().nullable(),
  actor: z.string().nullable(),
  trust: z.string(),
})

export const record = z
  .object({
    id: idOf('mem'),
    key: z.string().nullable(),
    content: z.string(),
    kind: z.string(),
    contextId: z.string().nullable(),
    actor: z.string().nullable(),
    occurredAt: timestamp.nullable(),
    media: z.string().nullable(),
    tags: z.array(z.string()),
    evidenceRefs: z.array(z.string()),
    sourceEventId: z.string().nullable(),
    salience: z.number(),
    salienceHint: z.number(),
    dueAt: timestamp.nullable(),
    metadata: anyObject.nullable(),
    source,
    version: z.int(),
    createdAt: timestamp,
    validFrom: timestamp,
    validTo: timestamp.nullable(),
    archivedAt: timestamp.nullable(),
    expiresAt: timestamp.nullable(),
    digest: z.string(),
  })
  .meta({ id: 'Record' })

/** In the answer to a repeat: erased since. */
const redacted = z.object({ id: idOf('mem'), redacted: z.literal(true) }).meta({ id: 'RedactedRecord' })

export const recordStored = z.union([record, redacted]).meta({ id: 'RecordStored' })
export const recordBatchResult = z.object({ records: z.array(recordStored) }).meta({ id: 'RecordBatchResult' })

/** With one of the filters: of the memories that hold now. */
export const recordListQuery = z.object({
  tag: label.optional(),
  kind: label.optional(),
  actor: label.optional(),
  contextId: label.optional(),
  key: key.optional(),
  since: moment.optional().meta({ description: 'What happened then or later; where that is not known, was stored.' }),
  until: moment.optional().meta({ description: 'What happened then or before, likewise.' }),
  order: z
    .enum(['asc', 'desc'])
    .default('desc')
    .meta({ description: 'By when they were stored: oldest or newest first.' }),
  cursor: z.string().min(1).max(100).optional(),
  limit: queryInteger({ min: 1, max: 200, fallback: 50 }),
})
export type RecordListQuery = z.infer<typeof recordListQuery>

const damaged = z.array(
  z.object({ ref: z.string().nullable(), reason: z.enum(['digest_mismatch', 'page_unreadable']) }),
)

export const recordList = z
  .object({
    records: z.array(record),
    nextCursor: z.string().nullable(),
    total: z.int().min(0).meta({
      description:
        'How many match, on all pages, damaged ones included. Exact; beyond the first page it may count some that ended a moment ago.',
    }),
    totalIsAtLeast: z.boolean().meta({
      description: 'There may be more: with a filter, counting ends after 100,000 memories that were looked at.',
    }),
    damaged: damaged.optional(),
  })
  .meta({ id: 'RecordList', description: 'Newest first, or as `order` says.' })

const RECORDS_READ_MAX = 100

export const recordRead = z
  .object({ ids: z.array(idOf('mem')).min(1).max(RECORDS_READ_MAX) })
  .meta({ id: 'RecordRead' })

export const recordsRead = z
  .object({
    records: z.array(record).meta({ description: 'In the order of the ids.' }),
    missing: z.array(z.string()).meta({ description: 'Ids that are not in this database, or no longer.' }),
    left: z
      .array(z.string())
      .optional()
      .meta({ description: 'Ids that were not read, because the answer is a megabyte: ask for them next.' }),
    damaged: damaged.optional(),
  })
  .meta({ id: 'RecordsRead' })

export const recordDeleted = z
  .object({
    deleted: z.literal(true),
    id: idOf('mem'),
    tombstone: z.string().meta({
      description:
        'HMAC of the content under a key of the instance. It holds off this spelling: case and space do not count, punctuation and letters that look alike do.',
    }),
    checked: z.array(z.object({ place: z.string(), found: z.int(), erased: z.int() })),
    receipt: idOf('aud').meta({ description: 'The entry of the audit that says so.' }),
    ledgered: z.enum(['cell', 'management']).meta({
      description:
        'How far the deletion ledger has come, which a restored cell replays before it serves. `cell`: it stands in the database of the cell, and goes to management with the next report, within 5 s while management can be reached; a restore to an earlier moment before that would bring the memory back. `management`: management has acknowledged it already, because a report came before this answer.',
    }),
    deletedAt: timestamp,
  })
  .meta({ id: 'RecordDeleted' })

const narrowed = z.array(label).min(1).max(64)

const relevance = z.number().min(0).max(1)

/** A word of the question: how much of it a memory covers, and by which word of its own. */
const coveredWord = z
  .object({ word: z.string(), covered: z.number().min(0).max(1), by: z.string().nullable() })
  .meta({ id: 'CoveredWord' })

/** Records that a recall is asked about by name. */
const NAMED_MAX = 16

/** Where a record stands that a recall was asked about. */
const STANDINGS = [
  ...['result', 'below', 'crowded_out', 'no_evidence', 'filtered', 'superseded', 'archived', 'later'],
  ...['not_indexed', 'damaged', 'missing'],
] as const

const wordedExplanation = explanation.extend({ words: z.array(coveredWord) })

const namedRecord = z
  .object({
    id: idOf('mem'),
    database: z.string().optional().meta({ description: 'Where `databases` were given, and one of them has it.' }),
    standing: z.enum(STANDINGS).meta({
      description:
        '`result`: on this page or a later one. `below`: under the cut. `crowded_out`: behind the best candidates, or a near copy of several by its actor. `no_evidence`: no part of it has to do with the question. `filtered`: by `filteredBy`. `superseded`, `archived`: it does not hold, at `asOf` where that was given. `later`: stored after `asOf`. `not_indexed`: it was written while this was answered. `missing`: erased, over its time, or never in this database.',
    }),
    reason: z.string().meta({ description: 'The same in a sentence.' }),
    filteredBy: z.array(z.string()).meta({ description: 'Fields of the request that leave it out.' }),
    rank: z.int().min(1).nullable().meta({
      description: 'By score among all candidates that hold and pass the filters, also those below the cut.',
    }),
    among: z.int().min(0).nullable().meta({ description: 'How many these are, where it has a rank.' }),
    relevance: relevance.nullable(),
    needs: relevance.nullable().meta({ description: 'The relevance that a result of this question has at least.' }),
    score: z.number().nullable(),
    content: z.string().nullable(),
    explain: wordedExplanation.nullable(),
  })
  .meta({ id: 'NamedRecord' })
export type NamedRecord = z.infer<typeof namedRecord>

export const recallRequest = z
  .object({
    query: z.string().min(1).max(8_192),
    limit: z.int().min(1).max(200).default(10),
    abstain: z.boolean().default(true).meta({
      description: 'false: the best there is, however little it has to do with the question.',
    }),
    minRelevance: z.number().min(0).max(1).optional().meta({
      description: 'What each result has at least. By default .5 of the best one, and of each half of that.',
    }),
    minScore: z.number().optional().meta({ description: 'What each result has at least; it does not abstain then.' }),
    databases: z
      .array(z.string().regex(/^[a-z0-9_-]{1,64}$/))
      .min(1)
      .max(8)
      .optional()
      .meta({ description: 'All of which the capability covers. Default: the one of the header.' }),
    kinds: narrowed.optional(),
    tags: narrowed.optional().meta({ description: 'Those that have all of them.' }),
    actors: narrowed.optional(),
    contextIds: narrowed.optional(),
    keys: z.array(key).min(1).max(64).optional(),
    metadata: anyObject
      .refine((members) => Object.keys(members).length <= 16, 'at most 16 members')
      .optional()
      .meta({ description: 'Those whose metadata has each of these members, with an equal value; at most 16.' }),
    since: moment.optional().meta({ description: 'What happened then or later; where that is not known, was stored.' }),
    until: moment.optional().meta({ description: 'What happened then or before, likewise.' }),
    asOf: moment.optional().meta({
      description: 'What was valid then, of the 1,000 best candidates; also the moment that ages are counted to.',
    }),
    tokenBudget: z.int().min(1).max(1_000_000).optional(),
    recordIds: z.array(idOf('mem')).min(1).max(NAMED_MAX).optional().meta({
      description:
        'Why is this one not among them? `named` says of each where it stands. The results are the same with and without. On the first page only.',
    }),
    cursor: z.string().min(1).max(65_536).optional().meta({
      description:
        '`nextCursor` of the page before, with the same question; `limit`, `tokenBudget` and `explain` may differ.',
    }),
    explain: z.boolean().default(false),
  })
  .meta({ id: 'RecallRequest' })
export type RecallRequest = z.infer<typeof recallRequest>

export const recallResult = z
  .object({
    results: z.array(
      z.object({
        id: idOf('mem'),
        key: z.string().nullable(),
        content: z.string(),
        kind: z.string(),
        relevance: relevance.meta({
          description: 'How likely it answers the question, whatever the size of the database.',
        }),
        score: z.number().meta({ description: 'What results are ordered by.' }),
        explain: wordedExplanation.nullable(),
        database: z.string().optional().meta({ description: 'Where `databases` were given.' }),
        evidenceRefs: z.array(z.string()),
        tags: z.array(z.string()),
        contextId: z.string().nullable(),
        actor: z.string().nullable(),
        metadata: anyObject.nullable(),
        source,
        createdAt: timestamp,
        occurredAt: timestamp.nullable(),
        validFrom: timestamp,
        validTo: timestamp.nullable(),
        version: z.int(),
      }),
    ),
    abstained: z.boolean().meta({ description: 'Nothing is relevant enough to be an answer.' }),
    reason: z.string().optional().meta({ description: 'Where it abstained: why, in a sentence.' }),
    nearest: z
      .array(
        z.object({
          id: idOf('mem'),
          relevance,
          database: z.string().optional(),
          content: z.string().optional(),
          explain: wordedExplanation.optional(),
        }),
      )
      .max(3)
      .optional()
      .meta({ description: 'Where it abstained: the most relevant memories, with `explain` their content and parts.' }),
    abstention: z
      .object({
        best: relevance.meta({ description: 'Of the most relevant memory; 0 where there is none.' }),
        threshold: relevance.nullable().meta({
          description: 'From here on a memory is an answer; null where `minScore` decided.',
        }),
      })
      .optional()
      .meta({ description: 'Where it abstained: by how much.' }),
    named: z.array(namedRecord).optional().meta({ description: 'Of `recordIds`, in their order.' }),
    nextCursor: z.string().nullable().meta({ description: 'Null at the end.' }),
    total: z.int().meta({
      description:
        'Results of all pages, before limit and tokenBudget, of the 200 best candidates; with asOf of 1,000.',
    }),
    incomplete: z.boolean().meta({
      description:
        'With asOf: records that were valid then may be missing, behind candidates that were not, or behind the 4,096 ' +
        'or 4 MiB that ended first since then. Narrow the question, by actor, kind or tag. Always: a record that was ' +
        'superseded or archived cannot be read; `damaged` counts it.',
    }),
    asOfSeq: z.int(),
    tookMs: z.number(),
    damaged: damaged.optional(),
  })
  .meta({ id: 'RecallResult', description: 'Best first.' })
