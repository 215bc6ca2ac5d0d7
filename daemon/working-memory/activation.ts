// How strongly a slot is held: a sum of parts, each of which is shown. Between cycles there is no cue,
// so of the parts of recall only salience counts; with it the sender's hint, the base level (how often and how lately
// the slot was written) and stickiness (how many cycles ago it was touched). Pure: the moment is handed in.

import type { Explanation } from '@loci/contract/working-memory.ts'
import type { SlotConfig } from './config.ts'

/** When a slot was presented: written, or seen again by a cycle. Milliseconds, newest first, at most RECENT_MAX. */
export interface Presentations {
  n: number
  first: number
  recent: number[]
}

export interface Judged {
  /** What the text itself shows (salience.ts). */
  surface: number
  /** What the sender said, -2 to 2. */
  hint: number
  seen: Presentations
  touchedCycle: number
}

/** Weights that were set by hand; in cycles they are configuration. */
const WEIGHTS = { salience: 0.5, hint: 0.5, base: 0.5 }
const RECENT_MAX = 4
const HOUR_MS = 3_600_000
/** Below this a slot is as fresh as it can be. It also holds when the clock went back and a write lies ahead of it. */
const AGE_MS_MIN = 1_000
const BETWEEN_CYCLES = { decay: 0.5, exact: RECENT_MAX, ageMsMin: AGE_MS_MIN }

/** The parts of a slot at a moment, and their sum. */
export function explain(
  { surface, hint, seen, touchedCycle }: Judged,
  at: { now: number; cycle: number },
  { stickiness, stickinessHalfLifeCycles }: Pick<SlotConfig, 'stickiness' | 'stickinessHalfLifeCycles'>,
): Explanation {
  const held = 2 ** (-Math.max(at.cycle - touchedCycle, 0) / stickinessHalfLifeCycles)
  const parts = [
    part('salience', surface, WEIGHTS.salience),
    part('hint', hint, WEIGHTS.hint),
    part('base', baseLevel(seen, at.now), WEIGHTS.base),
    part('stickiness', held, stickiness),
  ]
  return { score: rounded(parts.reduce((sum, { contribution }) => sum + contribution, 0)), parts }
}

export function present(seen: Presentations | undefined, at: number): Presentations {
  return { n: (seen?.n ?? 0) + 1, first: seen?.first ?? at, recent: [at, ...(seen?.recent ?? [])].slice(0, RECENT_MAX) }
}

/**
 * ln of the sum of age^-decay over all presentations, in hours (Petrov's form): the newest exactly, at most four, the
 * others as if they were spread evenly over the time before those.
 */
export function baseLevel(
  { n, first, recent }: Presentations,
  now: number,
  { decay, exact, ageMsMin }: { decay: number; exact: number; ageMsMin: number } = BETWEEN_CYCLES,
): number {
  const age = (at: number) => Math.max(now - at, ageMsMin) / HOUR_MS
  const known = Math.min(recent.length, exact)
  let sum = 0
  for (let k = 0; k < known; k += 1) sum += age(recent[k] as number) ** -decay
  const rest = n - known
  if (rest <= 0) return Math.log(sum)
  const [newest, oldest] = [age(recent[known - 1] ?? first), age(first)]
  const each =
    oldest > newest && decay < 1
      ? (oldest ** (1 - decay) - newest ** (1 - decay)) / ((1 - decay) * (oldest - newest))
      : newest ** -decay
  return Math.log(sum + rest * each)
}

/** Contributions are rounded before they are summed, so that what is shown adds up to the score that is shown. */
function part(name: string, value: number, weight: number): Explanation['parts'][number] {
  return { name, value: rounded(value), weight, contribution: rounded(weight * value) }
}

export function rounded(value: number): number {
  return Math.round(value * 1e6) / 1e6
}
