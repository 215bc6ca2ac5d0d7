// What cells have revoked by themselves: staff read it, and withdraw what a stolen key of a cell revoked.

import { type Act, PLATFORM_CHAIN } from '@loci/acts/audit/audit.ts'
import { appendAudit } from '@loci/acts/audit/store.ts'
import type { RunAct } from '@loci/acts/idempotency/idempotency.ts'
import { ApiError } from '@loci/chassis/api-error.ts'
import { page } from '@loci/chassis/page.ts'
import { type Route, route } from '@loci/chassis/route.ts'
import { isId } from '@loci/contract/ids.ts'
import { cellRevocationList, cellRevocationListQuery, revocationWithdrawn } from '@loci/contract/revocations.ts'
import { idPath } from '@loci/contract/wire.ts'
import type { Pool, Sql } from '@loci/postgres/pool.ts'
import type { Caller, CallerAccess } from '../../access/caller.ts'
import { lockCell } from '../../acts/locks/store.ts'
import { publishRevocation } from '../../tokens/revocations/revocations.ts'
import { findCellRevocation, type ListedRevocation, listCellRevocations, markWithdrawn } from './store.ts'

interface RevocationOptions {
  caller: CallerAccess
  pool: Pool
  act: RunAct<Caller>
}

export function cellRevocationRoutes({ caller, pool, act }: RevocationOptions): Route[] {
  return [
    route(
      {
        method: 'GET',
        path: '/api/v1/revocations',
        access: caller.staff('read'),
        tag: 'cells',
        summary: 'List the revocations that cells made by themselves, newest first.',
        query: cellRevocationListQuery,
        answers: { 200: cellRevocationList },
        failureMessage: 'Failed to list revocations',
      },
      async ({ query }) => {
        const read = await listCellRevocations(pool, { before: query.cursor, limit: query.limit + 1 })
        const { rows, next } = page(read, query.limit, ({ id }) => id)
        return { revocations: rows.map(revocationJson), next_cursor: next }
      },
    ),
    route(
      {
        method: 'DELETE',
        path: '/api/v1/revocations/{id}',
        access: caller.staff('write'),
        tag: 'cells',
        summary: 'Withdraw a revocation that a cell made by itself.',
        details: 'Its tokens are good again. Change the keys of the cell first.',
        params: idPath,
        answers: { 200: revocationWithdrawn },
        errors: ['NOT_FOUND'],
        failureMessage: 'Failed to withdraw the revocation',
      },
      (call) =>
        act(call, async (sql, by) => {
          await withdrawRevocation(sql, call.params.id, by)
          return { status: 200, body: { withdrawn: true } }
        }),
    ),
  ]
}

/** Again: nothing changes, and the audit has one entry of it. */
async function withdrawRevocation(sql: Sql, id: string, by: Act): Promise<void> {
  const found = isId('rev', id) ? await findCellRevocation(sql, id) : undefined
  if (!found)
    throw new ApiError('NOT_FOUND', 'There is no such revocation of a cell. GET /api/v1/revocations lists them.')
  await lockCell(sql, found.cellId)
  if (!(await markWithdrawn(sql, id))) return
  await publishRevocation(sql, found.cellId, found)
  const entry = {
    ...{ ...by, action: 'revocation.withdraw', subject: id },
    detail: { cell_id: found.cellId, kind: found.kind, value: found.value },
  }
  const chains = [PLATFORM_CHAIN, ...(found.organizationId ? [found.organizationId] : [])]
  for (const chain of chains.sort()) await appendAudit(sql, { ...entry, chain })
}

function revocationJson(row: ListedRevocation) {
  return {
    ...{ id: row.id, cell_id: row.cellId, kind: row.kind, value: row.value, organization_id: row.organizationId },
    not_before: row.notBefore?.toISOString() ?? null,
    expires_at: row.expiresAt.toISOString(),
    created_at: row.createdAt.toISOString(),
    withdrawn_at: row.withdrawnAt?.toISOString() ?? null,
  }
}
