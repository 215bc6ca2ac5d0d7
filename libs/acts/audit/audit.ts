// Audit entries, the same in both programs. An entry is written inside the transaction of the act
// that it is about: there is no act without its entry and no entry without its act. Each entry carries a digest of its
// fields; the database links it to the one before it in its chain: hash = SHA-256(hash of the one before ‖ seq ‖
// digest), separated by U+001F.

import { createHash } from 'node:crypto'
import { PLATFORM } from '@loci/contract/audit.ts'

/** The chain of acts of a cell's administration; acts on an instance have the instance's id as their chain. */
export const CELL_CHAIN = 'cell'

/** The chain of acts on the platform; acts on an organization have the organization's id as their chain. */
export const PLATFORM_CHAIN = PLATFORM

/** Who acts, and in which request: what each function that changes something is told by its route or command. */
export interface Act {
  actor: string
  requestId?: string | undefined
}

export interface AuditEntry extends Act {
  /** The id of an instance or organization, or the chain of acts on the cell or the platform itself. */
  chain: string
  action: string
  subject: string
  /** Ids and settings, never content: an entry outlives what it is about. */
  detail: Record<string, string | number | boolean | null>
}

/** Everything that is done is in the chain, and nothing else is. */
export const OUTCOME = 'done'

/** Covers every field and the chain, so that an entry can neither be edited nor moved to another chain unnoticed. */
export function digestOf(id: string, at: Date, entry: AuditEntry): string {
  const { chain, actor, action, subject, requestId = null } = entry
  const detail = Object.entries(entry.detail).sort(([a], [b]) => (a < b ? -1 : 1))
  const fields = [chain, id, at.toISOString(), actor, action, subject, OUTCOME, requestId, detail]
  return createHash('sha256').update(JSON.stringify(fields)).digest('base64url')
}
