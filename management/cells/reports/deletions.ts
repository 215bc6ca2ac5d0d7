// What a cell has erased, as its report says it: rows of the deletion ledger, which it replays after a restore. Whoever
// has the cell's key can say the same, so moment and number of a row have bounds, and a flood of rows is an alarm.

import type { Report } from '@loci/contract/reports.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import { listedAt, saveDeletions } from './store.ts'

type Row = Report['deletions'][number]

/** Clocks of a cell and of management differ by less. */
const AHEAD_MS_MAX = 60_000
/** A million writes a second take nine years to get there. A restored cell counts on from the highest of its ledger. */
const DATABASE_SEQ_MAX = 2 ** 48
/** An honest cell sends more only when it sends its whole ledger again. */
const A_MINUTE_MAX = 100_000

export interface TakenDeletions {
  /** Its last number. Undefined: there was nothing to put into it. */
  ledger: number | undefined
  /** What there is to alarm about. */
  alarms: string[]
}

/**
 * Locks the cell's row. A row with an impossible number is left out. One of the future is taken as one of now: an
 * erasure must not be lost because a clock is wrong, and `at` decides which rows another one covers.
 */
export async function takeDeletions(sql: Sql, cellId: string, rows: Row[], now: Date): Promise<TakenDeletions> {
  const possible = rows.filter(({ database_seq = 0 }) => database_seq <= DATABASE_SEQ_MAX)
  const isAhead = ({ at }: Row) => Date.parse(at) > now.getTime() + AHEAD_MS_MAX
  const taken = possible.map((row) => (isAhead(row) ? { ...row, at: now.toISOString() } : row))
  const [refused, ahead] = [rows.length - possible.length, possible.filter(isAhead).length]
  const alarms = [
    ...(refused > 0 ? [`${refused} erasures with an impossible number of their database were left out`] : []),
    ...(ahead > 0 ? [`${ahead} erasures of the future were taken as of now`] : []),
  ]
  if (taken.length === 0) return { ledger: undefined, alarms }
  const ledger = await saveDeletions(sql, cellId, taken)
  const receivedAt = ledger > A_MINUTE_MAX ? await listedAt(sql, cellId, ledger - A_MINUTE_MAX) : undefined
  if (receivedAt && receivedAt.getTime() > now.getTime() - 60_000)
    alarms.push(`over ${A_MINUTE_MAX} erasures in a minute`)
  return { ledger, alarms }
}
