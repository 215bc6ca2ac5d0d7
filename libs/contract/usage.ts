// Usage: requests and stored data of an instance, or of all instances of a tenant.

import { z } from 'zod'
import { idOf, pathId, queryInteger, timestamp } from './wire.ts'

/**
 * Upper bounds of the classes that answers are counted in by the time they took; the last one has what took longer too.
 * Counts of classes add up over replicas, minutes and services, so a percentile over them is one of all their answers;
 * an average of percentiles would be none.
 */
export const LATENCY_BOUNDS_MS = [
  1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 1_000, 2_000, 5_000, 12_000, 60_000,
] as const

const usageStep = z.enum(['minute', 'hour', 'day'])
export type UsageStep = z.infer<typeof usageStep>

export const usageParams = z.object({ id: pathId })

/** Years that both JavaScript and PostgreSQL can represent. */
const moment = z.iso
  .datetime({ offset: true })
  .refine((text) => /^(?:19[7-9]|[2-9]\d\d)\d/.test(text), 'must be from the year 1970 on')

export const usageQuery = z.object({
  from: moment.optional().meta({ description: 'Included. Default: a day before `to`.' }),
  to: moment.optional().meta({ description: 'Not included. Default: now.' }),
  step: usageStep.default('hour'),
})

const percentile = (part: string) =>
  z
    .int()
    .nullable()
    .meta({
      description: `${part} of the answers took at most so long, rounded up to one of ${LATENCY_BOUNDS_MS.join(', ')}. Of all answers of the step together; streams and long polls are not among them. Null: none was measured.`,
    })

const points = z
  .array(
    z.object({
      at: timestamp,
      requests: z.int(),
      writes: z.int(),
      records: z.int().meta({ description: 'As last reported in the step.' }),
      bytes: z.int().meta({ description: 'As last reported in the step.' }),
      units: z.number().meta({
        description:
          "What was charged to the plan's rate: 1 for a request, and 1 for each 1.5 ms of processor time beyond it.",
      }),
      errors: z.int().meta({ description: 'Answers with a status of 500 and above, as 503.' }),
      p50_ms: percentile('Half'),
      p95_ms: percentile('95 %'),
      cycles: z.int(),
      evictions: z.int().meta({
        description: 'Slots that left working memory for want of room or below the bar of a focus.',
      }),
    }),
  )
  .meta({ description: 'Ordered by time. A step without a report is left out.' })

export const usageResponse = z
  .object({
    usage: points,
    dearest: z
      .array(z.object({ route: z.string(), units: z.number() }))
      .max(5)
      .meta({
        description:
          'What cost most units in the last hour, whatever the range: routes, and work that was due. Reported a minute late.',
      }),
    from: timestamp,
    to: timestamp,
    step: usageStep,
  })
  .meta({ id: 'Usage' })

/** Steps of one service in an answer about several. */
export const STEPS_BY_SERVICE_MAX = 200

export const usageByServiceQuery = usageQuery.extend({
  by: z.literal('service').default('service'),
  cursor: idOf('svc').optional(),
  limit: queryInteger({ min: 1, max: 100, fallback: 100 }).meta({ description: 'Services in an answer.' }),
})

export const usageByServiceResponse = z
  .object({
    services: z.array(z.object({ service_id: idOf('svc'), usage: points })).meta({
      description: 'Those that are not deleted, newest first; one that has reported nothing in the range has no steps.',
    }),
    from: timestamp,
    to: timestamp,
    step: usageStep,
    next_cursor: z.string().nullable(),
  })
  .meta({ id: 'UsageByService' })
