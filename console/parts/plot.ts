// Where things stand in a plot: round steps of an axis, and which of many times are written.

/** At most `ticks` round steps from 0 to above `max`: 0, 20, 40, 60. */
export function axisOf(max: number, ticks = 4): number[] {
  const rough = Math.max(1, max) / (ticks - 1)
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = Math.max(1, ([1, 2, 5, 10].find((one) => one * power >= rough) ?? 10) * power)
  const count = Math.max(2, Math.ceil(Math.max(1, max) / step) + 1)
  return Array.from({ length: count }, (_, at) => at * step)
}

/** The places of `shown` labels among `count`, from the first to the last. */
export function labelsOf(count: number, shown: number): number[] {
  if (count <= shown) return Array.from({ length: count }, (_, at) => at)
  return Array.from({ length: shown }, (_, at) => Math.round((at * (count - 1)) / (shown - 1)))
}
