// The switches of the cells: as the cells report them, and what staff asked for.

import type { SwitchCommand } from '@loci/contract/feed.ts'
import type { ReportedSwitch, SwitchOutcome } from '@loci/contract/reports.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import { LOCKS, lockCell } from '../locks/store.ts'

export interface CellSwitch {
  name: string
  enabled: boolean
  since: Date
  changedBy: string | null
  reason: string | null
  autoRevertAt: Date | null
  reportedAt: Date
  wanted: Wanted | null
}

export interface Wanted {
  enabled: boolean
  at: Date
  by: string
  reason: string
  autoRevertAt: Date | null
  /** `pending`: the cell has not said yet what became of it. */
  state: SwitchOutcome | 'pending'
}

type Row = Omit<CellSwitch, 'wanted'> & {
  wanted: boolean | null
  wantedAt: Date
  wantedBy: string
  wantedReason: string
  wantedRevertAt: Date | null
  state: Wanted['state']
}

/** By name; none: the cell has not reported them. */
export async function listCellSwitches(sql: Sql, cellId: string): Promise<CellSwitch[]> {
  const { rows } = await sql.query<Row>({
    name: 'cell_switches_list',
    text: `select name, enabled, since, changed_by as "changedBy", reason, auto_revert_at as "autoRevertAt", reported_at as "reportedAt",
        wanted, wanted_at as "wantedAt", wanted_by as "wantedBy", wanted_reason as "wantedReason", wanted_revert_at as "wantedRevertAt",
        case when told_at = wanted_at then outcome when told_at > wanted_at then 'overtaken'
          when wanted_revert_at <= clock_timestamp() then 'expired' else 'pending' end as state
      from loci.cell_switches where cell_id = $1 order by name`,
    values: [cellId],
  })
  return rows.map(({ wanted, wantedAt: at, wantedBy: by, wantedReason, wantedRevertAt, state, ...row }) => ({
    ...row,
    wanted:
      wanted === null ? null : { enabled: wanted, at, by, reason: wantedReason, autoRevertAt: wantedRevertAt, state },
  }))
}

/** Of one report: the switches of the cell are these. */
export async function saveReportedSwitches(sql: Sql, cellId: string, switches: ReportedSwitch[]): Promise<void> {
  await lockCell(sql, cellId)
  await sql.query({
    name: 'cell_switches_report',
    text: `insert into loci.cell_switches as known (cell_id, name, enabled, since, changed_by, reason, auto_revert_at, told_at, outcome, reported_at)
      select distinct on (name) $1, name, enabled, since, changed_by, reason, auto_revert_at, told_at, outcome, clock_timestamp()
      from jsonb_to_recordset($2::jsonb) as s(name text, enabled boolean, since timestamptz, changed_by text, reason text,
        auto_revert_at timestamptz, told_at timestamptz, outcome text) order by name
      on conflict (cell_id, name) do update set enabled = excluded.enabled, since = excluded.since, changed_by = excluded.changed_by,
        reason = excluded.reason, auto_revert_at = excluded.auto_revert_at, told_at = excluded.told_at, outcome = excluded.outcome,
        reported_at = excluded.reported_at`,
    values: [cellId, JSON.stringify(switches)],
  })
}

export interface Asked {
  name: string
  enabled: boolean
  by: string
  reason: string
  autoRevertMs: number | null
}

/** Into the feed of the cell, whose row is locked. Each moment is later than the one before. */
export async function publishSwitch(sql: Sql, cellId: string, asked: Asked): Promise<void> {
  LOCKS.note(sql, 'cell', cellId)
  await sql.query({
    name: 'cell_switches_publish',
    text: `with next as (update loci.cells set feed_seq = feed_seq + 1 where id = $1 returning feed_seq),
        moment as (select date_trunc('milliseconds', greatest(clock_timestamp(), wanted_at + interval '1 millisecond')) as at
          from loci.cell_switches where cell_id = $1 and name = $2)
      update loci.cell_switches set wanted = $3, wanted_at = moment.at, wanted_by = $4, wanted_reason = $5,
        wanted_revert_at = moment.at + $6::float8 * interval '1 millisecond', seq = next.feed_seq
      from next, moment where cell_id = $1 and name = $2`,
    values: [cellId, asked.name, asked.enabled, asked.by, asked.reason, asked.autoRevertMs],
  })
  sql.afterCommit((wake) => wake('feed', cellId))
}

/** What the cell has not read yet, up to the end of what it is told now; all of it where it reads everything again. */
export async function listSwitchCommands(
  sql: Sql,
  cellId: string,
  { after, through }: { after: number; through: number },
): Promise<SwitchCommand[]> {
  const { rows } = await sql.query<{
    service: string
    enabled: boolean
    at: Date
    by: string
    reason: string
    revertAt: Date | null
  }>({
    name: 'cell_switches_commands',
    text: `select name as service, wanted as enabled, wanted_at as at, wanted_by as by, wanted_reason as reason, wanted_revert_at as "revertAt"
      from loci.cell_switches where cell_id = $1 and seq > $2 and seq <= $3 order by seq`,
    values: [cellId, after, through],
  })
  return rows.map(({ at, revertAt, ...command }) => ({
    ...command,
    at: at.toISOString(),
    auto_revert_at: revertAt?.toISOString() ?? null,
  }))
}
