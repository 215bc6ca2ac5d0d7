// All SQL of putting one instance back from a restored copy of the cell's PostgreSQL database. It runs as the owner of
// the schema, who is held to the rows of one instance as the daemon is.

import { ADVISORY_LOCKS } from '@loci/postgres/advisory-locks.ts'
import type { Sql } from '@loci/postgres/pool.ts'

export interface Shape {
  version: number
  /** By name, the columns in their order: a row is copied as PostgreSQL writes it, and read by position. */
  tables: Map<string, string>
}

/** Events stay: they say what happened, and their numbers go on. */
const TABLES = `select t.name from loci.database_tables() t where t.name <> 'events' union all values ('databases'), ('due')`

export async function readShape(sql: Sql): Promise<Shape> {
  const { rows } = await sql.query<{ name: string; columns: string; version: number }>({
    text: `select t.name, string_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod), ', ' order by a.attnum) as columns,
        (select max(m.version) from loci.migrations m) as version
      from (${TABLES}) t join pg_attribute a on a.attrelid = format('loci.%I', t.name)::regclass and a.attnum > 0 and not a.attisdropped
      group by t.name order by t.name`,
  })
  return { version: rows[0]?.version ?? 0, tables: new Map(rows.map(({ name, columns }) => [name, columns])) }
}

export async function begin(sql: Sql, instanceId: string): Promise<void> {
  await sql.query({ text: 'begin' })
  await sightOf(sql, instanceId)
}

/** Everything of one moment. */
export async function beginReading(sql: Sql, instanceId: string): Promise<void> {
  await sql.query({ text: 'begin transaction isolation level repeatable read read only' })
  await sightOf(sql, instanceId)
}

export async function commit(sql: Sql): Promise<void> {
  await sql.query({ text: 'commit' })
}

/** Rows as text that the other server reads to the last digit. Ends with the transaction. */
async function sightOf(sql: Sql, instanceId: string): Promise<void> {
  await sql.query({
    text: `select set_config('loci.instance', $1, true), set_config('loci.chain', $1, true), set_config('datestyle', 'ISO', true),
      set_config('timezone', 'UTC', true), set_config('extra_float_digits', '3', true), set_config('bytea_output', 'hex', true)`,
    values: [instanceId],
  })
}

export interface Held {
  state: string | undefined
  /** When its key was made: with another one nothing of what it marks is found again. */
  keyAt: string | null
  /** Rows of its ledger that management has not yet. */
  unreported: number
  /** Has the cell read the feed of a management to its end? */
  isJoined: boolean
}

/** It answers nothing for an hour, at most: a command that was killed is begun again, or waited for. */
export async function holdInstance(sql: Sql, instanceId: string): Promise<void> {
  await sql.query({
    text: `with cell as (update loci.cell set change_seq = change_seq + 1 returning change_seq)
      update loci.instances i set held_until = clock_timestamp() + interval '1 hour', change_seq = cell.change_seq from cell where i.id = $1`,
    values: [instanceId],
  })
}

/** Where it was not put back: it goes on as it is. */
export async function letGo(sql: Sql, instanceId: string): Promise<void> {
  await sql.query({
    text: `with cell as (update loci.cell set change_seq = change_seq + 1 returning change_seq)
      update loci.instances i set held_until = null, change_seq = cell.change_seq from cell where i.id = $1 and i.held_until < 'infinity'`,
    values: [instanceId],
  })
}

/** Nobody writes to the instance from here on, to the end of the transaction. Its row is free: the feed goes on. */
export async function lockInstance(sql: Sql, instanceId: string): Promise<void> {
  await sql.query({
    text: 'select pg_advisory_xact_lock(hashtextextended($1, $2))',
    values: [instanceId, ADVISORY_LOCKS.instance],
  })
}

export interface Living {
  state: string
  /** When its key was made: with another one nothing of what it marks is found again. */
  keyAt: string | null
  /** Rows of its ledger that management has not yet. */
  unreported: number
  /** Has the cell read the feed of a management to its end? */
  isJoined: boolean
}

export async function findLiving(sql: Sql, instanceId: string): Promise<Living | undefined> {
  const { rows } = await sql.query<Living>({
    text: `select i.state, (select count(*)::int from loci.deletions d where d.instance_id = i.id and d.reported_at is null) as unreported,
        (select c.life is not null from loci.cell c) as "isJoined", ${KEY_AT} as "keyAt" from loci.instances i where i.id = $1`,
    values: [instanceId],
  })
  return rows[0]
}

const KEY_AT = `(select k.created_at::text from loci.instance_keys k where k.instance_id = i.id)`

export async function findCopied(sql: Sql, instanceId: string): Promise<Pick<Living, 'keyAt'> | undefined> {
  const { rows } = await sql.query<Pick<Living, 'keyAt'>>({
    text: `select ${KEY_AT} as "keyAt" from loci.instances i where i.id = $1 and i.state <> 'deleted'`,
    values: [instanceId],
  })
  return rows[0]
}

/** Two connections to one database see each other's lock; a copy that can still be read only is another one. */
export async function isHeldThere(sql: Sql, instanceId: string): Promise<boolean> {
  const { rows } = await sql.query<{ isHeld: boolean }>({
    text: `select case when pg_is_in_recovery() then false
      else not pg_try_advisory_xact_lock(hashtextextended($1, $2)) end as "isHeld"`,
    values: [instanceId, ADVISORY_LOCKS.instance],
  })
  return rows[0]?.isHeld ?? false
}

export interface Head {
  name: string
  seq: string
}

/** The databases of the instance that are not being erased. */
export async function listHeads(sql: Sql, instanceId: string): Promise<Head[]> {
  const { rows } = await sql.query<Head>({
    text: 'select name, seq::text from loci.databases where instance_id = $1 and erasing_since is null order by name',
    values: [instanceId],
  })
  return rows
}

/** Names the databases whose life was ended by a deletion since the copy was made. */
export async function listEnded(sql: Sql, instanceId: string, heads: Head[]): Promise<string[]> {
  const { rows } = await sql.query<{ name: string }>({
    text: `select h.name from unnest($2::text[], $3::bigint[]) as h (name, seq) join loci.deletions d
        on d.instance_id = $1 and d.database = h.name and d.value_mac = '' and d.seq >= h.seq`,
    values: [instanceId, heads.map(({ name }) => name), heads.map(({ seq }) => seq)],
  })
  return rows.map(({ name }) => name)
}

export interface Former {
  name: string
  seq: string
}

/** Takes away what the instance has; answers its databases with the numbers that they had reached. */
export async function takeAway(sql: Sql, instanceId: string, tables: string[]): Promise<Former[]> {
  const { rows } = await sql.query<Former>({
    text: 'select name, seq::text from loci.databases where instance_id = $1',
    values: [instanceId],
  })
  for (const table of tables)
    await sql.query({ text: `delete from loci.${table} where instance_id = $1`, values: [instanceId] })
  return rows
}

/** Rows behind the oldest partition that is kept are older than the history that the cell has. */
export async function oldestOf(sql: Sql, table: string): Promise<string | null> {
  const { rows } = await sql.query<{ oldest: string | null }>({
    text: `select min(to_date(substring(c.relname from '_(\\d{8})$'), 'YYYYMMDD'))::text as oldest
      from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = format('loci.%I', $1::text)::regclass`,
    values: [table],
  })
  return rows[0]?.oldest ?? null
}

export async function openRows(
  sql: Sql,
  table: string,
  { instanceId, ended, oldest }: { instanceId: string; ended: string[]; oldest: string | null },
): Promise<void> {
  const isHeads = table === 'databases'
  const name = isHeads ? 'name' : 'database'
  const conditions = [
    `copied.instance_id = $1 and copied.${name} <> all ($2)`,
    isHeads
      ? 'copied.erasing_since is null'
      : 'not exists (select from loci.databases h where h.instance_id = $1 and h.name = copied.database and h.erasing_since is not null)',
    ...(oldest === null ? [] : [`copied.at >= '${oldest}'`]),
    ...(table === 'due' ? [`copied.kind <> 'erase'`] : []),
  ]
  await sql.query({
    text: `declare rows_of_copy no scroll cursor for select copied::text as row from loci.${table} copied where ${conditions.join(' and ')}`,
    values: [instanceId, ended],
  })
}

/** A segment can have some megabytes. */
const ROWS = 500
const SEGMENTS = 8

export async function nextRows(sql: Sql, table: string): Promise<string[]> {
  const { rows } = await sql.query<{ row: string }>({
    text: `fetch ${table === 'segments' ? SEGMENTS : ROWS} from rows_of_copy`,
  })
  if (rows.length === 0) await sql.query({ text: 'close rows_of_copy' })
  return rows.map(({ row }) => row)
}

export async function putRows(sql: Sql, table: string, rows: string[]): Promise<void> {
  await sql.query({
    // `offset 0`: else each column reads the whole row again.
    text: `insert into loci.${table} select (r.v).* from (select s::loci.${table} as v from unnest($1::text[]) s offset 0) r`,
    values: [rows],
  })
}

/**
 * Each database begins a life of its own, whose numbers go on behind all that were given: who remembers something of
 * the one before (documents, segments, tools) reads again, and a deletion of the one before does not end this one.
 */
export async function beginLives(sql: Sql, instanceId: string, former: Former[]): Promise<void> {
  await sql.query({
    text: `update loci.databases h set created_at = date_trunc('milliseconds', clock_timestamp()), seq = 1 + greatest(h.seq,
        (select max(f.seq) from unnest($2::text[], $3::bigint[]) as f (name, seq) where f.name = h.name),
        (select max(d.seq) from loci.deletions d where d.instance_id = h.instance_id and d.database = h.name))
      where h.instance_id = $1`,
    values: [instanceId, former.map(({ name }) => name), former.map(({ seq }) => seq)],
  })
}

/** Counts again, and appends an event for each database: followers of the events read it again. */
export async function countAgain(sql: Sql, instanceId: string, names: string[]): Promise<void> {
  await sql.query({ text: 'delete from loci.instance_totals where instance_id = $1', values: [instanceId] })
  await sql.query({
    text: `select loci.add_totals($1, coalesce(sum(h.kv_keys + h.mem_records + h.prj_held), 0)::bigint, coalesce(sum(loci.database_bytes(h)), 0)::bigint, 0)
      from loci.databases h where h.instance_id = $1`,
    values: [instanceId],
  })
  await sql.query({
    text: `select loci.append_events_of(i.id, 'database.deleted', case when i.service_type = 'kv' then 'kv' else 'memory' end, $2::text[],
        array_fill('{}'::text, array[cardinality($2::text[])])) from loci.instances i where i.id = $1`,
    values: [instanceId, names],
  })
}

/**
 * In the same commit the cell counts as restored: who holds its lease begins anew, reads everything from management and
 * replays the ledger, and with the last page of that the instance answers again. False: it is not held any more. The
 * row of the cell comes first, as where the feed is applied.
 */
export async function finish(sql: Sql, instanceId: string): Promise<boolean> {
  const { rows } = await sql.query<{ changeSeq: string }>({
    text: `update loci.cell set life = 'restored', feed_after = 0, ledger_acked = 0, change_seq = change_seq + 1, lease_holder = null,
      lease_until = null, lease_fence = lease_fence + 1 returning change_seq::text as "changeSeq"`,
  })
  const { rowCount } = await sql.query({
    text: `update loci.instances i set held_until = 'infinity', change_seq = $2, keyed_answers = k.answers, keyed_bytes = k.bytes,
        keyed_since = k.since, databases = (select count(*) from loci.databases h where h.instance_id = i.id)
      from (select count(*) filter (where bytes > 0) as answers, coalesce(sum(bytes), 0) as bytes, min(created_at) as since
        from loci.idempotency where instance_id = $1) k
      where i.id = $1 and i.state <> 'deleted' and i.held_until > clock_timestamp() + interval '1 minute'`,
    values: [instanceId, rows[0]?.changeSeq],
  })
  return rowCount === 1
}
