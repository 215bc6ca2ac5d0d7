// The billing record of a tenant, folded from all its events.
//
// One subscription: the last event of its highest ordering (ordering.ts) decides; of two at one position the more
// severe status, then the greater body digest. An event of a lower ordering does not count. `subscription.deleted`
// closes a named subscription; after that only a `subscription.created` at a later position counts. It begins a new
// life of the subscription: payments of the life before give no grace. The paid period is that of the last event that
// names one, until a `subscription.created`.
//
// The tenant: while no event has a sequence or a time, all its events are one stream, and the last to arrive decides.
// Else each subscription is folded by itself, and tenant-state.ts takes the most favourable one.
//
// An event that names no subscription counts for an open one that is chosen when it arrives (subscriptionFor); the
// choice is stored with the event (`countsFor`) and never made again.
//
// The records are a function of the SET of events wherever all events have a sequence or a time and all, or none, name
// their subscription: no order of delivery and no repetition changes them. Two fields are exceptions. `since` is
// `receivedAt` for events without `occurredAt`, and for those whose `occurredAt` is later: a clock that is ahead gives
// no longer grace. `decidedBy` names the first delivery of the body that decides.
//
// Where arrival decides, equal bodies are different events: a second payment looks like the first. Nothing here may
// ever drop an event because its body was seen before.

import assert from 'node:assert/strict'
import { plan as planNames } from '@loci/contract/billing.ts'
import type { PlanName } from '../plans.ts'
import { type Marks, ORDERINGS, type Ordering, orderingOf, positionOf, readPeriod } from './ordering.ts'

export type BillingStatus = 'active' | 'past_due' | 'cancelled' | 'unpaid'

/** The mildest first. */
export const SEVERITIES: readonly BillingStatus[] = ['active', 'past_due', 'cancelled', 'unpaid']

export interface BillingEvent extends Marks {
  id: string
  /** The subscription that it counts for; '' is the unnamed one. */
  countsFor: string
  eventType: string
  customerId: string | null
  plan: PlanName
  status: BillingStatus
  currentPeriodStart: string | null
  currentPeriodEnd: string | null
  receivedAt: Date
  /** Order of arrival within the tenant; no two events share one. */
  arrival: number
  /** Hex SHA-256 of the body's bytes. */
  digest: string
}

export interface SubscriptionRecord {
  subscriptionId: string
  /** Of the last event that names one. */
  customerId: string | null
  /** As billed. */
  plan: PlanName
  /** What it entitles to, while it does. Null: it owes and was never active, so it entitles to nothing. */
  coveredPlan: PlanName | null
  status: BillingStatus
  /** Since when it has had this status; for a closed one since it was closed. */
  since: Date
  /** Start and end, each: of the last event since `subscription.created` that names a readable one. */
  currentPeriodStart: Date | null
  currentPeriodEnd: Date | null
  closed: boolean
  ordering: Ordering
  /** Id of the event whose facts these are. */
  decidedBy: string
}

/**
 * `arrival`: the first record decides; each next one is of the subscription that would decide without those before it.
 * They end with the first one that is covered. `favour`: one record for each subscription, the most favourable decides.
 */
export interface TenantFold {
  by: 'arrival' | 'favour'
  records: SubscriptionRecord[]
}

/** All events of a tenant, in the order of their arrival. */
export function foldTenant(events: readonly BillingEvent[]): TenantFold {
  if (events.some((event) => orderingOf(event) !== 'arrival'))
    return { by: 'favour', records: [...bySubscription(events).values()].map(foldSubscription) }
  return { by: 'arrival', records: foldByArrival(events) }
}

/**
 * The subscription that a new event counts for, given those that arrived before it: the one that it names; without a
 * name the open one whose event arrived last; '' when none is open.
 */
export function subscriptionFor(events: readonly BillingEvent[], named: string): string {
  if (named !== '') return named
  const open = [...bySubscription(events)].filter(([, some]) => !foldSubscription(some).closed)
  const lastArrival = (some: readonly BillingEvent[]) => Math.max(...some.map(({ arrival }) => arrival))
  return open.toSorted(([, one], [, other]) => lastArrival(other) - lastArrival(one))[0]?.[0] ?? ''
}

/**
 * What became of one event among those of its subscription: `unordered` has a lower ordering than the one that decides,
 * `superseded` stands before the deciding one, or repeats it, or came for a closed subscription. It is for people to
 * read and does not say whether to store the fold: a superseded event can still move the start of a run.
 */
export function effectOf(
  events: readonly BillingEvent[],
  newEvent: BillingEvent,
): 'applied' | 'unordered' | 'superseded' {
  const { decidedBy, ordering } = foldSubscription([...events.filter(({ id }) => id !== newEvent.id), newEvent])
  if (decidedBy === newEvent.id) return 'applied'
  const isLower = ORDERINGS.indexOf(orderingOf(newEvent)) > ORDERINGS.indexOf(ordering)
  return isLower ? 'unordered' : 'superseded'
}

/** All events of one subscription, at least one, in any order. */
export function foldSubscription(events: readonly BillingEvent[]): SubscriptionRecord {
  assert(events.length > 0, 'a subscription without events has no record')
  assert(new Set(events.map(({ countsFor }) => countsFor)).size === 1, 'fold the events of one subscription at a time')
  const { ordering, positions } = listPositions(events)
  const { counted, life, closed } = listCounted(positions)
  const decider = counted.at(-1)?.[0] as BillingEvent
  return {
    subscriptionId: decider.countsFor,
    customerId: customerOf(counted),
    plan: decider.plan,
    coveredPlan: coveredPlanOf(decider, life.flat(), positions.flat()),
    status: statusOf(decider),
    since: startOfRun(counted),
    currentPeriodStart: periodOf(counted, 'currentPeriodStart'),
    currentPeriodEnd: periodOf(counted, 'currentPeriodEnd'),
    closed,
    ordering,
    decidedBy: decider.id,
  }
}

/** Events without any mark: of all subscriptions the last that is counted decides. */
function foldByArrival(events: readonly BillingEvent[]): SubscriptionRecord[] {
  const byArrival = (one: BillingEvent, other: BillingEvent) => one.arrival - other.arrival
  const subscriptions = [...bySubscription(events).values()]
    .map((all) => ({ all, counted: listCounted(listPositions(all).positions).counted.flat() }))
    .sort((one, other) => byArrival(other.counted.at(-1) as BillingEvent, one.counted.at(-1) as BillingEvent))
  const counted = subscriptions.flatMap((one) => one.counted).sort(byArrival)
  const customerId = counted.findLast((event) => event.customerId !== null)?.customerId ?? null
  const paying = listPaying(counted)
  const records: SubscriptionRecord[] = []
  for (const { all, counted: own } of subscriptions) {
    const { arrival, countsFor } = own.at(-1) as BillingEvent
    // A status that another subscription brought counts on: a second failed payment begins no grace of its own.
    const others = paying.filter((event) => event.countsFor !== countsFor && event.arrival < arrival)
    const since = startOfRun([...own, ...others].sort(byArrival).map((event) => [event]))
    records.push({ ...foldSubscription(all), customerId, since })
    if (records.at(-1)?.coveredPlan !== null) break
  }
  return records
}

/**
 * The events of subscriptions that owed nothing by then, or had been active. The others interrupt no run: else each new
 * subscription whose first payment fails would restart the grace of the paid one.
 */
function listPaying(counted: readonly BillingEvent[]): BillingEvent[] {
  const [owing, paid, closed] = [new Set<string>(), new Set<string>(), new Set<string>()]
  return counted.filter((event) => {
    const { countsFor } = event
    // It counts after a deletion: created anew, or deleted again.
    if (closed.delete(countsFor)) paid.delete(countsFor)
    if (isClosing(event)) closed.add(countsFor)
    if (statusOf(event) === 'active') paid.add(countsFor)
    else if (statusOf(event) !== 'cancelled') owing.add(countsFor)
    return paid.has(countsFor) || !owing.has(countsFor)
  })
}

function bySubscription(events: readonly BillingEvent[]): Map<string, BillingEvent[]> {
  return Map.groupBy(events, ({ countsFor }) => countsFor)
}

/** Events of the highest ordering, grouped by position, earliest first; in each group the deciding one first. */
function listPositions(events: readonly BillingEvent[]): { ordering: Ordering; positions: BillingEvent[][] } {
  const ordering = ORDERINGS.find((one) => events.some((event) => orderingOf(event) === one)) ?? 'arrival'
  const byPosition = Map.groupBy(
    events.filter((event) => orderingOf(event) === ordering),
    positionOf,
  )
  const positions = [...byPosition].sort(([one], [other]) => one - other)
  return { ordering, positions: positions.map(([, some]) => some.sort(compareAtPosition)) }
}

/**
 * Goes through the positions in order. `counted`: without what came for a closed subscription. `life`: those since it
 * was last created anew. A deletion closes its position, whatever else stands there: nothing there is later.
 */
function listCounted(positions: readonly BillingEvent[][]) {
  const counted: BillingEvent[][] = []
  let [lifeAt, closed] = [0, false]
  for (const position of positions) {
    const closing = position.filter(isClosing)
    const isReopening = closed && position.some(isCreating)
    if (closing.length === 0 && closed && !isReopening) continue
    if (closing.length === 0 && isReopening) lifeAt = counted.length
    counted.push(closing.length > 0 ? closing : position)
    closed = closing.length > 0
  }
  return { counted, life: counted.slice(lifeAt), closed }
}

function isCreating({ eventType }: BillingEvent): boolean {
  return eventType === 'subscription.created'
}

function isClosing({ eventType, countsFor }: BillingEvent): boolean {
  // Events without a subscription cannot be told apart: closing "" would lock the tenant out of every later one.
  return eventType === 'subscription.deleted' && countsFor !== ''
}

function compareAtPosition(one: BillingEvent, other: BillingEvent): number {
  const severity = SEVERITIES.indexOf(statusOf(other)) - SEVERITIES.indexOf(statusOf(one))
  if (severity !== 0) return severity
  if (one.digest !== other.digest) return one.digest > other.digest ? -1 : 1
  return one.arrival - other.arrival
}

function statusOf({ eventType, status }: BillingEvent): BillingStatus {
  return eventType === 'subscription.deleted' ? 'cancelled' : status
}

/** Of the last position that names one. */
function customerOf(counted: readonly BillingEvent[][]): string | null {
  const named = counted.findLast((position) => position.some(({ customerId }) => customerId !== null)) ?? []
  return named.find(({ customerId }) => customerId !== null)?.customerId ?? null
}

/**
 * Of the last position that names one. The fields are optional, so an event that names no period leaves the one that
 * was paid for. A `subscription.created` begins without one.
 */
function periodOf(counted: readonly BillingEvent[][], name: 'currentPeriodStart' | 'currentPeriodEnd'): Date | null {
  const createdAt = counted.findLastIndex((position) => position.some(isCreating))
  const named = counted
    .slice(Math.max(createdAt, 0))
    .map((position) => position.map((event) => readPeriod(event[name])).find((time) => time !== null))
  return named.findLast((time) => time !== undefined) ?? null
}

/**
 * The earliest time in the unbroken run of positions that end as the last one does. The earliest and not the first
 * position's: a repeat that is delivered late but belongs before the others would otherwise begin the grace anew.
 */
function startOfRun(counted: readonly BillingEvent[][]): Date {
  const last = counted.at(-1)?.[0] as BillingEvent
  const isSame = (event: BillingEvent) => statusOf(event) === statusOf(last) && isClosing(event) === isClosing(last)
  const runAt = counted.findLastIndex(([decider]) => decider && !isSame(decider)) + 1
  const run = counted.slice(runAt).flat().filter(isSame)
  return new Date(
    Math.min(
      ...run.map(({ occurredAt, receivedAt }) => Math.min(Number(occurredAt ?? receivedAt), Number(receivedAt))),
    ),
  )
}

/**
 * The lesser of what is billed now and what was paid for last. A subscription that owes and was never paid covers
 * nothing. One of which only its cancellation is known is taken as paid.
 */
function coveredPlanOf(
  decider: BillingEvent,
  life: readonly BillingEvent[],
  all: readonly BillingEvent[],
): PlanName | null {
  const status = statusOf(decider)
  if (status === 'active') return decider.plan
  const paid = life.filter((event) => statusOf(event) === 'active')
  const lastPaid = paid.filter((event) => positionOf(event) === positionOf(paid.at(-1) as BillingEvent))[0]
  if (lastPaid) return lesser(lastPaid.plan, decider.plan)
  return all.every((event) => statusOf(event) === 'cancelled') ? decider.plan : null
}

function lesser(one: PlanName, other: PlanName): PlanName {
  return planNames.options.indexOf(one) < planNames.options.indexOf(other) ? one : other
}
