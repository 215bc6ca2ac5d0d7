import { type Access, type Route, route } from '@loci/chassis/route.ts'
import { deletionsQuery, deletionsResponse } from '@loci/contract/feed.ts'
import { reportRequest, reportResponse } from '@loci/contract/reports.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import type { CellCaller } from '../../access/cell.ts'
import { readEpoch } from '../../acts/feed/store.ts'
import { type ReportRules, takeReport } from './reports.ts'
import { type LedgerRow, listDeletions } from './store.ts'

interface ReportOptions {
  cell: Access<CellCaller>
  pool: Pool
  /** Notes which replica calls as the cell, and reports that an honest one would not send. */
  alarms: { noteCaller(caller: CellCaller): Promise<void>; raise: ReportRules['alarm'] }
}

const PAGE_MAX = 1_000

export function reportRoutes({ cell, pool, alarms }: ReportOptions): Route[] {
  return [
    route(
      {
        method: 'POST',
        path: '/cell/v1/reports',
        access: cell,
        tag: 'cells',
        summary: 'Report what the cell has observed and counted, and what it revoked and deleted by itself.',
        body: reportRequest,
        ignoresUnknownNames: true,
        answers: { 200: reportResponse },
        errors: ['STORE_UNAVAILABLE'],
        failureMessage: 'The report could not be taken.',
      },
      async ({ caller, body }) => {
        await alarms.noteCaller(caller)
        return { accepted: true, ...(await takeReport(pool, caller, body, { alarm: alarms.raise })) }
      },
    ),
    route(
      {
        method: 'GET',
        path: '/cell/v1/deletions',
        access: cell,
        tag: 'cells',
        summary: 'List the deletions that the cell has reported.',
        details: 'Instances, databases, values of records: a restored cell erases them again before it serves.',
        query: deletionsQuery,
        answers: { 200: deletionsResponse },
        errors: ['STORE_UNAVAILABLE'],
        failureMessage: 'The ledger of deletions could not be read.',
      },
      async ({ caller, query }) => {
        const rows = await listDeletions(pool, caller.cellId, query.after, PAGE_MAX + 1)
        const page = rows.slice(0, PAGE_MAX)
        const epoch = await readEpoch(pool)
        return {
          deletions: page.map(({ seq, svc, database, generation, at, ...value }) => ({
            seq,
            svc,
            ...(database === '' ? {} : { database }),
            generation,
            ...ledgerValueOf(value),
            at: at.toISOString(),
          })),
          epoch,
          next: page.at(-1)?.seq ?? query.after,
          more: rows.length > page.length,
        }
      },
    ),
  ]
}

function ledgerValueOf({
  valueMac,
  isOverride,
  databaseSeq,
}: Pick<LedgerRow, 'valueMac' | 'isOverride' | 'databaseSeq'>) {
  if (valueMac === '') return databaseSeq === null ? {} : { database_seq: databaseSeq }
  return { value_mac: valueMac, database_seq: databaseSeq ?? 0, ...(isOverride ? { override: true } : {}) }
}
