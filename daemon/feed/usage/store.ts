// All SQL of usage and of the rates that replicas share.

import type { Sql } from '@loci/postgres/pool.ts'

/** Of each minute and replica: its dearest, by which those of an hour are told. */
export const ROUTES_MAX = 5

export interface UsageCounts {
  instanceId: string
  requests: number
  writes: number
  units: number
  /** Units by route, of the dearest. */
  routes: Record<string, number>
  errors: number
  cycles: number
  evictions: number
  latency: number[]
}

/**
 * Adds this replica's counts, in the minute of the database's clock. `flush` numbers the batches of a replica: one that
 * is sent again, because its commit was not answered, is added once.
 */
export async function addUsage(sql: Sql, replica: string, flush: number, counts: UsageCounts[]): Promise<void> {
  await sql.query({
    name: 'usage_add',
    text: `with fresh as (
        insert into loci.usage_flushes as old (replica, flush, at) values ($1, $2, clock_timestamp())
        on conflict (replica) do update set flush = excluded.flush, at = excluded.at where old.flush < excluded.flush
        returning replica
      )
      insert into loci.usage_minutes as old (instance_id, minute, replica, requests, writes, units, routes, errors, cycles, evictions, latency)
      select "instanceId", date_trunc('minute', clock_timestamp()), fresh.replica, requests, writes, units, routes, errors, cycles, evictions,
        latency
      from fresh, jsonb_to_recordset($3::jsonb) as c("instanceId" text, requests bigint, writes bigint, units float8, routes jsonb,
        errors bigint, cycles bigint, evictions bigint, latency bigint[])
      on conflict (instance_id, minute, replica) do update set requests = old.requests + excluded.requests,
        writes = old.writes + excluded.writes, units = old.units + excluded.units, errors = old.errors + excluded.errors,
        cycles = old.cycles + excluded.cycles, evictions = old.evictions + excluded.evictions,
        latency = (select coalesce(array_agg(coalesce(was, 0) + coalesce(more, 0) order by n), '{}')
          from unnest(old.latency, excluded.latency) with ordinality as both_of_them(was, more, n)),
        routes = (select coalesce(jsonb_object_agg(route, sum), '{}') from (
          select key as route, sum(value::text::float8) as sum from (
            select * from jsonb_each(old.routes) union all select * from jsonb_each(excluded.routes)) both_of_them
          group by key order by sum desc limit ${ROUTES_MAX}) dearest)`,
    values: [replica, flush, JSON.stringify(counts)],
  })
}

/** Stores this replica's counts of the last second and returns those of the others, by instance. */
export async function exchangeRates(
  sql: Sql,
  replica: string,
  seen: { instanceId: string; units: number }[],
): Promise<Map<string, number>> {
  const { rows } = await sql.query<{ instanceId: string; others: number }>({
    name: 'rates_exchange',
    text: `with seen as (select "instanceId", units from jsonb_to_recordset($2::jsonb) as s("instanceId" text, units bigint)),
      saved as (
        insert into loci.instance_rates as old (instance_id, replica, units, at)
        select "instanceId", $1, units, clock_timestamp() from seen
        on conflict (instance_id, replica) do update set units = excluded.units, at = excluded.at
      )
      select r.instance_id as "instanceId", sum(r.units)::float8 as others from loci.instance_rates r join seen on seen."instanceId" = r.instance_id
      where r.replica <> $1 and r.at > clock_timestamp() - interval '2.5 seconds' group by r.instance_id`,
    values: [replica, JSON.stringify(seen)],
  })
  return new Map(rows.map(({ instanceId, others }) => [instanceId, others]))
}

/** Rows of replicas that are gone. */
export async function forgetReplicas(sql: Sql): Promise<void> {
  await sql.query({ text: `delete from loci.instance_rates where at < clock_timestamp() - interval '1 hour'` })
  await sql.query({ text: `delete from loci.usage_flushes where at < clock_timestamp() - interval '7 days'` })
}
