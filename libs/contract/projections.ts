// What a partner tells, and the specification's result of an ingest. Fields are snake_case, as
// the specification's own requests of partners are; unknown ones are ignored.

import { z } from 'zod'
import { TTL_MS_MAX } from './kv.ts'
import { moment } from './wire.ts'

export const PROJECTION_CLASSES = ['event', 'tool_outcome', 'fact', 'preference', 'retraction'] as const
export type ProjectionClass = (typeof PROJECTION_CLASSES)[number]

export const TOOL_OUTCOMES = ['success', 'failure', 'partial', 'denied', 'cancelled'] as const

/** Envelopes in one array. */
export const PROJECTIONS_MAX = 500

const name = z.string().min(1).max(256)
const text = z.string().min(1).max(8_192)

const toolOutcome = z.object({
  tool_id: name,
  outcome: z.enum(TOOL_OUTCOMES),
  latency_ms: z.number().min(0).optional(),
  cost_usd: z.number().min(0).optional(),
  error_code: name.optional(),
})

export const projection = z
  .object({
    projection_id: name.optional().meta({ description: 'Made by loci when it is left out.' }),
    projection_class: z.enum(PROJECTION_CLASSES),
    source_event_id: name.meta({
      description: 'With partner and class the key of a repeat, which is known until 30 days after its content went.',
    }),
    source_system: name.optional(),
    occurred_at: moment.optional(),
    run_id: name.optional(),
    task_class: name.optional(),
    task_intent: text.optional(),
    scope: z.unknown().optional().meta({ description: 'Any JSON of at most 4 KiB.' }),
    tools: z
      .array(toolOutcome)
      .max(64)
      .optional()
      .meta({ description: 'One outcome for each tool: of several the last one counts.' }),
    payload: z.unknown().optional().meta({
      description:
        'Any JSON of at most 256 KiB. It says: the text that it is, its member `content` or `text`, else all of it as JSON; of a fact or a preference at most 16 KiB. Other members stand in the metadata of the record, as far as they fit there.',
    }),
    evidence_refs: z.array(z.string().min(1).max(1_024)).max(64).optional(),
    supersedes: name.optional().meta({
      description:
        'The projectionId of the same partner that is taken back, also one that has not arrived yet. A retraction without it takes back nothing.',
    }),
    confidence: z.number().min(0).max(1).optional(),
    ttl_ms: z.int().min(1).max(TTL_MS_MAX).optional().meta({
      description:
        'Then its content is erased, and 30 days later the projection is forgotten: its repeat is a new one.',
    }),
  })
  .meta({ id: 'Projection' })
export type Projection = z.infer<typeof projection>

/** One envelope or several: the handler parses each, so that a refusal names the envelope and the field. */
export const projectionBody = z.unknown()

/** What the documents show of it. */
export const projectionIngest = z
  .union([projection, z.array(projection).min(1).max(PROJECTIONS_MAX)])
  .meta({ id: 'ProjectionIngest', description: 'One, or an array that is applied as a whole or not at all.' })

/** Specification, "Partner projection and advice resources". */
export const projectionResult = z
  .looseObject({
    accepted: z.literal(true),
    projectionId: z.string(),
    projectionClass: z.string(),
    sourceEventId: z.string(),
    lociNamespace: z.string().meta({ description: '<organization>/<tenant>/<service>/<database>' }),
    appliedSeq: z.int().meta({ description: 'Its place in the order of the database.' }),
    duplicate: z.boolean(),
  })
  .meta({ id: 'ProjectionResult' })

export const projectionResults = z
  .union([projectionResult, z.array(projectionResult)])
  .meta({ id: 'ProjectionResults', description: 'In the order of the envelopes.' })
