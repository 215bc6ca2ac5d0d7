// Writes audit entries, always inside the transaction of the act that they are about: there is no act without its entry and no
// entry without its act.

import { createHash } from 'node:crypto'
import { PLATFORM } from '@loci/contract/audit.ts'
import { newId } from '@loci/contract/ids.ts'
import type { Sql } from '@loci/postgres/pool.ts'

/** The chain of acts on the platform itself; acts on what is an organization's have the organization's id as their chain. */
export const PLATFORM_CHAIN = PLATFORM

/** Who acts: what each function that changes something is told by its route or command. */
export interface Act {
  actor: string
  requestId?: string | undefined
}

export interface AuditEntry extends Act {
  chain: string
  action: string
  subject: string
  /** Ids and settings, never content: an entry outlives what it is about. */
  detail: Record<string, string | number | boolean | null>
}

/** Returns the id of the entry. The rest of the transaction stays in the organization that it was in. */
export async function appendAudit(sql: Sql, entry: AuditEntry, now: Date = new Date()): Promise<string> {
  const id = newId('aud', now.getTime())
  const outcome = 'done'
  const requestId = entry.requestId ?? null
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
      outcome,
      requestId,
      JSON.stringify(entry.detail),
      digestOf(
        [entry.chain, id, now.toISOString(), entry.actor, entry.action, entry.subject, outcome, requestId],
        entry,
      ),
    ],
  })
  return id
}

/** Covers every field and the chain, so that an entry can neither be edited nor moved to another chain unnoticed. */
function digestOf(fields: (string | null)[], { detail }: AuditEntry): string {
  const details = Object.entries(detail).sort(([a], [b]) => (a < b ? -1 : 1))
  return createHash('sha256')
    .update(JSON.stringify([...fields, details]))
    .digest('base64url')
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

/** Newest first, below `before`. Of the chain in use. */
export async function listAudit(sql: Sql, chain: string, before: number | null, limit: number): Promise<AuditRow[]> {
  const { rows } = await sql.query<AuditRow>({
    name: 'audit_list',
    text: `select id, seq, at, actor, action, subject, outcome, request_id as "requestId", detail, hash, prev_hash as "prevHash"
      from loci.audit where chain = $1 and ($2::bigint is null or seq < $2) order by seq desc limit $3`,
    values: [chain, before, limit],
  })
  return rows
}
