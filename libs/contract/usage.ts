// Usage: requests and stored data of an instance, or of all instances of a tenant.

import { z } from 'zod'
import { pathId, timestamp } from './wire.ts'

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

export const usageResponse = z
  .object({
    usage: z
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
        }),
      )
      .meta({ description: 'Ordered by time. A step without a report is left out.' }),
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
