// An event of the payment provider changes the tenant's record in one transaction: the event is stored, all events of
// the tenant are folded under the lock of its row, and the result is written: plan, status and access of the tenant,
// its services as due, the audit entry, the events.
//
//   applied, superseded, unordered   stored with the tenant (fold.ts tells them apart).
//   parked   the tenant is not known. Moves on: the tenant appears → as if it arrived then, in the old order; 30 days
//            → dead.
//   dead     kept for staff to see. Moves on: the tenant appears after all.
//
// Never: an event that is answered 200 and not stored; one delivery stored twice; a tenant that is created between the
// search for it and the parking of its event (both hold the lock of its id).

import { createHash } from 'node:crypto'
import { PLATFORM_CHAIN } from '@loci/acts/audit/audit.ts'
import { appendAudit } from '@loci/acts/audit/store.ts'
import { PLATFORM } from '@loci/contract/audit.ts'
import type { BillingEventBody } from '@loci/contract/billing.ts'
import { isId, newId } from '@loci/contract/ids.ts'
import type { TenantAccess } from '@loci/contract/states.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import { findOwner, useOrganization } from '../access/store.ts'
import { appendEvent, type EventEntry } from '../acts/events/store.ts'
import { putServicesDue } from '../provisioning/due/store.ts'
import { effectOf, foldTenant, type SubscriptionRecord, subscriptionFor } from './fold.ts'
import { announce, takenAt } from './notices.ts'
import { readMarks } from './ordering.ts'
import type { Suspension } from './status.ts'
import {
  type BilledTenant,
  type Effect,
  findParkedEnd,
  insertEvent,
  listEvents,
  lockBilledTenant,
  lockTenantId,
  putTenantClock,
  readNow,
  type Settled,
  type StoredEvent,
  saveOrganizationPlan,
  saveSettled,
  takeParked,
  type WholeEvent,
} from './store.ts'
import { type TenantState, tenantStateAt } from './tenant-state.ts'

export interface Delivery {
  body: BillingEventBody
  bytes: Buffer
  /** The header webhook-id. */
  webhookId: string | undefined
  requestId: string
}

/** Of the audit: who acted. */
const PROVIDER = 'billing-webhook'
const CLOCK = 'clock'
/** No id of ours is longer; any other name is kept for staff to see, and may be cut. */
const TENANT_ID_LENGTH_MAX = 100
/** Longer ones are known by their digest: an index takes no more than 2,700 bytes. */
const INBOX_KEY_LENGTH_MAX = 200
/** The last time that can be written with four digits of a year. */
const TIME_MAX = Date.parse('9999-12-31T23:59:59.999Z')

export interface Received {
  /** `seen`: known before, and nothing was changed. */
  effect: Effect | 'seen'
  organizationId: string
  tenantId: string
}

export async function receiveEvent(sql: Sql, delivery: Delivery, now: Date): Promise<Received> {
  const event = eventOf(delivery, now)
  const known = await findTenantOwner(sql, event.tenantId)
  if (known) return storeEvent(sql, known, event, delivery.requestId, now)
  await lockTenantId(sql, event.tenantId)
  const appeared = await findTenantOwner(sql, event.tenantId)
  if (appeared) return storeEvent(sql, appeared, event, delivery.requestId, now)
  return parkEvent(sql, event, delivery.requestId)
}

/** Called in the transaction that creates a tenant: applies its parked events. Leaves its organization in use. */
export async function applyParkedOf(
  sql: Sql,
  { id, organizationId }: { id: string; organizationId: string },
  given?: Date,
): Promise<void> {
  const now = given ?? (await readNow(sql))
  await lockTenantId(sql, id)
  await useOrganization(sql, PLATFORM)
  const parked = await takeParked(sql, id)
  await useOrganization(sql, organizationId)
  for (const event of parked) await storeEvent(sql, { organizationId, tenantId: id }, event, undefined, now)
}

/** Called in the transaction that closes a tenant. */
export async function saveOrganizationPlanOf(sql: Sql, { organizationId }: { organizationId: string }): Promise<void> {
  if (await saveOrganizationPlan(sql, organizationId)) await putServicesDue(sql, organizationId, null)
}

export async function findTenantOwner(sql: Sql, tenantId: string) {
  const owner = isId('ten', tenantId) ? await findOwner(sql, tenantId) : undefined
  return owner?.serviceId === null ? owner : undefined
}

async function storeEvent(
  sql: Sql,
  { organizationId, tenantId }: { organizationId: string; tenantId: string },
  arrived: WholeEvent,
  requestId: string | undefined,
  now: Date,
): Promise<Received> {
  await useOrganization(sql, organizationId)
  const tenant = await lockBilledTenant(sql, organizationId, tenantId)
  if (!tenant) throw new Error(`the tenant ${tenantId} was found and could not be locked`)
  const before = await listEvents(sql, organizationId, tenantId)
  const countsFor = subscriptionFor(before, arrived.subscriptionId)
  const numbered = { ...arrived, arrival: tenant.arrivals + 1, countsFor }
  const effect = effectOf(
    before.filter((one) => one.countsFor === countsFor),
    numbered,
  )
  const event = { ...numbered, effect }
  if (!(await insertEvent(sql, organizationId, event))) return { effect: 'seen', organizationId, tenantId }
  const counted = { ...tenant, arrivals: event.arrival, lastEventAt: event.receivedAt }
  const { settled, notices } = await settle(sql, counted, [...before, event], now, 'always')
  const facts = { plan: settled.plan, status: settled.status, effect }
  await appendAudit(sql, {
    chain: organizationId,
    actor: PROVIDER,
    action: 'billing.event',
    subject: tenantId,
    ...(requestId === undefined ? {} : { requestId }),
    detail: { event_id: event.id, event_type: event.eventType, ...facts },
  })
  const changed = { organizationId, type: 'tenant.billing_changed', subject: tenantId }
  await appendEvents(sql, [...notices, { ...changed, data: { tenant_id: tenantId, event_id: event.id, ...facts } }])
  return { effect, organizationId, tenantId }
}

/** With the lock of the tenant's id. */
async function parkEvent(sql: Sql, event: WholeEvent, requestId: string): Promise<Received> {
  const { tenantId } = event
  await useOrganization(sql, PLATFORM)
  const arrival = (await findParkedEnd(sql, tenantId)) + 1
  const isNew = await insertEvent(sql, PLATFORM, { ...event, arrival, effect: 'parked' })
  if (!isNew) return { effect: 'seen', organizationId: PLATFORM, tenantId }
  await appendAudit(sql, {
    chain: PLATFORM_CHAIN,
    actor: PROVIDER,
    action: 'billing.park',
    subject: tenantId,
    requestId,
    detail: { event_id: event.id, event_type: event.eventType, plan: event.plan, status: event.status },
  })
  return { effect: 'parked', organizationId: PLATFORM, tenantId }
}

/** Applies the clock to one tenant, which is locked and its organization in use. False: nothing to write. */
export async function settleByClock(sql: Sql, tenant: BilledTenant, now: Date): Promise<boolean> {
  const events = await listEvents(sql, tenant.organizationId, tenant.id)
  const { settled, notices, isChanged } = await settle(sql, tenant, events, now, 'if changed')
  if (!isChanged) return false
  const { id, organizationId } = tenant
  const facts = { plan: settled.plan, status: settled.status, access: settled.access }
  await appendAudit(sql, { chain: organizationId, actor: CLOCK, action: 'billing.clock', subject: id, detail: facts })
  const changed = { organizationId, type: 'tenant.billing_changed', subject: id }
  const data = { tenant_id: id, plan: settled.plan, status: settled.status, effect: 'clock' }
  await appendEvents(sql, [...notices, { ...changed, data }])
  return true
}

/** Of a tenant suspended for payment: since when, and when what comes next is done. Its organization is in use. */
export async function readSuspension(sql: Sql, tenant: BilledTenant, now: Date): Promise<Suspension | undefined> {
  if (tenant.status !== 'suspended') return undefined
  const state = tenantStateAt(foldTenant(await listEvents(sql, tenant.organizationId, tenant.id)), now)
  if (!state.suspendedSince) return undefined
  return {
    since: state.suspendedSince,
    readsEndAt: takenAt(state, tenant.notices, 'tenant.access_ends'),
    deletionAt: takenAt(state, tenant.notices, 'tenant.deletion_due'),
  }
}

/** After staff reset an ordering. The tenant is locked and its organization in use; the audit is the caller's. */
export async function settleAfterReset(sql: Sql, tenant: BilledTenant, now: Date): Promise<{ events: EventEntry[] }> {
  const { id, organizationId } = tenant
  const { settled, notices } = await settle(sql, tenant, await listEvents(sql, organizationId, id), now, 'always')
  const changed = { organizationId, type: 'tenant.billing_changed', subject: id }
  const data = { tenant_id: id, plan: settled.plan, status: settled.status, effect: 'reset' }
  return { events: [...notices, { ...changed, data }] }
}

export async function appendEvents(sql: Sql, events: EventEntry[]): Promise<void> {
  // By the database's time, not the `now` that was handed in: events are kept by day.
  for (const event of events) await appendEvent(sql, event)
}

/** Folds, and writes what follows: always after an event, else where it differs from what is there. */
async function settle(
  sql: Sql,
  tenant: BilledTenant,
  events: readonly StoredEvent[],
  now: Date,
  write: 'always' | 'if changed',
): Promise<{ settled: Settled; notices: EventEntry[]; isChanged: boolean }> {
  const { id, organizationId } = tenant
  // A closed tenant stays closed, and a plan set by hand stays until the first event of the provider.
  if (tenant.deletedAt !== null || events.length === 0) {
    await putTenantClock(sql, tenant, null)
    if (write === 'always') await saveSettled(sql, tenant, tenant, now)
    return { settled: tenant, notices: [], isChanged: false }
  }
  const fold = foldTenant(events)
  const state = tenantStateAt(fold, now)
  const announced = announce(state, tenant.notices, now)
  const settled = settledOf(state, announced.access, announced.sent)
  const isChanged = differs(tenant, settled)
  const isWritten = isChanged || write === 'always'
  if (isWritten) {
    await saveSettled(sql, tenant, settled, now)
    // The plan of the organization limits the services of all its tenants together.
    const isAll = settled.plan !== tenant.plan && (await saveOrganizationPlan(sql, organizationId))
    await putServicesDue(sql, organizationId, isAll ? null : id)
  }
  await putTenantClock(sql, tenant, nextCheckOf(fold.records, announced.nextChangeAt))
  if (!isWritten) return { settled, notices: [], isChanged }
  const notices = announced.send.map(({ type, takesEffectAt }) => ({
    organizationId,
    type,
    subject: id,
    data: { tenant_id: id, takes_effect_at: takesEffectAt.toISOString() },
  }))
  return { settled, notices, isChanged }
}

/** If any subscription depends on time, check again later: the last decision may have used a wrong clock. */
function nextCheckOf(records: readonly SubscriptionRecord[], nextChangeAt: Date | null): Date | null {
  if (records.every(({ status }) => status === 'active')) return nextChangeAt
  return bounded(nextChangeAt ?? new Date(TIME_MAX))
}

function settledOf(state: TenantState, access: TenantAccess, notices: string[]): Settled {
  const { billing } = state
  return {
    plan: state.coveredPlan,
    billedPlan: state.plan,
    status: state.tenantStatus,
    statusReason: state.reason,
    access,
    billingStatus: billing.status,
    customerId: billing.customerId,
    subscriptionId: billing.subscriptionId,
    currentPeriodStart: billing.currentPeriodStart?.toISOString() ?? null,
    currentPeriodEnd: billing.currentPeriodEnd?.toISOString() ?? null,
    graceEndsAt: bounded(billing.graceEndsAt),
    notices,
  }
}

function differs(before: Settled, after: Settled): boolean {
  const keys = Object.keys(after) as (keyof Settled)[]
  return keys.some((key) => JSON.stringify(before[key]) !== JSON.stringify(after[key]))
}

/** A grace can begin on the last day of the year 9999 and end after it. */
function bounded(time: Date | null): Date | null {
  return time && new Date(Math.min(time.getTime(), TIME_MAX))
}

function eventOf({ body, bytes, webhookId }: Delivery, now: Date): WholeEvent {
  const tenantId = body.tenantId.slice(0, TENANT_ID_LENGTH_MAX).toWellFormed()
  return {
    id: newId('evt', now.getTime()),
    tenantId,
    eventType: body.eventType,
    customerId: body.customerId ?? null,
    subscriptionId: body.subscriptionId ?? '',
    // Found when it is stored with its tenant.
    countsFor: body.subscriptionId ?? '',
    plan: body.plan,
    status: body.status,
    currentPeriodStart: body.currentPeriodStart ?? null,
    currentPeriodEnd: body.currentPeriodEnd ?? null,
    ...readMarks(body.metadata, now),
    receivedAt: now,
    arrival: 0,
    digest: digestOf(bytes),
    inboxKey: inboxKeyOf(tenantId, webhookId, body.metadata?.event_id),
    effect: 'parked',
    metadata: body.metadata ?? null,
  }
}

/**
 * Two separate spaces. `webhook-id` is unique among all deliveries of the provider, `metadata.event_id` only within its
 * tenant.
 */
function inboxKeyOf(tenantId: string, webhookId: string | undefined, eventId: string | undefined): string | null {
  if (!webhookId && !eventId) return null
  const key = webhookId ? `webhook-id:${webhookId}` : `event_id:${tenantId}:${eventId}`
  return key.length <= INBOX_KEY_LENGTH_MAX ? key : `sha256:${digestOf(key)}`
}

function digestOf(bytes: Buffer | string): string {
  return createHash('sha256').update(bytes).digest('hex')
}
