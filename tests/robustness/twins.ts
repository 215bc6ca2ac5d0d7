// Tenants that look alike and know each other's names: two organizations, and two instances of one tenant. Everything
// that they write, are called or hold is a canary.

import { seal } from '@loci/capability/capability.ts'
import { addTenant, type WorldTenant } from '../world/tenants.ts'
import type { World } from '../world/world.ts'
import { type Canaries, secretParts } from './canaries.ts'
import type { Random } from './seeded.ts'

export interface Twin {
  name: string
  tenant: WorldTenant
  /** `default` and `shared`, which every twin has, and one whose name is a canary. */
  databases: TwinDatabase[]
  credentials: Credential[]
  /** In idempotency keys. */
  repeatMark: string
}

export interface TwinDatabase {
  name: string
  keyMark: string
  valueMark: string
}

/** What to send, and which areas its holder may see. */
export interface Credential {
  what: string
  headers: Record<string, string>
  maySee(area: string): boolean
  canWrite: boolean
}

const READ = ['kv:read', 'system:read']

export async function addTwins(world: World, canaries: Canaries, random: Random): Promise<Twin[]> {
  const mark = (letter: string) => `cn${letter}${random.text(14)}`
  const acme = mark('o')
  const twins: Twin[] = []
  // One after the other: the second is of the organization and the tenant of the first.
  for (const [name, organization] of [
    ['a', acme],
    ['a2', acme],
    ['b', mark('o')],
  ] as const) {
    const first = organization === acme ? twins[0]?.tenant : undefined
    const tenant = await addTenant(world, { name: organization, plan: 'enterprise', ...(first ? { of: first } : {}) })
    const databases = ['default', 'shared', mark('d')].map((database) => ({
      name: database,
      keyMark: canaries.add('content', `${name}/${database}`, mark('k')),
      valueMark: canaries.add('content', `${name}/${database}`, mark('v')),
    }))
    canaries.add('content', `${name}/${databases[2]?.name}`, databases[2]?.name as string)
    if (name !== 'a2') canaries.add('name', 'nobody', organization)
    canaries.add('id', name, tenant.serviceId)
    if (name === 'b') for (const id of [tenant.organizationId, tenant.tenantId]) canaries.add('id', name, id)
    const repeatMark = canaries.add('content', name, mark('i'))
    const twin = { name, tenant, databases, credentials: credentialsOf(name, tenant, databases), repeatMark }
    for (const { headers } of twin.credentials)
      for (const value of Object.values(headers))
        for (const part of secretParts(value.replace(/^Bearer /, ''))) canaries.add('credential', 'nobody', part)
    canaries.add('credential', 'nobody', tenant.capability.delegation.key.d)
    twins.push(twin)
  }
  canaries.add('credential', 'nobody', world.adminToken)
  const { LOCI_SEALING_KEYS, LOCI_CELL_KEY } = world.daemonSettings() as Record<string, string>
  canaries.add('credential', 'nobody', (LOCI_SEALING_KEYS as string).split(':')[1] as string)
  canaries.add('credential', 'nobody', JSON.parse(LOCI_CELL_KEY as string).d)
  return twins
}

function credentialsOf(name: string, tenant: WorldTenant, databases: TwinDatabase[]): Credential[] {
  const { capability, operator, partner } = tenant
  const own = (area: string) => area === name || area.startsWith(`${name}/`)
  const nothing = () => false
  const capable = (what: string, token: string, maySee: Credential['maySee'], canWrite: boolean): Credential => ({
    what,
    headers: { 'x-loci-capability': token },
    maySee,
    canWrite,
  })
  const narrowed = databases.map(({ name: database }) =>
    capable(
      `narrowed to ${database === 'default' || database === 'shared' ? database : 'one'}`,
      seal(capability.delegation, { ops: READ, ks: [`kv/${database}`] }),
      (area) => area === name || area === `${name}/${database}`,
      false,
    ),
  )
  const [root] = capability.token.split('~') as [string]
  return [
    capable('everything', capability.token, own, true),
    capable('operator', operator.token, own, true),
    ...narrowed,
    capable(
      'no more than system:read',
      seal(capability.delegation, { ops: ['system:read'], ks: [] }),
      (area) => area === name,
      false,
    ),
    capable('unsealed chain', capability.delegation.chain, nothing, false),
    capable('cut chain', root, nothing, false),
    {
      what: 'partner key',
      headers: { authorization: `Bearer ${partner.token}` },
      maySee: (area) => area === name || area === `${name}/default`,
      canWrite: false,
    },
    {
      what: 'capability in Authorization',
      headers: { authorization: `Bearer ${operator.token}` },
      // At /mcp it is in the right place.
      maySee: own,
      canWrite: false,
    },
  ]
}
