import type { Report } from '@loci/contract/reports.ts'
import type { Sql } from '@loci/postgres/pool.ts'

/** False when a report came with this token before. */
export async function takeReportId(sql: Sql, cellId: string, jti: string): Promise<boolean> {
  const { rowCount } = await sql.query({
    name: 'reports_take_id',
    text: 'insert into loci.cell_report_ids (cell_id, jti) values ($1, $2) on conflict do nothing',
    values: [cellId, jti],
  })
  return rowCount === 1
}

/** A token lives a minute; ten are kept, for clocks. */
export async function forgetReportIds(sql: Sql): Promise<void> {
  await sql.query({ text: `delete from loci.cell_report_ids where at < now() - interval '10 minutes'` })
}

/** Which of the services are placed in the cell, and whose they are. */
export async function listPlaced(sql: Sql, cellId: string, serviceIds: string[]): Promise<Map<string, string>> {
  const { rows } = await sql.query<{ id: string; organizationId: string }>({
    name: 'reports_placed',
    text: `select key as id, body->>'org' as "organizationId" from loci.feed_items
      where cell_id = $1 and kind = 'instance' and key = any($2)`,
    values: [cellId, serviceIds],
  })
  return new Map(rows.map(({ id, organizationId }) => [id, organizationId]))
}

/**
 * Of one organization, which is in use. A minute may be reported again with more, never with less. A cell reports the
 * oldest minutes first, and again those whose report was not answered: one that is rolled up already is left out.
 */
export async function saveUsage(sql: Sql, organizationId: string, usage: Report['usage']): Promise<void> {
  await sql.query({
    name: 'reports_usage',
    text: `insert into loci.usage_minutes as known (organization_id, service_id, minute, dedup, requests, writes, records, bytes, units, routes,
        errors, cycles, evictions, latency)
      select $1, u.service_id, u.minute, u.dedup, max(u.requests), max(u.writes), max(u.records), max(u.bytes), max(u.units),
        (array_agg(u.routes order by u.units desc) filter (where u.minute > now() - interval '1 hour'))[1],
        max(u.errors), max(u.cycles), max(u.evictions), ((array_agg(u.latency order by u.requests desc))[1])::bigint[]
      from unnest($2::text[], $3::timestamptz[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::float8[], $10::jsonb[],
          $11::bigint[], $12::bigint[], $13::bigint[], $14::text[])
        as u (service_id, minute, dedup, requests, writes, records, bytes, units, routes, errors, cycles, evictions, latency)
      where not exists (select from loci.usage_rolled r
        where r.organization_id = $1 and r.service_id = u.service_id and r.dedup = u.dedup and r.through >= u.minute)
      group by u.service_id, u.minute, u.dedup
      on conflict (organization_id, service_id, minute, dedup) do update set
        requests = greatest(known.requests, excluded.requests), writes = greatest(known.writes, excluded.writes),
        records = greatest(known.records, excluded.records), bytes = greatest(known.bytes, excluded.bytes),
        units = greatest(known.units, excluded.units),
        routes = case when excluded.units >= known.units then excluded.routes else known.routes end,
        errors = greatest(known.errors, excluded.errors), cycles = greatest(known.cycles, excluded.cycles),
        evictions = greatest(known.evictions, excluded.evictions),
        latency = case when excluded.requests >= known.requests then excluded.latency else known.latency end`,
    values: [
      organizationId,
      usage.map(({ svc }) => svc),
      usage.map(({ minute }) => minute),
      usage.map(({ dedup }) => dedup),
      usage.map(({ requests }) => requests),
      usage.map(({ writes }) => writes),
      usage.map(({ records }) => records),
      usage.map(({ bytes }) => bytes),
      usage.map(({ units }) => units ?? 0),
      usage.map(({ routes }) => (routes && routes.length > 0 ? JSON.stringify(routes) : null)),
      usage.map(({ errors }) => errors ?? 0),
      usage.map(({ cycles }) => cycles ?? 0),
      usage.map(({ evictions }) => evictions ?? 0),
      // As text: PostgreSQL has no lists of lists of different lengths.
      usage.map(({ latency }) => `{${(latency ?? []).join()}}`),
    ],
  })
  // They are shown for an hour; what is left of a service that falls silent goes with its minutes.
  await sql.query({
    name: 'reports_usage_routes',
    text: `update loci.usage_minutes set routes = null where organization_id = $1 and service_id = any($2) and routes is not null
      and minute > now() - interval '3 hours' and minute < now() - interval '1 hour'`,
    values: [organizationId, [...new Set(usage.map(({ svc }) => svc))]],
  })
}

/**
 * Locks the cell's row, so numbers are in commit order. Whole instances only if their deletion was published. Of a
 * value there is one row for its erasure and one for an override, each with the highest number of the database. Returns
 * the last number of the ledger.
 */
export async function saveDeletions(sql: Sql, cellId: string, deletions: Report['deletions']): Promise<number> {
  const { rows } = await sql.query<{ ledger: number }>({
    name: 'reports_deletions',
    text: `with told as (
        select d.service_id, d.database, decode(d.value_mac, 'hex') as value_mac, d.is_override, max(d.at) as at, max(d.generation) as generation,
          max(d.database_seq) as database_seq, row_number() over (order by max(d.at), d.service_id, d.database, d.value_mac, d.is_override) as n
        from unnest($2::text[], $3::text[], $4::timestamptz[], $5::bigint[], $6::text[], $7::boolean[], $8::bigint[])
          as d (service_id, database, at, generation, value_mac, is_override, database_seq)
        where d.database <> '' or exists (
          select from loci.deletions a where a.cell_id = $1 and a.service_id = d.service_id and a.database = '' and a.asked_generation >= coalesce(d.generation, 0))
        group by d.service_id, d.database, d.value_mac, d.is_override
      ), numbered as (
        update loci.cells set deletion_seq = deletion_seq + (select count(*) from told) where id = $1 returning deletion_seq
      ), saved as (
        insert into loci.deletions as known (cell_id, service_id, database, value_mac, is_override, at, generation, database_seq, seq, received_at)
        select $1, service_id, database, value_mac, is_override, at, generation, database_seq, deletion_seq - (select count(*) from told) + n, clock_timestamp()
        from told, numbered
        on conflict (cell_id, service_id, database, value_mac, is_override) do update set at = greatest(known.at, excluded.at), seq = excluded.seq,
          generation = greatest(known.generation, excluded.generation), database_seq = greatest(known.database_seq, excluded.database_seq),
          received_at = excluded.received_at
      )
      select deletion_seq as ledger from numbered`,
    values: [
      cellId,
      deletions.map(({ svc }) => svc),
      deletions.map(({ database }) => database ?? ''),
      deletions.map(({ at }) => at),
      deletions.map(({ generation }) => generation ?? null),
      deletions.map(({ value_mac }) => value_mac ?? ''),
      deletions.map(({ override }) => override ?? false),
      deletions.map(({ database_seq }) => database_seq ?? null),
    ],
  })
  return rows[0]?.ledger ?? 0
}

/** When the last row up to this number came. */
export async function listedAt(sql: Sql, cellId: string, seq: number): Promise<Date | undefined> {
  const { rows } = await sql.query<{ receivedAt: Date }>({
    name: 'reports_listed_at',
    text: `select received_at as "receivedAt" from loci.deletions
      where cell_id = $1 and seq <= $2 and received_at is not null order by seq desc limit 1`,
    values: [cellId, seq],
  })
  return rows[0]?.receivedAt
}

const FORGOTTEN_MAX = 5_000

/** What an instance erased before it was itself erased: its own row says more. The key of its HMACs went with it. */
export async function forgetCovered(sql: Sql): Promise<void> {
  for (;;) {
    const { rowCount } = await sql.query({
      name: 'reports_forget_covered',
      text: `delete from loci.deletions d where (d.cell_id, d.service_id, d.database, d.value_mac, d.is_override) in (
        select r.cell_id, r.service_id, r.database, r.value_mac, r.is_override
        from loci.deletions i, lateral (select * from loci.deletions r where r.cell_id = i.cell_id and r.service_id = i.service_id
          and r.database > '' and r.at <= i.at limit $1) r
        where i.database = '' and i.generation is not null and i.received_at is not null limit $1)`,
      values: [FORGOTTEN_MAX],
    })
    if (rowCount < FORGOTTEN_MAX) return
  }
}

export interface LedgerRow {
  seq: number
  svc: string
  database: string
  /** Hex; empty: the whole database or instance. */
  valueMac: string
  isOverride: boolean
  databaseSeq: number | null
  generation: number | null
  at: Date
}

/** What the cell has told that it had erased, in the order of its numbers. */
export async function listDeletions(sql: Sql, cellId: string, after: number, limit: number): Promise<LedgerRow[]> {
  const { rows } = await sql.query<LedgerRow>({
    name: 'reports_ledger',
    text: `select seq, service_id as svc, database, encode(value_mac, 'hex') as "valueMac", is_override as "isOverride",
        database_seq as "databaseSeq", generation, at from loci.deletions
      where cell_id = $1 and seq > $2 and received_at is not null order by seq limit $3`,
    values: [cellId, after, limit],
  })
  return rows
}

/** Of the organization in use. */
export async function saveLastUsed(sql: Sql, credential: string, at: string): Promise<void> {
  await sql.query({
    name: 'reports_last_used_partner',
    text: `update loci.partner_credentials set last_used_at = greatest(last_used_at, $2::timestamptz) where id = $1`,
    values: [credential, at],
  })
  await sql.query({
    name: 'reports_last_used_token',
    text: `update loci.tokens set last_used_at = greatest(last_used_at, $2::timestamptz) where jti = $1`,
    values: [credential, at],
  })
}
