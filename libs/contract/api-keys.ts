// API keys, as the people of an organization manage them.

import { z } from 'zod'
import { SCOPES } from './roles.ts'
import { displayName, idOf, pageQuery, pathId, timestamp } from './wire.ts'

/** Platform administration; no role of an organization has it. */
export const STAFF_SCOPE = 'staff'

const scope = z.enum([...SCOPES, STAFF_SCOPE])
const EXPIRES_IN_MAX = 10 * 365 * 86_400

const apiKey = z
  .object({
    id: idOf('key'),
    user_id: idOf('usr').meta({
      description: 'Who created it. The key never has more rights than this person has now.',
    }),
    made_by: z.string().nullable().meta({
      description:
        'The API key, gateway or command that created it or rotated its secret. It is revoked with that key.',
    }),
    session_id: idOf('ses').nullable().meta({
      description:
        'The browser session in which it was created or its secret rotated. POST /api/auth/logout with `revoke_issued` revokes it with that session.',
    }),
    name: z.string(),
    scopes: z.array(scope),
    tenant_ids: z.array(idOf('ten')).nullable().meta({ description: 'Null = every tenant of the organization.' }),
    created_at: timestamp,
    expires_at: timestamp.nullable(),
    last_used_at: timestamp.nullable().meta({ description: 'To the minute; null = never.' }),
    previous_until: timestamp
      .nullable()
      .meta({ description: 'Until when the secret from before the last rotation still works.' }),
  })
  .meta({ id: 'ApiKey' })

export const apiKeyMake = z
  .strictObject({
    name: displayName,
    scopes: z.array(scope).min(1).max(50).optional(),
    tenant_ids: z.array(z.string().max(100)).min(1).max(100).optional(),
    expires_in: z.int().min(60).max(EXPIRES_IN_MAX).optional(),
  })
  .meta({ id: 'ApiKeyMake' })

export const apiKeyIssued = apiKey.extend({ secret: z.string() }).meta({ id: 'ApiKeyIssued' })

export const apiKeyList = z
  .object({ api_keys: z.array(apiKey), next_cursor: z.string().nullable() })
  .meta({ id: 'ApiKeyList' })

export const apiKeyListQuery = pageQuery('key')
export const apiKeyDeleteQuery = z.strictObject({
  made: z.enum(['delete', 'keep']).default('delete').meta({
    description:
      'Whether the API keys, tokens and partner credentials that it created, directly or through others, are revoked with it.',
  }),
})
export const apiKeyParams = z.object({ id: pathId })

/** The body is optional. */
export const apiKeyRotate = z
  .strictObject({ overlap_seconds: z.int().min(0).max(604_800).default(86_400) })
  .default({ overlap_seconds: 86_400 })
  .meta({ id: 'ApiKeyRotate' })
