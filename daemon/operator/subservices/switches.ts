// A replica's cache of the switches, checked by each request, and the counts that the status shows. It is read again at
// every poll of the database; while the database does not answer, the last values stay.

import type { SubserviceGate } from '@loci/chassis/admission.ts'
import { ApiError } from '@loci/chassis/api-error.ts'
import type { Log } from '@loci/chassis/log.ts'
import { SUBSERVICE_NAMES, SUBSERVICES } from '@loci/contract/subservices.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import { listSwitches, revertDue, type SwitchRow } from './store.ts'

interface Counts {
  inFlight: number
  requests: number
  errors: number
  lastError: { code: string; at: string; requestId: string } | null
}

export interface Switches extends SubserviceGate {
  accept(rows: SwitchRow[]): void
  row(name: string): SwitchRow
  counts(name: string): Counts
  isEnabled(name: string): boolean
  /** False until PostgreSQL has answered for the first time. */
  isRead(name: string): boolean
  /** Waits up to `withinMs` until this replica has no request of it in flight; true if there is none. */
  drained(name: string, withinMs: number): Promise<boolean>
}

/** `onChange` is called for each switch that is found in another position than before, in every replica. */
export function createSwitches(onChange: (row: SwitchRow) => void = () => {}): Switches {
  const rows = new Map<string, SwitchRow>()
  const counts = new Map<string, Counts>(
    SUBSERVICE_NAMES.map((name) => [name, { inFlight: 0, requests: 0, errors: 0, lastError: null }]),
  )
  let acceptedAt = performance.now()

  function countsOf(name: string): Counts {
    return counts.get(name) as Counts
  }

  function rowOf(name: string): SwitchRow {
    const row = rows.get(name)
    if (!row) throw new Error(`switch of ${name} not read yet`)
    return row
  }

  return {
    accept(fresh) {
      const known = fresh.filter(({ name }) => SUBSERVICES[name])
      const changed = known.filter(({ name, enabled }) => rows.has(name) && rows.get(name)?.enabled !== enabled)
      for (const row of known) rows.set(row.name, row)
      acceptedAt = performance.now()
      changed.forEach(onChange)
    },
    row: rowOf,
    counts: countsOf,
    isEnabled: (name) => rowOf(name).enabled,
    isRead: (name) => rows.has(name),
    enter(name) {
      const row = rowOf(name)
      if (!row.enabled) {
        const leftMs =
          row.revertsInMs === null ? undefined : Math.max(1, row.revertsInMs - (performance.now() - acceptedAt))
        throw new ApiError(
          'SUBSERVICE_DISABLED',
          `The operator has disabled the sub-service ${name}.`,
          leftMs === undefined ? {} : { retryAfterMs: Math.ceil(leftMs) },
        )
      }
      const own = countsOf(name)
      own.inFlight += 1
      own.requests += 1
    },
    leave(name, failure) {
      const own = countsOf(name)
      own.inFlight -= 1
      if (!failure) return
      own.errors += 1
      own.lastError = { ...failure, at: new Date().toISOString() }
    },
    async drained(name, withinMs) {
      const until = performance.now() + withinMs
      while (countsOf(name).inFlight > 0 && performance.now() < until)
        await new Promise((resolve) => setTimeout(resolve, 10))
      return countsOf(name).inFlight === 0
    },
  }
}

/** The rows as they are after every change whose time is over was reverted. */
export async function readSwitches(pool: Pool, log: Log): Promise<SwitchRow[]> {
  const rows = await listSwitches(pool)
  if (!rows.some(({ revertsInMs }) => revertsInMs !== null && revertsInMs <= 0)) return rows
  for (const { service, auditId } of await revertDue(pool))
    log.info({ subservice: service, ...(auditId ? { audit: auditId } : {}) }, 'switch reverted by itself')
  return listSwitches(pool)
}
