// Where moments stand: ranges and windows, ticks of an axis, and the parts in which a day is read.

import type { MindSearch } from '../../search.ts'

export type Range = NonNullable<MindSearch['range']>

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
export const DAY_MS = 24 * HOUR_MS
export const RANGES: readonly Range[] = ['1m', '15m', '1h', '6h', '24h']
export const RANGE_MS: Readonly<Record<Range, number>> = {
  '1m': MINUTE_MS,
  '15m': 15 * MINUTE_MS,
  '1h': HOUR_MS,
  '6h': 6 * HOUR_MS,
  '24h': DAY_MS,
}

/** From a moment until before another one. */
export interface Span {
  from: number
  to: number
}

/** Where a moment stands in a span that is drawn so wide. */
export function placeOf({ from, to }: Span, width: number): (at: number) => number {
  return (at) => ((at - from) / (to - from)) * width
}

const STEPS_MS = [
  ...[1, 2, 5, 10, 15, 30].map((seconds) => seconds * 1_000),
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * MINUTE_MS),
  ...[1, 2, 3, 6, 12, 24].map((hours) => hours * HOUR_MS),
]

/** Round moments of a zone (`zoneMs` ahead of UTC), at least `apart` pixels from each other. */
export function ticksOf({ from, to }: Span, width: number, zoneMs: number, apart = 64): number[] {
  const rough = ((to - from) / Math.max(1, width)) * apart
  const step = STEPS_MS.find((one) => one >= rough) ?? DAY_MS
  const first = Math.ceil((from + zoneMs) / step) * step - zoneMs
  return Array.from({ length: Math.max(0, Math.floor((to - first) / step) + 1) }, (_, at) => first + at * step)
}

/** `to` null: it goes on. */
export interface Part {
  from: number
  to: number | null
}

const PART_MS = 6 * HOUR_MS

/**
 * The parts of a span, newest first and without gaps: six hours each, on the clock, so that another visit finds them in
 * the cache. `openFrom`, where it goes on from: what was before it in its hour, and the hour before, are parts of their
 * own, because mostly nothing else is looked at.
 */
export function partsOf({ from, to }: Span, openFrom: readonly number[]): Part[] {
  const cuts = new Set<number>()
  for (let at = Math.floor(from / PART_MS) * PART_MS; at < to; at += PART_MS) cuts.add(at)
  const [first] = openFrom
  if (first !== undefined) {
    const hour = Math.floor(first / HOUR_MS) * HOUR_MS
    for (const at of [hour - HOUR_MS, hour, ...openFrom]) if (at < to) cuts.add(at)
  } else cuts.add(Math.ceil(to / PART_MS) * PART_MS)
  const bounds = [...cuts].sort((one, other) => one - other)
  const parts = bounds.map((at, index) => ({ from: at, to: bounds[index + 1] ?? null }))
  if (first === undefined) parts.pop()
  return parts.reverse()
}

export function overlaps(part: Part, { from, to }: Span): boolean {
  return part.from < to && (part.to ?? Number.POSITIVE_INFINITY) > from
}

/** The window of a moment: the last one where the moment is in it, else one with the moment in its middle. */
export function windowFor(at: number | null, rangeMs: number, now: number): number | null {
  if (at === null || at > now - rangeMs) return null
  return Math.min(now, at + rangeMs / 2)
}
