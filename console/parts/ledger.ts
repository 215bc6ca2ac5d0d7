// The decisions of a cycle as a ledger: those that came or stayed, then those that left, each by its score, then what
// was decided without one. One scale for all, so that the bar of the focus can be drawn through them.

import { decidedOf, type Kind } from './decided.ts'
import { type Part, raised } from './explanation.ts'

export interface Decision {
  seq: number
  action: string
  subject: { kind: string; key: string | null }
  reasonCode: string
  score: number
  parts: readonly Part[]
  evidenceRefs: readonly string[]
}

export interface Threshold {
  best: number
  bar: number
}

const KINDS: readonly Kind[] = ['stayed', 'came', 'left', 'other']

export function kindOf({ action }: Pick<Decision, 'action'>): Kind {
  return decidedOf(action).kind
}

export function inLedger<One extends Decision>(decisions: readonly One[], kind?: Kind): One[] {
  const rank = (one: One) => ({ stayed: 0, came: 0, left: 1, other: 2 })[kindOf(one)]
  return decisions
    .filter((one) => kind === undefined || kindOf(one) === kind)
    .toSorted((one, other) => rank(one) - rank(other) || other.score - one.score || one.seq - other.seq)
}

export function countKinds(decisions: readonly Decision[]): Readonly<Record<Kind, number>> {
  const of = (kind: Kind) => decisions.filter((one) => kindOf(one) === kind).length
  return Object.fromEntries(KINDS.map((kind) => [kind, of(kind)])) as Record<Kind, number>
}

/** What the whole width stands for: the longest bar, or the bar of the focus where that is further out. */
export function scaleOf(decisions: readonly Decision[], threshold: Threshold | null): number {
  return Math.max(1, threshold?.bar ?? 0, ...decisions.map(({ parts }) => raised(parts)))
}

/** How much it lacked. Null: it was not the bar that decided. */
export function shortOf({ reasonCode, score }: Decision, threshold: Threshold | null): number | null {
  return threshold !== null && reasonCode === 'below_threshold' ? threshold.bar - score : null
}

/** The memory that says in words what was decided about; undefined for a slot that stands for none. */
export function recordIdOf({ subject, evidenceRefs }: Decision): string | undefined {
  if (subject.key?.startsWith('mem_')) return subject.key
  return evidenceRefs.find((ref) => ref.startsWith('mem_'))
}
