// Events: what happened in an organization, as a pull feed and as a stream.

import { z } from 'zod'
import { idOf, queryInteger, timestamp } from './wire.ts'

/** Up to 15 digits, more than other query integers: it counts every event that an organization ever had. */
export const eventPosition = z.string().regex(/^[0-9]{1,15}$/, 'must be the seq of an event, or 0')

export const eventsQuery = z.object({
  after: eventPosition
    .transform(Number)
    .optional()
    .meta({ queryInteger: { type: 'integer', minimum: 0, description: 'Without it the answer is a stream.' } }),
  limit: queryInteger({ min: 1, max: 500, fallback: 100 }),
  wait: queryInteger({ min: 0, max: 20, fallback: 0 }),
})

const event = z
  .object({
    id: idOf('evt'),
    seq: z.int(),
    type: z.string(),
    at: timestamp,
    subject: z.string().meta({ description: 'The id that it is about.' }),
    data: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'Event' })

export const eventsResponse = z
  .object({
    events: z.array(event),
    next: z.int().meta({ description: 'What to send as `after`.' }),
    truncated: z.literal(true).optional().meta({
      description: 'Events after `after` are no longer kept: read the current state of what you follow.',
    }),
  })
  .meta({ id: 'Events' })
