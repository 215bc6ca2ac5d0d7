// What an honest cell does not say. Who has the key of a cell can say it, and a cell with a damaged database may: in
// both cases somebody must look. Each is a log line (one a minute for each cell and kind), a metric, and the `alarm` of
// the cell in GET /api/v1/cells.

import type { Log } from '@loci/chassis/log.ts'
import type { Metrics } from '@loci/chassis/metrics.ts'
import type { CellAlarm } from '@loci/contract/cells.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import type { CellCaller } from '../access/cell.ts'
import { noteSpeaker, saveAlarm } from './store.ts'

export interface Alarms {
  raise(cellId: string, kind: CellAlarm, detail: string): Promise<void>
  /** With every poll and every report. */
  hear(caller: CellCaller): Promise<void>
}

const LOG_MS = 60_000
/** A cell that goes on speaking alone is noted so often; any other at once. */
const NOTE_MS = 2_000

export function createAlarms({ pool, log, metrics }: { pool: Pool; log: Log; metrics: Metrics }): Alarms {
  const alarmed = metrics.counter(
    'loci_cell_alarms_total',
    'What cells have said that an honest one does not say, by kind. Above zero: look at `alarm` of GET /api/v1/cells.',
    ['kind'],
  )
  const loggedAt = new Map<string, number>()
  const heard = new Map<string, { speaker: string; at: number }>()

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
    async hear({ cellId, speaker, address }) {
      const last = heard.get(cellId)
      const now = performance.now()
      if (last?.speaker === speaker && now - last.at < NOTE_MS) return
      heard.set(cellId, { speaker, at: now })
      const other = await noteSpeaker(pool, cellId, { speaker, address })
      if (other !== undefined) await raise(cellId, 'two_addresses', `${address} and ${other} speak as this cell`)
    },
  }
}
