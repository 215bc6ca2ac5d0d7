// Specification, "Management: browser session routes": sign-in by code exchange, and what a page may know about it.
// Tokens of the provider stay with us, but for the access token, which two routes tell.

import { z } from 'zod'
import { ROLES } from './roles.ts'
import { errorBody, idOf, timestamp } from './wire.ts'

export const exchangeRequest = z
  .strictObject({
    code: z
      .string()
      .regex(/^[\x21-\x7e]{1,2048}$/, 'must be 1 to 2048 visible ASCII characters')
      .meta({ description: 'As the provider gave it to the redirect_uri. Good once.' }),
    redirect_uri: z.string().max(2_000).meta({ description: 'Exactly one of LOCI_OIDC_REDIRECT_URIS.' }),
    code_verifier: z
      .string()
      .regex(/^[A-Za-z0-9._~-]{43,128}$/, 'must be 43 to 128 characters of A-Z, a-z, 0-9, -, ., _ and ~')
      .meta({ description: 'Of PKCE (RFC 7636).' }),
  })
  .meta({ id: 'ExchangeRequest' })

/** State and expiry; never the refresh token (specification, Session routes response facts). */
export const exchangeResponse = z
  .strictObject({ authenticated: z.literal(true), expires_at: timestamp, expires_in: z.int().min(0) })
  .meta({ id: 'ExchangeResponse', description: 'When the access token expires. Both tokens are in cookies.' })

const user = z.object({
  id: idOf('usr'),
  email: z.string(),
  name: z.string().nullable(),
  picture: z.string().nullable(),
})

const membership = z.object({
  id: idOf('org'),
  name: z.string(),
  role: z.enum(ROLES),
  scopes: z.array(z.string()).meta({
    description: 'What the role may do at management, by the names of the scopes of API keys.',
    examples: [['services:read', 'tenants:read', 'usage:read', 'events:read']],
  }),
  ops: z.array(z.string()).meta({
    description:
      'What the role may do with the data of services, by the operations of tokens. A service of the type kv has fewer.',
    examples: [['system:read', 'kv:read', 'memory:read', 'events:read']],
  }),
})

export const sessionShown = z
  .object({
    authenticated: z.literal(true),
    user,
    staff: z.boolean().meta({ description: 'Whether the address is one of LOCI_STAFF_EMAILS.' }),
    organizations: z.array(membership),
    signed_in_at: timestamp.meta({
      description: 'When the person last signed in. What outlives the session needs a sign-in of the last 10 minutes.',
    }),
    expires_at: timestamp,
  })
  .meta({ id: 'SessionShown' })

export const sessionMissing = z
  .object({ authenticated: z.literal(false), ...errorBody('snake').shape })
  .meta({ id: 'SessionMissing' })

export const sessionWhole = z
  .object({
    user: user.omit({ picture: true }),
    access_token: z.string(),
    token_type: z.literal('Bearer'),
    expires_at: timestamp,
  })
  .nullable()
  .meta({ id: 'SessionWhole', description: 'null without a session.' })

export const sessionToken = z
  .object({
    access_token: z.string(),
    token_type: z.literal('Bearer'),
    expires_in: z.int().min(0),
    expires_at: timestamp,
  })
  .meta({ id: 'SessionToken' })

export const logoutRequest = z
  .object({
    revoke_issued: z.boolean().optional().meta({
      description:
        'Also revoke the API keys that the session made, those of command lines that it approved, and everything that these made.',
    }),
  })
  .optional()
  .meta({ id: 'LogoutRequest' })

export const sessionEnded = z
  .object({
    logged_out: z.literal(true),
    sign_out_url: z
      .string()
      .nullable()
      .meta({ description: 'Ends the session at the provider too; null where the provider has no such address.' }),
    revoked: z.object({
      session: z.boolean(),
      refresh_token: z.boolean().meta({ description: 'False: there was none, or the provider is asked again later.' }),
      issued: z
        .object({
          api_keys: z.int(),
          cli_logins: z.int().meta({ description: 'Approvals that no command line had fetched.' }),
          tokens: z.int(),
          partner_credentials: z.int(),
          invitations: z.int(),
          oauth_grants: z.int(),
        })
        .optional()
        .meta({ description: 'Where `revoke_issued` was asked for: how many of each ended with the session.' }),
    }),
  })
  .meta({ id: 'SessionEnded' })
