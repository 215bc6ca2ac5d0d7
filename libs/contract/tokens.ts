// Capabilities that management issues, lists and revokes.

import { z } from 'zod'
import { idOf, pageQuery, pathId, timestamp } from './wire.ts'

/** A holder may have made the link offline, so this is not necessarily an id of ours. */
const jti = z.string().min(1).max(200)

export const tokensParams = z.object({ id: pathId })
export const tokenParams = z.object({
  id: pathId,
  token_id: jti.refine((text) => !text.includes('\0'), 'has a NUL character'),
})

export const tokenRequest = z
  .strictObject({
    service_id: z
      .string()
      .max(100)
      .optional()
      .meta({ description: 'Optional where the tenant has exactly one service.' }),
    name: z.string().min(1).max(100).optional(),
    ops: z
      .array(z.string().max(100))
      .max(100)
      .optional()
      .meta({ description: 'Default: every operation of the caller except operator.' }),
    databases: z
      .array(z.string().max(100))
      .max(100)
      .optional()
      .meta({ description: 'Default: ["default"]; ["*"] = all.' }),
    ttl_seconds: z.int().optional().meta({ description: '60 to the maximum of the plan; default 86400.' }),
    max_delegation_depth: z.int().optional().meta({ description: '0 to 4; default 0.' }),
    holder_key: z
      .unknown()
      .optional()
      .meta({ description: 'A public Ed25519 JWK: only the holder of its private key can then seal the token.' }),
  })
  .meta({ id: 'TokenRequest' })

const publicJwk = { kty: z.literal('OKP'), crv: z.literal('Ed25519'), x: z.string() }

export const tokenResponse = z
  .object({
    token_id: idOf('cap'),
    token: z.string(),
    token_type: z.literal('loci-capability'),
    header: z.string(),
    organization_id: idOf('org'),
    tenant_id: idOf('ten'),
    service_id: idOf('svc'),
    ops: z.array(z.string()),
    keyspaces: z.array(z.string()),
    issued_at: timestamp,
    expires_at: timestamp,
    expires_in: z.int(),
    delegation: z.object({ chain: z.string(), key: z.object({ ...publicJwk, d: z.string() }) }).optional(),
  })
  .meta({ id: 'TokenResponse' })

export const tokenDeleteQuery = z.strictObject({
  service_id: pathId.optional().meta({
    description: 'With it any jti is revoked in this service of the tenant, also one that was never registered.',
  }),
})

export const tokenListQuery = pageQuery('cap').extend({ service_id: pathId.optional() })

const tokenChild = z.object({
  jti: z.string(),
  parent_id: idOf('cap'),
  name: z.string().nullable(),
  ops: z.array(z.string()).nullable().meta({ description: 'As they were registered; null: not told.' }),
  expires_at: timestamp,
  registered_at: timestamp,
  revoked_at: timestamp.nullable(),
})

export const tokenList = z
  .object({
    tokens: z.array(
      z.object({
        token_id: idOf('cap'),
        name: z.string().nullable(),
        tenant_id: idOf('ten'),
        service_id: idOf('svc'),
        ops: z.array(z.string()),
        keyspaces: z.array(z.string()),
        sub: z.string().nullable(),
        made_by: z.string().nullable().meta({ description: 'The API key, gateway or command that asked for it.' }),
        max_delegation_depth: z.int(),
        issued_at: timestamp,
        expires_at: timestamp,
        revoked_at: timestamp.nullable(),
        last_used_at: timestamp.nullable(),
        children: z.array(tokenChild).meta({ description: 'The newest 100 registered children.' }),
        children_total: z.int(),
      }),
    ),
    next_cursor: z.string().nullable(),
  })
  .meta({ id: 'TokenList' })

export const childRequest = z
  .strictObject({
    jti,
    exp: z
      .int()
      .meta({ description: 'As in the link itself: seconds since 1970, not later than the end of the token.' }),
    name: z.string().min(1).max(100).optional(),
    ops: z.array(z.string().max(100)).min(1).max(100).optional().meta({
      description: 'The operations of the link, each one of the token. For the list: a daemon reads the link.',
    }),
  })
  .meta({ id: 'TokenChildRequest' })

export const childResponse = tokenChild.meta({ id: 'TokenChild' })
