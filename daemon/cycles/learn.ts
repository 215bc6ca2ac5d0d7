// Phases five and six: what is said, and what the cycle leaves: slots that stay or come, presentations of those that
// go, and records of what was only a slot.

import { createHash } from 'node:crypto'
import { type IdType, idFrom } from '@loci/contract/ids.ts'
import { rounded } from '../working-memory/activation.ts'
import { contentOf } from '../working-memory/slots.ts'
import { isTooLarge, type Outcome, sizeOf } from './compete.ts'
import { type Candidate, explanationOf, isDueNow, surfaceIn } from './judge.ts'
import { type Ledger, ruleOf } from './ledger.ts'
import { endOf, type Held, type Settled } from './perceive.ts'
import type { CycleInput, CycleResult, KnownRecord, NextSlot, ReasonCode, Slot } from './shapes.ts'

type Rows = Pick<CycleResult['rows'], 'consolidate' | 'present'>

/** What the competition made of a candidate. */
interface Placed {
  one: Candidate
  slot: NextSlot
}

/** The slots, strongest first. */
export function placeSlots(input: CycleInput, { ledger, held }: Settled, { kept }: Outcome, ids: Ids): Placed[] {
  const keys = new Set(held.map(({ slot }) => slot.key))
  const strongest = kept.toSorted((one, other) => other.score - one.score || (one.id < other.id ? -1 : 1))
  return strongest.map((one) => {
    // Without a cue nothing is looked for, and nothing matches.
    const isMatch = one.own > 0 && one.own >= input.config.matchShare
    const slot = one.held ? keptSlot(one, one.held, input, isMatch) : admittedSlot(one, input, ids, keys)
    const reasonCode: ReasonCode = isMatch ? 'matched' : 'admitted'
    ledger.add({
      ...{ action: one.held ? 'kept' : 'admitted', reasonCode, rule: ruleOf(reasonCode), ...slot.explain },
      subject: { kind: 'slot', key: slot.key, version: one.held?.slot.version ?? null },
      reason: isMatch ? 'Its words are those that are looked for.' : 'There was room for it.',
      evidenceRefs: slot.record === null ? [] : [slot.record.id],
    })
    return { one, slot }
  })
}

/**
 * Held is not said. Under a focus: what it matched, by its own or its neighbours' words; without one what came in or
 * was touched. And what is due, and what is pinned.
 */
export function broadcast(placed: readonly Placed[], input: CycleInput): CycleResult['broadcast'] {
  const { focus, config, number } = input
  const said = placed.filter(({ one, slot }) => {
    if (slot.pinned || isDueNow(one)) return true
    return focus === null ? slot.touchedCycle === number || !one.held : one.said >= config.matchShare
  })
  return said.map(({ one, slot }) => ({ key: slot.key, recordId: slot.record?.id ?? null, score: one.score }))
}

export function learn(
  input: CycleInput,
  { ledger, heard }: Settled,
  outcome: Outcome,
  placed: readonly Placed[],
  ids: Ids,
): { slots: NextSlot[]; rows: Rows } {
  const rows: Rows = { consolidate: [], present: [] }
  const newcomers = placed.filter(({ one }) => !one.held).reverse()
  let left = 0
  for (const one of outcome.dropped.toSorted((a, b) => b.score - a.score || (a.id < b.id ? -1 : 1))) {
    const why = whyDropped(one, outcome, newcomers[left % (newcomers.length || 1)]?.one.id ?? null)
    if (one.held) {
      left += 1
      ledger.left(one.held.slot, why.reasonCode, why.reason, why.displacedBy, explanationOf(one, input.config))
      leaveBehind(one, one.held, rows, ids, ledger)
    } else if (one.fresh) {
      const subject = { kind: 'record', key: one.id, version: null } as const
      const evidenceRefs = [one.id]
      const weighed = explanationOf(one, input.config)
      ledger.add({ action: 'stored', subject, ...why, ...weighed, evidenceRefs, rule: ruleOf(why.reasonCode) })
      if (one.seen.n > 1) rows.present.push({ id: one.id, seq: null, seen: one.seen })
    }
  }
  const slotted = new Set(placed.map(({ one }) => one.id))
  for (const [seq, { record, seen }] of heard)
    if (!slotted.has(record.id)) rows.present.push({ id: record.id, seq, seen })
  return { slots: placed.map((each) => consolidateHeld(each, input, rows, ids, ledger)), rows }
}

/** A match is no presentation: it only tells that the slot was touched. */
function keptSlot(one: Candidate, { slot, merged, isTouched }: Held, input: CycleInput, isMatch: boolean): NextSlot {
  const isAccess = isMatch && input.focus !== null
  const record = slot.record && { ...slot.record, seq: merged ? null : slot.record.seq }
  return {
    ...{ ...slot, record, version: merged ? null : slot.version, sizeBytes: sizeOf(one) },
    // What it says now, a cycle has taken in.
    isPut: slot.isPut && merged === null,
    surface: merged ? surfaceIn(one, input.config) : slot.surface,
    touchedCycle: isMatch || isTouched ? input.number : slot.touchedCycle,
    accessCount: slot.accessCount + (isAccess ? 1 : 0),
    lastAccessedAt: isAccess ? input.now : slot.lastAccessedAt,
    explain: explanationOf(one, input.config),
    from: merged ? { observation: merged.at } : 'slot',
  }
}

/** Its key is the record's, or the record's id where it has none or another slot has it. */
function admittedSlot(one: Candidate, input: CycleInput, ids: Ids, keys: Set<string>): NextSlot {
  const { now, number, focus, config } = input
  const { fresh, record } = one
  const named = fresh?.observation.write.key ?? record?.key ?? one.id
  const key = keys.has(named) ? one.id : named
  keys.add(key)
  const isAccess = focus !== null && one.own > 0 && one.own >= config.matchShare
  return {
    ...{ id: ids('slt'), key, version: null, value: one.content, pinned: false, isPut: false, ephemeral: false },
    ...{ sizeBytes: sizeOf(one), createdAt: now, expiresAt: expiryOf(one, input) },
    ...{ admittedCycle: number, touchedCycle: number, seen: one.seen, surface: surfaceIn(one, config), hint: one.hint },
    ...{ accessCount: isAccess ? 1 : 0, lastAccessedAt: isAccess ? now : null },
    record: {
      ...{ id: one.id, seq: record?.seq ?? null, actor: one.actor, occurredAt: one.occurredAt, dueAt: one.dueAt },
      presented: record?.seen?.n ?? 1,
    },
    explain: explanationOf(one, config),
    from: fresh ? { observation: fresh.at } : { record: (record as KnownRecord).seq },
  }
}

/** A slot does not outlive its record. */
function expiryOf({ fresh, record }: Candidate, input: CycleInput): number | null {
  const end = endOf(fresh?.observation.write ?? {}, input)
  const recordEnd = record?.expiresAt ?? null
  return end === null || recordEnd === null ? (end ?? recordEnd) : Math.min(end, recordEnd)
}

function whyDropped(one: Candidate, { threshold }: Outcome, displacedBy: string | null) {
  const { score, copyOf, sameAs } = one
  if (sameAs !== null) {
    const reason = `The slot '${sameAs}' says the same.`
    return { reasonCode: 'outcompeted', reason, displacedBy: sameAs } as const
  }
  if (isTooLarge(one)) {
    const reason = 'It is larger than a slot may be.'
    return { reasonCode: 'over_limit', reason, displacedBy: null } as const
  }
  if (copyOf !== null) {
    const reason = `A near copy of ${copyOf} by the same actor.`
    return { reasonCode: 'outcompeted', reason, displacedBy: copyOf } as const
  }
  if (threshold !== null && score < threshold.bar && !one.held?.slot.isPut) {
    const reason = `The focus asks for at least ${rounded(threshold.bar)}.`
    return { reasonCode: 'below_threshold', reason, displacedBy: null } as const
  }
  return { reasonCode: 'outcompeted', reason: 'Others are stronger, and there is no more room.', displacedBy } as const
}

/** Presentations go to the record; what was only a slot becomes one. */
function leaveBehind({ seen }: Candidate, { slot, merged }: Held, rows: Rows, ids: Ids, ledger: Ledger): void {
  const { record } = slot
  if (record === null) {
    if (!slot.ephemeral) consolidate(slot, rows, ids, ledger)
  } else if (seen.n > record.presented) {
    rows.present.push({ id: record.id, seq: merged ? null : record.seq, seen })
  }
}

function consolidateHeld({ one, slot }: Placed, input: CycleInput, rows: Rows, ids: Ids, ledger: Ledger): NextSlot {
  const { record, ephemeral, admittedCycle, createdAt, seen } = slot
  const isOld = input.number - admittedCycle >= input.config.consolidateAfterCycles
  if (record !== null || ephemeral || !isOld || !one.held) return slot
  const id = consolidate(one.held.slot, rows, ids, ledger)
  return { ...slot, record: { id, seq: null, actor: null, occurredAt: createdAt, dueAt: null, presented: seen.n } }
}

function consolidate(slot: Slot, rows: Rows, ids: Ids, ledger: Ledger): string {
  const id = ids('mem')
  rows.consolidate.push({ id, slot, content: contentOf(slot.value), seen: slot.seen })
  ledger.consolidated(slot, id)
  return id
}

/** Of the record that an observation becomes, by its place in the input. */
export function observationId(seed: string, now: number, at: number): string {
  return idFrom('mem', now, createHash('sha256').update(`${seed}|observation|${at}`).digest())
}

export type Ids = (type: IdType) => string

/** Ids of what the cycle makes: the same for the same cycle. */
export function createIds({ seed, now }: CycleInput): Ids {
  let made = 0
  return (type) => {
    made += 1
    return idFrom(type, now, createHash('sha256').update(`${seed}|${made}`).digest())
  }
}
