import type { InvitationMake, MemberChange } from '@loci/sdk/management.ts'
import { queryOptions } from '@tanstack/react-query'
import { type Api, newIdempotencyKey } from '../../api/api.ts'
import { organizationKey, queries } from '../../api/cache.ts'
import { listTokens } from '../../api/credentials.ts'
import { everyPage } from '../../api/every-page.ts'

export function invitationsQuery(api: Api, isEnabled: boolean) {
  const { management, organization } = api
  return queryOptions({
    queryKey: organizationKey(api, 'invitations'),
    enabled: isEnabled,
    queryFn: ({ signal }) =>
      everyPage(async (cursor) => {
        const call = { path: { id: organization.id }, query: { limit: 200, cursor }, signal }
        const { body } = await management.call('GET /api/v1/organizations/{id}/invitations', call)
        return { items: body.invitations, next: body.next_cursor }
      }),
  })
}

/** Of every tenant: what somebody made is anywhere. */
export function allTokensQuery(api: Api, tenantIds: readonly string[] | undefined) {
  return queryOptions({
    queryKey: organizationKey(api, 'tokens', 'of all tenants', tenantIds),
    enabled: tenantIds !== undefined,
    queryFn: async ({ signal }) => {
      const lists = await Promise.all((tenantIds ?? []).map((id) => listTokens(api, id, signal)))
      return { items: lists.flatMap(({ items }) => items), isCut: lists.some(({ isCut }) => isCut) }
    },
  })
}

export async function changeRole({ management, organization }: Api, userId: string, body: MemberChange) {
  const call = { path: { id: organization.id, user_id: userId }, body, idempotencyKey: newIdempotencyKey() }
  return (await management.call('PATCH /api/v1/organizations/{id}/members/{user_id}', call)).body
}

export async function removeMember({ management, organization }: Api, userId: string) {
  const call = { path: { id: organization.id, user_id: userId }, idempotencyKey: newIdempotencyKey() }
  return (await management.call('DELETE /api/v1/organizations/{id}/members/{user_id}', call)).body
}

export async function invite({ management, organization }: Api, body: InvitationMake, idempotencyKey: string) {
  const call = { path: { id: organization.id }, body, idempotencyKey }
  return (await management.call('POST /api/v1/organizations/{id}/invitations', call)).body
}

export async function withdraw({ management, organization }: Api, invitationId: string) {
  const path = { id: organization.id, invitation_id: invitationId }
  const call = { path, idempotencyKey: newIdempotencyKey() }
  return (await management.call('DELETE /api/v1/organizations/{id}/invitations/{invitation_id}', call)).body
}

export function membersChanged(api: Api): Promise<unknown> {
  const changed = ['members', 'invitations', 'tokens', 'api keys', 'partner credentials'] as const
  return Promise.all(changed.map((what) => queries.invalidateQueries({ queryKey: organizationKey(api, what) })))
}
