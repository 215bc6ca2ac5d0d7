// What is an organization's as a whole: its people, its audit, its tenants taken together. And the person behind a
// caller, for what only a person can be or become.

import { ApiError } from '@loci/chassis/api-error.ts'
import { type Role, SCOPES_OF } from '@loci/contract/roles.ts'
import type { Caller } from './caller.ts'

/** The same words whether there is such an organization or not. */
export function requireOwnOrganization(caller: Caller, id: string): void {
  if (id !== caller.organizationId)
    throw new ApiError('FORBIDDEN', 'This organization is not yours. GET /api/v1/organizations lists those that are.')
}

/** A key that is limited to tenants could reach past them by a member it invites or a tenant it makes. */
export function requireWholeOrganization({ tenantIds }: Caller): void {
  if (tenantIds !== null)
    throw new ApiError(
      'FORBIDDEN',
      'This API key is limited to some tenants; this request needs the whole organization. Use a key without that limit.',
    )
}

/** A caller cannot grant a role with scopes it lacks: a narrow key could act through a second person. */
export function requireMayGive({ scopes }: Caller, role: Role): void {
  const lacking = SCOPES_OF[role].filter((scope) => !scopes.has(scope))
  if (lacking.length > 0)
    throw new ApiError(
      'FORBIDDEN',
      `The role ${role} has scopes that this credential lacks (${lacking.join(', ')}): use one that has them, or give a lesser role.`,
    )
}

/** The id of the person. A gateway names an organization and a role, not a person. */
export function requirePerson({ userId }: Caller): string {
  if (userId === null)
    throw new ApiError(
      'FORBIDDEN',
      'This request needs a person, and a gateway names none. Use an API key that a member of the organization made.',
    )
  return userId
}
