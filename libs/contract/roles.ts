// What a role may do in its organization, and what an API key may be scoped to. One table for management, which decides
// by it, and for the page of the console that shows it. The data plane's operations that a role may hand out are beside
// it, because they are bounded by the same person. No schemas here, so that browsers load none for it.

import { OPERATION_NAMES, OPERATIONS, type Operation } from './operations.ts'

export const ROLES = ['owner', 'admin', 'member', 'viewer'] as const
export type Role = (typeof ROLES)[number]

export const SCOPES = [
  'services:read',
  'services:write',
  'tokens:write',
  'tenants:read',
  'tenants:write',
  'billing:read',
  'keys:write',
  'members:write',
  'audit:read',
  'usage:read',
  'events:read',
] as const
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
