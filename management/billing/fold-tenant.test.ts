// The fold over the subscriptions of a tenant; over the events of one: fold.test.ts.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type BillingEvent, foldTenant, type SubscriptionRecord, subscriptionFor } from './fold.ts'

const RECEIVED_MS = Date.parse('2026-03-10T00:00:00Z')
const HOUR_MS = 3_600_000

/** Delivered in this order, an hour apart. */
function delivered(...events: Partial<BillingEvent>[]): BillingEvent[] {
  return events.map((fields, index) => ({
    id: `evt_${index + 1}`,
    countsFor: 'sub',
    customerId: null,
    eventType: 'subscription.updated',
    plan: 'pro',
    status: 'active',
    currentPeriodStart: null,
    currentPeriodEnd: null,
    sequence: null,
    occurredAt: null,
    receivedAt: receivedAt(index + 1),
    arrival: index + 1,
    digest: `${index + 1}`.repeat(64),
    ...fields,
  }))
}

function receivedAt(arrival: number): Date {
  return new Date(RECEIVED_MS + arrival * HOUR_MS)
}

const DELETED = { eventType: 'subscription.deleted' }

const CREATED = { eventType: 'subscription.created' }

// An event that names no subscription.

/** For whom each of these counts, delivered in this order; '' = it names none. */
function countFor(...events: (Partial<BillingEvent> & { named: string })[]): string[] {
  const stored: BillingEvent[] = []
  for (const [index, { named, ...fields }] of events.entries()) {
    const [event] = delivered(fields) as [BillingEvent]
    stored.push({ ...event, id: `evt_${index}`, arrival: index, countsFor: subscriptionFor(stored, named) })
  }
  return stored.map(({ countsFor }) => countsFor)
}

test('an event without a subscription counts for the only open one, of several for the one whose event arrived last', () => {
  assert.deepEqual(countFor({ named: 'a' }, { named: '' }), ['a', 'a'])
  assert.deepEqual(countFor({ named: 'a' }, { named: 'b' }, { named: '' }), ['a', 'b', 'b'])
  assert.deepEqual(countFor({ named: 'b' }, { named: 'a' }, { named: 'b' }, { named: '' }), ['b', 'a', 'b', 'b'])
  // Arrived last, whatever its place.
  const [late, early] = [
    { named: 'a', sequence: 9 },
    { named: 'b', sequence: 1 },
  ]
  assert.deepEqual(countFor(late, early, { named: '' }), ['a', 'b', 'b'])
})

test('where none is open it counts for an unnamed one, which is never closed', () => {
  assert.deepEqual(countFor({ named: '' }, { named: '' }), ['', ''])
  assert.deepEqual(countFor({ named: '', ...DELETED }, { named: '' }), ['', ''])
  assert.deepEqual(countFor({ named: 'a', ...DELETED }, { named: '' }, { named: '' }), ['a', '', ''])
  assert.deepEqual(countFor({ named: 'a' }, { named: '', ...DELETED }, { named: '' }), ['a', 'a', ''])
  assert.deepEqual(countFor({ named: 'a' }, { named: 'b' }, { named: 'b', ...DELETED }, { named: '' }), [
    ...['a', 'b', 'b'],
    'a',
  ])
  assert.deepEqual(countFor({ named: '' }, { named: 'a' }, { named: '' }), ['', 'a', 'a'])
})

// The tenant, while no event has a sequence or a time.

const of = (countsFor: string, status: BillingEvent['status'] = 'active', more: Partial<BillingEvent> = {}) => ({
  countsFor,
  status,
  ...more,
})

/** Of the record that decides: subscription, status, and the number of the event since which. */
function last(...events: Partial<BillingEvent>[]) {
  const { by, records } = foldTenant(delivered(...events))
  assert.equal(by, 'arrival')
  const [{ subscriptionId, status, since }] = records as [SubscriptionRecord]
  return [subscriptionId, status, (since.getTime() - RECEIVED_MS) / HOUR_MS]
}

test('without marks the last event that arrived decides, of whichever subscription', () => {
  assert.deepEqual(last(of('a'), of('b', 'unpaid')), ['b', 'unpaid', 2])
  assert.deepEqual(last(of('a'), of('b'), of('a', 'past_due')), ['a', 'past_due', 3])
  assert.deepEqual(last(of('a'), of('b', 'active', DELETED)), ['b', 'cancelled', 2])
})

test('after a deletion only a creation of it, or another subscription, changes the record', () => {
  const gone = of('a', 'active', DELETED)
  assert.deepEqual(last(of('a'), gone, of('a'), of('a', 'unpaid')), ['a', 'cancelled', 2])
  assert.deepEqual(last(of('a'), gone, of('a', 'past_due', CREATED)), ['a', 'past_due', 3])
  assert.deepEqual(last(of('a'), gone, of('b')), ['b', 'active', 3])
  assert.deepEqual(last(of('a'), of('b'), gone, of('a')), ['a', 'cancelled', 3])
})

test('a status that another subscription brought counts on: no second grace', () => {
  assert.deepEqual(last(of('a'), of('b'), of('a', 'past_due'), of('b', 'past_due')), ['b', 'past_due', 3])
  assert.deepEqual(last(of('a', 'past_due'), of('b'), of('a', 'past_due')), ['a', 'past_due', 3])
  assert.deepEqual(last(of('a', 'unpaid'), of('b'), of('a', 'unpaid')), ['a', 'unpaid', 3])
})

test('one that was never paid interrupts nobody’s run, whatever is said of it', () => {
  const paid = [of('a'), of('a', 'past_due')]
  const between = [of('n', 'past_due'), of('n', 'unpaid'), of('n', 'cancelled'), of('n', 'active', DELETED)]
  assert.deepEqual(last(...paid, ...between, of('a', 'past_due')), ['a', 'past_due', 2])
  // Once it is paid it does; created anew it has to be paid again.
  assert.deepEqual(last(...paid, of('n'), of('n', 'unpaid'), of('a', 'past_due')), ['a', 'past_due', 5])
  const anew = [of('n'), of('n', 'active', DELETED), of('a', 'past_due'), of('n', 'unpaid', CREATED)]
  assert.deepEqual(last(...paid, ...anew, of('a', 'past_due')), ['a', 'past_due', 5])
})

test('the customer stays with the record, of whichever subscription', () => {
  const { records } = foldTenant(delivered(of('a', 'active', { customerId: 'cus' }), of('b')))
  assert.equal(records[0]?.customerId, 'cus')
})

test('the records go on until one is covered', () => {
  const { records } = foldTenant(delivered(of('d'), of('a'), of('b', 'past_due'), of('c', 'past_due')))
  assert.deepEqual(
    records.map(({ subscriptionId, coveredPlan }) => [subscriptionId, coveredPlan]),
    [
      ['c', null],
      ['b', null],
      ['a', 'pro'],
    ],
  )
})

test('one event with a mark, and every subscription is folded by itself', () => {
  const { by, records } = foldTenant(delivered(of('a'), of('b', 'unpaid', { sequence: 1 })))
  assert.equal(by, 'favour')
  assert.deepEqual(
    records.map(({ subscriptionId, status, ordering }) => [subscriptionId, status, ordering]),
    [
      ['a', 'active', 'arrival'],
      ['b', 'unpaid', 'sequence'],
    ],
  )
})
