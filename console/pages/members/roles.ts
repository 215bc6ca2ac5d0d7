// What each role may do, in five lines: by the table that management decides by.

import { operationsOf, type Role, SCOPES_OF } from '@loci/contract/roles.ts'

/** From the least to the most. */
export const ROLES_SHOWN: readonly Role[] = ['viewer', 'member', 'admin', 'owner']

interface Line {
  label: string
  scopes: readonly (typeof SCOPES_OF)['owner'][number][]
  ops: readonly ReturnType<typeof operationsOf>[number][]
}

export const LINES: readonly Line[] = [
  { label: 'See services, recall, read cycles', scopes: ['services:read'], ops: ['memory:read', 'cycles:read'] },
  { label: 'Store, delete, run cycles', scopes: [], ops: ['memory:write', 'memory:delete', 'cycles:run'] },
  { label: 'Create services, mint tokens', scopes: ['services:write', 'tokens:write'], ops: [] },
  {
    label: 'Configure, policies, tenants, everybody’s API keys',
    scopes: ['tenants:write', 'keys:write'],
    ops: ['operator'],
  },
  { label: 'Members, billing', scopes: ['members:write', 'billing:read'], ops: [] },
]

export function may(role: Role, { scopes, ops }: Line): boolean {
  return scopes.every((scope) => SCOPES_OF[role].includes(scope)) && ops.every((op) => operationsOf(role).includes(op))
}
