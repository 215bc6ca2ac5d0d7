// Which tool next. The partner's request and the answer are the specification's ("Partner projection and advice
// resources"); the same request of a capability is camelCase.

import { z } from 'zod'
import { TOOL_OUTCOMES } from './projections.ts'
import { moment, timestamp } from './wire.ts'

const name = z.string().min(1).max(256)
const text = z.string().min(1).max(8_192)
const amount = z.number().min(0)
const limit = z.int().min(1).max(100).default(10)
const ref = z.string().min(1).max(1_024)

/** Candidates in one request. */
const CANDIDATES_MAX = 4_096

const scope = z.unknown().meta({ description: 'Any JSON of at most 4 KiB, echoed as it was sent.' })

/** `undefined` is not JSON: a request without it is refused, one with null is not. */
const scopeOrNull = scope.refine((given) => given !== undefined, 'is required')

export const toolRankRequest = z
  .object({
    task_class: name,
    task_intent: text,
    source_event_id: name,
    run_id: name,
    scope: scopeOrNull,
    policy_source_ref: ref.nullish().meta({
      description:
        'Left out or null: loci://policy/default, which holds in any case. Policies are advice: they compare ids as they are sent, and side effects as the candidate declares them, so whoever runs tools refuses those that must never run.',
    }),
    candidate_tools: z
      .array(
        z.union([
          name,
          z.object({
            tool_id: name,
            description: text.optional(),
            side_effects: z.boolean().optional(),
            cost_usd: amount.optional(),
            latency_ms: amount.optional(),
          }),
        ]),
      )
      .max(CANDIDATES_MAX)
      .optional()
      .meta({ description: 'Left out: every tool of which an outcome was told.' }),
    constraints: z
      .object({
        max_cost_usd: amount.optional(),
        max_latency_ms: amount.optional(),
        forbid_side_effects: z.boolean().optional(),
      })
      .optional(),
    limit,
    explain: z.boolean().default(true),
  })
  .meta({ id: 'ToolRankRequest' })
export type ToolRankRequest = z.infer<typeof toolRankRequest>

export const adviceRequest = z
  .object({
    taskClass: name,
    taskIntent: text,
    sourceEventId: name,
    runId: name.nullish(),
    scope: scope.optional(),
    policySourceRef: ref.nullish(),
    candidateTools: z
      .array(
        z.union([
          name,
          z.object({
            toolId: name,
            description: text.optional(),
            sideEffects: z.boolean().optional(),
            costUsd: amount.optional(),
            latencyMs: amount.optional(),
          }),
        ]),
      )
      .max(CANDIDATES_MAX)
      .optional(),
    constraints: z
      .object({
        maxCostUsd: amount.optional(),
        maxLatencyMs: amount.optional(),
        forbidSideEffects: z.boolean().optional(),
      })
      .optional(),
    limit,
    explain: z.boolean().default(true),
  })
  .meta({ id: 'AdviceRequest' })
export type AdviceRequest = z.infer<typeof adviceRequest>

/** Outcomes in one array. */
export const OUTCOMES_MAX = 100

export const outcomeWrite = z
  .object({
    taskClass: name,
    taskIntent: text.optional(),
    scope: scope.optional(),
    runId: name.optional(),
    sourceEventId: name.optional().meta({
      description:
        'The key of a repeat, for each holder of its own; left out, each request is an outcome of its own. The same again is answered with the first one’s id.',
    }),
    occurredAt: moment.optional(),
    evidenceRefs: z.array(ref).max(64).optional(),
    tools: z
      .array(
        z.object({
          toolId: name,
          outcome: z.enum(TOOL_OUTCOMES),
          latencyMs: amount.optional(),
          costUsd: amount.optional(),
          errorCode: name.optional(),
        }),
      )
      .min(1)
      .max(64)
      .meta({ description: 'One outcome for each tool: of several the last one counts.' }),
  })
  .meta({ id: 'OutcomeWrite' })
export type OutcomeWrite = z.infer<typeof outcomeWrite>

/** One or several: the handler parses each, so that a refusal names it and the field. */
export const outcomeBody = z.unknown()

/** What the documents show of it. */
export const outcomeReport = z
  .union([outcomeWrite, z.array(outcomeWrite).min(1).max(OUTCOMES_MAX)])
  .meta({ id: 'OutcomeReport', description: 'One, or an array that is applied as a whole or not at all.' })

const outcomeResult = z
  .object({
    accepted: z.literal(true),
    projectionId: z.string(),
    duplicate: z.boolean(),
    appliedSeq: z.int().meta({ description: 'Its place in the order of the database.' }),
  })
  .meta({ id: 'OutcomeResult' })

export const outcomeResults = z
  .union([outcomeResult, z.array(outcomeResult)])
  .meta({ id: 'OutcomeResults', description: 'In the order of the outcomes.' })

const share = z.number().min(0).max(1)
const count = z.int().min(0)
const told = { attempts: count, successes: count, failures: count }

const rankedTool = z
  .object({
    toolId: z.string(),
    rank: z.int().min(1),
    score: z.number(),
    confidence: z
      .object({ lower95: share, upper95: share, effective: z.object({ successes: amount, failures: amount }) })
      .meta({
        description:
          'Where its chance of success in this task lies: the middle 95 % of Beta(effective.successes, effective.failures). Effective counts are the outcomes of this task, each weighed and decayed, with what is believed from the tool’s other tasks, and half an outcome of each kind.',
      }),
    stats: z.object({ ...told, lastOutcomeAt: timestamp.nullable() }).meta({ description: 'Of this task.' }),
    coldStart: z.boolean().meta({ description: 'No outcome of it was told in this task.' }),
    reasons: z.array(z.string()),
    explain: z
      .object({
        score: z.number(),
        parts: z.array(
          z.object({
            name: z.enum(['text', 'reliability', 'explore', 'health']),
            value: z.number(),
            weight: z.number(),
            contribution: z.number(),
          }),
        ),
        partners: z
          .array(z.object({ partner: z.string(), ...told }))
          .meta({ description: 'Who told what of it in this task.' }),
      })
      .nullable(),
    evidence: z.array(z.object({ projectionId: z.string(), outcome: z.string(), evidenceRefs: z.array(z.string()) })),
  })
  .meta({ id: 'RankedTool' })
export type RankedTool = z.infer<typeof rankedTool>

const deniedTool = z
  .object({
    toolId: z.string(),
    reasonCode: z.enum(['policy', 'failure_budget', 'constraint']),
    rule: z.unknown().meta({
      description: 'The rule of the policy, or the constraint. Where many rules are told, the later by `index` alone.',
    }),
    detail: z.string(),
  })
  .meta({ id: 'DeniedTool' })
export type DeniedTool = z.infer<typeof deniedTool>

export const toolRankResult = z
  .looseObject({
    recommendationId: z.string(),
    taskClass: z.string(),
    taskIntent: z.string(),
    sourceEventId: z.string(),
    runId: z.string().nullable(),
    scope: z.unknown(),
    rankedTools: z.array(rankedTool),
    evidenceRefs: z.array(z.string()),
    evidenceTruncated: z.boolean(),
    policy: z.looseObject({ sourceRef: z.string(), deniedTools: z.array(deniedTool), resolved: z.boolean() }),
  })
  .meta({ id: 'ToolRankResult' })

const POLICY_REF = 'loci://policy/'
export const POLICY_DEFAULT_REF = `${POLICY_REF}default`

const policyName = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/)
export const policyParams = z.object({ name: policyName })

/** undefined where it refers to no policy of loci. */
export function policyNameOf(reference: string): string | undefined {
  const named = reference.startsWith(POLICY_REF) ? reference.slice(POLICY_REF.length) : undefined
  return policyName.safeParse(named).data
}

const policyRule = z
  .object({
    effect: z.enum(['deny', 'allow']),
    tool: z
      .string()
      .min(1)
      .max(256)
      .regex(/^[^*]*(?:\*[^*]*){0,8}$/, 'may have at most eight stars')
      .meta({ description: 'A tool id; each of at most eight `*` stands for any characters.' }),
    taskClass: name.optional(),
    scope: scope.optional(),
    sideEffects: z.boolean().optional().meta({ description: 'Matches candidates that declare the same.' }),
    failureBudget: share.optional().meta({
      description: 'Matches while more than this share of the last 50 outcomes of tool and class failed, from 10 on.',
    }),
    reason: z.string().max(1_024).optional(),
  })
  .meta({ id: 'PolicyRule' })
export type PolicyRule = z.infer<typeof policyRule>

export const policyWrite = z
  .object({ rules: z.array(policyRule).max(256).meta({ description: 'The first that matches wins; none: allowed.' }) })
  .meta({ id: 'PolicyWrite' })

export const policy = z
  .object({ name: z.string(), ref: z.string(), version: z.int(), rules: z.array(policyRule) })
  .meta({ id: 'Policy' })
export const policyList = z
  .object({
    policies: z.array(z.object({ name: z.string(), ref: z.string(), version: z.int() })),
    nextCursor: z.null(),
  })
  .meta({ id: 'PolicyList' })

/** One underscore for each code point outside `A-Za-z0-9_-`. */
export function recommendationId(sourceEventId: string): string {
  return `loci_tool_advisor_${sourceEventId.replace(/[^A-Za-z0-9_-]/gu, '_')}`
}
