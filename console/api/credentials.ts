// What people and programs of an organization call with: capabilities, API keys, partner credentials, clients of OAuth.
// Never their text, which is shown once, by the form that made them.

import type { ApiKey, OauthGrant, PartnerCredentialList, TokenList } from '@loci/sdk/management.ts'
import { queryOptions } from '@tanstack/react-query'
import type { Api } from './api.ts'
import { organizationKey } from './cache.ts'
import { everyPage, type Whole } from './every-page.ts'

export type Token = TokenList['tokens'][number]
export type TokenChild = Token['children'][number]
export type PartnerCredential = PartnerCredentialList['partner_credentials'][number]
export type { ApiKey, OauthGrant }

const PAGE = 200

export function tokensQuery(api: Api, tenantId: string | undefined) {
  return queryOptions({
    queryKey: organizationKey(api, 'tokens', tenantId),
    enabled: tenantId !== undefined,
    queryFn: ({ signal }) => listTokens(api, tenantId as string, signal),
  })
}

export function listTokens({ management }: Api, tenantId: string, signal: AbortSignal): Promise<Whole<Token>> {
  return everyPage(async (cursor) => {
    const call = { path: { id: tenantId }, query: { limit: PAGE, cursor }, signal }
    const { body } = await management.call('GET /api/v1/tenants/{id}/tokens', call)
    return { items: body.tokens, next: body.next_cursor }
  })
}

/** All of the organization with `keys:write`, else one's own. */
export function apiKeysQuery(api: Api) {
  return queryOptions({
    queryKey: organizationKey(api, 'api keys'),
    queryFn: ({ signal }) =>
      everyPage(async (cursor) => {
        const { body } = await api.management.call('GET /api/v1/api-keys', { query: { limit: PAGE, cursor }, signal })
        return { items: body.api_keys, next: body.next_cursor }
      }),
  })
}

/** Of all services: they are listed by service, so each is asked. */
export function partnersQuery(api: Api, serviceIds: readonly string[] | undefined) {
  return queryOptions({
    queryKey: organizationKey(api, 'partner credentials', serviceIds),
    enabled: serviceIds !== undefined,
    queryFn: async ({ signal }) => {
      const lists = await Promise.all((serviceIds ?? []).map((id) => listPartners(api, id, signal)))
      return { items: lists.flatMap(({ items }) => items), isCut: lists.some(({ isCut }) => isCut) }
    },
  })
}

function listPartners({ management }: Api, id: string, signal: AbortSignal): Promise<Whole<PartnerCredential>> {
  return everyPage(async (cursor) => {
    const call = { path: { id }, query: { limit: PAGE, cursor }, signal }
    const { body } = await management.call('GET /api/v1/services/{id}/partner-credentials', call)
    return { items: body.partner_credentials, next: body.next_cursor }
  })
}

export function grantsQuery(api: Api) {
  return queryOptions({
    queryKey: organizationKey(api, 'oauth grants'),
    queryFn: ({ signal }) =>
      everyPage(async (cursor) => {
        const call = { query: { limit: PAGE, cursor }, signal }
        const { body } = await api.management.call('GET /api/v1/oauth-grants', call)
        return { items: body.oauth_grants, next: body.next_cursor }
      }),
  })
}
