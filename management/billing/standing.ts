// Where a tenant stands with its billing at one moment: what it may do, and when that changes by the clock alone
// (CONTRACT 4.1 "The tenant's record", 4.3 "Billing effect"). States of the tenant, and what moves it on:
//
//   active     no subscription (plan free); an active one; a cancelled one before its period ends, then plan free.
//   past_due   from the first failed payment until the grace ends. Nothing is refused.
//   suspended  unpaid, or the grace has ended. Writes are refused at once; after 30 days everything is (`off`); after 60
//              the tenant is to be deleted. Each step is announced 7 days before.
//
// Any event that entitles again leads back to active from every one of them. Never may the clock of a suspension begin
// while the tenant was still entitled by another subscription: an old unpaid one would then delete it without a word.
//
// `delete` says that the time has come, not that it was announced: events can arrive late, with times long past. Who
// deletes must have sent `tenant.deletion_due` at least 7 days before.

import { isDeepStrictEqual } from 'node:util'
import { plan as planNames } from '@loci/contract/billing.ts'
import type { PlanName } from '../plans.ts'
import { type BillingStatus, SEVERITIES, type SubscriptionRecord } from './fold.ts'

export type GraceDays = Readonly<Record<PlanName, number>>

export const GRACE_DAYS: GraceDays = { free: 7, starter: 7, pro: 14, enterprise: 30 }

export interface Standing extends Answer {
  /** The next moment at which this answer changes without an event, or at which a notice is due. */
  nextChangeAt: Date | null
}

interface Answer {
  tenantStatus: 'active' | 'past_due' | 'suspended'
  /** `unpaid` also after the grace: it is what daemons answer 402 for. */
  reason: 'past_due' | 'unpaid' | null
  coveredPlan: PlanName
  billing: {
    status: BillingStatus | null
    subscriptionId: string | null
    currentPeriodStart: Date | null
    currentPeriodEnd: Date | null
    graceEndsAt: Date | null
  }
  gate: 'open' | 'writes_refused' | 'off' | 'delete'
  /** Of this suspension, past ones too: whoever sends them remembers which were sent. */
  notices: Notice[]
}

interface Notice {
  type: 'tenant.access_ends' | 'tenant.deletion_due'
  /** When the notice is due. */
  at: Date
  /** When the step that it announces is taken. */
  takesEffectAt: Date
}

const DAY_MS = 86_400_000
const OFF_AFTER_MS = 30 * DAY_MS
const DELETE_AFTER_MS = 60 * DAY_MS
const NOTICE_MS = 7 * DAY_MS

export function standingOf(records: readonly SubscriptionRecord[], now: Date, graceDays: GraceDays): Standing {
  const answer = answerAt(records, now.getTime(), graceDays)
  const isChange = (moment: number) =>
    answer.notices.some(({ at }) => at.getTime() === moment) ||
    !isDeepStrictEqual(answerAt(records, moment, graceDays), answer)
  const next = listMoments(records, graceDays).find((moment) => moment > now.getTime() && isChange(moment))
  return { ...answer, nextChangeAt: next === undefined ? null : new Date(next) }
}

function answerAt(records: readonly SubscriptionRecord[], at: number, graceDays: GraceDays): Answer {
  const record = findMostFavourable(records, at, graceDays)
  const billing = billingOf(record, graceDays)
  const free: Answer = {
    tenantStatus: 'active',
    reason: null,
    coveredPlan: 'free',
    billing,
    gate: 'open',
    notices: [],
  }
  if (!record) return free
  if (at < entitledUntil(record, graceDays)) {
    const { entitledPlan: coveredPlan } = record
    return record.status === 'past_due'
      ? { ...free, tenantStatus: 'past_due', reason: 'past_due', coveredPlan }
      : { ...free, coveredPlan }
  }
  if (record.status === 'cancelled') return free
  // Whatever entitled the tenant last, of all its subscriptions, begins the suspension by its end.
  const begin = Math.max(...records.map((one) => lapsedAt(one, graceDays)))
  return {
    tenantStatus: 'suspended',
    reason: 'unpaid',
    // The plan stays, so that no service is cut down to the free plan while the bill can still be paid.
    coveredPlan: record.entitledPlan,
    billing,
    gate: gateAt(at - begin),
    notices: [
      noticeOf('tenant.access_ends', begin + OFF_AFTER_MS),
      noticeOf('tenant.deletion_due', begin + DELETE_AFTER_MS),
    ],
  }
}

/** The most favourable open subscription; if all are closed, the most favourable of those. */
function findMostFavourable(
  records: readonly SubscriptionRecord[],
  at: number,
  graceDays: GraceDays,
): SubscriptionRecord | undefined {
  const open = records.filter((record) => !record.closed)
  const candidates = open.length > 0 ? open : records
  const rank = (record: SubscriptionRecord) => [
    at < entitledUntil(record, graceDays) ? 1 : 0,
    planNames.options.indexOf(record.entitledPlan),
    -SEVERITIES.indexOf(record.status),
    // The contract ends here. Beyond it only what the sender has said: a grace can count from the receipt, and the order of
    // delivery would then choose. Nobody loses by it: when this one ends, the other is the one that entitles.
    timeOf(record.currentPeriodEnd),
  ]
  return candidates.toSorted((one, other) => {
    const [ofOne, ofOther] = [rank(one), rank(other)]
    const differs = ofOne.findIndex((value, index) => value !== ofOther[index])
    if (differs >= 0) return (ofOne[differs] ?? 0) > (ofOther[differs] ?? 0) ? -1 : 1
    return one.subscriptionId < other.subscriptionId ? -1 : 1
  })[0]
}

/** The subscription entitles before this moment and not from it on. */
function entitledUntil(record: SubscriptionRecord, graceDays: GraceDays): number {
  if (record.status === 'active') return Number.POSITIVE_INFINITY
  if (record.status === 'past_due') return graceEnd(record, graceDays)
  if (record.status === 'cancelled') return timeOf(record.currentPeriodEnd)
  return Number.NEGATIVE_INFINITY
}

/** When a subscription that entitles no more did so last; meaningless for one that still does. */
function lapsedAt(record: SubscriptionRecord, graceDays: GraceDays): number {
  if (record.status === 'past_due') return graceEnd(record, graceDays)
  if (record.status === 'unpaid') return timeOf(record.unpaidSince)
  // A closed one entitles nobody beside an open one, even before the end of its period.
  const periodEnd = record.closed ? Number.NEGATIVE_INFINITY : timeOf(record.currentPeriodEnd)
  return Math.max(timeOf(record.cancelledSince), periodEnd)
}

function graceEnd({ pastDueSince, entitledPlan }: SubscriptionRecord, graceDays: GraceDays): number {
  return timeOf(pastDueSince) + graceDays[entitledPlan] * DAY_MS
}

function timeOf(date: Date | null): number {
  return date?.getTime() ?? Number.NEGATIVE_INFINITY
}

function billingOf(record: SubscriptionRecord | undefined, graceDays: GraceDays): Answer['billing'] {
  return {
    status: record?.status ?? null,
    subscriptionId: record?.subscriptionId || null,
    currentPeriodStart: record?.currentPeriodStart ?? null,
    currentPeriodEnd: record?.currentPeriodEnd ?? null,
    graceEndsAt: record?.status === 'past_due' ? new Date(graceEnd(record, graceDays)) : null,
  }
}

function gateAt(suspendedMs: number): Answer['gate'] {
  if (suspendedMs >= DELETE_AFTER_MS) return 'delete'
  return suspendedMs >= OFF_AFTER_MS ? 'off' : 'writes_refused'
}

function noticeOf(type: Notice['type'], takesEffectAt: number): Notice {
  return { type, at: new Date(takesEffectAt - NOTICE_MS), takesEffectAt: new Date(takesEffectAt) }
}

/** Every moment at which any answer about these records can change, in order: between two of them nothing does. */
function listMoments(records: readonly SubscriptionRecord[], graceDays: GraceDays): number[] {
  const steps = [0, OFF_AFTER_MS - NOTICE_MS, OFF_AFTER_MS, DELETE_AFTER_MS - NOTICE_MS, DELETE_AFTER_MS]
  return records
    .flatMap((record) => {
      const begin = lapsedAt(record, graceDays)
      return [entitledUntil(record, graceDays), ...steps.map((step) => begin + step)]
    })
    .filter(Number.isFinite)
    .sort((one, other) => one - other)
}
