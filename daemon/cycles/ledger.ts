// The decisions of a cycle, in the order in which they were made: what, about what, why, and by which rule.

import type { Explanation } from '@loci/contract/working-memory.ts'
import type { Action, CycleResult, Decision, ReasonCode, Slot } from './shapes.ts'

export interface Ledger {
  readonly decisions: Decision[]
  readonly evict: CycleResult['rows']['evict']
  rejected(id: string, reasonCode: 'duplicate' | 'forgotten', reason: string): void
  reinforced(subject: Decision['subject'], recordId: string): void
  merged(slot: Slot, recordId: string): void
  /** A record that another one of the same cycle closed. */
  storedClosed(id: string, by: string): void
  /** The slot leaves. */
  left(slot: Slot, reasonCode: ReasonCode, reason: string, displacedBy: string | null, explain?: Explanation): void
  /** What was only a slot becomes a record. */
  consolidated(slot: Slot, recordId: string): void
  /** What the competition decided. */
  add(decision: Omit<Decision, 'seq' | 'displacedBy'> & { displacedBy?: string | null }): void
}

const UNWEIGHED: Explanation = { score: 0, parts: [] }

/** The rule behind each reason, as a decision names it. */
const RULES: Record<ReasonCode, string> = {
  admitted: 'competition',
  matched: 'competition',
  reinforced: 'equal content is one record',
  merged: 'a key names one current fact',
  outcompeted: 'competition',
  below_threshold: 'threshold under a focus',
  over_limit: 'size of a slot',
  expired: 'time to live',
  superseded: 'supersession',
  consolidated: 'consolidation',
  forgotten: 'tombstone',
  duplicate: 'source event',
}

export const ruleOf = (reasonCode: ReasonCode): string => RULES[reasonCode]

/** Going on from another, which stays as it is. */
export function openLedger(from?: Ledger): Ledger {
  const decisions: Decision[] = from ? [...from.decisions] : []
  const evict: CycleResult['rows']['evict'] = from ? [...from.evict] : []

  function decide(
    action: Action,
    reasonCode: ReasonCode,
    subject: Decision['subject'],
    rest: { reason: string; evidenceRefs: string[]; displacedBy?: string | null; explain?: Explanation | undefined },
  ): void {
    const { score, parts } = rest.explain ?? UNWEIGHED
    const { reason, evidenceRefs, displacedBy = null } = rest
    const rule = ruleOf(reasonCode)
    const seq = decisions.length
    decisions.push({ seq, action, subject, reasonCode, reason, score, parts, displacedBy, evidenceRefs, rule })
  }

  return {
    ...{ decisions, evict },
    rejected: (id, reasonCode, reason) =>
      decide('rejected', reasonCode, { kind: 'record', key: id, version: null }, { reason, evidenceRefs: [] }),
    reinforced: (subject, recordId) =>
      decide('reinforced', 'reinforced', subject, { reason: 'The same was said again.', evidenceRefs: [recordId] }),
    merged: (slot, recordId) =>
      decide('merged', 'merged', subjectOf(slot), { reason: 'The slot took its content.', evidenceRefs: [recordId] }),
    storedClosed(id, by) {
      const rest = { reason: `Record ${by} took its place.`, evidenceRefs: [id], displacedBy: by }
      decide('stored', 'superseded', { kind: 'record', key: id, version: null }, rest)
    },
    left(slot, reasonCode, reason, displacedBy, explain) {
      const evidenceRefs = slot.record === null ? [] : [slot.record.id]
      evict.push({ slot, decision: decisions.length })
      decide('evicted', reasonCode, subjectOf(slot), { reason, displacedBy, evidenceRefs, explain })
    },
    consolidated: (slot, recordId) =>
      decide('consolidated', 'consolidated', subjectOf(slot), {
        ...{ reason: 'What was only a slot became a record.', evidenceRefs: [recordId] },
      }),
    add: ({ displacedBy = null, ...decision }) => decisions.push({ seq: decisions.length, ...decision, displacedBy }),
  }
}

function subjectOf({ key, version }: Slot): Decision['subject'] {
  return { kind: 'slot', key, version }
}
