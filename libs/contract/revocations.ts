// What the administration of a cell revokes (POST /admin/revocations), and what staff see of it and withdraw.

import { z } from 'zod'
import { idOf, pageQuery, timestamp } from './wire.ts'

const moment = z.iso.datetime({ offset: true })

export const revocationRequest = z
  .strictObject({
    jti: z.string().min(1).max(200).optional(),
    org: z.string().min(1).max(200).optional(),
    ten: z.string().min(1).max(200).optional(),
    svc: z.string().min(1).max(200).optional(),
    not_before: moment.optional(),
  })
  .refine((body) => [body.jti, body.org, body.ten, body.svc].filter((one) => one !== undefined).length === 1, {
    message: 'name exactly one of jti, org, ten and svc',
  })
  .refine((body) => (body.jti === undefined) === (body.not_before !== undefined), {
    message: 'org, ten and svc need not_before; jti has none',
    path: ['not_before'],
  })
  .meta({ id: 'RevocationRequest' })

export const revocationResponse = z
  .object({ revoked: z.literal(true), audit_id: idOf('aud') })
  .meta({ id: 'RevocationResponse' })

export const cellRevocationListQuery = pageQuery('rev')

export const cellRevocationList = z
  .object({
    revocations: z.array(
      z.object({
        id: idOf('rev'),
        cell_id: idOf('cell'),
        kind: z.enum(['jti', 'org', 'ten', 'svc']),
        value: z.string(),
        organization_id: idOf('org').nullable().meta({
          description: 'Whose it is; null: of a token that management does not know, narrowed by its holder.',
        }),
        not_before: timestamp.nullable(),
        expires_at: timestamp,
        created_at: timestamp,
        withdrawn_at: timestamp.nullable(),
      }),
    ),
    next_cursor: z.string().nullable(),
  })
  .meta({ id: 'CellRevocationList' })

export const revocationWithdrawn = z.object({ withdrawn: z.literal(true) }).meta({ id: 'RevocationWithdrawn' })
