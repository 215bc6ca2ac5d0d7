// How long cycles took: the middle, what one of twenty is beyond, and how many there are of each length.

export interface Durations {
  median: number
  p95: number
  /** From 0, each `widthMs` wide; the last has what is longer, too. */
  bins: number[]
  widthMs: number
}

const BINS = 16

/** Undefined where none ran. */
export function durationsOf(all: readonly number[]): Durations | undefined {
  if (all.length === 0) return undefined
  const sorted = all.toSorted((one, other) => one - other)
  const quantile = (share: number) =>
    sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] as number
  const [median, p95] = [quantile(0.5), quantile(0.95)]
  const widthMs = Math.max(1, Math.ceil((p95 * 1.25) / BINS))
  const bins = Array.from({ length: BINS }, () => 0)
  for (const ms of sorted) {
    const at = Math.min(BINS - 1, Math.floor(ms / widthMs))
    bins[at] = (bins[at] as number) + 1
  }
  return { median, p95, bins, widthMs }
}
