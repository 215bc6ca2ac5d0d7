// Of the administration of a cell: POST /admin/revocations.

import { z } from 'zod'
import { idOf } from './wire.ts'

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
