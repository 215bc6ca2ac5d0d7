// What a client asks a person for, checked in the order in which it may be answered: first who asks and where the
// answer goes, which a page refuses and no redirect; then everything else, which the client is told.

import { ApiError } from '@loci/chassis/api-error.ts'
import { isId } from '@loci/contract/ids.ts'
import { MCP_OPERATIONS } from '@loci/contract/mcp.ts'
import { type AuthorizeQuery, OAUTH_OPERATIONS } from '@loci/contract/oauth.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import { transaction } from '@loci/postgres/transaction.ts'
import type { Session } from '../access/session.ts'
import { useOrganization } from '../access/store.ts'
import type { ClientDocuments } from './documents.ts'
import { isOneOf } from './redirect-uris.ts'
import { findClient, findOrganizationOf } from './store.ts'

/** Null: one that named its document, and is nobody's. */
export interface Client {
  id: string
  name: string
  redirectUris: string[]
  organizationId: string | null
}

export interface GrantRequest {
  clientId: string
  clientName: string
  /** Whose services may be allowed; null: those of all the person's organizations. */
  organizationId: string | null
  redirectUri: string
  state: string | undefined
  challenge: string
  resource: string
  /** Asked for; empty where the client named none. */
  ops: string[]
}

/** `error` as RFC 6749, 4.1.2.1 has it. */
export interface Refusal {
  error: string
  description: string
}

/** Undefined: it names its document, which is fetched for nobody but a person who is signed in. */
export async function findRequestingClient(
  pool: Pool,
  documents: ClientDocuments,
  { client_id: clientId }: AuthorizeQuery,
  session: Pick<Session, 'userId'> | undefined,
): Promise<Client | undefined> {
  if (clientId === undefined) throw new ApiError('VALIDATION_ERROR', 'The request has no client_id.')
  if (!isId('oac', clientId)) {
    documents.requireAddress(clientId)
    return session && { ...(await documents.find(clientId, session.userId)), organizationId: null }
  }
  const client = await transaction(pool, async (sql) => {
    const organizationId = await findOrganizationOf(sql, clientId)
    if (organizationId === undefined) return undefined
    await useOrganization(sql, organizationId)
    return findClient(sql, organizationId, clientId)
  })
  if (!client) throw new ApiError('VALIDATION_ERROR', 'The client is not known here: it was deleted, or never was.')
  return client
}

/** Throws where the answer may not be sent: to an address that is not the client's own. */
export function requireRedirectUri(client: Client, { redirect_uri: asked }: AuthorizeQuery): string {
  if (asked === undefined || !isOneOf(asked, client.redirectUris))
    throw new ApiError('VALIDATION_ERROR', 'redirect_uri is not one that this client has registered, letter by letter.')
  return asked
}

export function requestOf(client: Client, redirectUri: string, query: AuthorizeQuery): GrantRequest | Refusal {
  const { response_type: type, code_challenge: challenge, code_challenge_method: method, resource, state } = query
  const invalid = (description: string): Refusal => ({ error: 'invalid_request', description })
  if (type !== 'code') return { error: 'unsupported_response_type', description: 'response_type must be code.' }
  if (challenge === undefined || !/^[A-Za-z0-9_-]{43}$/.test(challenge))
    return invalid('code_challenge is needed (PKCE).')
  // Left out it would mean `plain`, which shows the verifier to whoever sees the request.
  if (method !== 'S256') return invalid('code_challenge_method must be S256.')
  if (resource === undefined) return invalid('resource is needed: the address of the service’s /mcp (RFC 8707).')
  const asked = (query.scope ?? '').split(' ').filter((one) => one !== '' && one !== 'offline_access')
  if (asked.some((one) => !(OAUTH_OPERATIONS as string[]).includes(one)))
    return { error: 'invalid_scope', description: `The scopes are ${OAUTH_OPERATIONS.join(' ')}.` }
  const { id: clientId, name: clientName, organizationId } = client
  return { clientId, clientName, organizationId, redirectUri, state, challenge, resource, ops: asked }
}

/** A client that named nothing gets what the tools of /mcp need. More than was asked for is never given. */
export function askedOf({ ops }: Pick<GrantRequest, 'ops'>): readonly string[] {
  return ops.length > 0 ? ops : MCP_OPERATIONS
}

/** Where the client is answered. `iss`: a client of several servers knows whose answer it is (RFC 9207). */
export function answerUrl(
  { redirectUri, state }: Pick<GrantRequest, 'redirectUri' | 'state'>,
  issuer: string,
  parameters: Record<string, string>,
): URL {
  const url = new URL(redirectUri)
  for (const [name, value] of Object.entries({ ...parameters, iss: issuer })) url.searchParams.set(name, value)
  if (state !== undefined) url.searchParams.set('state', state)
  return url
}
