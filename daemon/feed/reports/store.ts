// The rows of a report, and marking them as reported.

import type { Pool, Sql } from '@loci/postgres/pool.ts'
import { transaction } from '@loci/postgres/transaction.ts'
import { IS_RESTORED } from '../../access/store.ts'
import { cellRow } from '../../databases/locks.ts'
import { BEHIND_LIFE } from '../store.ts'

export interface ReportRows {
  observed: { svc: string; generation: number; state: string; changeSeq: number }[]
  usage: {
    svc: string
    minute: Date
    replica: string
    requests: number
    writes: number
    units: number
    routes: Record<string, number>
    errors: number
    cycles: number
    evictions: number
    latency: number[]
  }[]
  revocations: {
    kind: string
    value: string
    not_before: Date | null
    expires_at: Date
    audit_id: string | null
    changeSeq: number
  }[]
  deletions: LedgerRow[]
  uses: { credential: string; at: Date }[]
}

/** A row of the deletion ledger. `valueMac` is hex, empty for a whole database or instance. */
export interface LedgerRow {
  svc: string
  database: string
  valueMac: string
  isOverride: boolean
  generation: number
  seq: number
  at: Date
}

const ROWS_MAX = 1_000

/**
 * All instances of one feed page have the same change_seq; `with ties`, because a page cut in the middle would lose its
 * rest. A deleted instance is reported only when nothing of it is left. A minute counts as over 5 s later: who counted
 * in it may not have committed yet. Deletions of `unknown` instances wait: management would refuse the whole report.
 */
export async function readReport(
  sql: Sql,
  observedSince: number,
  unknown: string[] = [],
): Promise<ReportRows & { more: boolean }> {
  const { rows: observed } = await sql.query<ReportRows['observed'][number]>({
    name: 'report_observed',
    text: `select id as svc, generation, state, change_seq as "changeSeq" from loci.instances
      where change_seq > $1 and (state <> 'deleted' or purged_at is not null)
      order by change_seq fetch first ${ROWS_MAX} rows with ties`,
    values: [observedSince],
  })
  const { rows: usage } = await sql.query<ReportRows['usage'][number]>({
    name: 'report_usage',
    text: `select instance_id as svc, minute, replica, requests, writes, units, routes, errors, cycles, evictions, latency
      from loci.usage_minutes
      where minute < date_trunc('minute', clock_timestamp() - interval '5 seconds') order by minute limit ${ROWS_MAX}`,
  })
  const { rows: revocations } = await sql.query<ReportRows['revocations'][number]>({
    name: 'report_revocations',
    text: `select kind, value, not_before, expires_at, audit_id, change_seq as "changeSeq" from loci.revocations
      where origin = 'cell' and reported_at is null order by change_seq limit ${ROWS_MAX}`,
  })
  const { rows: deletions } = await sql.query<ReportRows['deletions'][number]>({
    name: 'report_deletions',
    // Those that were reported under another epoch are reported again: a restored management may have lost them.
    text: `select instance_id as svc, database, encode(value_mac, 'hex') as "valueMac", is_override as "isOverride", generation, seq, at from (
        (select * from loci.deletions where reported_at is null and instance_id <> all($1) order by at limit ${ROWS_MAX})
        union all (select * from loci.deletions where reported_at < (select ledger_again from loci.cell) and instance_id <> all($1)
          order by reported_at limit ${ROWS_MAX})) d limit ${ROWS_MAX}`,
    values: [unknown],
  })
  const { rows: uses } = await sql.query<ReportRows['uses'][number]>({
    name: 'report_uses',
    text: `select credential, at from loci.credential_uses
      where told_at is null or (at > told_at and told_at < clock_timestamp() - interval '1 minute')
      order by credential limit ${ROWS_MAX}`,
  })
  const more = [observed, usage, revocations, deletions, uses].some(({ length }) => length >= ROWS_MAX)
  return { observed, usage, revocations, deletions, uses, more }
}

/** Describes instances that management does not know. */
export async function describeInstances(sql: Sql, instanceIds: string[]): Promise<InstanceDescription[]> {
  if (instanceIds.length === 0) return []
  const { rows } = await sql.query<InstanceDescription>({
    name: 'report_unknown',
    text: `select id as svc, organization_id as org, tenant_id as ten, service_type, plan, generation, state from loci.instances
      where id = any($1) and (state <> 'deleted' or purged_at is not null) order by id limit ${ROWS_MAX}`,
    values: [instanceIds],
  })
  return rows
}

export interface InstanceDescription {
  svc: string
  org: string
  ten: string
  service_type: string
  plan: string
  generation: number
  state: string
}

/** What the cell counts as sent, once so many rows more are on their way. */
export interface Noted {
  /** That the numbers belong to. */
  epoch: string | null
  sent: number
  count: number
}

/** Before rows of the ledger are sent: management may have numbered them although it was not heard. */
export async function noteSent(sql: Sql, count: number): Promise<Noted> {
  const { rows } = await sql.query<{ epoch: string | null; sent: number }>({
    name: 'report_ledger_sent',
    text: `update loci.cell set ledger_sent = greatest(ledger_sent, ledger_acked) + $1
      returning feed_epoch as epoch, ledger_sent as sent`,
    values: [count],
    locks: () => [cellRow()],
  })
  const { epoch, sent } = rows[0] as (typeof rows)[number]
  return { epoch, sent, count }
}

/**
 * When it is certain that management has numbered none of them: each try would else hide a row that a database put
 * back has never sent. Only while nobody has counted since: too large a number is noticed late, too small a one
 * stops a sound cell.
 */
export async function takeSentBack(sql: Sql, { epoch, sent, count }: Noted): Promise<void> {
  await sql.query({
    name: 'report_ledger_unsent',
    text: `update loci.cell set ledger_sent = greatest(ledger_acked, $2 - $3)
      where ledger_sent = $2 and feed_epoch is not distinct from $1`,
    values: [epoch, sent, count],
    locks: () => [cellRow()],
  })
}

export interface Acknowledged {
  /** The last number of management's ledger. */
  ledger: number
  /** The epoch in which it was sent. */
  epoch: string | null
  /** No report without an answer can be on its way any more. */
  isSettled: boolean
}

/**
 * After management accepted the report: marks its rows as reported, and deletes expired revocations. True where
 * management's ledger has more rows than this database can have sent: it was put back, and is not served any more.
 */
export async function finishReport(
  pool: Pool,
  { usage, revocations, deletions, uses }: ReportRows,
  acknowledged?: Acknowledged,
): Promise<boolean> {
  return transaction(pool, async (sql) => {
    const isBehind = acknowledged && deletions.length > 0 ? await acknowledge(sql, acknowledged) : false
    await sql.query({
      name: 'report_usage_done',
      text: `delete from loci.usage_minutes u using jsonb_to_recordset($1::jsonb) as d(svc text, minute timestamptz, replica text) where u.instance_id = d.svc and u.minute = d.minute and u.replica = d.replica`,
      values: [JSON.stringify(usage)],
    })
    // By change_seq too: one that was changed meanwhile to a later moment has not been reported yet.
    await sql.query({
      name: 'report_revocations_done',
      text: `update loci.revocations r set reported_at = clock_timestamp()
        from jsonb_to_recordset($1::jsonb) as d(kind text, value text, "changeSeq" bigint)
        where r.origin = 'cell' and r.kind = d.kind and r.value = d.value and r.change_seq = d."changeSeq"`,
      values: [JSON.stringify(revocations)],
    })
    // By its time too, for the same reason. One that somebody holds is being changed: it is reported again.
    if (deletions.length > 0)
      await sql.query({
        name: 'report_deletions_done',
        text: `update loci.deletions l set reported_at = clock_timestamp() where l.ctid = any (array(
          select r.ctid from jsonb_to_recordset($1::jsonb) as d(svc text, database text, "valueMac" text, "isOverride" boolean, at timestamptz)
          join loci.deletions r on r.instance_id = d.svc and r.database = d.database and r.value_mac = decode(d."valueMac", 'hex')
            and r.is_override = d."isOverride" and r.at = d.at for update of r skip locked))`,
        values: [JSON.stringify(deletions)],
      })
    if (uses.length > 0)
      await sql.query({
        name: 'report_uses_done',
        text: 'update loci.credential_uses set told_at = clock_timestamp() where credential = any($1)',
        values: [uses.map(({ credential }) => credential)],
      })
    await sql.query({
      name: 'revocations_prune',
      text: `delete from loci.revocations where expires_at < clock_timestamp() - interval '1 hour' and (origin = 'management' or reported_at is not null)`,
    })
    return isBehind
  })
}

/**
 * A database that is to be replayed keeps its number: the rows from there on have not been erased again. Nor does it
 * take a number that it cannot have sent: rows of a life that it does not know are in between.
 */
async function acknowledge(sql: Sql, { ledger, epoch, isSettled }: Acknowledged): Promise<boolean> {
  const { rows } = await sql.query<{ isBehind: boolean }>({
    name: 'report_ledger_acked',
    text: `update loci.cell set life = case when $1 > ledger_sent then '${BEHIND_LIFE}' else life end,
        ledger_acked = case when $1 > ledger_sent then ledger_acked else $1 end,
        ledger_sent = case when $2 then least(ledger_sent, $1) else ledger_sent end
      where not ${IS_RESTORED} and feed_epoch = $3 returning life = '${BEHIND_LIFE}' as "isBehind"`,
    values: [ledger, isSettled, epoch],
    locks: () => [cellRow()],
  })
  return rows[0]?.isBehind ?? false
}

/** Uses the database's clock, like everything that replicas compare. */
export async function saveUses(sql: Sql, uses: { id: string; at: number }[]): Promise<void> {
  const now = Date.now()
  await sql.query({
    name: 'uses_save',
    text: `insert into loci.credential_uses as known (credential, at)
      select u.id, clock_timestamp() - u.age_ms * interval '1 millisecond'
      from unnest($1::text[], $2::float8[]) as u (id, age_ms)
      on conflict (credential) do update set at = greatest(known.at, excluded.at)`,
    values: [uses.map(({ id }) => id), uses.map(({ at }) => Math.max(0, now - at))],
  })
}

export async function forgetUses(sql: Sql): Promise<void> {
  await sql.query({ text: `delete from loci.credential_uses where at < clock_timestamp() - interval '1 day'` })
}
