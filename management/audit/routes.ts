import { PLATFORM_CHAIN } from '@loci/acts/audit/audit.ts'
import { type AuditRow, appendAudit, listAudit } from '@loci/acts/audit/store.ts'
import { ApiError } from '@loci/chassis/api-error.ts'
import { page } from '@loci/chassis/page.ts'
import { type Route, route } from '@loci/chassis/route.ts'
import { auditEventList, auditEventQuery } from '@loci/contract/audit.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import { transaction } from '@loci/postgres/transaction.ts'
import type { Caller, CallerAccess } from '../access/caller.ts'
import { requireWholeOrganization } from '../access/organization.ts'

interface AuditOptions {
  caller: CallerAccess
  pool: Pool
}

export function auditRoutes({ caller: access, pool }: AuditOptions): Route[] {
  return [
    route(
      {
        method: 'GET',
        path: '/api/v1/audit-events',
        access: access.scope('audit:read', 'read'),
        tag: 'audit',
        summary: 'List the audit entries of the organization, newest first.',
        details: 'Each entry carries the hash of the one before.',
        query: auditEventQuery,
        answers: { 200: auditEventList },
      },
      async ({ caller, query, requestId }) => {
        const chain = chainOf(caller, query.organization_id)
        const isOwn = chain === caller.organizationId
        const before = query.cursor === undefined ? null : Number(query.cursor)
        const read = await transaction(
          pool,
          async (sql) => {
            const found = await listAudit(sql, chain, before, query.limit + 1)
            // Reading the audit of another organization is itself audited, in the platform's chain.
            if (!isOwn) {
              const entry = { chain: PLATFORM_CHAIN, actor: caller.id, action: 'audit.read', subject: chain }
              await appendAudit(sql, { ...entry, requestId, detail: { user_id: caller.userId, before } })
            }
            return found
          },
          { readOnly: isOwn },
        )
        const { rows, next } = page(read, query.limit, ({ seq }) => seq)
        return { entries: rows.map(entryJson), next_cursor: next }
      },
    ),
  ]
}

function chainOf(caller: Caller, asked: string | undefined): string {
  if (asked === undefined || asked === caller.organizationId) {
    requireWholeOrganization(caller)
    return caller.organizationId
  }
  if (!caller.isStaff)
    throw new ApiError(
      'FORBIDDEN',
      'Only staff (a key with the scope staff) reads the audit of another organization. Leave organization_id out to read your own.',
    )
  return asked
}

function entryJson({ at, requestId, prevHash, ...row }: AuditRow) {
  return { ...row, at: at.toISOString(), request_id: requestId, prev_hash: prevHash }
}
