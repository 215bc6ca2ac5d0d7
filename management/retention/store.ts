// Of the organization in use, a bounded number of rows at a time.

import type { Sql } from '@loci/postgres/pool.ts'

/** In the order of their ids, after one; how many there are in all decides how many at a time. */
export async function listOrganizationIds(
  sql: Sql,
  { after, limit }: { after: string; limit: number },
): Promise<string[]> {
  const { rows } = await sql.query<{ id: string }>({
    name: 'retention_organizations',
    text: 'select id from loci.organizations where id > $1 order by id limit $2',
    values: [after, limit],
  })
  return rows.map(({ id }) => id)
}

export async function countOrganizations(sql: Sql): Promise<number> {
  const { rows } = await sql.query<{ count: number }>({
    name: 'retention_count',
    text: 'select count(*)::int as count from loci.organizations',
  })
  return rows[0]?.count ?? 0
}

async function remove(sql: Sql, name: string, table: string, condition: string, values: unknown[]): Promise<number> {
  const { rowCount } = await sql.query({
    name,
    text: `delete from loci.${table} where organization_id = $1 and ctid = any (array(
        select t.ctid from loci.${table} t where t.organization_id = $1 and ${condition} limit $3 for update skip locked))`,
    values,
  })
  return rowCount ?? 0
}

export function removeAnswers(sql: Sql, organizationId: string, before: Date, limit: number): Promise<number> {
  return remove(sql, 'retention_answers', 'idempotency', 't.created_at < $2', [organizationId, before, limit])
}

/** But for the one that a service names as its own. */
export function removeOperations(sql: Sql, organizationId: string, before: Date, limit: number): Promise<number> {
  const isNamed = 'exists (select from loci.services s where s.organization_id = $1 and s.operation_id = t.id)'
  const condition = `t.finished_at < $2 and not ${isNamed}`
  return remove(sql, 'retention_operations', 'operations', condition, [organizationId, before, limit])
}

export async function removeTokens(sql: Sql, organizationId: string, before: Date, limit: number): Promise<number> {
  const values = [organizationId, before, limit]
  const children = await remove(sql, 'retention_children', 'token_children', 't.expires_at < $2', values)
  const isParent = `exists (select from loci.token_children c where c.organization_id = $1 and c.parent_jti = t.jti)`
  return children + (await remove(sql, 'retention_tokens', 'tokens', `t.expires_at < $2 and not ${isParent}`, values))
}

/** Also those that were ended before their time: their end is then. */
export function removeGrants(sql: Sql, organizationId: string, before: Date, limit: number): Promise<number> {
  return remove(sql, 'retention_grants', 'oauth_grants', 't.expires_at < $2', [organizationId, before, limit])
}

/** Nobody sees it any more, and it may be large. */
export async function dropDeletedConfigs(sql: Sql, organizationId: string): Promise<void> {
  await sql.query({
    name: 'retention_configs',
    text: `update loci.services set config = '{}' where organization_id = $1 and status = 'deleted' and config <> '{}'`,
    values: [organizationId],
  })
}

/**
 * Rows older than `before` become one for each `unit` and service: requests and writes add up, what the service held is
 * that of the newest minute. What comes in late is added by the next time; what was rolled up is marked, so that a
 * minute that its cell reports again is not.
 */
export async function rollUpUsage(
  sql: Sql,
  organizationId: string,
  { unit, from, before, limit }: { unit: 'hour' | 'day'; from: string[]; before: Date; limit: number },
): Promise<number> {
  const { rows } = await sql.query<{ rolled: number }>({
    name: `retention_usage_${unit}`,
    text: `with old as (
        delete from loci.usage_minutes where organization_id = $1 and ctid = any (array(
          select u.ctid from loci.usage_minutes u where u.organization_id = $1 and u.minute < $2 and u.dedup <> all ($3)
          order by u.minute limit $4 for update skip locked))
        returning service_id, minute, dedup, requests, writes, records, bytes, units, errors, cycles, evictions, latency,
          date_trunc($5, minute, 'UTC') as at
      ), marked as (
        insert into loci.usage_rolled as known (organization_id, service_id, dedup, through)
        select $1, service_id, dedup, max(minute) from old where dedup <> all ('{hour,day}') group by service_id, dedup
        on conflict (organization_id, service_id, dedup) do update set through = greatest(known.through, excluded.through)
      ), rolled as (
        insert into loci.usage_minutes as known (organization_id, service_id, minute, dedup, requests, writes, records, bytes, units,
          errors, cycles, evictions, latency)
        select $1, o.service_id, o.at, $5, sum(requests), sum(writes),
          (array_agg(records order by minute desc, records desc))[1], (array_agg(bytes order by minute desc, bytes desc))[1], sum(units),
          sum(errors), sum(cycles), sum(evictions), (select coalesce(array_agg(n order by class), '{}') from (
            select class, sum(answers)::bigint as n from old l, unnest(l.latency) with ordinality as c (answers, class)
            where l.service_id = o.service_id and l.at = o.at group by class) as summed)
        from old o group by o.service_id, o.at
        on conflict (organization_id, service_id, minute, dedup) do update set requests = known.requests + excluded.requests,
          writes = known.writes + excluded.writes, records = excluded.records, bytes = excluded.bytes, units = known.units + excluded.units,
          errors = known.errors + excluded.errors, cycles = known.cycles + excluded.cycles, evictions = known.evictions + excluded.evictions,
          latency = (select coalesce(array_agg(coalesce(was, 0) + coalesce(more, 0) order by class), '{}')
            from unnest(known.latency, excluded.latency) with ordinality as both_of_them (was, more, class))
      )
      select count(*)::int as rolled from old`,
    values: [organizationId, before, from, limit, unit],
  })
  return rows[0]?.rolled ?? 0
}

/** Marks of replicas whose last minute is older than `before`. */
export async function removeRolledMarks(
  sql: Sql,
  organizationId: string,
  before: Date,
  limit: number,
): Promise<number> {
  const { rowCount } = await sql.query({
    name: 'retention_usage_marks',
    text: `delete from loci.usage_rolled where organization_id = $1 and ctid = any (array(
      select ctid from loci.usage_rolled where organization_id = $1 and through < $2 limit $3))`,
    values: [organizationId, before, limit],
  })
  return rowCount
}
