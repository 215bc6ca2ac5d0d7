import { type Access, type Route, route } from '@loci/chassis/route.ts'
import { adminAuditList, auditList, auditQuery } from '@loci/contract/audit.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import type { Caller } from '../access/capability-access.ts'
import { type AuditRow, CELL_CHAIN, listAudit } from './store.ts'

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
        summary: 'Audit entries of this instance, newest first.',
        query: auditQuery,
        answers: { 200: auditList },
        errors: ['STORE_UNAVAILABLE'],
      },
      async ({ caller, query }) => {
        const { rows, next } = await readPage(pool, caller.instance.id, query)
        return {
          entries: rows.map(({ at, ...row }) => ({ ...row, at: at.toISOString(), redacted: false })),
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
        summary: 'Audit entries of admin requests in this cell, newest first.',
        query: auditQuery,
        answers: { 200: adminAuditList },
        errors: ['STORE_UNAVAILABLE'],
      },
      async ({ query }) => {
        const { rows, next } = await readPage(pool, CELL_CHAIN, query)
        return {
          entries: rows.map(({ at, requestId, prevHash, ...row }) => ({
            ...row,
            at: at.toISOString(),
            request_id: requestId,
            prev_hash: prevHash,
            redacted: false,
          })),
          next_cursor: next,
        }
      },
    ),
  ]
}

async function readPage(
  pool: Pool,
  chain: string,
  { cursor, limit }: { cursor?: string | undefined; limit: number },
): Promise<{ rows: AuditRow[]; next: string | null }> {
  const rows = await listAudit(pool, chain, cursor === undefined ? null : Number(cursor), limit + 1)
  const page = rows.slice(0, limit)
  return { rows: page, next: rows.length > limit ? String(page.at(-1)?.seq) : null }
}
