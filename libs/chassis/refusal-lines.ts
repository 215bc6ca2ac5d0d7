// Which refusals of strangers leave a line in the log. Anybody can be refused without end, at 238 bytes a line: 5,000 a
// second would be 100 GB a day. An address has 60 such lines a minute; then each hundredth request leaves one, which
// says how many left none. Metrics count all of them.

export interface RefusalLines {
  /** How many left none before this one; undefined where this one leaves none. */
  next(network: string): number | undefined
}

const MINUTE_MS = 60_000
const LINES_PER_MINUTE = 60
const SAMPLE = 100
/** Bounds memory under a flood from many addresses; beyond it newcomers are sampled together, as in failures.ts. */
const ADDRESSES_MAX = 10_000
const NEWCOMERS = 'newcomers'

export function createRefusalLines(now: () => number = () => performance.now()): RefusalLines {
  let counts = new Map<string, number>()
  let windowStart = now()
  return {
    next(network) {
      if (now() - windowStart >= MINUTE_MS) {
        counts = new Map()
        windowStart = now()
      }
      const key = counts.size < ADDRESSES_MAX || counts.has(network) ? network : NEWCOMERS
      const count = (counts.get(key) ?? 0) + 1
      counts.set(key, count)
      if (count <= LINES_PER_MINUTE) return 0
      return (count - LINES_PER_MINUTE) % SAMPLE === 0 ? SAMPLE - 1 : undefined
    },
  }
}
