// Requests by step, and where a count is going.

import type { Usage } from '@loci/sdk/management.ts'

export type Range = '24h' | '30d' | '12m'
type Reported = Pick<Usage['usage'][number], 'at' | 'requests' | 'writes'>

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const RANGES: Readonly<Record<Range, { step: 'hour' | 'day'; ms: number; unit: string }>> = {
  '24h': { step: 'hour', ms: 24 * HOUR_MS, unit: 'hour' },
  '30d': { step: 'day', ms: 30 * DAY_MS, unit: 'day' },
  '12m': { step: 'day', ms: 366 * DAY_MS, unit: 'month' },
}

export const rangeOf = (range: Range) => RANGES[range]

export interface Bars {
  /** The begin of each step, UTC as the server counts. The last one is not over. */
  times: number[]
  reads: number[]
  writes: number[]
}

/** A step without a report had no request. */
export function barsOf(usage: readonly Reported[], range: Range, now: number): Bars {
  const times =
    range === '12m'
      ? lastMonths(now, 12)
      : lastSteps(now, range === '24h' ? HOUR_MS : DAY_MS, range === '24h' ? 24 : 30)
  const reads = times.map(() => 0)
  const writes = times.map(() => 0)
  for (const one of usage) {
    const at = times.findLastIndex((time) => time <= Date.parse(one.at))
    if (at < 0) continue
    reads[at] = (reads[at] ?? 0) + Math.max(0, one.requests - one.writes)
    writes[at] = (writes[at] ?? 0) + one.writes
  }
  return { times, reads, writes }
}

export function lastMonths(now: number, count: number): number[] {
  const date = new Date(now)
  return Array.from({ length: count }, (_, at) =>
    Date.UTC(date.getUTCFullYear(), date.getUTCMonth() - (count - 1 - at), 1),
  )
}

function lastSteps(now: number, stepMs: number, count: number): number[] {
  const last = Math.floor(now / stepMs) * stepMs
  return Array.from({ length: count }, (_, at) => last - (count - 1 - at) * stepMs)
}

const DAYS_MIN = 3
const AHEAD_MS_MAX = 90 * DAY_MS

/**
 * When a count reaches its limit if it goes on as it did: by the line that fits its days best. Undefined where it does
 * not grow, where three days are not known, or where it is further ahead than anybody can tell.
 */
export function fullAt(
  points: readonly { at: string; value: number }[],
  limit: number,
  now: number,
): number | undefined {
  const last = points.at(-1)
  if (!last || points.length < DAYS_MIN) return undefined
  if (last.value >= limit) return now
  const xs = points.map(({ at }) => (Date.parse(at) - now) / DAY_MS)
  const meanX = xs.reduce((sum, x) => sum + x, 0) / xs.length
  const meanY = points.reduce((sum, { value }) => sum + value, 0) / points.length
  let [above, below] = [0, 0]
  for (const [at, x] of xs.entries()) {
    above += (x - meanX) * ((points[at]?.value ?? 0) - meanY)
    below += (x - meanX) ** 2
  }
  const perDay = below === 0 ? 0 : above / below
  if (perDay <= 0) return undefined
  const ahead = ((limit - last.value) / perDay) * DAY_MS
  return ahead <= AHEAD_MS_MAX ? now + ahead : undefined
}
