// Writes audit entries, always inside the transaction of the act that they are about: there is no act without its entry and no
// entry without its act.

import { createHash } from 'node:crypto'
import { newId } from '@loci/contract/ids.ts'
import type { Pool, Sql } from '@loci/postgres/pool.ts'
import { transaction } from '@loci/postgres/transaction.ts'

/** The chain of acts of the administration; acts on an instance have the instance's id as their chain. */
export const CELL_CHAIN = 'cell'

export interface AuditEntry {
  chain: string
  actor: string
  action: string
  subject: string
  outcome: string
  requestId: string | null
  database: string | null
  /** Ids and settings, never content: an entry outlives what it is about. */
  detail: Record<string, string | number | boolean | null>
}

/** Returns the id of the entry. */
export async function appendAudit(sql: Sql, entry: AuditEntry, now: Date = new Date()): Promise<string> {
  const id = newId('aud', now.getTime())
  await sql.query({
    name: 'audit_append',
    text: 'select loci.audit_append($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)',
    values: [
      entry.chain,
      id,
      now,
      entry.actor,
      entry.action,
      entry.subject,
      entry.outcome,
      entry.requestId,
      entry.database,
      JSON.stringify(entry.detail),
      digestOf(id, now, entry),
    ],
  })
  return id
}

/** Covers every field and the chain, so that an entry can neither be edited nor moved to another chain unnoticed. */
function digestOf(id: string, at: Date, entry: AuditEntry): string {
  const fields = [
    entry.chain,
    id,
    at.toISOString(),
    entry.actor,
    entry.action,
    entry.subject,
    entry.outcome,
    entry.requestId,
    entry.database,
    Object.entries(entry.detail).sort(([a], [b]) => (a < b ? -1 : 1)),
  ]
  return createHash('sha256').update(JSON.stringify(fields)).digest('base64url')
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
  database: string | null
  hash: string
  prevHash: string | null
}

/** Newest first, below `before`. */
export async function listAudit(pool: Pool, chain: string, before: number | null, limit: number): Promise<AuditRow[]> {
  return transaction(
    pool,
    async (sql) => {
      await sql.query({ name: 'context_set', text: `select set_config('loci.instance', $1, true)`, values: [chain] })
      const { rows } = await sql.query<AuditRow>({
        name: 'audit_list',
        text: `select id, seq, at, actor, action, subject, outcome, request_id as "requestId", database, hash, prev_hash as "prevHash"
        from loci.audit where chain = $1 and ($2::bigint is null or seq < $2) order by seq desc limit $3`,
        values: [chain, before, limit],
      })
      return rows
    },
    { readOnly: true },
  )
}
