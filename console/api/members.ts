// Who belongs to the organization. Every role may read that.

import type { MemberList } from '@loci/sdk/management.ts'
import { queryOptions } from '@tanstack/react-query'
import type { Api } from './api.ts'
import { organizationKey } from './cache.ts'
import { everyPage } from './every-page.ts'

export type Member = MemberList['members'][number]

export function membersQuery(api: Api) {
  const { management, organization } = api
  return queryOptions({
    queryKey: organizationKey(api, 'members'),
    queryFn: ({ signal }) =>
      everyPage(async (cursor) => {
        const call = { path: { id: organization.id }, query: { limit: 200, cursor }, signal }
        const { body } = await management.call('GET /api/v1/organizations/{id}/members', call)
        return { items: body.members, next: body.next_cursor }
      }),
  })
}

/** As people call each other. */
export function nameOf({ name, email }: Pick<Member, 'name' | 'email'>): string {
  return name ?? email
}
