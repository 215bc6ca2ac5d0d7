// What a tenant is told about itself, and what the wire calls what is stored.

import { PLANS, type PlanName } from '../plans.ts'
import { readMarks, readPeriod } from './ordering.ts'
import type { BilledTenant, WholeEvent } from './store.ts'

export interface Suspension {
  since: Date
  readsEndAt: Date | undefined
  deletionAt: Date | undefined
}

/** Failed and deleting ones have released what they used. */
const RELEASED = new Set(['failed', 'deleting', 'deleted'])

/** `services`: count by status. `isBilled`: whether a webhook is configured; without one no plan is enforced. */
export function statusJson(
  tenant: BilledTenant,
  services: ReadonlyMap<string, number>,
  isBilled: boolean,
  suspension: Suspension | undefined,
) {
  const covered: PlanName = isBilled ? tenant.plan : 'enterprise'
  const limits = PLANS[covered]
  const written = limits.bytes_written_per_day
  const counts = [...services]
  const sum = (some: typeof counts) => some.reduce((total, [, count]) => total + count, 0)
  return {
    tenant_id: tenant.id,
    organization_id: tenant.organizationId,
    status: tenant.status,
    status_reason: tenant.statusReason,
    plan: tenant.billedPlan ?? tenant.plan,
    covered_plan: tenant.plan,
    billing: {
      status: tenant.billingStatus,
      customer_id: tenant.customerId,
      subscription_id: tenant.subscriptionId,
      current_period_start: tenant.currentPeriodStart,
      current_period_end: tenant.currentPeriodEnd,
      grace_ends_at: tenant.graceEndsAt?.toISOString() ?? null,
      suspended_since: suspension?.since.toISOString() ?? null,
      reads_end_at: suspension?.readsEndAt?.toISOString() ?? null,
      deletion_at: suspension?.deletionAt?.toISOString() ?? null,
      last_event_at: tenant.lastEventAt?.toISOString() ?? null,
    },
    limits: {
      services: { limit: limits.services, used: sum(counts.filter(([status]) => !RELEASED.has(status))) },
      databases: { limit: limits.databases },
      records: { limit: limits.records },
      bytes: { limit: limits.bytes },
      ...(written === undefined ? {} : { bytes_written_per_day: { limit: written } }),
      requests_per_second: { limit: limits.requests_per_second },
    },
    services: { total: sum(counts), by_status: Object.fromEntries(counts) },
    updated_at: tenant.updatedAt.toISOString(),
  }
}

export function eventJson(event: WholeEvent) {
  return {
    id: event.id,
    event_type: event.eventType,
    customer_id: event.customerId,
    subscription_id: event.subscriptionId || null,
    counts_for: event.countsFor || null,
    plan: event.plan,
    status: event.status,
    effect: event.effect,
    sequence: event.sequence,
    occurred_at: event.occurredAt?.toISOString() ?? null,
    received_at: event.receivedAt.toISOString(),
    current_period_start: event.currentPeriodStart,
    current_period_end: event.currentPeriodEnd,
    metadata: event.metadata,
    warnings: warningsOf(event),
  }
}

/** What of the event was not understood, and therefore counts as not given. */
function warningsOf({ currentPeriodStart, currentPeriodEnd, metadata, receivedAt }: WholeEvent): string[] {
  const marks = readMarks(metadata ?? undefined, receivedAt)
  const isUnread = (text: string | null) => text !== null && readPeriod(text) === null
  const period = 'is neither an RFC 3339 time, nor a date, nor epoch seconds; ignored'
  return [
    isUnread(currentPeriodStart) ? `currentPeriodStart ${period}` : '',
    isUnread(currentPeriodEnd) ? `currentPeriodEnd ${period}` : '',
    metadata?.sequence !== undefined && marks.sequence === null
      ? 'metadata.sequence is not 1 to 15 digits; ignored'
      : '',
    metadata?.occurred_at !== undefined && marks.occurredAt === null
      ? 'metadata.occurred_at is not an RFC 3339 time, or is more than 10 minutes ahead; ignored'
      : '',
  ].filter(Boolean)
}
