// The fold, sentence by sentence of fold.ts. That no order of delivery changes it is in deliveries.test.ts.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type BillingEvent, effectOf, foldSubscription, type SubscriptionRecord } from './fold.ts'

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

function fold(...events: Partial<BillingEvent>[]): SubscriptionRecord {
  return foldSubscription(delivered(...events))
}

function day(number: number): Date {
  return new Date(Date.UTC(2026, 1, number))
}

const DELETED = { eventType: 'subscription.deleted' }

const CREATED = { eventType: 'subscription.created' }

test('one subscription at a time, and not without events', () => {
  assert.throws(() => foldSubscription([]), /without events/)
  assert.throws(() => foldSubscription(delivered({}, { countsFor: 'other' })), /one subscription at a time/)
})

test('an event sets plan, status, customer, subscription and period', () => {
  const record = fold({
    customerId: 'cus',
    plan: 'starter',
    currentPeriodStart: '2026-01-01T00:00:00Z',
    currentPeriodEnd: '2036-02-01T00:00:00+01:00',
  })

  assert.deepEqual(record, {
    subscriptionId: 'sub',
    customerId: 'cus',
    plan: 'starter',
    coveredPlan: 'starter',
    status: 'active',
    since: receivedAt(1),
    currentPeriodStart: new Date('2026-01-01T00:00:00Z'),
    currentPeriodEnd: new Date('2036-01-31T23:00:00Z'),
    closed: false,
    ordering: 'arrival',
    decidedBy: 'evt_1',
  })
})

test('status and plan are the facts, whatever the type of the event says', () => {
  assert.equal(fold({ eventType: 'payment.failed', status: 'active' }).status, 'active')
  assert.equal(fold({ eventType: 'payment.succeeded', status: 'past_due' }).status, 'past_due')
  assert.equal(fold({ eventType: 'subscription.cancelled', status: 'active' }).status, 'active')
})

test('a period is read from a date and from epoch seconds too, and counts as absent when it is neither', () => {
  const period = (currentPeriodStart: string, currentPeriodEnd: string) => {
    const record = fold({ currentPeriodStart, currentPeriodEnd })
    return [record.currentPeriodStart?.toISOString() ?? null, record.currentPeriodEnd?.toISOString() ?? null]
  }
  assert.deepEqual(period('2026-12-31', '1767225600'), ['2026-12-31T00:00:00.000Z', '2026-01-01T00:00:00.000Z'])
  assert.deepEqual(period('soon', '2026-02-30'), [null, null])
})

// Mutants: the deciding event alone names the period; `subscription.created` does not begin anew; start and end of one
// event only.
test('the period is that of the last event that names one, start and end each, until subscription.created', () => {
  const period = (...events: Partial<BillingEvent>[]) => {
    const { currentPeriodStart, currentPeriodEnd } = fold(...events)
    return [currentPeriodStart?.getTime() ?? null, currentPeriodEnd?.getTime() ?? null]
  }
  const paid = { currentPeriodStart: '2026-01-01', currentPeriodEnd: '2026-02-01' }
  const [start, end] = [Date.parse('2026-01-01'), Date.parse('2026-02-01')]
  const cancelled: Partial<BillingEvent> = { eventType: 'subscription.cancelled', status: 'cancelled' }
  const failed: Partial<BillingEvent> = { eventType: 'payment.failed', status: 'past_due' }

  assert.deepEqual(period(paid, failed), [start, end])
  assert.deepEqual(period(paid, failed, cancelled), [start, end])
  assert.deepEqual(period(paid, { ...failed, currentPeriodEnd: '2026-03-01' }), [start, Date.parse('2026-03-01')])
  assert.deepEqual(period(paid, { ...failed, currentPeriodEnd: 'soon' }), [start, end])
  assert.deepEqual(period(paid, CREATED), [null, null])
  assert.deepEqual(period(paid, CREATED, failed), [null, null])
  assert.deepEqual(period(paid, { ...CREATED, currentPeriodStart: '2026-01-01' }), [start, null])
  assert.deepEqual(period(paid, { status: 'cancelled', ...DELETED }), [start, end])
  assert.deepEqual(period(paid, DELETED, CREATED), [null, null])
  // By position, and not by arrival.
  assert.deepEqual(period({ ...cancelled, sequence: 2 }, { ...paid, sequence: 1 }), [start, end])
  assert.deepEqual(period({ ...failed, sequence: 3 }, { ...CREATED, sequence: 2 }, { ...paid, sequence: 1 }), [
    null,
    null,
  ])
  assert.deepEqual(period({ ...failed, sequence: 2 }, { ...CREATED, ...paid, sequence: 1 }), [start, end])
  // At one position the event that decides comes first.
  const later = { ...failed, currentPeriodEnd: '2026-03-01', sequence: 1 }
  assert.deepEqual(period(later, { ...paid, sequence: 1 }), [start, Date.parse('2026-03-01')])
})

test('the customer is the one that was named last in order', () => {
  const customer = (...events: Partial<BillingEvent>[]) => fold(...events).customerId
  assert.equal(customer({ customerId: 'a' }, {}), 'a')
  assert.equal(customer({ customerId: 'a' }, { customerId: 'b' }, {}), 'b')
  assert.equal(customer({ customerId: 'a', sequence: 2 }, { customerId: 'b', sequence: 1 }, { sequence: 3 }), 'a')
  assert.equal(customer({}), null)
})

test('by arrival the last decides', () => {
  assert.equal(fold({ plan: 'pro', status: 'past_due' }, { plan: 'starter' }).plan, 'starter')
  assert.equal(fold({ countsFor: '', plan: 'pro' }, { countsFor: '', plan: 'starter' }).plan, 'starter')
})

test('without marks an equal body is a new event: active, past_due and the same active again ends active', () => {
  const paid = { digest: 'a'.repeat(64), eventType: 'payment.succeeded' }
  assert.equal(fold(paid, { status: 'past_due' }, paid).status, 'active')
})

test('sequences are compared as numbers', () => {
  assert.equal(fold({ sequence: 10, plan: 'pro' }, { sequence: 9, plan: 'starter' }).plan, 'pro')
  assert.equal(fold({ sequence: 0, plan: 'pro' }, { plan: 'starter' }).plan, 'pro')
})

test('the later occurred_at decides', () => {
  assert.equal(fold({ occurredAt: day(2), plan: 'pro' }, { occurredAt: day(1), plan: 'starter' }).plan, 'pro')
})

test('sequence decides before occurred_at, and occurred_at before arrival, whichever came last', () => {
  const first: Partial<BillingEvent> = { sequence: 1, occurredAt: day(1), plan: 'pro' }
  const second: Partial<BillingEvent> = { occurredAt: day(2), plan: 'starter' }
  const third: Partial<BillingEvent> = { plan: 'enterprise' }
  const told = (...events: Partial<BillingEvent>[]) => {
    const { plan, ordering } = fold(...events)
    return [plan, ordering]
  }

  assert.deepEqual(told(third, second, first), ['pro', 'sequence'])
  assert.deepEqual(told(first, second, third), ['pro', 'sequence'])
  assert.deepEqual(told(second, third), ['starter', 'occurred_at'])
  assert.deepEqual(told(third), ['enterprise', 'arrival'])
})

test('of two in one place the more severe status decides: unpaid, cancelled, past_due, active', () => {
  for (const place of [{ sequence: 5 }, { occurredAt: day(5) }]) {
    const [active, pastDue, cancelled, unpaid] = (['active', 'past_due', 'cancelled', 'unpaid'] as const).map(
      (status) => ({ ...place, status }),
    )
    assert.equal(fold(active!, pastDue!).status, 'past_due')
    assert.equal(fold(pastDue!, active!).status, 'past_due')
    assert.equal(fold(cancelled!, pastDue!, active!).status, 'cancelled')
    assert.equal(fold(unpaid!, cancelled!, pastDue!).status, 'unpaid')
  }
})

test('of two equally severe in one place the greater body digest decides, in either order', () => {
  const one: Partial<BillingEvent> = { sequence: 5, plan: 'pro', digest: 'b'.repeat(64) }
  const other: Partial<BillingEvent> = { sequence: 5, plan: 'starter', digest: 'a'.repeat(64) }
  assert.deepEqual([fold(one, other).plan, fold(other, one).plan], ['pro', 'pro'])
})

test('of equal bodies in one place the first delivery is named', () => {
  const body = { sequence: 5, digest: 'a'.repeat(64) }
  assert.equal(fold(body, body).decidedBy, 'evt_1')
})

test('subscription.deleted means cancelled and closes a named subscription, for late and for later events', () => {
  for (const later of [{ sequence: 1 }, { sequence: 9 }, { occurredAt: day(9) }, {}]) {
    const gone: Partial<BillingEvent> = { ...DELETED, sequence: 2, status: 'active', plan: 'starter' }
    for (const events of [
      [gone, later],
      [later, gone],
    ]) {
      const { status, closed, plan, ordering } = fold(...events)
      assert.deepEqual([status, closed, plan, ordering], ['cancelled', true, 'starter', 'sequence'])
    }
  }
})

test('a deletion of a lower ordering does not count, like any other event of it', () => {
  const { status, closed } = fold({ sequence: 7 }, DELETED, { sequence: 8 })
  assert.deepEqual([status, closed], ['active', false])
})

test('only a creation in a later place opens a closed subscription again, in whatever order they come', () => {
  const state = (...events: Partial<BillingEvent>[]) => {
    const both = [fold(...events), fold(...events.toReversed())].map(({ closed, status }) => [closed, status])
    assert.deepEqual(both[0], both[1], 'the order of delivery')
    return both[0]
  }
  const at = (sequence: number) => ({ sequence })
  assert.deepEqual(state({ ...DELETED, ...at(2) }, { ...CREATED, ...at(3) }), [false, 'active'])
  assert.deepEqual(state({ ...DELETED, ...at(2) }, { ...CREATED, ...at(1) }), [true, 'cancelled'])
  assert.deepEqual(state({ ...DELETED, ...at(2) }, at(3)), [true, 'cancelled'])
  assert.deepEqual(state({ ...DELETED, ...at(2) }, { ...CREATED, ...at(3) }, { ...at(4), status: 'unpaid' }), [
    false,
    'unpaid',
  ])
  assert.deepEqual(state({ ...DELETED, ...at(2) }, { ...CREATED, ...at(3) }, { ...DELETED, ...at(4) }), [
    true,
    'cancelled',
  ])
  // Nothing in the place of a deletion is later than it, however severe.
  for (const status of ['active', 'unpaid'] as const)
    assert.deepEqual(state({ ...DELETED, ...at(2) }, { ...CREATED, ...at(2), status }), [true, 'cancelled'])
  // Nor is a creation of a lower ordering.
  assert.deepEqual(state({ ...DELETED, ...at(2) }, CREATED), [true, 'cancelled'])
  assert.deepEqual(state({ ...DELETED, ...at(2) }, { ...CREATED, occurredAt: day(9) }), [true, 'cancelled'])
  // By arrival.
  assert.equal(fold(DELETED, CREATED).closed, false)
  assert.equal(fold(CREATED, DELETED, { eventType: 'payment.succeeded' }).closed, true)
})

test('subscription.cancelled closes nothing: the subscription may be taken up again', () => {
  const cancelled: Partial<BillingEvent> = { eventType: 'subscription.cancelled', status: 'cancelled' }
  assert.deepEqual([fold(cancelled).status, fold(cancelled).closed], ['cancelled', false])
  assert.equal(fold(cancelled, { status: 'active' }).status, 'active')
})

test('without a subscription a deletion is a cancelled event like any other', () => {
  const nameless = { countsFor: '' }
  assert.deepEqual(
    [fold({ ...nameless, ...DELETED }).status, fold({ ...nameless, ...DELETED }).closed],
    ['cancelled', false],
  )
  const { status, plan } = fold({ ...nameless, ...DELETED }, { ...nameless, plan: 'enterprise' })
  assert.deepEqual([status, plan], ['active', 'enterprise'])
})

test('the grace counts from the first past_due after another status; repeats do not extend it', () => {
  const pastDue = { status: 'past_due' } as const
  assert.deepEqual(fold(pastDue, pastDue, pastDue).since, receivedAt(1))
  assert.deepEqual(fold(pastDue, { status: 'active' }, pastDue, pastDue).since, receivedAt(3))
  assert.deepEqual(fold(pastDue, { status: 'unpaid' }, pastDue).since, receivedAt(3))
  assert.deepEqual(fold(pastDue, { status: 'active' }).since, receivedAt(2))
})

test('occurred_at is the time of an event, also where a sequence orders it', () => {
  const first: Partial<BillingEvent> = { sequence: 1, occurredAt: day(1), status: 'unpaid' }
  const second: Partial<BillingEvent> = { sequence: 2, occurredAt: day(2), status: 'unpaid' }
  assert.deepEqual(fold(second, first).since, day(1))
  assert.deepEqual(fold(second).since, day(2))
})

test('a time that is later than its receipt begins nothing later than that', () => {
  const ahead = new Date(receivedAt(1).getTime() + 300_000)
  assert.deepEqual(fold({ occurredAt: ahead, status: 'past_due' }).since, receivedAt(1))
  assert.deepEqual(fold({ sequence: 1, occurredAt: ahead, status: 'unpaid' }).since, receivedAt(1))
  assert.deepEqual(fold({ occurredAt: ahead, status: 'cancelled' }).since, receivedAt(1))
})

test('what is not active covers the lesser of its plan and the one that was active last before it', () => {
  const covered = (...events: Partial<BillingEvent>[]) => fold(...events).coveredPlan
  for (const status of ['past_due', 'unpaid', 'cancelled'] as const) {
    const owing = (plan: BillingEvent['plan']): Partial<BillingEvent> => ({ status, plan })
    assert.equal(covered({ plan: 'starter' }, owing('enterprise')), 'starter')
    assert.equal(covered({ plan: 'starter' }, owing('starter'), owing('enterprise')), 'starter')
    assert.equal(covered({ plan: 'pro' }, { status: 'unpaid', plan: 'enterprise' }, owing('enterprise')), 'pro')
    assert.equal(covered({ plan: 'pro' }, { plan: 'starter' }, owing('pro')), 'starter')
    assert.equal(covered({ plan: 'enterprise' }, owing('pro')), 'pro')
    assert.equal(covered({ plan: 'starter' }, owing('enterprise'), { plan: 'enterprise' }), 'enterprise')
    // By place and not by arrival.
    assert.equal(covered({ ...owing('pro'), sequence: 2 }, { plan: 'starter', sequence: 1 }), 'starter')
    // Paid for in the very place where it lost to the more severe status.
    assert.equal(covered({ ...owing('pro'), sequence: 2 }, { plan: 'pro', sequence: 2 }), 'pro')
  }
})

test('what owes and was never active covers nothing, whatever comes after it but a payment', () => {
  const covered = (...events: Partial<BillingEvent>[]) => fold(...events).coveredPlan
  const pastDue = { status: 'past_due' } as const
  assert.equal(covered(pastDue), null)
  assert.equal(covered({ status: 'unpaid' }), null)
  assert.equal(covered(pastDue, { status: 'cancelled', currentPeriodEnd: '2036-01-01' }), null)
  assert.equal(covered(pastDue, DELETED), null)
  assert.equal(covered(pastDue, {}), 'pro')
  // Only the ordering that decides is asked.
  assert.equal(covered({ plan: 'starter' }, { ...pastDue, sequence: 1 }), null)
  // A creation after a deletion is another life.
  assert.equal(covered({}, DELETED, { ...CREATED, ...pastDue }), null)
  // Of a subscription that was cancelled before we ever heard of it nothing says that it was not paid for.
  assert.equal(covered({ status: 'cancelled' }), 'pro')
})

test('a repeat delivered late that belongs before the others does not begin the grace anew', () => {
  assert.deepEqual(fold({ sequence: 2, status: 'past_due' }, { sequence: 1, status: 'past_due' }).since, receivedAt(1))
})

test('an active that lost its place to past_due does not interrupt the run', () => {
  const record = fold(
    { sequence: 1, occurredAt: day(1), status: 'past_due' },
    { sequence: 2, occurredAt: day(2), status: 'active' },
    { sequence: 2, occurredAt: day(2), status: 'past_due' },
  )
  assert.deepEqual(record.since, day(1))
})

test('a cancelled one is so since it was cancelled, a closed one since it was closed', () => {
  assert.deepEqual(fold({ status: 'cancelled' }, DELETED, DELETED).since, receivedAt(2))
  assert.deepEqual(fold({ status: 'cancelled' }, { status: 'cancelled' }).since, receivedAt(1))
  assert.deepEqual(fold({}, DELETED, { status: 'cancelled' }).since, receivedAt(2))
})

test('the effect of an event: applied, unordered below a higher ordering, or superseded in its own', () => {
  const effect = (...events: Partial<BillingEvent>[]) => {
    const all = delivered(...events)
    return effectOf(all.slice(0, -1), all.at(-1)!)
  }

  assert.equal(effect({}), 'applied')
  assert.equal(effect({}, {}), 'applied')
  assert.equal(effect({ sequence: 1 }, { sequence: 2 }), 'applied')
  assert.equal(effect({ occurredAt: day(9) }, { sequence: 1 }), 'applied')
  assert.equal(effect({ sequence: 1 }, {}), 'unordered')
  assert.equal(effect({ sequence: 1 }, { occurredAt: day(9) }), 'unordered')
  assert.equal(effect({ occurredAt: day(1) }, {}), 'unordered')
  assert.equal(effect({ sequence: 2 }, { sequence: 1 }), 'superseded')
  assert.equal(effect({ sequence: 2, status: 'unpaid' }, { sequence: 2 }), 'superseded')
  assert.equal(effect({ sequence: 2, digest: 'a' }, { sequence: 2, digest: 'a' }), 'superseded')
  assert.equal(effect({ ...DELETED, sequence: 2 }, { sequence: 3 }), 'superseded')
  assert.equal(effect(DELETED, { sequence: 3 }), 'applied')
  assert.equal(effect(DELETED, {}), 'superseded')
  assert.equal(effect(DELETED, CREATED), 'applied')
  assert.equal(effect({ ...DELETED, sequence: 2 }, {}), 'unordered')
})

test('the effect is the same when the stored events already hold the new one', () => {
  const events = delivered({ sequence: 2 }, { sequence: 1 })
  assert.deepEqual(
    events.map((event) => effectOf(events, event)),
    ['applied', 'superseded'],
  )
})
