// The fold sentence by sentence. That no order of delivery changes it is in deliveries.test.ts.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type BillingEvent, effectOf, foldSubscription, readMarks, type SubscriptionRecord } from './fold.ts'

const RECEIVED_MS = Date.parse('2026-03-10T00:00:00Z')
const HOUR_MS = 3_600_000
/** So late that no time is ahead of it. */
const FAR = new Date('9999-12-31T23:59:59Z')

/** Delivered in this order, an hour apart. */
function delivered(...events: Partial<BillingEvent>[]): BillingEvent[] {
  return events.map((fields, index) => ({
    id: `evt_${index + 1}`,
    subscriptionId: 'sub',
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
  const record = foldSubscription(delivered(...events))
  assert(record)
  return record
}

function day(number: number): Date {
  return new Date(Date.UTC(2026, 1, number))
}

const DELETED = { eventType: 'subscription.deleted' }

test('no events, no record; and one subscription at a time', () => {
  assert.equal(foldSubscription([]), undefined)
  assert.throws(() => foldSubscription(delivered({}, { subscriptionId: 'other' })), /one subscription at a time/)
})

test('an event sets plan, status, subscription and period', () => {
  const record = fold({
    plan: 'starter',
    currentPeriodStart: '2026-01-01T00:00:00Z',
    currentPeriodEnd: '2036-02-01T00:00:00+01:00',
  })

  assert.deepEqual(record, {
    subscriptionId: 'sub',
    plan: 'starter',
    entitledPlan: 'starter',
    status: 'active',
    currentPeriodStart: new Date('2026-01-01T00:00:00Z'),
    currentPeriodEnd: new Date('2036-01-31T23:00:00Z'),
    closed: false,
    pastDueSince: null,
    unpaidSince: null,
    cancelledSince: null,
    speaksBy: 'arrival',
    speaker: 'evt_1',
  })
})

test('status and plan are the facts, whatever the type of the event says', () => {
  assert.equal(fold({ eventType: 'payment.failed', status: 'active' }).status, 'active')
  assert.equal(fold({ eventType: 'payment.succeeded', status: 'past_due' }).status, 'past_due')
  assert.equal(fold({ eventType: 'subscription.cancelled', status: 'active' }).status, 'active')
})

test('a period that is no RFC 3339 time counts as absent', () => {
  const record = fold({ currentPeriodStart: '2026-01-01', currentPeriodEnd: '2026-02-30T00:00:00Z' })
  assert.deepEqual([record.currentPeriodStart, record.currentPeriodEnd], [null, null])
})

test('by arrival the last speaks', () => {
  assert.equal(fold({ plan: 'pro', status: 'past_due' }, { plan: 'starter' }).plan, 'starter')
  assert.equal(fold({ subscriptionId: '', plan: 'pro' }, { subscriptionId: '', plan: 'starter' }).plan, 'starter')
})

test('without marks an equal body is a new event: active, past_due and the same active again ends active', () => {
  const paid = { digest: 'a'.repeat(64), eventType: 'payment.succeeded' }
  assert.equal(fold(paid, { status: 'past_due' }, paid).status, 'active')
})

test('sequences are compared as numbers, as bigint too', () => {
  assert.equal(fold({ sequence: 10, plan: 'pro' }, { sequence: 9, plan: 'starter' }).plan, 'pro')
  assert.equal(fold({ sequence: 10n, plan: 'pro' }, { sequence: 9n, plan: 'starter' }).plan, 'pro')
  assert.equal(fold({ sequence: 0, plan: 'pro' }, { plan: 'starter' }).plan, 'pro')
})

test('the later occurred_at speaks', () => {
  assert.equal(fold({ occurredAt: day(2), plan: 'pro' }, { occurredAt: day(1), plan: 'starter' }).plan, 'pro')
})

test('sequence speaks before occurred_at, and occurred_at before arrival, whichever came last', () => {
  const first: Partial<BillingEvent> = { sequence: 1, occurredAt: day(1), plan: 'pro' }
  const second: Partial<BillingEvent> = { occurredAt: day(2), plan: 'starter' }
  const third: Partial<BillingEvent> = { plan: 'enterprise' }
  const told = (...events: Partial<BillingEvent>[]) => {
    const { plan, speaksBy } = fold(...events)
    return [plan, speaksBy]
  }

  assert.deepEqual(told(third, second, first), ['pro', 'sequence'])
  assert.deepEqual(told(first, second, third), ['pro', 'sequence'])
  assert.deepEqual(told(second, third), ['starter', 'occurred_at'])
  assert.deepEqual(told(third), ['enterprise', 'arrival'])
})

test('of two in one place the more severe status speaks: unpaid, cancelled, past_due, active', () => {
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

test('of two equally severe in one place the greater body digest speaks, in either order', () => {
  const one: Partial<BillingEvent> = { sequence: 5, plan: 'pro', digest: 'b'.repeat(64) }
  const other: Partial<BillingEvent> = { sequence: 5, plan: 'starter', digest: 'a'.repeat(64) }
  assert.deepEqual([fold(one, other).plan, fold(other, one).plan], ['pro', 'pro'])
})

test('of equal bodies in one place the first delivery is named', () => {
  const body = { sequence: 5, digest: 'a'.repeat(64) }
  assert.equal(fold(body, body).speaker, 'evt_1')
})

test('subscription.deleted means cancelled and closes a named subscription, for late and for later events', () => {
  for (const later of [{ sequence: 1 }, { sequence: 9 }, { occurredAt: day(9) }, {}]) {
    const gone: Partial<BillingEvent> = { ...DELETED, sequence: 2, status: 'active', plan: 'starter' }
    for (const events of [
      [gone, later],
      [later, gone],
    ]) {
      const { status, closed, plan, speaksBy } = fold(...events)
      assert.deepEqual([status, closed, plan, speaksBy], ['cancelled', true, 'starter', 'sequence'])
    }
  }
})

test('a deletion without any mark closes too, although a sequence was seen', () => {
  const { status, closed } = fold({ sequence: 7 }, DELETED, { sequence: 8 })
  assert.deepEqual([status, closed], ['cancelled', true])
})

test('subscription.cancelled closes nothing: the subscription may be taken up again', () => {
  const cancelled: Partial<BillingEvent> = { eventType: 'subscription.cancelled', status: 'cancelled' }
  assert.deepEqual([fold(cancelled).status, fold(cancelled).closed], ['cancelled', false])
  assert.equal(fold(cancelled, { status: 'active' }).status, 'active')
})

test('without a subscription a deletion is a cancelled event like any other', () => {
  const nameless = { subscriptionId: '' }
  assert.deepEqual(
    [fold({ ...nameless, ...DELETED }).status, fold({ ...nameless, ...DELETED }).closed],
    ['cancelled', false],
  )
  const { status, plan } = fold({ ...nameless, ...DELETED }, { ...nameless, plan: 'enterprise' })
  assert.deepEqual([status, plan], ['active', 'enterprise'])
})

test('the grace counts from the first past_due after another status; repeats do not extend it', () => {
  const pastDue = { status: 'past_due' } as const
  assert.deepEqual(fold(pastDue, pastDue, pastDue).pastDueSince, receivedAt(1))
  assert.deepEqual(fold(pastDue, { status: 'active' }, pastDue, pastDue).pastDueSince, receivedAt(3))
  assert.deepEqual(fold(pastDue, { status: 'unpaid' }, pastDue).pastDueSince, receivedAt(3))
  assert.equal(fold(pastDue, { status: 'active' }).pastDueSince, null)
})

test('occurred_at is the time of an event, also where a sequence orders it', () => {
  const first: Partial<BillingEvent> = { sequence: 1, occurredAt: day(1), status: 'unpaid' }
  const second: Partial<BillingEvent> = { sequence: 2, occurredAt: day(2), status: 'unpaid' }
  assert.deepEqual(fold(second, first).unpaidSince, day(1))
  assert.deepEqual(fold(second).unpaidSince, day(2))
})

test('a time that is later than its receipt begins nothing later than that', () => {
  const ahead = new Date(receivedAt(1).getTime() + 300_000)
  assert.deepEqual(fold({ occurredAt: ahead, status: 'past_due' }).pastDueSince, receivedAt(1))
  assert.deepEqual(fold({ sequence: 1, occurredAt: ahead, status: 'unpaid' }).unpaidSince, receivedAt(1))
  assert.deepEqual(fold({ occurredAt: ahead, status: 'cancelled' }).cancelledSince, receivedAt(1))
})

test('past_due entitles to the lesser of its plan and the one that was active last before it', () => {
  const entitled = (...events: Partial<BillingEvent>[]) => fold(...events).entitledPlan
  const pastDue = (plan: BillingEvent['plan']): Partial<BillingEvent> => ({ status: 'past_due', plan })

  assert.equal(entitled(pastDue('enterprise')), 'enterprise')
  assert.equal(entitled({ plan: 'starter' }, pastDue('enterprise')), 'starter')
  assert.equal(entitled({ plan: 'starter' }, pastDue('starter'), pastDue('enterprise')), 'starter')
  assert.equal(entitled({ plan: 'pro' }, { status: 'unpaid', plan: 'enterprise' }, pastDue('enterprise')), 'pro')
  assert.equal(entitled({ plan: 'pro' }, { plan: 'starter' }, pastDue('pro')), 'starter')
  assert.equal(entitled({ plan: 'enterprise' }, pastDue('pro')), 'pro')
  assert.equal(entitled({ plan: 'starter' }, pastDue('enterprise'), { plan: 'enterprise' }), 'enterprise')
  // Only the register that speaks is asked, and in it the place and not the arrival.
  assert.equal(entitled({ plan: 'starter' }, { ...pastDue('pro'), sequence: 1 }), 'pro')
  assert.equal(entitled({ ...pastDue('pro'), sequence: 2 }, { plan: 'starter', sequence: 1 }), 'starter')
})

test('a repeat delivered late that belongs before the others does not begin the grace anew', () => {
  assert.deepEqual(
    fold({ sequence: 2, status: 'past_due' }, { sequence: 1, status: 'past_due' }).pastDueSince,
    receivedAt(1),
  )
})

test('an active that lost its place to past_due does not interrupt the run', () => {
  const record = fold(
    { sequence: 1, occurredAt: day(1), status: 'past_due' },
    { sequence: 2, occurredAt: day(2), status: 'active' },
    { sequence: 2, occurredAt: day(2), status: 'past_due' },
  )
  assert.deepEqual(record.pastDueSince, day(1))
})

test('cancelledSince is when the subscription was cancelled, or closed', () => {
  assert.deepEqual(fold({ status: 'cancelled' }, { status: 'cancelled' }).cancelledSince, receivedAt(1))
  assert.deepEqual(fold({}, DELETED, { status: 'cancelled' }).cancelledSince, receivedAt(2))
})

test('the effect of an event: applied, shadowed by a higher register, or superseded in its own', () => {
  const effect = (...events: Partial<BillingEvent>[]) => {
    const all = delivered(...events)
    return effectOf(all.slice(0, -1), all.at(-1)!)
  }

  assert.equal(effect({}), 'applied')
  assert.equal(effect({}, {}), 'applied')
  assert.equal(effect({ sequence: 1 }, { sequence: 2 }), 'applied')
  assert.equal(effect({ occurredAt: day(9) }, { sequence: 1 }), 'applied')
  assert.equal(effect({ sequence: 1 }, {}), 'shadowed')
  assert.equal(effect({ sequence: 1 }, { occurredAt: day(9) }), 'shadowed')
  assert.equal(effect({ occurredAt: day(1) }, {}), 'shadowed')
  assert.equal(effect({ sequence: 2 }, { sequence: 1 }), 'superseded')
  assert.equal(effect({ sequence: 2, status: 'unpaid' }, { sequence: 2 }), 'superseded')
  assert.equal(effect({ sequence: 2, digest: 'a' }, { sequence: 2, digest: 'a' }), 'superseded')
  assert.equal(effect({ ...DELETED, sequence: 2 }, { sequence: 3 }), 'superseded')
  assert.equal(effect(DELETED, { sequence: 3 }), 'superseded')
  assert.equal(effect({ ...DELETED, sequence: 2 }, {}), 'shadowed')
})

test('the effect is the same when the stored events already hold the new one', () => {
  const events = delivered({ sequence: 2 }, { sequence: 1 })
  assert.deepEqual(
    events.map((event) => effectOf(events, event)),
    ['applied', 'superseded'],
  )
})

test('a sequence is 1 to 15 digits and nothing else; malformed counts as absent', () => {
  for (const [sequence, expected] of [
    ['0', 0],
    ['007', 7],
    ['9'.repeat(15), 999_999_999_999_999],
  ] as const)
    assert.equal(readMarks({ sequence }, receivedAt(1)).sequence, expected)
  for (const sequence of ['', '1.5', '-9', '+9', ' 9', '9\n', '1e3', '0x9', 'x', '٣', '9'.repeat(16)])
    assert.equal(readMarks({ sequence }, receivedAt(1)).sequence, null, JSON.stringify(sequence))
})

test('occurred_at is RFC 3339 with Z or an offset; malformed counts as absent', () => {
  for (const [text, expected] of [
    ['2026-03-01T00:00:00Z', '2026-03-01T00:00:00.000Z'],
    ['2026-03-01t00:00:00z', '2026-03-01T00:00:00.000Z'],
    ['2026-03-01T00:00:00.123456789Z', '2026-03-01T00:00:00.123Z'],
    ['2026-03-01T02:30:00+02:30', '2026-03-01T00:00:00.000Z'],
    ['2024-02-29T23:59:59.5-00:00', '2024-02-29T23:59:59.500Z'],
  ] as const)
    assert.equal(readMarks({ occurred_at: text }, receivedAt(1)).occurredAt?.toISOString(), expected)
  for (const text of [
    ...[
      '',
      'yesterday',
      '2026-03-01',
      '2026-03-01T00:00Z',
      '2026-03-01T00:00:00',
      '2026-03-01 00:00:00Z',
      '1772323200',
    ],
    ...['2026-02-29T00:00:00Z', '2026-13-01T00:00:00Z', '2026-00-01T00:00:00Z', '2026-03-01T24:00:00Z', '٢026-03-01'],
    ...['2026-03-01T00:60:00Z', '2026-03-01T00:00:00.Z', '2026-03-01T00:00:00+2:00', '2026-03-01T00:00:00+0200'],
    ...[
      '2026-03-01T00:00:00+24:00',
      '+002026-03-01T00:00:00Z',
      '9999-12-31T23:59:59-01:00',
      '0000-01-01T00:00:00+01:00',
    ],
    ...['2026-03-01T00:00:00Z\n', ' 2026-03-01T00:00:00Z'],
  ])
    assert.equal(readMarks({ occurred_at: text }, FAR).occurredAt, null, JSON.stringify(text))
})

test('a time more than 10 minutes ahead of its receipt counts as absent, and leaves the sequence', () => {
  const marks = (aheadMs: number) => {
    const occurred_at = new Date(receivedAt(1).getTime() + aheadMs).toISOString()
    return readMarks({ sequence: '7', occurred_at }, receivedAt(1))
  }
  assert.deepEqual(marks(600_000), { sequence: 7, occurredAt: new Date(receivedAt(1).getTime() + 600_000) })
  assert.deepEqual(marks(600_001), { sequence: 7, occurredAt: null })
})

test('no metadata, no marks; one malformed mark leaves the other', () => {
  assert.deepEqual(readMarks(undefined, receivedAt(1)), { sequence: null, occurredAt: null })
  assert.deepEqual(readMarks({ any: 'text' }, receivedAt(1)), { sequence: null, occurredAt: null })
  assert.deepEqual(readMarks({ sequence: 'x', occurred_at: '2026-02-01T00:00:00Z' }, receivedAt(1)), {
    sequence: null,
    occurredAt: day(1),
  })
})
