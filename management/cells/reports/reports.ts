// Reports of a cell about its instances. A report is believed in what only the cell can know and never becomes desired
// state: it makes management neither publish `deleted` nor create a service, and uses no capacity or quota.

import { ApiError } from '@loci/chassis/api-error.ts'
import type { CellAlarm } from '@loci/contract/cells.ts'
import type { Report } from '@loci/contract/reports.ts'
import type { Pool, Sql } from '@loci/postgres/pool.ts'
import { transaction } from '@loci/postgres/transaction.ts'
import type { CellCaller } from '../../access/cell.ts'
import { findOwner, useOrganization } from '../../access/store.ts'
import { saveReportedSwitches } from '../../acts/switches/store.ts'
import { adopt, quarantineForeign } from '../../provisioning/adoption.ts'
import { takeObserved } from '../../provisioning/provisioning.ts'
import { deleteSettled } from '../../provisioning/quarantine/store.ts'
import { listNews } from '../../provisioning/store.ts'
import { takeDeletions } from './deletions.ts'
import { auditRevocations, takeRevocations } from './revocations.ts'
import { listPlaced, saveLastUsed, saveUsage, takeReportId } from './store.ts'

export interface ReportRules {
  alarm(cellId: string, kind: CellAlarm, detail: string): Promise<void>
}

/** Of one report; the rest is only counted. */
const FOREIGN_NOTED_MAX = 100
/**
 * The clocks of a cell and of management differ by less. What is counted for a later minute is dropped: retention goes
 * by the minute, and rows of the year 9999 would be kept for ever.
 */
const AHEAD_MS_MAX = 5 * 60_000

/**
 * First usage, revocations and deletions in one transaction; then each service whose state changed in a transaction of
 * its own: a cell that comes back reports a thousand, and requests of their organizations must not wait for all of
 * them. A report that is cut off is sent again, and its first part changes nothing then. A row that cannot be taken is
 * left out and holds up no other. Answers the instances that are not placed in the cell, whose rows were left out, and
 * after deletions the last number of the ledger.
 */
export async function takeReport(
  pool: Pool,
  caller: CellCaller,
  report: Report,
  { alarm }: ReportRules,
  now: Date = new Date(),
): Promise<{ refused: string[]; ledger?: number }> {
  const { cellId } = caller
  const accounts = await transaction(pool, (sql) => takeAccounts(sql, caller, report, now))
  const { placed, foreign, ledger } = accounts
  for (const { kind, detail } of accounts.alarms) await alarm(cellId, kind, detail)
  const reported = new Map(report.observed.map((one) => [one.svc, one]))
  for (const organizationId of new Set(placed.values())) {
    const observed = report.observed.filter(({ svc }) => placed.get(svc) === organizationId)
    for (const svc of observed.length > 0 ? await readNews(pool, organizationId, observed) : []) {
      const { generation, state } = reported.get(svc) as Report['observed'][number]
      const one = { organizationId, cellId, svc, generation, state }
      const outcome = await transaction(pool, (sql) => takeObserved(sql, one, now))
      if (outcome === 'ahead')
        await alarm(cellId, 'generation', `${svc} is reported at generation ${generation}, far ahead of ours`)
      if (outcome === 'lost')
        await alarm(cellId, 'erased', `${svc} is reported as erased, and no deletion was requested`)
    }
  }
  await takeForeign(pool, cellId, report, foreign, alarm)
  for (const instance of report.unknown) {
    const outcome = await transaction(pool, (sql) => adopt(sql, cellId, instance, now))
    if (outcome === 'quarantined') await alarm(cellId, 'unknown', `${instance.svc} is in quarantine`)
  }
  // A deleted instance needs no description from the cell.
  const refused = foreign.filter((svc) => reported.get(svc)?.state !== 'deleted')
  return { refused, ...(ledger === undefined ? {} : { ledger }) }
}

/** Instances that are placed in other cells go to quarantine, with an entry in the audit of their owner. */
async function takeForeign(
  pool: Pool,
  cellId: string,
  report: Report,
  foreign: string[],
  alarm: ReportRules['alarm'],
): Promise<void> {
  const named = new Set(foreign)
  const living = report.observed.filter(({ svc, state }) => named.has(svc) && state !== 'deleted')
  for (const one of living.slice(0, FOREIGN_NOTED_MAX))
    if (await transaction(pool, (sql) => quarantineForeign(sql, cellId, one)))
      await alarm(cellId, 'foreign', `${one.svc} is not placed in this cell`)
}

function readNews(pool: Pool, organizationId: string, observed: Report['observed']): Promise<string[]> {
  const read = async (sql: Sql) => {
    await useOrganization(sql, organizationId)
    return listNews(sql, organizationId, observed)
  }
  return transaction(pool, read, { readOnly: true })
}

interface Accounts {
  /** The organization of each instance that is named and placed in the cell. */
  placed: Map<string, string>
  foreign: string[]
  ledger: number | undefined
  alarms: { kind: CellAlarm; detail: string }[]
}

async function takeAccounts(sql: Sql, { cellId, jti }: CellCaller, report: Report, now: Date): Promise<Accounts> {
  if (!(await takeReportId(sql, cellId, jti)))
    throw new ApiError('UNAUTHENTICATED', 'This token was used for another report. Make a new token for each report.')
  const named = new Set([...report.observed, ...report.usage, ...report.deletions].map(({ svc }) => svc))
  const placed = await listPlaced(sql, cellId, [...named])
  const isOwn = ({ svc }: { svc: string }) => placed.has(svc)

  // First what locks the cell's row: every other change of a feed begins with it, and two orders would deadlock.
  const { alarms: ofRevocations, taken } = await takeRevocations(sql, cellId, report.revocations, now)
  const deletions = await takeDeletions(sql, cellId, report.deletions.filter(isOwn), now)
  if (report.switches && report.switches.length > 0) await saveReportedSwitches(sql, cellId, report.switches)
  await deleteSettled(sql, cellId, report.observed.filter(isOwn))
  for (const organizationId of [...new Set(placed.values())].sort()) {
    const usage = report.usage.filter(
      ({ svc, minute }) => placed.get(svc) === organizationId && Date.parse(minute) < now.getTime() + AHEAD_MS_MAX,
    )
    if (usage.length === 0) continue
    await useOrganization(sql, organizationId)
    await saveUsage(sql, organizationId, usage)
  }
  for (const { credential, at } of report.last_used) {
    const owner = await findOwner(sql, credential)
    // It was moved meanwhile, or this database no longer has it: no reason to refuse the rest.
    if (owner?.cellId !== cellId) continue
    await useOrganization(sql, owner.organizationId)
    await saveLastUsed(sql, credential, at)
  }
  await auditRevocations(sql, cellId, taken)
  const alarms = [
    ...ofRevocations.map((detail) => ({ kind: 'revocations' as const, detail })),
    ...deletions.alarms.map((detail) => ({ kind: 'deletions' as const, detail })),
  ]
  return { placed, foreign: [...named].filter((svc) => !placed.has(svc)), ledger: deletions.ledger, alarms }
}
