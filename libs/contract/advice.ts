// Seed, "Partner projection and advice resources".

import { z } from 'zod'

const scope = z.union([z.string(), z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()]))])

export const toolRankRequest = z
  .object({
    task_class: z.string().min(1),
    task_intent: z.string().min(1),
    source_event_id: z.string().min(1),
    run_id: z.string().min(1),
    scope,
    policy_source_ref: z.string().optional(),
  })
  .meta({ id: 'ToolRankRequest' })

export const toolRankResult = z
  .looseObject({
    recommendationId: z.string(),
    taskClass: z.string(),
    taskIntent: z.string(),
    sourceEventId: z.string(),
    runId: z.string(),
    scope,
    rankedTools: z.array(z.looseObject({})),
    evidenceRefs: z.array(z.string()),
    policy: z.looseObject({ sourceRef: z.string(), deniedTools: z.array(z.looseObject({})) }),
  })
  .meta({ id: 'ToolRankResult' })

export const POLICY_DEFAULT_REF = 'loci://policy/default'

/** One underscore for each code point outside `A-Za-z0-9_-`. */
export function recommendationId(sourceEventId: string): string {
  return `loci_tool_advisor_${sourceEventId.replace(/[^A-Za-z0-9_-]/gu, '_')}`
}
