// Cognitive cycles: the specification's "Cognitive resources", each extended by what we add to it.

import { z } from 'zod'
import { configInForce, configSettings, configUpdateResult, configWarnings } from './configuration.ts'
import { observation } from './memory.ts'
import { anyObject, idOf, moment, queryInteger, timestamp } from './wire.ts'
import { explanation } from './working-memory.ts'

export const specifiedCycle = z.looseObject({ completedAt: z.string() }).meta({ id: 'CycleRecord' })

export const specifiedList = z
  .looseObject({ cycles: z.array(specifiedCycle), total: z.int(), corruption: z.unknown() })
  .meta({ id: 'CycleList', description: 'Newest first.' })

export const specifiedStatistics = z
  .looseObject({
    totalCycles: z.int(),
    completedCycles: z.int(),
    failedCycles: z.literal(0),
    averageDurationMs: z.int(),
    lastCycleAt: z.string(),
    corruption: z.unknown(),
  })
  .meta({ id: 'CycleStatistics' })

const OBSERVATIONS_MAX = 100

const limits = z.object({
  maxDurationMs: z.int().min(10).max(10_000).optional().meta({ description: 'Beyond it nothing is done: 503.' }),
  maxEvents: z.int().min(0).max(1_000).optional().meta({ description: 'Pending projections that it takes in.' }),
  queueMs: z.int().min(0).max(10_000).optional().meta({ description: 'What cannot commit within it is 409.' }),
})

export const cycleRun = z
  .object({
    focus: z.string().min(1).max(8_192).nullable().optional().meta({ description: 'What it is about: one topic.' }),
    observations: z.array(observation).max(OBSERVATIONS_MAX).optional(),
    limits: limits.optional(),
    dryRun: z.boolean().optional(),
    metadata: anyObject.optional(),
  })
  .meta({ id: 'CycleRun' })
export type CycleRun = z.infer<typeof cycleRun>

const phase = z.object({
  name: z.enum(['perceive', 'cue', 'recall', 'compete', 'broadcast', 'learn']),
  startMs: z.number(),
  durationMs: z.number(),
  in: z.int(),
  out: z.int(),
})

export const cycleTrigger = z.enum(['api', 'schedule', 'pressure', 'mcp'])

export const cycleCounts = z.object({
  admitted: z.int(),
  kept: z.int(),
  merged: z.int().meta({ description: 'Observations whose key names a resident slot.' }),
  reinforced: z.int().meta({ description: 'Equal content again.' }),
  stored: z.int().meta({ description: 'Became a record without a slot.' }),
  evicted: z.int(),
  consolidated: z.int(),
  forgotten: z.int(),
  rejected: z.int(),
})

const decision = z
  .object({
    seq: z.int(),
    action: z.string(),
    subject: z.object({ kind: z.string(), key: z.string().nullable(), version: z.int().nullable() }),
    reasonCode: z.string(),
    reason: z.string(),
    score: z.number(),
    parts: explanation.shape.parts,
    displacedBy: z.string().optional(),
    evidenceRefs: z.array(z.string()),
    rule: z.string(),
    recoverableUntil: timestamp.nullable(),
  })
  .meta({ id: 'CycleDecision' })

const threshold = z
  .object({
    best: z.number().meta({ description: 'The highest score of what competed, without stickiness and pinned slots.' }),
    bar: z.number().meta({ description: 'What a candidate had to reach.' }),
  })
  .meta({ id: 'CycleThreshold' })

const workingMemory = z.object({ slotCount: z.int(), digest: z.string() })

export const cycle = specifiedCycle
  .extend({
    id: idOf('cyc'),
    seq: z.int(),
    status: z.literal('completed'),
    trigger: cycleTrigger,
    database: z.string(),
    requestedBy: z.string().nullable(),
    focus: z.string().nullable(),
    startedAt: timestamp,
    completedAt: timestamp,
    durationMs: z.int(),
    phases: z.array(phase),
    decisions: cycleCounts,
    threshold: threshold.nullable().meta({
      description: 'Null without a focus, without a relative threshold, and of cycles that ran before it was kept.',
    }),
    ledger: z
      .array(decision)
      .optional()
      .meta({ description: 'Of a dry run: every decision with its reason. Those of a cycle are at decisionsUrl.' }),
    summary: z.string().meta({ description: 'Which slots came and which left, and why, by their keys, in words.' }),
    broadcast: z.array(z.object({ kind: z.enum(['slot', 'record']), ref: z.string(), score: z.number() })),
    decisionsUrl: z.string(),
    workingMemory: z.object({ before: workingMemory, after: workingMemory }),
    configVersion: z.int(),
    engine: z.object({ version: z.string(), deterministic: z.literal(true), seed: z.string() }),
    dryRun: z.boolean(),
    warnings: configWarnings,
    prevHash: z.string().nullable(),
    hash: z.string().meta({ description: 'Over the record with the hash before it, content as salted hashes.' }),
    metadata: anyObject.nullable(),
    redacted: z.literal(true).optional().meta({ description: 'Content of it was erased.' }),
  })
  .meta({ id: 'Cycle' })
export type Cycle = z.infer<typeof cycle>

/** In the answer to a repeat: the cycle is no longer kept. */
const pruned = z.looseObject({ id: idOf('cyc'), redacted: z.literal(true) }).meta({ id: 'PrunedCycle' })
export const cycleRan = z.union([cycle, pruned]).meta({ id: 'CycleRan' })

const corruption = z
  .object({
    detected: z.boolean(),
    count: z.int(),
    status: z.enum(['clean', 'quarantined', 'unknown']),
    checkedThroughSeq: z.int().nullable().meta({ description: 'All up to here were read and found intact.' }),
    verifiedAt: timestamp.nullable(),
    method: z.literal('sha256-chain'),
    entries: z.array(
      z.object({
        ref: z.string().nullable(),
        seq: z.int().nullable(),
        reason: z.enum(['digest_mismatch', 'chain_break', 'undecodable', 'missing', 'page_unreadable']),
        quarantinedAt: timestamp,
        recoverable: z.boolean(),
      }),
    ),
  })
  .meta({ id: 'CycleCorruption' })
export type Corruption = z.infer<typeof corruption>

export const cycleListQuery = z.object({
  limit: queryInteger({ min: 1, max: 1_000, fallback: 200 }),
  cursor: z.string().min(1).max(100).optional(),
  since: moment.optional(),
  until: moment.optional(),
})

export const cycleList = specifiedList
  .extend({ cycles: z.array(cycle), total: z.int(), corruption, nextCursor: z.string().nullable() })
  .meta({ id: 'Cycles', description: 'Newest first; total counts those that are no longer kept, too.' })

const attempts = z.object({
  total: z.int(),
  failed: z.int(),
  consecutiveFailures: z.int(),
  lastFailureAt: timestamp.nullable(),
  lastFailureCode: z.string().nullable(),
})

export const cycleStatistics = specifiedStatistics.extend({ corruption, attempts }).meta({ id: 'CycleStats' })

export const cycleDecisionsQuery = z.object({
  limit: queryInteger({ min: 1, max: 1_000, fallback: 200 }),
  cursor: z.string().min(1).max(100).optional(),
})

export const cycleDecisions = z
  .object({
    decisions: z.array(decision),
    nextCursor: z.string().nullable(),
  })
  .meta({ id: 'CycleDecisions', description: 'In their order. Kept for 30 days, on the plan free for 7.' })

export const cognitiveHealth = z
  .object({
    status: z.enum(['ok', 'degraded']),
    service: z.literal('cognitive'),
    enabled: z.boolean(),
    loop: z.object({
      state: z.enum(['off', 'idle', 'due']),
      lastTickAt: timestamp.nullable(),
      nextTickAt: timestamp.nullable(),
      lagMs: z.int(),
      stalled: z.boolean(),
    }),
    lastCycle: z.object({ seq: z.int(), completedAt: timestamp }).nullable(),
    backlog: z.object({ projections: z.int(), oldestAgeMs: z.int().nullable() }),
    attempts,
  })
  .meta({ id: 'CognitiveHealth' })

export const cognitiveConfig = anyObject.meta({ id: 'CognitiveConfig' })
export const cognitiveConfigInForce = configInForce.meta({ id: 'CognitiveConfigInForce' })
export const cognitiveSettings = configSettings.meta({ id: 'CognitiveSettings' })

export const cognitiveConfigUpdate = configUpdateResult
  .extend({
    version: z.int(),
    warnings: configWarnings,
  })
  .meta({ id: 'CognitiveConfigUpdate' })

/** Integer division, and 0 when no cycle completed (specification, Cycle statistics). */
export function averageDurationMs(totalDurationMs: number, completedCycles: number): number {
  return completedCycles === 0 ? 0 : Math.floor(totalDurationMs / completedCycles)
}
