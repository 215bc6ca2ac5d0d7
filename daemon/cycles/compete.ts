// The fourth phase decides who has the slots.

import type { Policy } from '../working-memory/config.ts'
import { SLOTS_BYTES_MAX, VALUE_BYTES_MAX } from '../working-memory/slots.ts'
import { type Candidate, stickinessIn } from './judge.ts'
import type { CycleInput } from './shapes.ts'

export interface Outcome {
  kept: Candidate[]
  dropped: Candidate[]
  /** What a candidate must reach; null without a focus or a threshold. */
  bar: number | null
}

/**
 * Pinned ones first, then by the policy: as many as there is room for, and under a focus none further below the best
 * than the threshold. Without a focus the best is an observation that matches itself, which is no measure for the
 * others. Where activation does not decide, what is held or came in does not fall by it.
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
  const bar = focus === null || relativeThreshold === null ? null : best - relativeThreshold
  const kept: Candidate[] = []
  const dropped: Candidate[] = []
  let bytes = 0
  for (const one of ordered) {
    const size = sizeOf(one)
    const hasRoom = kept.length < capacity && bytes + size <= SLOTS_BYTES_MAX
    const isSafe = policy !== 'activation' && (one.held !== null || one.fresh !== null)
    const isGood = !one.isHushed && !isTooLarge(one) && (bar === null || one.score >= bar || isSafe)
    if (isPinned(one) || (hasRoom && isGood)) {
      kept.push(one)
      bytes += size
    } else dropped.push(one)
  }
  return { kept, dropped, bar }
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

/** A record may say more than a slot holds. */
export function isTooLarge(one: Candidate): boolean {
  return (one.held === null || one.fresh !== null) && sizeOf(one) > VALUE_BYTES_MAX
}

/** As a slot, in bytes. */
export function sizeOf({ held, fresh, content }: Candidate): number {
  return held && !fresh ? held.slot.sizeBytes : Buffer.byteLength(JSON.stringify(content))
}
