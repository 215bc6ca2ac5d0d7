import { ApiError } from '@loci/chassis/api-error.ts'
import { LATENCY_BOUNDS_MS, type UsageStep } from '@loci/contract/usage.ts'
import type { UsagePoint } from './store.ts'

const DAY_MS = 86_400_000
const STEP_MS: Readonly<Record<UsageStep, number>> = { minute: 60_000, hour: 3_600_000, day: DAY_MS }
const POINTS_MAX = 1_500
/** An offset may carry a year of four digits beyond them, to where neither our format nor a reader of it follows. */
const MS_MAX = Date.parse('9999-12-31T23:59:59.999Z')

export interface Range {
  from: Date
  to: Date
  step: UsageStep
  stepMs: number
}

/** The bound of the class in which the `part` of the answers is reached. Null: none was measured. */
function percentileOf(latency: readonly number[], part: number): number | null {
  const total = latency.reduce((sum, answers) => sum + answers, 0)
  if (total === 0) return null
  let answered = 0
  const bucket = latency.findIndex((answers) => {
    answered += answers
    return answered >= total * part
  })
  return LATENCY_BOUNDS_MS[bucket] ?? null
}

/** As it is answered. */
export function pointJson({ latency, errors, cycles, evictions, ...point }: UsagePoint): object {
  return {
    ...{ ...point, errors },
    ...{ p50_ms: percentileOf(latency, 0.5), p95_ms: percentileOf(latency, 0.95) },
    ...{ cycles, evictions },
  }
}

/** Half-open: `from` is in it, `to` is not, so two ranges that touch count nothing twice. */
export function rangeOf(
  query: { from?: string | undefined; to?: string | undefined; step: UsageStep },
  { now = new Date(), pointsMax = POINTS_MAX }: { now?: Date; pointsMax?: number } = {},
): Range {
  const { step } = query
  const stepMs = STEP_MS[step]
  const to = query.to === undefined ? now : new Date(query.to)
  // By itself the range begins with a whole step: a first point that is cut off looks like a fall.
  const from = query.from === undefined ? new Date(floor(to.getTime() - DAY_MS, stepMs)) : new Date(query.from)
  if (from.getTime() < 0 || to.getTime() > MS_MAX)
    throw new ApiError('VALIDATION_ERROR', 'from and to must lie in the years 1970 to 9999, in UTC.')
  if (from >= to) throw new ApiError('VALIDATION_ERROR', 'from must lie before to.')
  const points = Math.ceil((to.getTime() - floor(from.getTime(), stepMs)) / stepMs)
  if (points > pointsMax)
    throw new ApiError(
      'VALIDATION_ERROR',
      `From ${from.toISOString()} to ${to.toISOString()} are ${points} points by the ${step}. Ask for at most ${pointsMax} ${step}s at a time, or for larger steps.`,
    )
  return { from, to, step, stepMs }
}

function floor(ms: number, stepMs: number): number {
  return Math.floor(ms / stepMs) * stepMs
}
