// What the cell observes, counts, revokes and erases by itself goes up to management: at once after the feed changed an instance,
// otherwise every few seconds; what was not taken is told again. A report that fails never holds up the feed: what comes down is worth
// more than what goes up.

import { randomUUID } from 'node:crypto'
import type { Log } from '@loci/chassis/log.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import { createBell } from '../bell.ts'
import { callManagement, type Management, RefusedByManagement } from '../management.ts'
import { describeInstances, finishReport, type ReportRows, readReport } from './store.ts'

export interface Totals {
  records: number
  bytes: number
}

export interface ReporterOptions extends Management {
  pool: Pool
  log: Log
  /** What each of the instances holds now; one that is missing holds nothing. */
  readTotals(instanceIds: string[]): Promise<Map<string, Totals>>
}

export interface Reporter {
  /** Something to tell: it need not wait for the next beat. */
  wake(): void
  /** Tells every instance again, also those that management did not know: after a full resync it may. */
  startOver(): void
  /** The feed names these: if management did not know one of them, it does now. */
  hear(instanceIds: string[]): void
  /** Resolves when the signal has ended it. */
  ended: Promise<void>
}

const REPORT_MS = 5_000
const OUTBOUND_MS = 3_000

export function startReporter(options: ReporterOptions, signal: AbortSignal): Reporter {
  const { pool, log } = options
  const bell = createBell()
  let observedSince = 0
  let round = 0
  // Instances that management does not know (any more): it takes a report whole or not at all, so they are left out, and described once,
  // for it to adopt them or to keep them aside. True when that is done.
  const unknown = new Map<string, boolean>()

  async function tell(): Promise<boolean> {
    const roundBefore = round
    const rows = await readReport(pool, observedSince, [...unknown.keys()])
    const untold = [...unknown].filter(([, isTold]) => !isTold).map(([svc]) => svc)
    const described = await describeInstances(pool, untold)
    const { observed, usage, revocations, deletions, uses } = rows
    if ([observed, usage, revocations, deletions, uses, described].some(({ length }) => length > 0)) {
      const totals = await options.readTotals([...new Set(rows.usage.map(({ svc }) => svc))])
      await callManagement(options, 'POST /cell/v1/reports', {
        body: { ...reportOf(rows, unknown, totals), unknown: described },
        signal,
        timeoutMs: OUTBOUND_MS,
      })
      await finishReport(pool, rows)
      if (round === roundBefore) observedSince = observed.at(-1)?.changeSeq ?? observedSince
      for (const { svc } of described) if (unknown.has(svc)) unknown.set(svc, true)
    }
    return rows.more
  }

  async function run(): Promise<void> {
    let told = ''
    while (!signal.aborted) {
      try {
        const more = await tell()
        told = ''
        if (more) continue
      } catch (error) {
        if (signal.aborted) return
        const reason = (error as Error).message
        if (reason !== told) log.warn({ component: 'reports', reason }, 'a report was not taken; it is sent again')
        told = reason
        const named = error instanceof RefusedByManagement ? error.instances.filter((svc) => !unknown.has(svc)) : []
        for (const svc of named) unknown.set(svc, false)
        if (named.length > 0) continue
      }
      await bell.wait(REPORT_MS, signal)
    }
  }

  function startOver(): void {
    round += 1
    observedSince = 0
    unknown.clear()
    bell.ring()
  }

  return {
    wake: bell.ring,
    startOver,
    hear(instanceIds) {
      if (instanceIds.some((svc) => unknown.has(svc))) startOver()
    },
    ended: run(),
  }
}

function reportOf(
  { observed, usage, revocations, deletions, uses }: ReportRows,
  unknown: ReadonlyMap<string, boolean>,
  totals: ReadonlyMap<string, Totals>,
): object {
  const isKnown = ({ svc }: { svc: string }) => !unknown.has(svc)
  return {
    report_id: randomUUID(),
    observed: observed.filter(isKnown).map(({ svc, generation, state }) => ({ svc, generation, state })),
    usage: usage.filter(isKnown).map(({ svc, minute, replica, requests, writes }) => ({
      svc,
      minute: minute.toISOString(),
      dedup: `${replica}:${minute.toISOString()}`,
      requests,
      writes,
      records: totals.get(svc)?.records ?? 0,
      bytes: totals.get(svc)?.bytes ?? 0,
    })),
    revocations: revocations.map(({ kind, value, not_before, expires_at, audit_id }) => ({
      kind,
      value,
      not_before: not_before?.toISOString() ?? null,
      expires_at: expires_at.toISOString(),
      audit_id,
    })),
    deletions: deletions.map(({ svc, database, at }) => ({
      svc,
      ...(database === '' ? {} : { database }),
      at: at.toISOString(),
    })),
    last_used: uses.map(({ credential, at }) => ({ credential, at: at.toISOString() })),
  }
}
