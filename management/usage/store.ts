import type { Sql } from '@loci/postgres/pool.ts'

export interface UsagePoint {
  at: Date
  requests: number
  writes: number
  records: number
  bytes: number
  units: number
}

export interface DearRoute {
  route: string
  units: number
}

/**
 * Of the organization in use, by steps that begin at multiples of their length since 1970, in UTC. Requests and writes
 * are counted by each replica and add up. What an instance holds every replica says for itself, so the newest minute of
 * a step speaks, and in it the most; those of several services add up. A service that said nothing in a step holds
 * nothing there.
 */
export async function listUsage(
  sql: Sql,
  of: { organizationId: string; serviceIds: string[] },
  { from, to, stepMs }: { from: Date; to: Date; stepMs: number },
): Promise<UsagePoint[]> {
  const { rows } = await sql.query<UsagePoint>({
    name: 'usage_list',
    text: `with minutes as (
        select service_id, minute, sum(requests) as requests, sum(writes) as writes, max(records) as records, max(bytes) as bytes,
          sum(units) as units
        from loci.usage_minutes
        where organization_id = $1 and service_id = any($2) and minute >= $3 and minute < $4
        group by service_id, minute
      ), steps as (
        select service_id, date_bin($5 * interval '1 millisecond', minute, 'epoch') as at, sum(requests) as requests,
          sum(writes) as writes, (array_agg(records order by minute desc))[1] as records,
          (array_agg(bytes order by minute desc))[1] as bytes, sum(units) as units
        from minutes group by service_id, at
      )
      select at, sum(requests)::bigint as requests, sum(writes)::bigint as writes, sum(records)::bigint as records,
        sum(bytes)::bigint as bytes, round(sum(units)::numeric, 1)::float8 as units
      from steps group by at order by at`,
    values: [of.organizationId, of.serviceIds, from, to, stepMs],
  })
  return rows
}

/** What cost most in the last hour, of the organization in use. */
export async function listDearest(
  sql: Sql,
  of: { organizationId: string; serviceIds: string[] },
): Promise<DearRoute[]> {
  const { rows } = await sql.query<DearRoute>({
    name: 'usage_dearest',
    text: `select r.route, round(sum(r.units)::numeric, 1)::float8 as units
      from loci.usage_minutes u, jsonb_to_recordset(u.routes) as r(route text, units float8)
      where u.organization_id = $1 and u.service_id = any($2) and u.minute > now() - interval '1 hour' and u.routes is not null
      group by r.route order by 2 desc, 1 limit 5`,
    values: [of.organizationId, of.serviceIds],
  })
  return rows
}

/** Deleted ones too: what they were asked was asked of the tenant. */
export async function listServiceIds(sql: Sql, organizationId: string, tenantId: string): Promise<string[]> {
  const { rows } = await sql.query<{ id: string }>({
    name: 'usage_services',
    text: 'select id from loci.services where organization_id = $1 and tenant_id = $2 order by id',
    values: [organizationId, tenantId],
  })
  return rows.map(({ id }) => id)
}
