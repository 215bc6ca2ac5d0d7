// What billing allows a tenant at one moment, and when that changes by the clock alone. States of the tenant, and what
// moves it on:
//
//   active     no subscription (plan free); an active one; a cancelled one before its period ends, then plan free.
//   past_due   from the first failed payment until the grace ends. Nothing is refused.
//   suspended  unpaid, or the grace has ended. Writes are refused at once; after 30 days everything is (access `none`);
//              after 60 the tenant is to be deleted. Each step is announced 7 days before.
//
// Any event that entitles again leads back to active from every one of them. A subscription that owes and was never
// active is shown as past_due, with its grace, but gives the tenant nothing: no plan, no access while another one
// suspends it, no time. A suspension never begins while another subscription still entitles the tenant: an old unpaid
// one would then delete it without a notice.
//
// `delete` says that the time has come, not that it was announced: events can arrive late, with times long past. The
// deletion needs a `tenant.deletion_due` sent at least 7 days before (notices.ts).

import { isDeepStrictEqual } from 'node:util'
import { plan as planNames } from '@loci/contract/billing.ts'
import { GRACE_DAYS, TENANT_STATES, type TenantAccess } from '@loci/contract/states.ts'
import type { PlanName } from '../plans.ts'
import { type BillingStatus, SEVERITIES, type SubscriptionRecord, type TenantFold } from './fold.ts'

export interface TenantState extends Answer {
  /** The next moment at which this answer changes without an event, or at which a notice is due. */
  nextChangeAt: Date | null
}

interface Answer {
  tenantStatus: 'active' | 'past_due' | 'suspended'
  /** `unpaid` also after the grace: it is what daemons answer 402 for. */
  reason: 'past_due' | 'unpaid' | null
  /** As billed; free when a cancelled one is over. */
  plan: PlanName
  /** What the tenant is entitled to. */
  coveredPlan: PlanName
  billing: {
    status: BillingStatus | null
    customerId: string | null
    subscriptionId: string | null
    currentPeriodStart: Date | null
    currentPeriodEnd: Date | null
    graceEndsAt: Date | null
  }
  access: TenantAccess
  suspendedSince: Date | null
  /** Of this suspension, past ones too: the sender remembers which were sent. */
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
const OFF_AFTER_MS = TENANT_STATES.off.fromDay * DAY_MS
const DELETE_AFTER_MS = TENANT_STATES.ended.fromDay * DAY_MS
const NOTICE_MS = 7 * DAY_MS

export function tenantStateAt(all: TenantFold, now: Date): TenantState {
  const fold = withoutIdle(all)
  const answer = answerAt(fold, now.getTime())
  const isChange = (moment: number) =>
    answer.notices.some(({ at }) => at.getTime() === moment) || !isDeepStrictEqual(answerAt(fold, moment), answer)
  const next = listMoments(fold.records).find((moment) => moment > now.getTime() && isChange(moment))
  return { ...answer, nextChangeAt: next === undefined ? null : new Date(next) }
}

/**
 * Of subscriptions that cover nothing only those can make a difference that could be shown, and the ones that lapse
 * first: of all, which may begin a suspension, and of those that are looked at before the first one that was ever paid.
 * Anybody can make any number of them with a declined card: a thousand took 74 s without this.
 */
function withoutIdle({ by, records }: TenantFold): TenantFold {
  const idle = records.filter(({ coveredPlan }) => coveredPlan === null)
  const lapsing = idle.filter(({ status }) => status !== 'cancelled')
  const shown = (some: SubscriptionRecord[]) => (by === 'arrival' ? idle[0] : findMostFavourable(some, 0))
  const paid = records.filter(({ coveredPlan }) => coveredPlan !== null)
  // When none of them entitles any longer.
  const firstPaid = findMostFavourable(paid, Number.POSITIVE_INFINITY)
  const isBefore = (one: SubscriptionRecord) =>
    firstPaid === undefined || findMostFavourable([one, firstPaid], Number.POSITIVE_INFINITY) === one
  const kept = new Set([
    shown(idle.filter(({ closed }) => !closed)),
    shown(idle.filter(({ closed }) => closed)),
    firstLapsing(lapsing),
    by === 'favour' ? firstLapsing(lapsing.filter(isBefore)) : undefined,
  ])
  return { by, records: records.filter((record) => record.coveredPlan !== null || kept.has(record)) }
}

function firstLapsing(records: readonly SubscriptionRecord[]): SubscriptionRecord | undefined {
  let first = records[0]
  for (const record of records) if (first && lapsedAt(record) < lapsedAt(first)) first = record
  return first
}

function answerAt(fold: TenantFold, at: number): Answer {
  const record = fold.by === 'arrival' ? fold.records[0] : findMostFavourable(fold.records, at)
  if (!record) return activeOn('free', undefined)
  if (at < entitledUntil(record)) {
    const answer = activeOn(record.coveredPlan as PlanName, record)
    return record.status === 'past_due' ? { ...answer, ...shownAs('in_grace') } : answer
  }
  if (record.coveredPlan === null) return answerWithout(fold, record, at)
  if (record.status === 'cancelled') return { ...activeOn('free', record), plan: 'free' }
  const since = fold.by === 'arrival' ? lapsedAt(record) : suspensionOf(fold.records)
  return suspendedFrom(since, at, record, record.coveredPlan)
}

/** The record owes and was never active: the tenant has what it has without it, until it is as unpaid. */
function answerWithout(fold: TenantFold, record: SubscriptionRecord, at: number): Answer {
  const rest = answerAt({ ...fold, records: fold.records.filter((one) => one !== record) }, at)
  const billing = billingOf(record)
  if (record.status === 'cancelled') return { ...rest, plan: rest.coveredPlan, billing }
  if (at < lapsedAt(record)) {
    const shown = { ...rest, plan: record.plan, billing }
    return rest.tenantStatus === 'suspended' ? shown : { ...shown, ...shownAs('in_grace') }
  }
  // By arrival the run of its status began with it; where the tenant was suspended without it, that goes on.
  const since =
    fold.by === 'favour' ? suspensionOf(fold.records) : Math.min(lapsedAt(record), rest.suspendedSince?.getTime() ?? at)
  return suspendedFrom(since, at, record, rest.coveredPlan)
}

function activeOn(coveredPlan: PlanName, record: SubscriptionRecord | undefined): Answer {
  return {
    ...shownAs('covered'),
    plan: record?.plan ?? 'free',
    coveredPlan,
    billing: billingOf(record),
    suspendedSince: null,
    notices: [],
  }
}

function suspendedFrom(since: number, at: number, record: SubscriptionRecord, coveredPlan: PlanName): Answer {
  return {
    // The plan stays, so that no service is cut down to the free plan while the bill can still be paid.
    ...activeOn(coveredPlan, record),
    ...shownAs(stateAfter(at - since)),
    suspendedSince: new Date(since),
    notices: [
      noticeOf('tenant.access_ends', since + OFF_AFTER_MS),
      noticeOf('tenant.deletion_due', since + DELETE_AFTER_MS),
    ],
  }
}

/**
 * Of subscriptions of which none entitles: since the last of them did, and something is owed. What was never active has
 * entitled nobody: another one of those neither ends a suspension nor begins it anew.
 */
function suspensionOf(records: readonly SubscriptionRecord[]): number {
  const entitledOnce = records.filter(({ coveredPlan }) => coveredPlan !== null)
  const owing = records.filter(({ status }) => status !== 'cancelled')
  return Math.max(Math.min(...owing.map(lapsedAt)), ...entitledOnce.map(lapsedAt))
}

/** The most favourable open subscription; if all are closed, the most favourable of those. */
function findMostFavourable(records: readonly SubscriptionRecord[], at: number): SubscriptionRecord | undefined {
  const open = records.filter((record) => !record.closed)
  const candidates = open.length > 0 ? open : records
  const rank = (record: SubscriptionRecord) => [
    at < entitledUntil(record) ? 1 : 0,
    planNames.options.indexOf(record.coveredPlan ?? record.plan),
    -SEVERITIES.indexOf(record.status),
    // The contract ends here. Beyond it only what the sender has said: a grace can count from the receipt, and the
    // order of delivery would then choose. Nobody loses by it: when this one ends, the other is the one that entitles.
    timeOf(record.currentPeriodEnd),
  ]
  const isBetter = (one: SubscriptionRecord, other: SubscriptionRecord) => {
    const [ofOne, ofOther] = [rank(one), rank(other)]
    const differs = ofOne.findIndex((value, index) => value !== ofOther[index])
    if (differs >= 0) return (ofOne[differs] ?? 0) > (ofOther[differs] ?? 0)
    return one.subscriptionId < other.subscriptionId
  }
  let best = candidates[0]
  for (const candidate of candidates) if (best && isBetter(candidate, best)) best = candidate
  return best
}

/** The subscription entitles before this moment and not from it on. */
function entitledUntil(record: SubscriptionRecord): number {
  if (record.coveredPlan === null) return Number.NEGATIVE_INFINITY
  if (record.status === 'active') return Number.POSITIVE_INFINITY
  if (record.status === 'past_due') return graceEnd(record)
  if (record.status === 'cancelled') return timeOf(record.currentPeriodEnd)
  return Number.NEGATIVE_INFINITY
}

/** When a lapsed subscription last entitled, or its grace ended; meaningless for one that still entitles. */
function lapsedAt(record: SubscriptionRecord): number {
  if (record.status === 'past_due') return graceEnd(record)
  // A closed one entitles nobody beside an open one, even before the end of its period.
  if (record.status === 'unpaid' || record.closed) return record.since.getTime()
  return Math.max(record.since.getTime(), timeOf(record.currentPeriodEnd))
}

function graceEnd({ since, coveredPlan, plan }: SubscriptionRecord): number {
  return since.getTime() + GRACE_DAYS[coveredPlan ?? plan] * DAY_MS
}

function timeOf(date: Date | null): number {
  return date?.getTime() ?? Number.NEGATIVE_INFINITY
}

function billingOf(record: SubscriptionRecord | undefined): Answer['billing'] {
  return {
    status: record?.status ?? null,
    customerId: record?.customerId ?? null,
    subscriptionId: record?.subscriptionId || null,
    currentPeriodStart: record?.currentPeriodStart ?? null,
    currentPeriodEnd: record?.currentPeriodEnd ?? null,
    graceEndsAt: record?.status === 'past_due' ? new Date(graceEnd(record)) : null,
  }
}

function stateAfter(suspendedMs: number): keyof typeof TENANT_STATES {
  if (suspendedMs >= DELETE_AFTER_MS) return 'ended'
  return suspendedMs >= OFF_AFTER_MS ? 'off' : 'unpaid'
}

function shownAs(state: keyof typeof TENANT_STATES): Pick<Answer, 'tenantStatus' | 'reason' | 'access'> {
  const { status, reason, access } = TENANT_STATES[state]
  return { tenantStatus: status, reason, access }
}

function noticeOf(type: Notice['type'], takesEffectAt: number): Notice {
  return { type, at: new Date(takesEffectAt - NOTICE_MS), takesEffectAt: new Date(takesEffectAt) }
}

/** Every moment at which any answer about these records can change, in order: between two of them nothing does. */
function listMoments(records: readonly SubscriptionRecord[]): number[] {
  const steps = [0, OFF_AFTER_MS - NOTICE_MS, OFF_AFTER_MS, DELETE_AFTER_MS - NOTICE_MS, DELETE_AFTER_MS]
  return records
    .flatMap((record) => {
      const begin = lapsedAt(record)
      return [entitledUntil(record), ...steps.map((step) => begin + step)]
    })
    .filter(Number.isFinite)
    .sort((one, other) => one - other)
}
