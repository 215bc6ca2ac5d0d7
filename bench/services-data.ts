// Fills a control database with services as years would: mixed in time, most of them of others.

import { newId } from '@loci/contract/ids.ts'
import type { Throwaway } from '@loci/postgres/testing/throwaway.ts'
import type { WorldCaller } from '@loci/tests/world/callers.ts'
import { runSql } from '@loci/tests/world/sql.ts'

export interface Fill {
  /** Of all organizations together. */
  services: number
  /** One in so many is of the organization that will be asked about. */
  oneIn: number
  tenants: number
  organizationId: string
  /** One in a thousand is of this one, where there is one. */
  another?: WorldCaller
}

const BATCH = 100_000
const CONTROL = 'loci_control'

/** The ids of the tenants that the services were spread over. */
export async function fillServices(postgres: Throwaway, fill: Fill): Promise<string[]> {
  const url = postgres.adminUrl(CONTROL)
  const tenants = Array.from({ length: fill.tenants }, () => newId('ten'))
  const others = Math.max(1, Math.floor(fill.services / 1_000))
  await runSql(url, tenantsSql(fill, tenants, others))
  for (let from = 0; from < fill.services; from += BATCH)
    await runSql(url, servicesSql(fill, tenants, others, from, Math.min(fill.services, from + BATCH) - 1))
  await runSql(
    url,
    `truncate loci.service_counts;
    insert into loci.service_counts (organization_id, tenant_id, service_type, status, count)
      select organization_id, t.id, service_type, status, count(*)
      from loci.services s, lateral (values (''), (s.tenant_id)) as t (id) group by 1, 2, 3, 4`,
  )
  for (const table of ['services', 'service_counts', 'tenants', 'organizations'])
    await runSql(url, `vacuum (analyze) loci.${table}`)
  return tenants
}

/** Others have one tenant each, of the same number as their organization. */
function tenantsSql({ organizationId }: Fill, tenants: string[], others: number): string {
  return `insert into loci.organizations (id, name) select 'org_0' || lpad(n::text, 25, '0'), 'other ' || n from generate_series(0, ${others - 1}) n;
    insert into loci.tenants (id, organization_id, name, slug, plan, status)
      select 'ten_0' || lpad(n::text, 25, '0'), 'org_0' || lpad(n::text, 25, '0'), 'main', 'main', 'enterprise', 'active'
      from generate_series(0, ${others - 1}) n;
    insert into loci.tenants (id, organization_id, name, slug, plan, status)
      select id, '${organizationId}', id, id, 'enterprise', 'active' from unnest(${arrayOf(tenants)}) as id;`
}

/**
 * As a replica writes it: without triggers and checks of keys, which would take longer than everything that is
 * measured. A fifth is kv, one in fifty has failed; a kv that has failed is rarer than the two make likely, which is
 * what misleads a planner.
 */
function servicesSql(
  { organizationId, oneIn, another }: Fill,
  tenants: string[],
  others: number,
  from: number,
  to: number,
): string {
  return `set session_replication_role = replica;
    insert into loci.services (id, organization_id, tenant_id, name, slug, service_type, plan, region, config, status, desired_state,
        generation, created_at, updated_at)
      select 'svc_0' || lpad(to_hex(n), 25, '0'), o.id, o.tenant_id, 'service ' || n, 'service-' || n,
        case when k.failed then case when n % 1000 = 0 then 'kv' else 'memory' end when k.hash % 5 = 0 then 'kv' else 'memory' end, 'pro', 'us-east-1', '{}',
        case when k.failed then 'failed' when k.hash % 100 < 4 then 'deleted' when k.hash % 100 < 9 then 'suspended' else 'active' end,
        'active', 1, at, at
      from generate_series(${from}, ${to}) n
        cross join lateral (select abs(hashint4(n)::bigint) as hash, n = 0 or abs(hashint4(n + 1)::bigint) % 50 = 0 as failed) as k
        cross join lateral (select timestamptz '2026-01-01' + n * interval '1 second' as at) as t
        cross join lateral (
          select case when n % ${oneIn} = 0 then '${organizationId}' ${another ? `when n % 1000 = 1 then '${another.organizationId}'` : ''}
              else 'org_0' || lpad((n % ${others})::text, 25, '0') end as id,
            case when n % ${oneIn} = 0 then (${arrayOf(tenants)})[1 + abs(hashint4(n + 2)::bigint) % ${tenants.length}]
              ${another ? `when n % 1000 = 1 then '${another.tenantId}'` : ''}
              else 'ten_0' || lpad((n % ${others})::text, 25, '0') end as tenant_id
        ) as o;`
}

function arrayOf(texts: string[]): string {
  return `array[${texts.map((text) => `'${text}'`).join(',')}]`
}
