// The description of a running world for the conformance suite, filled as far as the product exists.

import { writeFileSync } from 'node:fs'
import { addTenant, type WorldTenant } from './tenants.ts'
import type { World } from './world.ts'

/** No address of this machine: whoever asks this daemon's administration asks from elsewhere. */
const NOBODY = '10.255.255.255/32'

/** Starts one more daemon of the world, which takes the suite for a stranger; it stops with the world. */
export async function writeWorldFile(file: string, world: World): Promise<void> {
  const replicas = world.daemons.map(({ url }) => url)
  const stranger = await world.startDaemon({ LOCI_ADMIN_ALLOWLIST: NOBODY })
  const [a, b] = world.cellId
    ? await Promise.all([
        addTenant(world, { name: 'acme', plan: 'enterprise' }),
        addTenant(world, { name: 'globex', plan: 'free' }),
      ])
    : []
  const description = {
    format: 1,
    daemons: replicas,
    management: world.management?.url,
    admin_token: world.adminToken,
    admin_forbidden_url: stranger.url,
    ...(a && b ? { organizations: { a: party(a), b: party(b) } } : {}),
  }
  writeFileSync(file, `${JSON.stringify(description, null, 2)}\n`, { mode: 0o600 })
}

function party({ organizationId, tenantId, serviceId, capability, operator, partner }: WorldTenant) {
  return { organization_id: organizationId, tenant_id: tenantId, service_id: serviceId, capability, operator, partner }
}
