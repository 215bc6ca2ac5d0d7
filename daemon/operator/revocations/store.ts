import { CELL_CHAIN } from '@loci/acts/audit/audit.ts'
import { appendAudit } from '@loci/acts/audit/store.ts'
import type { Pool, Sql } from '@loci/postgres/pool.ts'
import { transaction } from '@loci/postgres/transaction.ts'
import { cellRow } from '../../databases/locks.ts'

export interface CellRevocation {
  kind: 'jti' | 'org' | 'ten' | 'svc'
  value: string
  notBefore: Date | null
  actor: string
  requestId: string
}

/** As long as any token lives. */
const KEPT_DAYS = 365

/** The administration's own word, which works while management is down and hits a jti in any instance of the cell. */
export async function revokeInCell(
  pool: Pool,
  { kind, value, notBefore, actor, requestId }: CellRevocation,
): Promise<string> {
  return transaction(pool, async (sql) => {
    const { rows } = await sql.query<{ seq: number }>({
      name: 'change_take',
      text: 'update loci.cell set change_seq = change_seq + 1 returning change_seq as seq',
      locks: () => [cellRow()],
    })
    const auditId = await appendAudit(sql, {
      chain: CELL_CHAIN,
      actor,
      action: 'revocation.add',
      subject: value,
      requestId,
      detail: { kind, not_before: notBefore?.toISOString() ?? null },
    })
    await sql.query({
      name: 'revocation_add',
      text: `insert into loci.revocations as old (kind, svc, value, not_before, expires_at, origin, audit_id, change_seq)
        values ($1, '*', $2, $3, clock_timestamp() + $4 * interval '1 day', 'cell', $5, $6)
        on conflict (kind, svc, value) do update set expires_at = excluded.expires_at, withdrawn = false,
          not_before = case when old.withdrawn then excluded.not_before else greatest(old.not_before, excluded.not_before) end,
          origin = 'cell', audit_id = excluded.audit_id, reported_at = null, change_seq = excluded.change_seq`,
      values: [kind, value, notBefore, KEPT_DAYS, auditId, rows[0]?.seq],
    })
    return auditId
  })
}

const COLUMN = { org: 'organization_id', ten: 'tenant_id', svc: 'id' } as const

/** Whether an organization, a tenant or a service has something in this cell. */
export async function isPlaced(sql: Sql, kind: keyof typeof COLUMN, value: string): Promise<boolean> {
  const { rows } = await sql.query<{ isThere: boolean }>({
    name: `revocation_placed_${kind}`,
    text: `select exists (select from loci.instances where ${COLUMN[kind]} = $1 and state <> 'deleted') as "isThere"`,
    values: [value],
  })
  return rows[0]?.isThere ?? false
}

/** By the administration of this cell. */
export async function countRevokedTokens(sql: Sql): Promise<number> {
  const { rows } = await sql.query<{ count: number }>({
    name: 'revocation_count_tokens',
    text: `select count(*)::int as count from loci.revocations where kind = 'jti' and svc = '*' and not withdrawn`,
  })
  return rows[0]?.count ?? 0
}
