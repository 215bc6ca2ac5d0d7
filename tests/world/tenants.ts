// Organizations of a world, made as an operator makes them: by management's own commands.

import { OPERATION_NAMES } from '@loci/contract/operations.ts'
import type { World } from './world.ts'

export interface WorldTenant {
  organizationId: string
  tenantId: string
  serviceId: string
  /** Every operation but operator, every database; can be narrowed offline. */
  capability: {
    token: string
    delegation: { chain: string; key: { kty: 'OKP'; crv: 'Ed25519'; x: string; d: string } }
  }
  operator: { token: string }
  partner: { token: string; database: string }
}

const OPERATIONS = OPERATION_NAMES.filter((name) => name !== 'operator')

export interface WorldOrganization {
  organizationId: string
  tenantId: string
  /** Of its owner: every scope, every tenant. */
  apiKey: string
}

/** An organization with its default tenant, its owner, and a key of the owner's. */
export async function addOrganization(world: World, name: string): Promise<WorldOrganization> {
  const email = ownerEmail(name)
  const made = await manage<{ organization_id: string; tenant_id: string }>(world, [
    ...['organizations', 'add', '--name', name, '--owner-email', email],
  ])
  const key = await manage<{ api_key: string }>(world, [
    ...['api-keys', 'mint', '--org', made.organization_id, '--email', email, '--name', 'world'],
  ])
  return { organizationId: made.organization_id, tenantId: made.tenant_id, apiKey: key.api_key }
}

/** The key belongs to somebody whom LOCI_STAFF_EMAILS names. */
export async function mintStaffKey(world: World, organizationId: string, email: string): Promise<string> {
  const person = ['--org', organizationId, '--email', email]
  const args = ['api-keys', 'mint', ...person, '--name', 'staff', '--staff', 'true']
  return (await manage<{ api_key: string }>(world, args)).api_key
}

export function ownerEmail(organization: string): string {
  return `owner@${organization.toLowerCase().replace(/[^a-z0-9]+/g, '-')}.example`
}

const TRIES_MAX = 20

/** One command of management, again where it did nothing; throws with what it said unless it ended well. */
export async function manage<Answer>(world: World, args: string[]): Promise<Answer> {
  for (let tries = 1; ; tries += 1) {
    const { code, stdout, stderr } = await world.runCommand('management', args, world.managementSettings())
    if (code === 0) return JSON.parse(stdout)
    if (tries === TRIES_MAX || !stderr.includes('Nothing was done; try again'))
      throw new Error(`management ${args.join(' ')} ended with ${code}: ${stderr}`)
  }
}

/** In an organization that is made with it, or in a tenant that is there. */
export async function addTenant(
  world: World,
  { name, plan, of }: { name: string; plan: string; of?: Pick<WorldOrganization, 'organizationId' | 'tenantId'> },
): Promise<WorldTenant> {
  if (!world.cellId) throw new Error('the world has no management, so nobody can add a tenant')
  const made = await manage<{ organization_id: string; tenant_id: string; service_id: string }>(world, [
    'instances',
    'add',
    '--org',
    of?.organizationId ?? name,
    '--tenant',
    of?.tenantId ?? name,
    '--plan',
    plan,
    '--cell',
    world.cellId,
    ...(of === undefined ? ['--create', 'true', '--owner-email', 'owner@example.com'] : []),
  ])
  const mint = (ops: string[], depth: number) =>
    manage<WorldTenant['capability']>(world, [
      'tokens',
      'mint',
      '--service',
      made.service_id,
      '--ops',
      ops.join(','),
      '--databases',
      '*',
      '--ttl',
      '7200',
      '--depth',
      String(depth),
    ])
  const [capability, operator, partner] = await Promise.all([
    mint(OPERATIONS, 4),
    mint([...OPERATIONS, 'operator'], 0),
    manage<{ token: string }>(world, [
      'partner-credentials',
      'mint',
      '--service',
      made.service_id,
      '--name',
      'partner',
      '--database',
      'default',
      '--classes',
      'event,tool_outcome,fact,preference,retraction',
      '--routes',
      'projections,advice',
    ]),
  ])
  const tenant = {
    organizationId: made.organization_id,
    tenantId: made.tenant_id,
    serviceId: made.service_id,
    capability: { token: capability.token, delegation: capability.delegation },
    operator: { token: operator.token },
    partner: { token: partner.token, database: 'default' },
  }
  await untilKnown(world, tenant)
  return tenant
}

/** Every replica of the cell has heard of the instance and its key. */
async function untilKnown({ daemons }: World, { operator }: WorldTenant, withinMs = 120_000): Promise<void> {
  const until = Date.now() + withinMs
  for (const { url } of daemons) {
    for (;;) {
      const { status } = await fetch(`${url}/v1/system/info`, { headers: { 'x-loci-capability': operator.token } })
      if (status === 200) break
      if (Date.now() > until)
        throw new Error(`${url} did not hear of the instance within ${withinMs} ms (last answer ${status})`)
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }
}
