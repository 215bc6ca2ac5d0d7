// Partner credentials, as the owner of the service manages them.

import { z } from 'zod'
import { idOf, pageQuery, pathId, timestamp } from './wire.ts'

const YEAR_S = 365 * 86_400

/** Without a colon: names that begin with `holder:` belong to holders of capabilities. A credential's id fits it. */
export const PARTNER_NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/

export const partnerCredentialsParams = z.object({ id: pathId })
export const partnerCredentialParams = z.object({ id: pathId, credential_id: pathId })

/** Rotation takes no fields. An unknown one is refused, because it would ask for something that does not happen. */
export const partnerCredentialRotation = z.strictObject({}).optional()

export const partnerCredentialRequest = z
  .strictObject({
    name: z.string().min(1).max(100),
    database: z.string().min(1).max(64),
    partner: z.string().regex(PARTNER_NAME, 'must be 1 to 64 of a-z, 0-9, ., _ and -').optional().meta({
      description:
        'Whose projections these are. Credentials of one partner are one teller; partners neither repeat, replace nor retract what another one told. Default: the id of the credential.',
    }),
    projection_classes: z.array(z.string().max(100)).max(20).optional().meta({ description: 'Default: all.' }),
    routes: z
      .array(z.string().max(100))
      .max(20)
      .optional()
      .meta({ description: 'projections and advice, the default.' }),
    expires_in: z
      .int()
      .min(60)
      .max(10 * YEAR_S)
      .optional()
      .meta({ description: 'Seconds. Without it the credential does not expire.' }),
  })
  .meta({ id: 'PartnerCredentialRequest' })

const shared = {
  id: idOf('ptr'),
  service_id: idOf('svc'),
  name: z.string(),
  made_by: z.string().nullable().meta({ description: 'The API key, gateway or command that made its current secret.' }),
  partner: z.string().meta({ description: 'Kept by a rotation.' }),
  database: z.string(),
  projection_classes: z.array(z.string()),
  routes: z.array(z.string()),
  created_at: timestamp,
  expires_at: timestamp.nullable(),
  rotated_at: timestamp.nullable(),
  last_used_at: timestamp.nullable(),
}

export const partnerCredentialIssued = z
  .object({ ...shared, token: z.string().meta({ description: 'Shown this once.' }) })
  .meta({ id: 'PartnerCredentialIssued' })

export const partnerCredentialListQuery = pageQuery('ptr')

export const partnerCredentialList = z
  .object({ partner_credentials: z.array(z.object(shared)), next_cursor: z.string().nullable() })
  .meta({ id: 'PartnerCredentialList' })
