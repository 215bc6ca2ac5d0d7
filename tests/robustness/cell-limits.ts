// The plan's limits of an instance, changed in the cell itself as the feed would change them.

import { runSql } from '../world/sql.ts'
import type { WorldTenant } from '../world/tenants.ts'
import type { World } from '../world/world.ts'

const HEARD_MS = 1_000

/** Resolves when every replica has heard of it. */
export function setRate(
  world: World,
  tenants: Pick<WorldTenant, 'serviceId'>[],
  perSecond: number,
  burst = 2 * perSecond,
): Promise<void> {
  return setLimits(world, tenants, { requests_per_second: perSecond, burst })
}

/** Resolves when every replica has heard of them. */
export async function setLimits(
  { postgres }: World,
  tenants: Pick<WorldTenant, 'serviceId'>[],
  limits: Record<string, number>,
): Promise<void> {
  await runSql(
    postgres.adminUrl('loci_cell'),
    `with seq as (update loci.cell set change_seq = change_seq + 1 returning change_seq)
    update loci.instances set limits = limits || $1::jsonb, change_seq = seq.change_seq
    from seq where id = any ($2)`,
    [JSON.stringify(limits), tenants.map(({ serviceId }) => serviceId)],
  )
  await new Promise((resolve) => setTimeout(resolve, HEARD_MS))
}
