// What was looked for a moment ago and is not there. For names that nobody can guess and that are stored before they
// are given to anyone: such a name cannot come into being while it is remembered as missing. Who asks for the same one
// again and again is then answered without the store.

import { createCache } from './cache.ts'

export interface Misses {
  has(key: string): boolean
  keep(key: string): void
}

const MISSES_MAX = 10_000
const MISSED_MS = 2_000

export function createMisses(now: () => number = () => performance.now()): Misses {
  const missedAt = createCache<number>(MISSES_MAX)
  return {
    has: (key) => now() - (missedAt.find(key) ?? Number.NEGATIVE_INFINITY) < MISSED_MS,
    keep: (key) => missedAt.keep(key, now()),
  }
}
