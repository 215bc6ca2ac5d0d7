// Reports to management what the cell has applied, counted, revoked and erased: at once after the feed changed an
// instance, otherwise every few seconds; what was not accepted is sent again. A failing report never delays the feed.

import { randomUUID } from 'node:crypto'
import { createWakeup, type Job, type JobOutcome } from '@loci/chassis/jobs.ts'
import type { Log } from '@loci/chassis/log.ts'
import type { ReportedSwitch } from '@loci/contract/reports.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import { callManagement, isUntaken, type Management, ManagementSilent, RefusedByManagement } from '../management.ts'
import {
  describeInstances,
  finishReport,
  type LedgerRow,
  noteSent,
  type ReportRows,
  readReport,
  takeSentBack,
} from './store.ts'

export interface Totals {
  records: number
  bytes: number
}

export interface ReporterOptions extends Management {
  pool: Pool
  log: Log
  /** What each of the instances holds now; one that is missing holds nothing. */
  readTotals(instanceIds: string[]): Promise<Map<string, Totals>>
  /** All switches of the cell, as they are reported. */
  readSwitches(): Promise<ReportedSwitch[]>
  /** Management's ledger has rows that this database never sent. */
  onBehind(): Promise<void>
}

export interface Reporter {
  job: Job
  /** There is something to report: it need not wait for the next interval. */
  wake(): void
  /** Reports every instance again, also those that management did not know: after a full resync it may know them. */
  startOver(): void
  /** The feed names these instances, so management knows them now. */
  markKnown(instanceIds: string[]): void
}

const REPORT_MS = 5_000
const OUTBOUND_MS = 3_000
const UNREADABLE_MAX = 1_000
/** Management gives up on a request long before. */
const SETTLED_MS = 60_000

const DROPPED = 'management rejected this row of a report; it is dropped for good'
const KEPT =
  'management rejected this row of the deletion ledger; the cell keeps it and sends it again after its next start. A restore before that brings back what was erased: compare the releases of daemon and management'

type List = 'observed' | 'unknown' | 'usage' | 'revocations' | 'deletions' | 'last_used' | 'switches'
type ReportBody = Record<List, object[]>

export function createReporter(options: ReporterOptions): Reporter {
  const { pool, log } = options
  const wakeup = createWakeup()
  let observedSince = 0
  let round = 0
  // Instances that management does not know (any more): left out of reports, and described once, so that it can adopt
  // or quarantine them. True = described.
  const unknown = new Map<string, boolean>()
  // Rows that management rejects (400), as text: one of them must not block all others.
  const unreadable = new Set<string>()
  let sent: ReportBody | undefined
  let unansweredAt = performance.now()
  /** As text, as management has last accepted them. */
  let knownSwitches = ''

  async function report(signal: AbortSignal): Promise<boolean> {
    const roundBefore = round
    const { more, ...read } = await readReport(pool, observedSince, [...unknown.keys()])
    // Not marked as reported: a restore of the cell would bring back what they have erased, and nothing would know it.
    const isReadable = (row: LedgerRow) => !unreadable.has(textOf('deletions', deletionOf(row)))
    const rows = { ...read, deletions: read.deletions.filter(isReadable) }
    const described = await describeInstances(pool, undescribedOf(unknown))
    const { observed, usage, revocations, deletions, uses } = rows
    const switches = await options.readSwitches()
    const switchesText = JSON.stringify(switches)
    const news = switchesText === knownSwitches ? [] : switches
    if ([observed, usage, revocations, deletions, uses, described, news].some(({ length }) => length > 0)) {
      const totals = await options.readTotals([...new Set(rows.usage.map(({ svc }) => svc))])
      sent = without(unreadable, { ...reportOf(rows, unknown, totals), unknown: described, switches: news })
      const noted = sent.deletions.length > 0 ? await noteSent(pool, sent.deletions.length) : undefined
      const answer = await callManagement(options, 'POST /cell/v1/reports', {
        body: { report_id: randomUUID(), ...sent },
        signal,
        timeoutMs: OUTBOUND_MS,
      }).catch(async (error) => {
        unansweredAt = performance.now()
        if (noted && isUntaken(error)) await takeSentBack(pool, noted)
        throw error
      })
      // The previous release of management refuses the whole report instead, and names them in its error.
      const { refused: named = [], ledger } = answer as { refused?: string[]; ledger?: number }
      const refused = new Set(named)
      const isSettled = performance.now() - unansweredAt > SETTLED_MS
      const taken = { ...rows, deletions: deletions.filter(({ svc }) => !refused.has(svc)) }
      const isBehind = await finishReport(
        pool,
        taken,
        ledger === undefined ? undefined : { ledger, epoch: noted?.epoch ?? null, isSettled },
      )
      if (isBehind) await options.onBehind()
      if (round === roundBefore) {
        observedSince = observed.at(-1)?.changeSeq ?? observedSince
        knownSwitches = switchesText
      }
      for (const { svc } of described) if (unknown.has(svc)) unknown.set(svc, true)
      for (const svc of refused) if (!unknown.has(svc)) unknown.set(svc, false)
      return more || undescribedOf(unknown).some((svc) => refused.has(svc))
    }
    return false
  }

  /** Leaves out the rows that the error names. True if a retry without them makes sense. */
  function leaveOut(fields: string[]): boolean {
    const before = unreadable.size
    for (const field of fields) {
      const [, list, at] = /^body\.(\w+)\.([0-9]+)\b/.exec(field) ?? []
      const row = list && at ? sent?.[list as keyof ReportBody]?.[Number(at)] : undefined
      if (row === undefined || unreadable.size >= UNREADABLE_MAX) continue
      unreadable.add(textOf(list as string, row))
      const { svc: reason } = row as { svc?: string }
      log.error({ component: 'reports', reason: `${field} ${reason ?? ''}` }, list === 'deletions' ? KEPT : DROPPED)
    }
    return unreadable.size > before
  }

  async function run(signal: AbortSignal): Promise<JobOutcome> {
    try {
      return (await report(signal)) ? 'again' : undefined
    } catch (error) {
      if (!(error instanceof RefusedByManagement)) throw error
      const named = error.instances.filter((svc) => !unknown.has(svc))
      for (const svc of named) unknown.set(svc, false)
      if (!leaveOut(error.fields) && named.length === 0) throw error
      log.warn(
        { component: 'reports', reason: error.message },
        'management refused a report; it is sent again without the rows or instances it named. The error lines above name rows: compare the releases of daemon and management',
      )
      return 'again'
    }
  }

  function startOver(): void {
    round += 1
    observedSince = 0
    knownSwitches = ''
    unknown.clear()
    wakeup.wake()
  }

  return {
    job: {
      name: 'reports',
      atStart: true,
      everyMs: REPORT_MS,
      wakeup,
      failure: failureOf,
      run,
    },
    wake: wakeup.wake,
    startOver,
    markKnown(instanceIds) {
      if (instanceIds.some((svc) => unknown.has(svc))) startOver()
    },
  }
}

/** Collecting a report can fail too: then management is not to blame. */
function failureOf(error: unknown): string {
  if (error instanceof ManagementSilent) return 'management does not answer a report; sending it again'
  if (error instanceof RefusedByManagement) return 'report not accepted by management; sending it again'
  return 'report could not be collected or marked as sent; retrying'
}

function undescribedOf(unknown: ReadonlyMap<string, boolean>): string[] {
  return [...unknown].filter(([, isDescribed]) => !isDescribed).map(([svc]) => svc)
}

function textOf(list: string, row: object): string {
  return `${list} ${JSON.stringify(row)}`
}

function without(unreadable: ReadonlySet<string>, body: ReportBody): ReportBody {
  if (unreadable.size === 0) return body
  const kept = Object.entries(body).map(([list, rows]) => [
    list,
    rows.filter((row) => !unreadable.has(textOf(list, row))),
  ])
  return Object.fromEntries(kept) as ReportBody
}

function reportOf(
  { observed, usage, revocations, deletions, uses }: ReportRows,
  unknown: ReadonlyMap<string, boolean>,
  totals: ReadonlyMap<string, Totals>,
): Omit<ReportBody, 'unknown' | 'switches'> {
  const isKnown = ({ svc }: { svc: string }) => !unknown.has(svc)
  return {
    observed: observed.filter(isKnown).map(({ svc, generation, state }) => ({ svc, generation, state })),
    usage: usage.filter(isKnown).map(({ svc, minute, replica, requests, writes, units, routes, ...activity }) => ({
      svc,
      minute: minute.toISOString(),
      dedup: `${replica}:${minute.toISOString()}`,
      requests,
      writes,
      records: totals.get(svc)?.records ?? 0,
      bytes: totals.get(svc)?.bytes ?? 0,
      // The previous release of management passes over these.
      units: tenths(units),
      routes: Object.entries(routes).map(([route, used]) => ({ route, units: tenths(used) })),
      ...activity,
    })),
    revocations: revocations.map(({ kind, value, not_before, expires_at, audit_id }) => ({
      kind,
      value,
      not_before: not_before?.toISOString() ?? null,
      expires_at: expires_at.toISOString(),
      audit_id,
    })),
    deletions: deletions.map(deletionOf),
    last_used: uses.map(({ credential, at }) => ({ credential, at: at.toISOString() })),
  }
}

function tenths(units: number): number {
  return Math.round(Math.max(0, units) * 10) / 10
}

function deletionOf({ svc, database, valueMac, isOverride, generation, seq, at }: LedgerRow): object {
  return {
    svc,
    ...(database === '' ? { generation } : { database, database_seq: seq }),
    ...(valueMac === '' ? {} : { value_mac: valueMac }),
    ...(isOverride ? { override: true } : {}),
    at: at.toISOString(),
  }
}
