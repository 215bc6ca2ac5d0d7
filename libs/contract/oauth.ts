// OAuth for clients that bring no credential, as MCP has it: the two metadata documents (RFC 8414, RFC 9728), the
// requests of an authorization code with PKCE, and what an organization manages of it.

import { z } from 'zod'
import { OPERATION_NAMES } from './operations.ts'
import { displayName, idOf, pageQuery, timestamp } from './wire.ts'

const text = z.string().max(2_048).optional()
const url = z.string().max(2_000)

/** What a client may be given: never the operator's rights, which are of the whole instance. */
export const OAUTH_OPERATIONS = OPERATION_NAMES.filter((op) => op !== 'operator')

export const protectedResource = z
  .object({
    resource: z.string(),
    authorization_servers: z.array(z.string()),
    scopes_supported: z.array(z.string()),
    bearer_methods_supported: z.array(z.string()),
    resource_name: z.string(),
  })
  .meta({ id: 'ProtectedResource', description: 'RFC 9728.' })

export const authorizationServer = z
  .object({
    issuer: z.string(),
    authorization_endpoint: z.string(),
    token_endpoint: z.string(),
    response_types_supported: z.array(z.string()),
    response_modes_supported: z.array(z.string()),
    grant_types_supported: z.array(z.string()),
    code_challenge_methods_supported: z.array(z.string()),
    token_endpoint_auth_methods_supported: z.array(z.string()),
    scopes_supported: z.array(z.string()),
    authorization_response_iss_parameter_supported: z.literal(true),
    client_id_metadata_document_supported: z.literal(true),
  })
  .meta({ id: 'AuthorizationServer', description: 'RFC 8414.' })

/** RFC 6749, 4.1.1; RFC 7636; RFC 8707. What else a client sends is ignored. */
export const authorizeQuery = z.object({
  response_type: text,
  client_id: text,
  redirect_uri: text,
  code_challenge: text,
  code_challenge_method: text,
  resource: text,
  scope: text,
  state: text,
})
export type AuthorizeQuery = z.infer<typeof authorizeQuery>

export const oauthTokens = z
  .object({
    access_token: z.string().meta({ description: 'A capability of the service, good for ten minutes.' }),
    token_type: z.literal('Bearer'),
    expires_in: z.int(),
    refresh_token: z.string().meta({ description: 'Good once.' }),
    scope: z.string(),
  })
  .meta({ id: 'OauthTokens' })

export const oauthError = z
  .object({ error: z.string(), error_description: z.string() })
  .meta({ id: 'OauthError', description: 'RFC 6749, 5.2.' })

export const oauthClientMake = z
  .strictObject({
    name: displayName,
    redirect_uris: z.array(url).min(1).max(10).meta({
      description: 'https, or http on loopback, where the port does not count. Compared letter by letter.',
    }),
  })
  .meta({ id: 'OauthClientMake' })

export const oauthClient = z
  .object({ id: idOf('oac'), name: z.string(), redirect_uris: z.array(z.string()), created_at: timestamp })
  .meta({ id: 'OauthClient' })

export const oauthClientList = z
  .object({ oauth_clients: z.array(oauthClient), next_cursor: z.string().nullable() })
  .meta({ id: 'OauthClientList' })
export const oauthClientListQuery = pageQuery('oac')

const oauthGrant = z
  .object({
    id: idOf('oag'),
    user_id: idOf('usr'),
    tenant_id: idOf('ten'),
    service_id: idOf('svc'),
    client_id: z.string().meta({ description: 'An oac_… of the organization, or the address of its document.' }),
    client_name: z.string(),
    ops: z.array(z.string()),
    databases: z.array(z.string()),
    created_at: timestamp,
    expires_at: timestamp,
    last_used_at: timestamp.nullable(),
  })
  .meta({ id: 'OauthGrant', description: 'What a person allowed a client.' })

export const oauthGrantList = z
  .object({ oauth_grants: z.array(oauthGrant), next_cursor: z.string().nullable() })
  .meta({ id: 'OauthGrantList' })
export const oauthGrantListQuery = pageQuery('oag')
