// What the administration of a cell has revoked, as its report says it. It is stored and published to that cell alone:
// restored from a backup it gets its own revocations again. Whoever has the cell's key can say the same, so a row is
// taken only if the cell itself could have made it, each one is in the audit of its customer, and staff can withdraw
// it.

import { PLATFORM_CHAIN } from '@loci/acts/audit/audit.ts'
import { appendAudit } from '@loci/acts/audit/store.ts'
import type { Report } from '@loci/contract/reports.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import { findOwner } from '../../access/store.ts'
import { lockCell } from '../../acts/locks/store.ts'
import { latestEnd, publishRevocation } from '../../tokens/revocations/revocations.ts'
import {
  type CellRevocation,
  countRecent,
  countTokens,
  hasPlaced,
  listTokens,
  saveCellRevocation,
} from '../revocations/store.ts'
import { listPlaced } from './store.ts'

type Row = Report['revocations'][number]

/** Clocks of a cell and of management differ by less. */
const AHEAD_MS_MAX = 60_000
/** Each replica of the cell keeps them in memory. */
const TOKENS_MAX = 10_000
/** An administrator makes fewer. */
const A_MINUTE_MAX = 5

const ACTIONS = {
  jti: 'token.revoke',
  org: 'organization.revoke',
  ten: 'tenant.revoke',
  svc: 'service.revoke',
} as const

export interface Taken {
  /** What there is to alarm about. */
  alarms: string[]
  /** Those that are new or reach further. */
  taken: CellRevocation[]
}

/** Takes what can be taken. Locks the cell's row; the caller appends the audit entries, after everything else. */
export async function takeRevocations(sql: Sql, cellId: string, rows: Row[], now: Date): Promise<Taken> {
  if (rows.length === 0) return { alarms: [], taken: [] }
  await lockCell(sql, cellId)
  const alarms: string[] = []
  const taken: CellRevocation[] = []
  const room = await roomFor(sql, cellId, rows)
  for (const row of rows) {
    const judged = await judge(sql, cellId, row, room, now)
    if ('refused' in judged) {
      alarms.push(`a revocation of ${row.kind} ${row.value} was refused: ${judged.refused}`)
      continue
    }
    const revocation = revocationOf(cellId, row, judged.organizationId, now)
    const { isChanged, isWithdrawn } = await saveCellRevocation(sql, revocation)
    if (isChanged || isWithdrawn) await publishRevocation(sql, cellId, revocation)
    if (isChanged) taken.push(revocation)
    if (isChanged && row.kind === 'jti') room.take(row)
  }
  const recent = taken.length > 0 ? await countRecent(sql, cellId) : 0
  if (recent > A_MINUTE_MAX) alarms.push(`${recent} revocations in a minute`)
  return { alarms, taken }
}

interface Room {
  has(row: Row): boolean
  take(row: Row): void
}

/** What is in force already, and what was withdrawn and is only told again, needs none. */
async function roomFor(sql: Sql, cellId: string, rows: Row[]): Promise<Room> {
  const jtis = rows.flatMap(({ kind, value }) => (kind === 'jti' ? [value] : []))
  if (jtis.length === 0) return { has: () => true, take: () => {} }
  let left = TOKENS_MAX - (await countTokens(sql, cellId))
  const known = new Map((await listTokens(sql, cellId, jtis)).map((one) => [one.jti, one]))
  const needsNone = ({ value, audit_id }: Row) => {
    const one = known.get(value)
    return one !== undefined && (!one.isWithdrawn || one.auditId === audit_id)
  }
  return {
    has: (row) => left > 0 || needsNone(row),
    take(row) {
      if (!needsNone(row)) left -= 1
      known.set(row.value, { jti: row.value, auditId: row.audit_id, isWithdrawn: false })
    },
  }
}

/** Whose it is, null where nobody knows the token; or why it is not taken. */
async function judge(
  sql: Sql,
  cellId: string,
  row: Row,
  room: Room,
  now: Date,
): Promise<{ organizationId: string | null } | { refused: string }> {
  const { kind, value, not_before } = row
  if (not_before !== null && Date.parse(not_before) > now.getTime() + AHEAD_MS_MAX)
    return { refused: 'it would hit tokens that are not issued yet' }
  const elsewhere = { refused: 'nothing of it is placed in this cell' }
  if (kind === 'svc') {
    const organizationId = (await listPlaced(sql, cellId, [value])).get(value)
    return organizationId === undefined ? elsewhere : { organizationId }
  }
  if (kind === 'org') return (await hasPlaced(sql, cellId, value)) ? { organizationId: value } : elsewhere
  const owner = await findOwner(sql, value)
  if (kind === 'ten') {
    const isThere = owner?.serviceId === null && (await hasPlaced(sql, cellId, owner.organizationId, value))
    return isThere ? { organizationId: owner.organizationId } : elsewhere
  }
  if (owner && owner.cellId !== cellId) return elsewhere
  // One that a holder has narrowed is known to nobody but who sees it.
  if (!room.has(row)) return { refused: `the cell has ${TOKENS_MAX} by jti` }
  return { organizationId: owner?.organizationId ?? null }
}

function revocationOf(cellId: string, row: Row, organizationId: string | null, now: Date): CellRevocation {
  const { kind, value, not_before, expires_at, audit_id } = row
  return {
    ...{ kind, svc: kind === 'jti' ? '*' : '', value, cellId, auditId: audit_id, organizationId },
    notBefore: not_before === null ? null : new Date(not_before),
    // No token lives longer.
    expiresAt: new Date(Math.min(Date.parse(expires_at), latestEnd(now).getTime() + AHEAD_MS_MAX)),
  }
}

/** In the audit of each customer concerned; of a token that nobody knows in the platform's. */
export async function auditRevocations(sql: Sql, cellId: string, taken: CellRevocation[]): Promise<void> {
  const entries = taken.map(({ kind, value, notBefore, auditId, organizationId }) => ({
    ...{ chain: organizationId ?? PLATFORM_CHAIN, actor: cellId, action: ACTIONS[kind], subject: value },
    detail: { cell_id: cellId, not_before: notBefore?.toISOString() ?? null, cell_audit_id: auditId },
  }))
  // Heads in one order: two reports would wait for each other else.
  for (const entry of entries.sort((one, other) => (one.chain < other.chain ? -1 : 1))) await appendAudit(sql, entry)
}
