import { type Access, type Route, route } from '@loci/chassis/route.ts'
import { reportRequest, reportResponse } from '@loci/contract/reports.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import type { CellCaller } from '../access/cell.ts'
import { takeReport } from './reports.ts'

interface ReportOptions {
  cell: Access<CellCaller>
  pool: Pool
  /** Whoever waits for news of the cell's feed. */
  tell(cellId: string): void
  /** Whoever waits for events of an organization: what a cell confirms is one. */
  tellEvents(organizationId: string): void
  look(organizationId: string, serviceIds: string[]): void
}

export function reportRoutes({ cell, pool, tell, tellEvents, look }: ReportOptions): Route[] {
  return [
    route(
      {
        method: 'POST',
        path: '/cell/v1/reports',
        access: cell,
        tag: 'cells',
        summary: 'What the cell has observed and counted, and what it revoked and deleted by itself.',
        body: reportRequest,
        ignoresUnknownNames: true,
        answers: { 200: reportResponse },
        errors: ['NOT_FOUND', 'STORE_UNAVAILABLE'],
        failureMessage: 'The report could not be taken.',
      },
      async ({ caller, body }) => {
        const heard = await takeReport(pool, caller, body)
        for (const { organizationId, serviceIds } of heard) {
          look(organizationId, serviceIds)
          tellEvents(organizationId)
        }
        if (body.revocations.length > 0) tell(caller.cellId)
        return { accepted: true }
      },
    ),
  ]
}
