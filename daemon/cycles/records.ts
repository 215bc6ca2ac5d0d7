// A cycle as it is stored and as it is sent. Pure.
//
// The fields that only the commit knows, and the content, are columns; everything else is one JSON text, made before
// the commit. What is sent is both.

import { createHash } from 'node:crypto'
import { ApiError } from '@loci/chassis/api-error.ts'
import type { Corruption, Cycle } from '@loci/contract/cognitive.ts'
import { type Damage, findDamage } from './chain.ts'
import type { CycleHead, CyclePage, CycleRow } from './rows.ts'
import type { Decision } from './shapes.ts'

/** The fields of a record that are known before the commit; the digest of the document after it is not. */
export type CycleBody = Pick<
  Cycle,
  | 'status'
  | 'trigger'
  | 'database'
  | 'requestedBy'
  | 'phases'
  | 'decisions'
  | 'threshold'
  | 'summary'
  | 'broadcast'
  | 'configVersion'
  | 'engine'
  | 'warnings'
> & { before: Cycle['workingMemory']['before']; slotsAfter: number }

/** What older cycles do not have. */
type Late = 'summary' | 'threshold'
type Stored = Omit<CycleBody, Late> & Partial<Pick<CycleBody, Late>>

export function decisionsUrl(id: string): string {
  return `/v1/cognitive/cycles/${id}/decisions`
}

/** As it is sent. */
export function cycleOf(row: CycleRow): Cycle {
  const { before, slotsAfter, summary = null, threshold = null, ...body } = JSON.parse(row.body) as Stored
  const { admitted, evicted } = body.decisions
  const isRedacted = (row.hasFocus && row.focus === null) || (row.hasMetadata && row.metadata === null)
  return {
    id: row.id,
    seq: row.seq,
    ...body,
    threshold,
    summary: summary ?? `${admitted} came and ${evicted} left.`,
    focus: row.focus,
    startedAt: row.startedAt.toISOString(),
    completedAt: row.completedAt.toISOString(),
    durationMs: row.durationMs,
    decisionsUrl: decisionsUrl(row.id),
    workingMemory: { before, after: { slotCount: slotsAfter, digest: digestText(row.afterDigest) } },
    dryRun: false,
    prevHash: row.prevHash?.toString('base64url') ?? null,
    hash: row.hash.toString('base64url'),
    metadata: row.metadata === null ? null : (JSON.parse(row.metadata) as Record<string, unknown>),
    ...(isRedacted ? { redacted: true as const } : {}),
  }
}

/** As it is sent. `keptUntil`: what left can be restored until then; null: nothing left. */
export function decisionOf({ displacedBy, evidenceRefs, ...decision }: Decision, keptUntil: number | null) {
  return {
    ...decision,
    evidenceRefs: [...evidenceRefs],
    ...(displacedBy === null ? {} : { displacedBy }),
    recoverableUntil: decision.action === 'evicted' && keptUntil !== null ? new Date(keptUntil).toISOString() : null,
  }
}

/**
 * Of the document of working memory: over ids, versions and contents; the ids are random, so no content can be guessed
 * from it. Where there is none, that of nothing.
 */
export function digestText(digest: Buffer): string {
  return (digest.length === 0 ? NOTHING : digest).toString('base64url')
}
const NOTHING = createHash('sha256').digest()

/** How many decisions there are of each kind. */
export function countsOf(decisions: readonly Decision[]): Cycle['decisions'] {
  const counts = {
    ...{ admitted: 0, kept: 0, merged: 0, reinforced: 0, stored: 0, evicted: 0, consolidated: 0 },
    ...{ forgotten: 0, rejected: 0 },
  }
  for (const { action, reasonCode } of decisions) {
    counts[action] += 1
    if (reasonCode === 'forgotten') counts.forgotten += 1
  }
  return counts
}

export interface Judged {
  /** Those that were asked for and are what was written, newest first. */
  shown: CycleRow[]
  /** Of all that was read. */
  found: { seq: number; ref: string | null; reason: Damage }[]
  /** Whether every cycle that is kept was read. */
  isWhole: boolean
}

/** Which rows of a page are what was written. A damaged one is never shown, and hides no other. */
export function judgePage({ head, first, upper, rows }: CyclePage): Judged {
  const { prunedThrough, prunedHash } = head
  // The newest row that was read is the head's own, or the one above the page, which nobody here vouches for.
  const above = rows[0]?.seq === head.total ? head.hash : undefined
  const damage = findDamage(rows, { above, prunedThrough, prunedHash })
  const shown = rows.filter(({ seq }) => !damage.has(seq) && seq >= first && seq <= upper)
  const refs = new Map(rows.map(({ seq, id }) => [seq, id ?? null]))
  return {
    shown: shown as CycleRow[],
    found: [...damage].map(([seq, reason]) => ({ seq, ref: refs.get(seq) ?? null, reason })),
    isWhole: rows.length > 0 && rows.length === head.total - prunedThrough,
  }
}

/** What is known to be damaged: what was found before, and what was found now. */
export function corruptionOf(head: CycleHead, judged?: Judged): Corruption {
  const known = new Map((head.damaged ?? []).map((one) => [one.seq, one]))
  const at = head.at.toISOString()
  for (const { seq, ref, reason } of judged?.found ?? []) if (!known.has(seq)) known.set(seq, { seq, ref, reason, at })
  // What was read now and is good again, restored, is no damage.
  for (const { seq } of judged?.shown ?? []) known.delete(seq)
  const entries = [...known.values()].sort((one, other) => other.seq - one.seq)
  const isVerified = judged?.isWhole === true && entries.length === 0
  return {
    detected: entries.length > 0,
    count: entries.length,
    status: entries.length > 0 ? 'quarantined' : 'clean',
    checkedThroughSeq: isVerified ? head.total : head.checkedSeq,
    verifiedAt: isVerified ? at : (head.checkedAt?.toISOString() ?? null),
    method: 'sha256-chain',
    entries: entries.map(({ seq, ref, reason, at: quarantinedAt }) => ({
      ...{ ref, seq, reason: reason as Damage, quarantinedAt: new Date(quarantinedAt).toISOString() },
      recoverable: false,
    })),
  }
}

export function cycleDamaged(ref: string, cause?: unknown): ApiError {
  return new ApiError(
    'DATA_DAMAGED',
    'The cycle is damaged and is not shown. The others are; GET /v1/kv/consistency says more.',
    { details: { ref }, ...(cause === undefined ? {} : { cause }) },
  )
}

export function noCycle(): ApiError {
  return new ApiError('NOT_FOUND', 'There is no such cycle.')
}
