// What was at a moment: who was held, how strongly, under which focus, by which cycle; and the next moment at which
// something changed.

import type { CycleAt, Mind, Stay } from './timeline.ts'

/** The last that began by then. Items are in the order of their time. */
export function lastBy<Item>(items: readonly Item[], at: number, timeOf: (item: Item) => number): Item | undefined {
  let low = 0
  let high = items.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (timeOf(items[middle] as Item) <= at) low = middle + 1
    else high = middle
  }
  return items[low - 1]
}

export function cycleAt({ cycles }: Pick<Mind, 'cycles'>, at: number): CycleAt | undefined {
  return lastBy(cycles, at, (cycle) => cycle.at)
}

/** From when it came, with that moment, until it left, without it. */
export function isHeld({ from, to }: Pick<Stay, 'from' | 'to'>, at: number): boolean {
  return from <= at && (to === null || at < to)
}

/** How strongly, by the last that was stored: the engine computes nothing between two cycles. Null: not known. */
export function scoreAt({ light }: Pick<Stay, 'light'>, at: number): number | null {
  return (lastBy(light, at, (one) => one.at) ?? light[0])?.score ?? null
}

/** Strongest first. */
export function heldAt(rows: readonly (readonly Stay[])[], at: number): Stay[] {
  const held = rows.flatMap((row) => {
    const stay = lastBy(row, at, ({ from }) => from)
    return stay && isHeld(stay, at) ? [stay] : []
  })
  return held.sort(
    (one, other) => (scoreAt(other, at) ?? 0) - (scoreAt(one, at) ?? 0) || (one.key < other.key ? -1 : 1),
  )
}

export interface Focus {
  text: string
  from: number
  to: number
}

/** A focus lasts until the next one, or until it is too old. */
export function fociOf(cycles: readonly CycleAt[], ttlMs: number): Focus[] {
  const set = cycles.flatMap(({ focus, at }) => (focus === null ? [] : [{ text: focus, at }]))
  return set.map(({ text, at }, index) => ({
    ...{ text, from: at },
    to: Math.min(at + ttlMs, set[index + 1]?.at ?? Number.POSITIVE_INFINITY),
  }))
}

export function focusAt(foci: readonly Focus[], at: number): Focus | undefined {
  const last = lastBy(foci, at, ({ from }) => from)
  return last && at < last.to ? last : undefined
}

/** All moments at which something came or left, or a cycle ran. */
export function changesOf({ cycles, stays }: Pick<Mind, 'cycles' | 'stays'>): number[] {
  const times = new Set(cycles.map(({ at }) => at))
  for (const { from, left } of stays) {
    times.add(from)
    if (left) times.add(Date.parse(left.at))
  }
  return [...times].sort((one, other) => one - other)
}

/** The next of these moments, or the one before. Undefined: there is none. */
export function stepFrom(times: readonly number[], at: number, by: 1 | -1): number | undefined {
  if (by === 1) return times.find((time) => time > at)
  return times.findLast((time) => time < at)
}
