// Subscriptions at days around one moment, and the state of a tenant that follows from them.

import type { BillingStatus, SubscriptionRecord, TenantFold } from '../billing/fold.ts'
import { type TenantState, tenantStateAt } from '../billing/tenant-state.ts'

export const NOW_MS = Date.parse('2026-03-10T00:00:00Z')
export const DAY_MS = 86_400_000

/** Days from now; negative ones are past. */
export function day(number: number): Date {
  return new Date(NOW_MS + number * DAY_MS)
}

/** A subscription that has been in its status since `since`. */
export function subscription(
  status: BillingStatus,
  since: number,
  more: Partial<SubscriptionRecord> = {},
): SubscriptionRecord {
  return {
    subscriptionId: 'sub',
    customerId: null,
    plan: 'pro',
    coveredPlan: more.plan ?? 'pro',
    status,
    since: day(since),
    currentPeriodStart: null,
    currentPeriodEnd: null,
    closed: false,
    ordering: 'sequence',
    decidedBy: 'evt_1',
    ...more,
  }
}

/** Of subscriptions with a sequence or a time: the most favourable decides. */
export function stateOf(records: SubscriptionRecord[], at = 0): TenantState {
  return tenantStateAt({ by: 'favour', records }, day(at))
}

/** Tenant status, covered plan, access and next change (in days), at each of these days. */
export function course(records: SubscriptionRecord[], ...days: number[]) {
  return courseOf({ by: 'favour', records }, ...days)
}

export function courseOf(fold: TenantFold, ...days: number[]) {
  return days.map((at) => {
    const { tenantStatus, coveredPlan, access, nextChangeAt } = tenantStateAt(fold, day(at))
    return [tenantStatus, coveredPlan, access, nextChangeAt && (nextChangeAt.getTime() - NOW_MS) / DAY_MS]
  })
}
