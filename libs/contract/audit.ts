// CONTRACT 9, Audit: camelCase for an instance's operator, snake_case for the administration.

import { z } from 'zod'
import { idOf, queryInteger, timestamp } from './wire.ts'

const shared = {
  id: idOf('aud'),
  seq: z.int(),
  at: timestamp,
  actor: z.string(),
  action: z.string(),
  subject: z.string(),
  outcome: z.string(),
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

export const auditQuery = z.object({
  cursor: z
    .string()
    .regex(/^[0-9]{1,15}$/)
    .optional(),
  limit: queryInteger({ min: 1, max: 200, fallback: 50 }),
})
