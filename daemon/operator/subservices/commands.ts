// What staff asks of the switches of this cell, by the feed, and what the cell says of them to management.
//
// Of a command and of a change that was made here, by an administrator or by an auto-revert, the later one counts, by
// the clocks of management and of this PostgreSQL. A command is looked at once: its moment stays with the switch, so
// that a full resync or a restored management repeats nothing.

import { CELL_CHAIN } from '@loci/acts/audit/audit.ts'
import { appendAudit } from '@loci/acts/audit/store.ts'
import type { SwitchCommand } from '@loci/contract/feed.ts'
import type { ReportedSwitch, SwitchOutcome } from '@loci/contract/reports.ts'
import { planSwitch } from '@loci/contract/subservices.ts'
import type { Pool, Sql } from '@loci/postgres/pool.ts'
import { transaction } from '@loci/postgres/transaction.ts'
import { enabledOf, listSwitches, lockSwitches, noteTold, type SwitchRow, switchOne } from './store.ts'

/** How many were carried out. */
export async function takeCommands(pool: Pool, commands: readonly SwitchCommand[]): Promise<number> {
  let applied = 0
  const inOrder = commands.toSorted((one, other) => Date.parse(one.at) - Date.parse(other.at))
  for (const command of inOrder)
    if ((await transaction(pool, (sql) => takeOne(sql, command))) === 'applied') applied += 1
  return applied
}

/** Undefined: it was looked at before, or this release has no such sub-service. */
async function takeOne(sql: Sql, command: SwitchCommand): Promise<SwitchOutcome | undefined> {
  const { service, enabled, at, by, reason } = command
  const rows = await lockSwitches(sql)
  const row = rows.find(({ name }) => name === service)
  if (!row || (row.toldAt !== null && row.toldAt >= new Date(at))) return undefined
  const action = enabled ? 'enable' : 'disable'
  const actor = `management:${by}`
  const [failure] = planSwitch(enabledOf(rows), action, [service]).failures
  const leftMs = command.auto_revert_at === null ? null : Date.parse(command.auto_revert_at) - Date.now()
  const outcome = outcomeOf(row, command, { leftMs, isRefused: failure !== undefined })
  await noteTold(sql, service, at, outcome)
  if (outcome === 'applied')
    await switchOne(sql, row, { action, names: [service], actor, reason, autoRevertMs: leftMs, dryRun: false, at })
  else
    await appendAudit(sql, {
      chain: CELL_CHAIN,
      actor,
      action: `subservice.${outcome}`,
      subject: service,
      detail: { asked: action, asked_at: at, reason, ...(failure ? { refusal: failure.message } : {}) },
    })
  return outcome
}

function outcomeOf(
  { changedAt }: SwitchRow,
  { at }: SwitchCommand,
  { leftMs, isRefused }: { leftMs: number | null; isRefused: boolean },
): SwitchOutcome {
  if (leftMs !== null && leftMs <= 0) return 'expired'
  if (new Date(at) <= changedAt) return 'overtaken'
  return isRefused ? 'refused' : 'applied'
}

export async function reportSwitches(sql: Sql): Promise<ReportedSwitch[]> {
  return (await listSwitches(sql)).map((row) => ({
    name: row.name,
    enabled: row.enabled,
    since: row.since.toISOString(),
    changed_by: row.changedBy?.slice(0, 500) ?? null,
    reason: row.reason,
    auto_revert_at: row.autoRevertAt?.toISOString() ?? null,
    told_at: row.toldAt?.toISOString() ?? null,
    outcome: row.outcome,
  }))
}
