// What each plan allows. The numbers are plans.json's alone; nothing else in the code knows one.

import type { InstanceLimits } from '@loci/contract/feed.ts'
import plans from './plans.json' with { type: 'json' }

export type PlanName = keyof typeof plans
/**
 * No bound where one is absent, and 30 for `history_days`. `organization_rate`: how many times the rate of one service
 * all have together.
 */
type Optional = { bytes_written_per_day?: number; history_days?: number; organization_rate?: number }
export type Plan = Omit<(typeof plans)[PlanName], keyof Optional> & Optional

export const PLANS: Readonly<Record<PlanName, Plan>> = plans
export const PLAN_NAMES = Object.keys(plans) as PlanName[]

/** No token of any plan lives longer: how long a revocation must be kept when the tokens that it hits are not known. */
export const TOKEN_SECONDS_MAX = Math.max(...Object.values(plans).map((plan) => plan.token_seconds_max))

/** The limits of an instance, as its cell enforces them. */
export function limitsOf(plan: PlanName): InstanceLimits {
  const { databases, records, bytes, requests_per_second, streams, ...optional } = PLANS[plan]
  const { bytes_written_per_day, history_days, organization_rate } = optional
  return {
    ...{ databases, records, bytes, requests_per_second, burst: 2 * requests_per_second, streams },
    ...(bytes_written_per_day === undefined ? {} : { bytes_written_per_day }),
    ...(history_days === undefined ? {} : { history_days }),
    ...(organization_rate === undefined ? {} : { organization_rate }),
  }
}
