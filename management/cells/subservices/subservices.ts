// What staff asks of the switches of a cell. Management decides by what the cell has reported and by what was asked of
// it since; the cell has the last word, because its own administrator may have switched meanwhile
// (daemon/operator/subservices/commands.ts).

import { type Act, PLATFORM_CHAIN } from '@loci/acts/audit/audit.ts'
import { appendAudit } from '@loci/acts/audit/store.ts'
import { ApiError } from '@loci/chassis/api-error.ts'
import { planSwitch, SUBSERVICES } from '@loci/contract/subservices.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import { lockCell } from '../../acts/locks/store.ts'
import { type Asked, type CellSwitch, listCellSwitches, publishSwitch } from '../../acts/switches/store.ts'
import { noSuchCell } from '../cells.ts'

export interface SwitchAnswer {
  service: string
  previous: boolean
  current: boolean
  changed: boolean
  dry_run: boolean
  instances: number
}

export async function switchSubservice(
  sql: Sql,
  cellId: string,
  asked: Omit<Asked, 'by'> & { isDryRun: boolean },
  act: Act,
): Promise<SwitchAnswer> {
  const cell = await lockCell<{ placed: number }>(sql, cellId, { name: 'locks_cell_placed', columns: 'placed' })
  if (!cell) throw noSuchCell()
  const { name, enabled, reason, autoRevertMs, isDryRun } = asked
  const switches = await listCellSwitches(sql, cellId)
  const row = requireAllowed(switches, name, enabled)
  const previous = isEnabledSoon(row)
  const revertsAlready =
    row.autoRevertAt !== null || (row.wanted?.state === 'pending' && row.wanted.autoRevertAt !== null)
  const changed = previous !== enabled || autoRevertMs !== null || revertsAlready
  const answer = { service: name, previous, current: enabled, changed, dry_run: isDryRun, instances: cell.placed }
  if (isDryRun || !changed) return answer
  await publishSwitch(sql, cellId, { name, enabled, by: act.actor, reason, autoRevertMs })
  await appendAudit(sql, {
    ...act,
    chain: PLATFORM_CHAIN,
    action: `subservice.${enabled ? 'enable' : 'disable'}`,
    subject: cellId,
    detail: { service: name, reason, auto_revert_ms: autoRevertMs, previous },
  })
  return answer
}

function requireAllowed(switches: readonly CellSwitch[], name: string, enabled: boolean): CellSwitch {
  if (switches.length === 0)
    throw new ApiError(
      'INVALID_STATE',
      'The cell has not reported its switches: its daemons are of an earlier release, or have not called yet. Nothing was done.',
    )
  const row = switches.find((one) => one.name === name)
  if (!row)
    throw new ApiError(
      'NOT_FOUND',
      `The cell has no sub-service of this name. It has ${switches.map((one) => one.name).join(', ')}.`,
    )
  const soon = new Set(switches.filter(isEnabledSoon).map((one) => one.name))
  const [failure] = planSwitch(soon, enabled ? 'enable' : 'disable', [name]).failures
  if (failure)
    throw new ApiError(failure.code, `${failure.message} Nothing was done.`, {
      details: { service: name, dependents: failure.dependents },
    })
  return row
}

/** As it will be once the cell has read what was asked of it. */
function isEnabledSoon({ enabled, wanted }: CellSwitch): boolean {
  return wanted?.state === 'pending' ? wanted.enabled : enabled
}

/** For staff. */
export function switchJson({ name, wanted, ...row }: CellSwitch) {
  const known = Object.hasOwn(SUBSERVICES, name) ? SUBSERVICES[name] : undefined
  return {
    ...{ name, enabled: row.enabled, required: known?.required ?? false, depends_on: [...(known?.dependsOn ?? [])] },
    since: row.since.toISOString(),
    changed_by: row.changedBy,
    reason: row.reason,
    auto_revert_at: row.autoRevertAt?.toISOString() ?? null,
    wanted: wanted && {
      ...{ enabled: wanted.enabled, at: wanted.at.toISOString(), by: wanted.by, reason: wanted.reason },
      ...{ auto_revert_at: wanted.autoRevertAt?.toISOString() ?? null, state: wanted.state },
    },
  }
}
