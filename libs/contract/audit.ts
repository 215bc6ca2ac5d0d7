// Audit entries: camelCase for the operator of an instance, snake_case for cell administration and in management.

import { z } from 'zod'
import { anyObject, idOf, queryInteger, timestamp } from './wire.ts'

const act = {
  id: idOf('aud'),
  seq: z.int(),
  at: timestamp,
  actor: z.string(),
  action: z.string(),
  subject: z.string(),
  outcome: z.string(),
}
const shared = {
  ...act,
  database: z.string().nullable(),
  hash: z.string(),
  redacted: z.boolean(),
}

export const auditList = z
  .object({
    entries: z.array(z.object({ ...shared, requestId: z.string().nullable(), prevHash: z.string().nullable() })),
    nextCursor: z.string().nullable(),
  })
  .meta({ id: 'AuditList' })

export const adminAuditList = z
  .object({
    entries: z.array(z.object({ ...shared, request_id: z.string().nullable(), prev_hash: z.string().nullable() })),
    next_cursor: z.string().nullable(),
  })
  .meta({ id: 'AdminAuditList' })

/** In management: of an organization or of the platform. */
export const auditEventList = z
  .object({
    entries: z.array(
      z.object({
        ...act,
        request_id: z.string().nullable(),
        detail: anyObject,
        hash: z.string(),
        prev_hash: z.string().nullable(),
      }),
    ),
    next_cursor: z.string().nullable(),
  })
  .meta({ id: 'AuditEventList' })

export const auditQuery = z.object({
  cursor: z
    .string()
    .regex(/^[0-9]{1,15}$/)
    .optional(),
  limit: queryInteger({ min: 1, max: 200, fallback: 50 }),
})

export const PLATFORM = 'platform'

export const auditEventQuery = auditQuery.extend({
  organization_id: z
    .union([idOf('org'), z.literal(PLATFORM)])
    .optional()
    .meta({ description: 'Staff only: whose audit to read. Reading it is itself audited.' }),
})
