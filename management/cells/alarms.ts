// Reports that an honest cell does not send: its key was stolen, or its database is damaged. Each alarm is a log line
// (one a minute for each cell and kind), a metric, and the `alarm` of the cell in GET /api/v1/cells.

import type { Log } from '@loci/chassis/log.ts'
import type { Metrics } from '@loci/chassis/metrics.ts'
import { CELL_ALARMS, type CellAlarm } from '@loci/contract/cells.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import type { CellCaller } from '../access/cell.ts'
import { noteReplica, saveAlarm } from './store.ts'

export interface Alarms {
  raise(cellId: string, kind: CellAlarm, detail: string): Promise<void>
  /** With every poll and every report. */
  noteCaller(caller: CellCaller): Promise<void>
}

const LOG_MS = 60_000
/** A replica that stays the only one to call for its cell is noted this often; another one at once. */
const NOTE_MS = 2_000

export function createAlarms({ pool, log, metrics }: { pool: Pool; log: Log; metrics: Metrics }): Alarms {
  const alarmed = metrics.counter(
    'loci_cell_alarms_total',
    'Reports that an honest cell does not send, by kind. Above zero: read `alarm` of GET /api/v1/cells.',
    ['kind'],
  )
  // A counter that appears with its first event has not increased for whoever watches it.
  for (const kind of CELL_ALARMS) alarmed.inc({ kind }, 0)
  const loggedAt = new Map<string, number>()
  const callers = new Map<string, { replica: string; at: number }>()

  async function raise(cellId: string, kind: CellAlarm, detail: string): Promise<void> {
    alarmed.inc({ kind })
    const key = `${cellId} ${kind}`
    const now = performance.now()
    if (now - (loggedAt.get(key) ?? Number.NEGATIVE_INFINITY) < LOG_MS) return
    loggedAt.set(key, now)
    log.error(
      { component: 'cells', code: kind, reason: `${cellId}: ${detail}` },
      'ALARM: suspicious report of a cell (code, reason); if its key may be stolen: management cells keys',
    )
    await saveAlarm(pool, cellId, kind, detail)
  }

  return {
    raise,
    async noteCaller({ cellId, replica, address }) {
      const last = callers.get(cellId)
      const now = performance.now()
      if (last?.replica === replica && now - last.at < NOTE_MS) return
      callers.set(cellId, { replica, at: now })
      const other = await noteReplica(pool, cellId, { replica, address })
      if (other !== undefined)
        await raise(cellId, 'two_addresses', `${address} and ${other} both use the key of this cell`)
    },
  }
}
