// Rows of cycles as they are read.

import type { Link } from './chain.ts'

export interface CycleRow {
  seq: number
  id: string
  startedAt: Date
  completedAt: Date
  durationMs: number
  /** Null though there was one: it was erased. */
  focus: string | null
  hasFocus: boolean
  metadata: string | null
  hasMetadata: boolean
  afterDigest: Buffer
  decisionsHash: Buffer
  body: string
  prevHash: Buffer | null
  hash: Buffer
}

export type LinkRow = Link & { id?: string | null }

/** What the head of a database knows of its cycles. */
export interface CycleHead {
  total: number
  totalMs: number
  lastAt: Date | null
  hash: Buffer | null
  prunedThrough: number
  prunedHash: Buffer | null
  failed: number
  failedRow: number
  failedAt: Date | null
  failedCode: string | null
  checkedSeq: number | null
  checkedAt: Date | null
  damaged: { seq: number; ref: string | null; reason: string; at: string }[] | null
  intervalMs: number | null
  /** When the next one is tried, and when it was due, which is earlier where it could not run. */
  dueAt: Date | null
  dueSince: Date | null
  /** Events that wait, and when the oldest of them came. */
  pending: number
  pendingSince: Date | null
  at: Date
}

export interface CyclePage {
  head: CycleHead
  /** Numbers of the cycles that were asked for; none when upper < lower. */
  lower: number
  upper: number
  /** The lowest number of the page: it ends by its count, its bytes, or at `lower`. */
  first: number
  /** Newest first, one more at each end where there is one. */
  rows: (LinkRow & Partial<CycleRow>)[]
}
