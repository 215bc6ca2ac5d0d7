// Appends audit entries inside the transaction of their act, and reads them.

import { newId } from '@loci/contract/ids.ts'
import { ACT_LOCKS } from '@loci/postgres/lock-order.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import { type AuditEntry, digestOf, OUTCOME } from './audit.ts'

/** Returns the id of the entry. */
export async function appendAudit(sql: Sql, entry: AuditEntry, now: Date = new Date()): Promise<string> {
  const id = newId('aud', now.getTime())
  await sql.query({
    name: 'audit_append',
    text: 'select loci.audit_append($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)',
    values: [
      entry.chain,
      id,
      now,
      entry.actor,
      entry.action,
      entry.subject,
      OUTCOME,
      entry.requestId ?? null,
      JSON.stringify(entry.detail),
      digestOf(id, now, entry),
    ],
    locks: () => [ACT_LOCKS.lock('audit head', entry.chain)],
  })
  return id
}

export async function keepAuditPartitions(sql: Sql): Promise<void> {
  await sql.query({ text: 'select loci.keep_audit_partitions()' })
}

export interface AuditRow {
  id: string
  seq: number
  at: Date
  actor: string
  action: string
  subject: string
  outcome: string
  requestId: string | null
  detail: Record<string, unknown>
  hash: string
  prevHash: string | null
}

/** Newest first, below `before`. In a transaction, to whose end it leaves the chain in sight. */
export async function listAudit(sql: Sql, chain: string, before: number | null, limit: number): Promise<AuditRow[]> {
  await sql.query({ name: 'audit_chain', text: `select set_config('loci.chain', $1, true)`, values: [chain] })
  const { rows } = await sql.query<AuditRow>({
    name: 'audit_list',
    text: `select id, seq, at, actor, action, subject, outcome, request_id as "requestId", detail, hash, prev_hash as "prevHash"
      from loci.audit where chain = $1 and ($2::bigint is null or seq < $2) order by seq desc limit $3`,
    values: [chain, before, limit],
  })
  return rows
}
