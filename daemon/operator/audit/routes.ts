import { CELL_CHAIN } from '@loci/acts/audit/audit.ts'
import { type AuditRow, listAudit } from '@loci/acts/audit/store.ts'
import { type Page, page } from '@loci/chassis/page.ts'
import { type Access, type Route, route } from '@loci/chassis/route.ts'
import { adminAuditList, auditList, auditQuery } from '@loci/contract/audit.ts'
import type { Pool, Sql } from '@loci/postgres/pool.ts'
import { transaction } from '@loci/postgres/transaction.ts'
import type { Caller } from '../../access/capability-access.ts'

interface AuditOptions {
  admin: Access<unknown>
  operator: Access<Caller>
  pool: Pool
}

export function auditRoutes({ admin, operator, pool }: AuditOptions): Route[] {
  return [
    route(
      {
        method: 'GET',
        path: '/v1/audit',
        access: operator,
        tag: 'audit',
        summary: 'List audit entries of this instance, newest first.',
        query: auditQuery,
        answers: { 200: auditList },
        errors: ['STORE_UNAVAILABLE'],
      },
      async ({ caller, query }) => {
        const { rows, next } = await readPage(pool, caller.instance.id, query)
        return {
          entries: rows.map(({ requestId, prevHash, ...row }) => ({ ...entryJson(row), requestId, prevHash })),
          nextCursor: next,
        }
      },
    ),
    route(
      {
        method: 'GET',
        path: '/admin/audit',
        access: admin,
        tag: 'admin',
        summary: 'List audit entries of admin requests in this cell, newest first.',
        query: auditQuery,
        answers: { 200: adminAuditList },
        errors: ['STORE_UNAVAILABLE'],
      },
      async ({ query }) => {
        const { rows, next } = await readPage(pool, CELL_CHAIN, query)
        return {
          entries: rows.map(({ requestId, prevHash, ...row }) => ({
            ...entryJson(row),
            request_id: requestId,
            prev_hash: prevHash,
          })),
          next_cursor: next,
        }
      },
    ),
  ]
}

function readPage(
  pool: Pool,
  chain: string,
  { cursor, limit }: { cursor?: string | undefined; limit: number },
): Promise<Page<AuditRow>> {
  const before = cursor === undefined ? null : Number(cursor)
  const read = async (sql: Sql) => page(await listAudit(sql, chain, before, limit + 1), limit, ({ seq }) => seq)
  return transaction(pool, read, { readOnly: true })
}

/** The details are for whoever has the database; the database that an act is about stands among them. */
function entryJson({ at, detail, ...row }: Omit<AuditRow, 'requestId' | 'prevHash'>) {
  const { database = null } = detail
  return { ...row, at: at.toISOString(), database, redacted: false }
}
