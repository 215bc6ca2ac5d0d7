// The switches of the cell in Postgres. A change, its audit entry and its auto-revert commit together.

import { CELL_CHAIN } from '@loci/acts/audit/audit.ts'
import { appendAudit } from '@loci/acts/audit/store.ts'
import type { SwitchOutcome } from '@loci/contract/reports.ts'
import { planSwitch, type SwitchAction, type SwitchFailure } from '@loci/contract/subservices.ts'
import type { Pool, Sql } from '@loci/postgres/pool.ts'
import { transaction } from '@loci/postgres/transaction.ts'
import { LOCKS } from '../../databases/locks.ts'

export interface SwitchRow {
  name: string
  enabled: boolean
  since: Date
  changedBy: string | null
  reason: string | null
  /** Of the last change, also one that left it where it was. */
  changedAt: Date
  autoRevertAt: Date | null
  /** The last command of management, by its time there, and what became of it. */
  toldAt: Date | null
  outcome: SwitchOutcome | null
  /** By the database's clock, which all replicas share; null without auto-revert. */
  revertsInMs: number | null
}

export interface SwitchUpdate {
  service: string
  previous: boolean
  current: boolean
  effectiveAt: Date
  auditId: string | null
}

const COLUMNS = `name, enabled, since, changed_by as "changedBy", reason, greatest(changed_at, since) as "changedAt",
  auto_revert_at as "autoRevertAt", told_at as "toldAt", told_outcome as "outcome", (extract(epoch from auto_revert_at - clock_timestamp()) * 1000)::float8 as "revertsInMs"`

export async function listSwitches(sql: Sql): Promise<SwitchRow[]> {
  const { rows } = await sql.query<SwitchRow>({
    name: 'subservices_list',
    text: `select ${COLUMNS} from loci.subservices order by name`,
  })
  return rows
}

interface ApplyOptions {
  action: SwitchAction
  names: string[]
  actor: string
  reason: string | null
  autoRevertMs: number | null
  requestId?: string
  dryRun: boolean
  /** Of a command: when it was asked for. Default: now. */
  at?: string
}

export async function applySwitch(
  pool: Pool,
  options: ApplyOptions,
): Promise<{ updates: SwitchUpdate[]; failures: SwitchFailure[] }> {
  return transaction(pool, async (sql) => {
    const rows = await lockSwitches(sql)
    const { accepted, failures } = planSwitch(enabledOf(rows), options.action, options.names)
    const updates: SwitchUpdate[] = []
    for (const row of rows.filter(({ name }) => accepted.includes(name)))
      updates.push(await switchOne(sql, row, options))
    return { updates, failures }
  })
}

/**
 * Reverts every switch whose auto-revert is due. Any replica may do it; the row locks let only one at a time. A switch
 * that cannot be reverted, because a dependency was switched meanwhile, stays due and is retried at the next poll.
 */
export async function revertDue(pool: Pool): Promise<SwitchUpdate[]> {
  return transaction(pool, async (sql) => {
    const rows = await lockSwitches(sql)
    const due = rows.filter(({ revertsInMs }) => revertsInMs !== null && revertsInMs <= 0)
    const updates: SwitchUpdate[] = []
    for (const action of ['disable', 'enable'] as const) {
      const names = due.filter(({ enabled }) => enabled === (action === 'disable')).map(({ name }) => name)
      const { accepted } = planSwitch(enabledOf(rows), action, names)
      const options = {
        action,
        names,
        actor: 'auto-revert',
        reason: 'auto-revert time reached',
        autoRevertMs: null,
        dryRun: false,
      }
      for (const row of due.filter(({ name }) => accepted.includes(name)))
        updates.push(await switchOne(sql, row, options))
    }
    return updates
  })
}

/** All rows in one order, so two requests cannot deadlock and each plan sees the current switches. */
export async function lockSwitches(sql: Sql): Promise<SwitchRow[]> {
  const { rows } = await sql.query<SwitchRow>({
    name: 'subservices_lock',
    text: `select ${COLUMNS} from loci.subservices order by name for update`,
    locks: () => [LOCKS.lock('switches', '')],
  })
  return rows
}

export function enabledOf(rows: SwitchRow[]): Set<string> {
  return new Set(rows.filter(({ enabled }) => enabled).map(({ name }) => name))
}

export async function switchOne(sql: Sql, row: SwitchRow, options: ApplyOptions): Promise<SwitchUpdate> {
  const current = options.action === 'enable'
  // Disabling again without an auto-revert means for good: it cancels a pending auto-revert.
  const isChange =
    row.enabled !== current ||
    (row.autoRevertAt !== null) !== (options.autoRevertMs !== null) ||
    options.autoRevertMs !== null
  if (!isChange || options.dryRun)
    return { service: row.name, previous: row.enabled, current, effectiveAt: new Date(), auditId: null }
  const { rows } = await sql.query<{ at: Date }>({
    name: 'subservices_switch',
    text: `update loci.subservices set enabled = $2, changed_by = $3, reason = $4,
        since = case when enabled = $2 then since else clock_timestamp() end,
        auto_revert_at = clock_timestamp() + $5::float8 * interval '1 millisecond',
        changed_at = coalesce($6, greatest(changed_at, clock_timestamp()))
      where name = $1 returning clock_timestamp() as at`,
    values: [row.name, current, options.actor, options.reason, options.autoRevertMs, options.at ?? null],
    locks: () => [LOCKS.lock('switches', '')],
  })
  const effectiveAt = rows[0]?.at as Date
  const auditId = await appendAudit(sql, {
    chain: CELL_CHAIN,
    actor: options.actor,
    action: `subservice.${options.action}`,
    subject: row.name,
    requestId: options.requestId,
    detail: { reason: options.reason, auto_revert_ms: options.autoRevertMs, previous: row.enabled },
  })
  return { service: row.name, previous: row.enabled, current, effectiveAt, auditId }
}

/** A command of management was looked at. */
export async function noteTold(sql: Sql, name: string, at: string, outcome: SwitchOutcome): Promise<void> {
  await sql.query({
    name: 'subservices_told',
    text: 'update loci.subservices set told_at = $2, told_outcome = $3 where name = $1',
    values: [name, at, outcome],
    locks: () => [LOCKS.lock('switches', '')],
  })
}
