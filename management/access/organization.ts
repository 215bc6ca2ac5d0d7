// What is an organization's as a whole: its people, its audit, its tenants taken together. And the person behind a
// caller, for what only a person can be or become.

import { ApiError } from '@loci/chassis/api-error.ts'
import type { Caller } from './caller.ts'
import { type Role, SCOPES_OF } from './roles.ts'

/** The same words whether there is such an organization or not. */
export function requireOwnOrganization(caller: Caller, id: string): void {
  if (id !== caller.organizationId)
    throw new ApiError('FORBIDDEN', 'This organization is not yours. GET /api/v1/organizations lists those that are.')
}

/**
 * A key that is limited to tenants must not reach past them by way of what they have in common: an owner whom it
 * invites, or a tenant that it makes, would be outside its limit.
 */
export function requireWholeOrganization({ tenantIds }: Caller): void {
  if (tenantIds !== null)
    throw new ApiError(
      'FORBIDDEN',
      'This API key is limited to some tenants, and this is about the whole organization: use a key without that limit.',
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

/** The id of the person. A gateway vouches for what somebody may do, not for who it is. */
export function requirePerson({ userId }: Caller): string {
  if (userId === null)
    throw new ApiError(
      'FORBIDDEN',
      'This needs a person behind the caller, and a gateway names none: use an API key that a member of the organization made.',
    )
  return userId
}
