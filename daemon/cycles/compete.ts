// The fourth phase decides who has the slots.

import type { Policy } from '../working-memory/config.ts'
import { SLOTS_BYTES_MAX, VALUE_BYTES_MAX } from '../working-memory/slots.ts'
import { type Candidate, stickinessIn } from './judge.ts'
import type { CycleInput, Threshold } from './shapes.ts'

export interface Outcome {
  kept: Candidate[]
  dropped: Candidate[]
  /** The best score of what competes, without its stickiness, and what a candidate must reach under the focus. */
  threshold: Threshold | null
}

/**
 * Pinned ones first, then by the policy: as many as there is room for, and under a focus none further below the best
 * than the threshold. Without a focus the best is an observation that matches itself, which is no measure for the
 * others. Where activation does not decide, what is held or came in does not fall by it. What somebody put falls by
 * nothing but want of room, and then only to what is said in this very cycle.
 */
export function compete(pool: readonly Candidate[], input: CycleInput): Outcome {
  const { config, focus } = input
  const { relativeThreshold, capacity, policy = 'activation' } = config
  const byPolicy = ORDERS[policy](input)
  const ordered = pool.toSorted(
    (one, other) =>
      Number(isPinned(other)) - Number(isPinned(one)) ||
      byPolicy(one, other) ||
      other.score - one.score ||
      byNewest(one, other),
  )
  let best = Number.NEGATIVE_INFINITY
  // Without its stickiness: what is held is no better for being held.
  for (const one of ordered) if (!isPinned(one)) best = Math.max(best, one.score - stickinessIn(one))
  // Where nothing competes there is no best, and nothing that a bar could keep out.
  const isBarred = focus !== null && relativeThreshold !== null && Number.isFinite(best)
  const threshold = isBarred ? { best, bar: best - relativeThreshold } : null
  const bar = threshold?.bar ?? null
  const kept: Candidate[] = []
  const dropped: Candidate[] = []
  let bytes = 0
  for (const one of ordered) {
    const size = sizeOf(one)
    const hasRoom = kept.length < capacity && bytes + size <= SLOTS_BYTES_MAX
    const isSafe = policy !== 'activation' && (one.held !== null || one.fresh !== null)
    const isOver = one.isHushed || one.sameAs !== null || isTooLarge(one)
    const isGood = isPut(one) || (!isOver && (bar === null || one.score >= bar || isSafe))
    if (isPinned(one) || (hasRoom && isGood)) {
      kept.push(one)
      bytes += size
    } else dropped.push(one)
  }
  restorePut(kept, dropped, { capacity, bytes })
  return { kept, dropped, threshold }
}

/** Of what has no room and was put, each in the place of the last one that a cycle brought. */
function restorePut(kept: Candidate[], dropped: Candidate[], room: { capacity: number; bytes: number }): void {
  let { bytes } = room
  for (const one of dropped.filter((candidate) => isPut(candidate) && !isTooLarge(candidate))) {
    const brought = kept.filter((candidate) => !isPinned(candidate) && !isPut(candidate) && candidate.fresh === null)
    const leaving: Candidate[] = []
    let after = bytes + sizeOf(one)
    while (kept.length - leaving.length >= room.capacity || after > SLOTS_BYTES_MAX) {
      const last = brought.pop()
      if (!last) break
      leaving.push(last)
      after -= sizeOf(last)
    }
    if (kept.length - leaving.length >= room.capacity || after > SLOTS_BYTES_MAX) continue
    for (const candidate of leaving) kept.splice(kept.indexOf(candidate), 1)
    dropped.splice(dropped.indexOf(one), 1, ...leaving)
    kept.push(one)
    bytes = after
  }
}

type Order = (one: Candidate, other: Candidate) => number

/** As writes do (working-memory/document.ts). */
const ORDERS: Record<Policy, (input: CycleInput) => Order> = {
  activation: () => () => 0,
  lru: ({ number }) => {
    const touched = ({ held }: Candidate) => (held === null || held.isTouched ? number : held.slot.touchedCycle)
    return (one, other) => touched(other) - touched(one)
  },
  fifo: ({ number }) => {
    const admitted = ({ held }: Candidate) => held?.slot.admittedCycle ?? number
    return (one, other) => admitted(other) - admitted(one)
  },
  reject: () => (one, other) => Number(other.held !== null) - Number(one.held !== null),
}

export function byNewest(one: Candidate, other: Candidate): number {
  return other.occurredAt - one.occurredAt || other.order - one.order || (one.id < other.id ? -1 : 1)
}

/** By competition a pinned slot never leaves. */
function isPinned({ held }: Candidate): boolean {
  return held?.slot.pinned === true
}

/** Somebody wrote the slot. */
function isPut({ held }: Candidate): boolean {
  return held?.slot.isPut === true
}

/** A record may say more than a slot holds. */
export function isTooLarge(one: Candidate): boolean {
  return (one.held === null || one.fresh !== null) && sizeOf(one) > VALUE_BYTES_MAX
}

/** As a slot, in bytes. */
export function sizeOf({ held, fresh, content }: Candidate): number {
  return held && !fresh ? held.slot.sizeBytes : Buffer.byteLength(JSON.stringify(content))
}
