// A feed as years make it: tens of thousands of partner credentials that are long revoked, and services with the
// largest config there may be. Written into the control database as an administrator, and read by the cell from the
// beginning.

import { newId } from '@loci/contract/ids.ts'
import { runSql } from '../world/sql.ts'
import type { WorldTenant } from '../world/tenants.ts'
import type { World } from '../world/world.ts'

const CONFIG_BYTES = 64 * 1024 - 100
const LIMITS = { databases: 1, records: 1, bytes: 1, requests_per_second: 1, burst: 1, streams: 1 }

export async function lengthenFeed(
  { postgres, cellId }: World,
  { organizationId: org, tenantId: ten, serviceId: svc }: WorldTenant,
  { credentials, services }: { credentials: number; services: number },
): Promise<void> {
  const control = postgres.adminUrl('loci_control')
  const revoked = {
    ...{ partner: 'p', svc, org, ten, database: 'default', projection_classes: [], routes: [] },
    ...{ digest: '00'.repeat(32), state: 'revoked', expires_at: null },
  }
  const instance = {
    ...{ org, ten, service_type: 'memory', plan: 'free', state: 'active', state_reason: null, generation: 1 },
    ...{ limits: LIMITS, config: { text: 'x'.repeat(CONFIG_BYTES) } },
  }
  const add = (kind: string, keyName: string, ids: string[], body: object) =>
    runSql(
      control,
      `with raised as (
          update loci.cells set feed_seq = feed_seq + cardinality($2::text[]) where id = $1 returning feed_seq - cardinality($2::text[]) as base
        )
        insert into loci.feed_items (cell_id, kind, key, seq, body, bytes)
        select $1, $3, one.id, base + one.n, made.body, octet_length(made.body::text)
        from raised, unnest($2::text[]) with ordinality as one (id, n), lateral (select $4::jsonb || jsonb_build_object($5::text, one.id) as body) as made`,
      [cellId, ids, kind, JSON.stringify(body), keyName],
    )
  await add(
    'instance',
    'svc',
    Array.from({ length: services }, () => newId('svc')),
    instance,
  )
  for (let left = credentials; left > 0; left -= 10_000) {
    const ids = Array.from({ length: Math.min(left, 10_000) }, () => newId('ptr'))
    await add('partner_credential', 'id', ids, revoked)
  }
}

/** How much the cell has not applied yet. */
export async function lagOf({ postgres, cellId }: World): Promise<number> {
  const [row] = await runSql<{ lag: number }>(
    postgres.adminUrl('loci_control'),
    'select count(*)::int as lag from loci.feed_items f, loci.cells c where c.id = $1 and f.cell_id = c.id and f.seq > c.heard_seq',
    [cellId],
  )
  return row?.lag ?? 0
}

/** When the cell last asked for its feed, in milliseconds. */
export async function heardAt({ postgres, cellId }: World): Promise<number> {
  const [row] = await runSql<{ at: number }>(
    postgres.adminUrl('loci_control'),
    'select coalesce(extract(epoch from heard_at), 0)::float8 * 1000 as at from loci.cells where id = $1',
    [cellId],
  )
  return row?.at ?? 0
}
