// What a role may do in its organization, and what an API key may be scoped to. One table; the
// data plane's operations that a role may hand out are beside it, because they are bounded by the same person.

import { SCOPES } from '@loci/contract/api-keys.ts'
import { OPERATION_NAMES, OPERATIONS, type Operation } from '@loci/contract/operations.ts'
import { ROLES } from '@loci/contract/organizations.ts'

export { ROLES, SCOPES }
export type Role = (typeof ROLES)[number]
export type Scope = (typeof SCOPES)[number]

const VIEWER: Scope[] = ['services:read', 'tenants:read', 'usage:read', 'events:read']
const MEMBER: Scope[] = [...VIEWER, 'services:write', 'tokens:write']
const ADMIN: Scope[] = [...MEMBER, 'tenants:write', 'keys:write', 'audit:read']

/** admin: all but members, billing and the end of the organization. */
export const SCOPES_OF: Readonly<Record<Role, readonly Scope[]>> = {
  viewer: VIEWER,
  member: MEMBER,
  admin: ADMIN,
  owner: SCOPES,
}

/** On data: a viewer reads, a member does all but operate, admin and owner do all. */
export function operationsOf(role: Role): readonly Operation[] {
  if (role === 'viewer') return OPERATION_NAMES.filter((op) => OPERATIONS[op].effect === 'read')
  return role === 'member' ? OPERATION_NAMES.filter((op) => OPERATIONS[op].effect !== 'operate') : OPERATION_NAMES
}

/** Of a session. An API key needs the scope `staff` beside it. */
export function isStaffAddress(email: string, staffEmails: readonly string[]): boolean {
  return staffEmails.includes(email)
}
