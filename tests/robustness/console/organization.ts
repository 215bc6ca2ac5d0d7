// What an organization has when people have worked in it: tokens that were narrowed, keys, a partner, members, an
// invitation, a tenant that did not pay. Made by the API, as its people would.

import { attenuate, claimsOf, type Delegation } from '@loci/sdk/attenuate.ts'
import { connectManagement } from '@loci/sdk/client.ts'
import type { Loci } from '@loci/sdk/loci.ts'
import { addOrganization, ownerEmail, type WorldOrganization } from '../../world/tenants.ts'
import type { World } from '../../world/world.ts'
import { pay } from '../../world/world-file.ts'

interface Place {
  world: World
  acme: WorldOrganization
  loci: Loci
  serviceId: string
}

/** The delegation of its token agent-prod. */
export async function fillOrganization({ world, acme, serviceId }: Place): Promise<Delegation> {
  const management = connectManagement({ url: world.publicUrl, headers: () => ({ 'x-api-key': acme.apiKey }) })
  const { tenantId, organizationId } = acme
  const path = { id: tenantId }
  const mint = async (body: object) =>
    (await management.call('POST /api/v1/tenants/{id}/tokens', { path, body: { service_id: serviceId, ...body } })).body
  const agent = await mint({ name: 'agent-prod', max_delegation_depth: 2 })
  const delegation = agent.delegation as Delegation
  for (const [name, ops, ttlSeconds] of [
    ['planner', ['memory:read', 'wm:read'], 21_600],
    ['search', ['memory:read'], 2_520],
  ] as const) {
    const chain = await attenuate(delegation, { ops: [...ops], ttlSeconds })
    const { jti, exp } = claimsOf(chain.split('~').at(-1) ?? '')
    await management.call('POST /api/v1/tenants/{id}/tokens/{token_id}/children', {
      path: { id: tenantId, token_id: agent.token_id },
      body: { jti, exp, name, ops: [...ops] },
    })
  }
  await mint({ name: 'ci-readonly', ops: ['memory:read'] })
  await mint({ name: 'ops', ops: ['operator', 'memory:read'], databases: ['*'] })
  const gone = await mint({ name: 'last-week', ops: ['memory:read'] })
  const goneId = { id: tenantId, token_id: gone.token_id }
  await management.call('DELETE /api/v1/tenants/{id}/tokens/{token_id}', { path: goneId })
  await management.call('POST /api/v1/api-keys', { body: { name: 'ci', scopes: ['services:read', 'usage:read'] } })
  await management.call('POST /api/v1/services/{id}/partner-credentials', {
    path: { id: serviceId },
    body: { name: 'crm', database: 'default', partner: 'crm' },
  })

  const invite = async (email: string, role: 'member' | 'viewer') => {
    const call = { path: { id: organizationId }, body: { email, role } }
    return (await management.call('POST /api/v1/organizations/{id}/invitations', call)).body
  }
  const initech = await addOrganization(world, 'initech')
  const { token } = await invite(ownerEmail('initech'), 'member')
  const joost = connectManagement({ url: world.publicUrl, headers: () => ({ 'x-api-key': initech.apiKey }) })
  await joost.call('POST /api/v1/invitations/accept', { body: { token } })
  await invite('sam@acme.example', 'viewer')

  const logistics = (await management.call('POST /api/v1/tenants', { body: { name: 'Logistics' } })).body
  await pay(world.publicUrl, logistics.id, 'starter')
  await pay(world.publicUrl, logistics.id, 'starter', 'unpaid')
  // Of a tenant that nobody knows.
  await pay(world.publicUrl, 'customer-of-another-system', 'pro')
  return delegation
}
