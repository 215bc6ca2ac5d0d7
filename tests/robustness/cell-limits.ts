// The plan's limits of an instance, changed in the cell itself as the feed would change them.

import { runSql } from '../world/sql.ts'
import type { WorldTenant } from '../world/tenants.ts'
import type { World } from '../world/world.ts'

const HEARD_MS = 1_000

/** Resolves when every replica has heard of it. */
export async function setRate(
  { postgres }: World,
  tenants: Pick<WorldTenant, 'serviceId'>[],
  perSecond: number,
): Promise<void> {
  await runSql(
    postgres.adminUrl('loci_cell'),
    `with seq as (update loci.cell set change_seq = change_seq + 1 returning change_seq)
    update loci.instances set limits = limits || jsonb_build_object('requests_per_second', $1::int, 'burst', 2 * $1::int), change_seq = seq.change_seq
    from seq where id = any ($2)`,
    [perSecond, tenants.map(({ serviceId }) => serviceId)],
  )
  await new Promise((resolve) => setTimeout(resolve, HEARD_MS))
}
