import type { Sql } from '@loci/postgres/pool.ts'

export interface UsagePoint {
  at: Date
  requests: number
  writes: number
  records: number
  bytes: number
  units: number
  errors: number
  cycles: number
  evictions: number
  /** Answers by class (LATENCY_BOUNDS_MS). */
  latency: number[]
}

export interface DearRoute {
  route: string
  units: number
}

interface Asked {
  organizationId: string
  serviceIds: string[]
}

interface Steps {
  from: Date
  to: Date
  stepMs: number
}

/**
 * Of the organization in use, by steps that begin at multiples of their length since 1970, in UTC. Requests and writes
 * are counted by each replica and add up, as do answers by the time they took. What an instance holds every replica
 * says for itself, so the newest minute of a step speaks, and in it the most; those of several services add up. A
 * service that said nothing in a step holds nothing there. `by`: of all of them together, or of each.
 */
function usageText(by: 'at' | 'service_id, at'): string {
  const isSame = by === 'at' ? 'l.at = s.at' : 'l.at = s.at and l.service_id = s.service_id'
  return `with rows as (
      select *, date_bin($5 * interval '1 millisecond', minute, 'epoch') as at from loci.usage_minutes
      where organization_id = $1 and service_id = any($2) and minute >= $3 and minute < $4
    ), minutes as (
      select service_id, at, minute, sum(requests) as requests, sum(writes) as writes, max(records) as records, max(bytes) as bytes,
        sum(units) as units, sum(errors) as errors, sum(cycles) as cycles, sum(evictions) as evictions
      from rows group by service_id, at, minute
    ), steps as (
      select service_id, at, sum(requests) as requests, sum(writes) as writes, (array_agg(records order by minute desc))[1] as records,
        (array_agg(bytes order by minute desc))[1] as bytes, sum(units) as units, sum(errors) as errors, sum(cycles) as cycles,
        sum(evictions) as evictions
      from minutes group by service_id, at
    ), classes as (
      select ${by}, class, sum(answers) as answers from rows, unnest(latency) with ordinality as c (answers, class)
      group by ${by}, class
    ), latencies as (select ${by}, array_agg(answers::bigint order by class) as latency from classes group by ${by})
    select ${by === 'at' ? '' : 's.service_id as "serviceId", '}s.at, sum(requests)::bigint as requests, sum(writes)::bigint as writes,
      sum(records)::bigint as records, sum(bytes)::bigint as bytes, round(sum(units)::numeric, 1)::float8 as units,
      sum(errors)::bigint as errors, sum(cycles)::bigint as cycles, sum(evictions)::bigint as evictions,
      coalesce((select l.latency from latencies l where ${isSame}), '{}') as latency
    from steps s group by ${by === 'at' ? 's.at' : 's.service_id, s.at'} order by ${by === 'at' ? 's.at' : 's.service_id, s.at'}`
}

export async function listUsage(sql: Sql, of: Asked, { from, to, stepMs }: Steps): Promise<UsagePoint[]> {
  const { rows } = await sql.query<UsagePoint>({
    name: 'usage_list',
    text: usageText('at'),
    values: [of.organizationId, of.serviceIds, from, to, stepMs],
  })
  return rows
}

export async function listUsageByService(
  sql: Sql,
  of: Asked,
  { from, to, stepMs }: Steps,
): Promise<(UsagePoint & { serviceId: string })[]> {
  const { rows } = await sql.query<UsagePoint & { serviceId: string }>({
    name: 'usage_by_service',
    text: usageText('service_id, at'),
    values: [of.organizationId, of.serviceIds, from, to, stepMs],
  })
  return rows
}

/** Newest first, those that are not deleted; `tenantIds` null = of all tenants. */
export async function listLivingServiceIds(
  sql: Sql,
  organizationId: string,
  { tenantIds, before, limit }: { tenantIds: readonly string[] | null; before: string | undefined; limit: number },
): Promise<string[]> {
  const { rows } = await sql.query<{ id: string }>({
    name: 'usage_living_services',
    text: `select id from loci.services where organization_id = $1 and status <> 'deleted'
        and ($2::text[] is null or tenant_id = any($2)) and ($3::text is null or id < $3) order by id desc limit $4`,
    values: [organizationId, tenantIds, before ?? null, limit],
  })
  return rows.map(({ id }) => id)
}

/** What cost most in the last hour, of the organization in use. */
export async function listDearest(sql: Sql, of: Asked): Promise<DearRoute[]> {
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
