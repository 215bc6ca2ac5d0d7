import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import type { PlanName } from '../plans.ts'
import { type BillingEvent, type BillingStatus, foldSubscription, readMarks, type SubscriptionRecord } from './fold.ts'
import { GRACE_DAYS, type Standing, standingOf } from './standing.ts'

const NOW_MS = Date.parse('2026-03-10T00:00:00Z')
const DAY_MS = 86_400_000

/** Days from now; negative ones are past. */
function day(number: number): Date {
  return new Date(NOW_MS + number * DAY_MS)
}

/** A subscription that has been in its status since `since`. */
function subscription(
  status: BillingStatus,
  since: number,
  more: Partial<SubscriptionRecord> = {},
): SubscriptionRecord {
  return {
    subscriptionId: 'sub',
    plan: 'pro',
    entitledPlan: more.plan ?? 'pro',
    status,
    currentPeriodStart: null,
    currentPeriodEnd: null,
    closed: false,
    pastDueSince: status === 'past_due' ? day(since) : null,
    unpaidSince: status === 'unpaid' ? day(since) : null,
    cancelledSince: status === 'cancelled' ? day(since) : null,
    speaksBy: 'arrival',
    speaker: 'evt_1',
    ...more,
  }
}

function standing(records: SubscriptionRecord[], at = 0): Standing {
  return standingOf(records, day(at), GRACE_DAYS)
}

/** Tenant status, plan, gate and next change (in days), at each of these days. */
function course(records: SubscriptionRecord[], ...days: number[]) {
  return days.map((at) => {
    const { tenantStatus, coveredPlan, gate, nextChangeAt } = standing(records, at)
    return [tenantStatus, coveredPlan, gate, nextChangeAt && (nextChangeAt.getTime() - NOW_MS) / DAY_MS]
  })
}

const MOMENT = 1 / DAY_MS

test('without any subscription a tenant is on the plan free and active, for ever', () => {
  assert.deepEqual(standing([]), {
    tenantStatus: 'active',
    reason: null,
    coveredPlan: 'free',
    billing: {
      status: null,
      subscriptionId: null,
      currentPeriodStart: null,
      currentPeriodEnd: null,
      graceEndsAt: null,
    },
    gate: 'open',
    notices: [],
    nextChangeAt: null,
  })
})

test('an active subscription entitles whatever the clock says, also after its period', () => {
  const record = subscription('active', 0, { currentPeriodEnd: day(-3) })
  assert.deepEqual(course([record], 0, 1000), Array(2).fill(['active', 'pro', 'open', null]))
})

test('past_due has a grace by plan, then it is as unpaid', () => {
  for (const [plan, days] of [
    ['free', 7],
    ['starter', 7],
    ['pro', 14],
    ['enterprise', 30],
  ] as const) {
    const records = [subscription('past_due', 0, { plan })]
    assert.deepEqual(course(records, 0, days - MOMENT, days), [
      ['past_due', plan, 'open', days],
      ['past_due', plan, 'open', days],
      ['suspended', plan, 'writes_refused', days + 23],
    ])
    assert.deepEqual(standing(records).billing.graceEndsAt, day(days))
    assert.deepEqual([standing(records).reason, standing(records, days).reason], ['past_due', 'unpaid'])
    assert.deepEqual(
      [standing(records, days).billing.status, standing(records, days).billing.graceEndsAt],
      ['past_due', day(days)],
    )
  }
})

test('grace, cover and rank of a past_due one are by the plan that it entitles to, and not by the one it is billed for', () => {
  const records = [subscription('past_due', 0, { plan: 'enterprise', entitledPlan: 'starter' })]
  assert.deepEqual(course(records, 0, 7), [
    ['past_due', 'starter', 'open', 7],
    ['suspended', 'starter', 'writes_refused', 30],
  ])
  const paid = subscription('active', 0, { subscriptionId: 'two', plan: 'pro' })
  assert.deepEqual(course([...records, paid], 0), [['active', 'pro', 'open', null]])
})

test('unpaid: writes are refused for 30 days, then off, deleted at 60, each step announced 7 days before', () => {
  const records = [subscription('unpaid', 0)]
  assert.deepEqual(course(records, 0, 23, 30 - MOMENT, 30, 53, 60 - MOMENT, 60, 400), [
    ['suspended', 'pro', 'writes_refused', 23],
    ['suspended', 'pro', 'writes_refused', 30],
    ['suspended', 'pro', 'writes_refused', 30],
    ['suspended', 'pro', 'off', 53],
    ['suspended', 'pro', 'off', 60],
    ['suspended', 'pro', 'off', 60],
    ['suspended', 'pro', 'delete', null],
    ['suspended', 'pro', 'delete', null],
  ])
  assert.deepEqual(standing(records).notices, [
    { type: 'tenant.access_ends', at: day(23), takesEffectAt: day(30) },
    { type: 'tenant.deletion_due', at: day(53), takesEffectAt: day(60) },
  ])
})

test('after a grace the steps count from its end', () => {
  const { notices, gate } = standing([subscription('past_due', 0)], 44)
  assert.equal(gate, 'off')
  assert.deepEqual(
    notices.map((notice) => notice.takesEffectAt),
    [day(44), day(74)],
  )
})

test('cancelled runs to the end of its period, then the tenant is active on the plan free', () => {
  const record = subscription('cancelled', 0, { currentPeriodEnd: day(20) })
  assert.deepEqual(course([record], 0, 20 - MOMENT, 20, 400), [
    ['active', 'pro', 'open', 20],
    ['active', 'pro', 'open', 20],
    ['active', 'free', 'open', null],
    ['active', 'free', 'open', null],
  ])
  const { billing, reason } = standing([record], 21)
  assert.deepEqual([billing.status, billing.subscriptionId, reason], ['cancelled', 'sub', null])
})

test('cancelled without a period end is over now', () => {
  assert.deepEqual(course([subscription('cancelled', 0)], 0), [['active', 'free', 'open', null]])
})

test('the most favourable open subscription speaks: entitled now, then plan, then status', () => {
  const told = (...records: SubscriptionRecord[]) => {
    const answers = [records, records.toReversed()].map((order) => {
      const { coveredPlan, billing } = standing(order.map((one, index) => ({ ...one, subscriptionId: `s${index}` })))
      return [coveredPlan, billing.status]
    })
    assert.deepEqual(answers[0], answers[1], 'the order of the rows')
    return answers[0]
  }
  const cancelledUntil = (plan: PlanName, end: number) =>
    subscription('cancelled', -1, { plan, currentPeriodEnd: day(end) })

  assert.deepEqual(told(subscription('active', 0), subscription('unpaid', 0)), ['pro', 'active'])
  assert.deepEqual(told(subscription('active', 0, { plan: 'starter' }), subscription('past_due', 0)), [
    'pro',
    'past_due',
  ])
  assert.deepEqual(told(subscription('active', 0, { plan: 'starter' }), subscription('past_due', -14)), [
    'starter',
    'active',
  ])
  assert.deepEqual(told(subscription('active', 0, { plan: 'starter' }), cancelledUntil('pro', 1)), ['pro', 'cancelled'])
  assert.deepEqual(told(subscription('active', 0, { plan: 'starter' }), cancelledUntil('pro', 0)), [
    'starter',
    'active',
  ])
  assert.deepEqual(told(subscription('active', 0), cancelledUntil('pro', 1)), ['pro', 'active'])
  assert.deepEqual(told(subscription('past_due', 0), cancelledUntil('pro', 1)), ['pro', 'past_due'])
  assert.deepEqual(told(subscription('unpaid', 0), subscription('past_due', -14)), ['pro', 'past_due'])
})

test('of two alike the one with the later period speaks, and then the smaller id, never the one that was heard of later', () => {
  const records = [
    subscription('past_due', -5, { subscriptionId: 'a', currentPeriodEnd: day(1) }),
    subscription('past_due', -9, { subscriptionId: 'b', currentPeriodEnd: day(2) }),
  ]
  for (const order of [records, records.toReversed()]) assert.equal(standing(order).billing.subscriptionId, 'b')
  // And when its grace is over the other one's goes on.
  assert.deepEqual(course(records, 5, 9), [
    ['past_due', 'pro', 'open', 9],
    ['suspended', 'pro', 'writes_refused', 32],
  ])
  const failed = ['f', 'e'].map((subscriptionId): Sent => [subscriptionId, 'pro', 'past_due', sequence(1)])
  for (const order of [failed, failed.toReversed()]) assert.equal(afterAll(...order).billing.subscriptionId, 'e')
  const alike = ['d', 'c'].map((subscriptionId) => subscription('active', 0, { subscriptionId }))
  for (const order of [alike, alike.toReversed()]) assert.equal(standing(order).billing.subscriptionId, 'c')
})

test('a closed subscription speaks only when all are closed', () => {
  const closed = subscription('cancelled', -1, { plan: 'enterprise', currentPeriodEnd: day(9), closed: true })
  assert.deepEqual(course([closed, subscription('active', 0, { plan: 'starter' })], 0), [
    ['active', 'starter', 'open', null],
  ])
  assert.deepEqual(course([closed, subscription('unpaid', 0)], 0), [['suspended', 'pro', 'writes_refused', 23]])
  const other = subscription('cancelled', -1, { plan: 'starter', currentPeriodEnd: day(30), closed: true })
  assert.deepEqual(course([closed, other], 0, 9, 30), [
    ['active', 'enterprise', 'open', 9],
    ['active', 'starter', 'open', 30],
    ['active', 'free', 'open', null],
  ])
})

test('the clock alone can move the record from one subscription to another', () => {
  const records = [subscription('past_due', 0), subscription('active', 0, { subscriptionId: 'two', plan: 'starter' })]
  assert.deepEqual(course(records, 0, 14), [
    ['past_due', 'pro', 'open', 14],
    ['active', 'starter', 'open', null],
  ])
})

test('an old unpaid subscription deletes nothing while, and just after, another one entitled the tenant', () => {
  const old = subscription('unpaid', -100, { plan: 'enterprise' })
  for (const last of [
    subscription('unpaid', 0, { subscriptionId: 'two' }),
    subscription('past_due', -14, { subscriptionId: 'two' }),
    subscription('cancelled', -20, { subscriptionId: 'two', currentPeriodEnd: day(0), plan: 'starter' }),
    subscription('cancelled', 0, { subscriptionId: 'two' }),
    subscription('cancelled', 0, { subscriptionId: 'two', currentPeriodEnd: day(90), closed: true }),
  ]) {
    assert.deepEqual(course([old, last], 0, 60), [
      ['suspended', 'enterprise', 'writes_refused', 23],
      ['suspended', 'enterprise', 'delete', null],
    ])
  }
})

test('nextChangeAt is the very next moment at which the answer changes or a notice is due', () => {
  const someRecords = [
    subscription('past_due', -3, { subscriptionId: 'a', plan: 'starter' }),
    subscription('cancelled', -9, { subscriptionId: 'b', currentPeriodEnd: day(11) }),
    subscription('unpaid', -50, { subscriptionId: 'c', plan: 'enterprise' }),
    subscription('cancelled', -2, { subscriptionId: 'd', currentPeriodEnd: day(2), closed: true }),
  ]
  for (let chosen = 0; chosen < 2 ** someRecords.length; chosen++) {
    const records = someRecords.filter((_, index) => chosen & (1 << index))
    for (let at = -60; at < 90; at += 4) {
      const { nextChangeAt, ...answer } = standing(records, at)
      const noticeAt = answer.notices.map((notice) => (notice.at.getTime() - NOW_MS) / DAY_MS)
      const changes = Array.from({ length: 160 }, (_, index) => at + 1 + index).find((later) => {
        const { nextChangeAt: _, ...then } = standing(records, later)
        return noticeAt.includes(later) || JSON.stringify(then) !== JSON.stringify(answer)
      })
      assert.deepEqual(nextChangeAt, changes === undefined ? null : day(changes), `records ${chosen}, day ${at}`)
    }
  }
})

// The conformance suite's billing.effect.*, without the HTTP.

type Sent = [subscription: string | undefined, plan: PlanName, status: BillingStatus, more?: More]
type More = { eventType?: string; metadata?: Record<string, string>; currentPeriodEnd?: string }

function afterAll(...deliveries: Sent[]): Standing {
  const events = deliveries.map(([subscriptionId = '', plan, status, more = {}], index): BillingEvent => {
    const { metadata, ...fields } = more
    return {
      id: `evt_${index}`,
      subscriptionId,
      eventType: 'subscription.updated',
      plan,
      status,
      currentPeriodStart: null,
      currentPeriodEnd: null,
      ...readMarks(metadata, new Date(NOW_MS + index)),
      receivedAt: new Date(NOW_MS + index),
      arrival: index,
      digest: createHash('sha256').update(JSON.stringify(deliveries[index])).digest('hex'),
      ...fields,
    }
  })
  const subscriptions = Map.groupBy(events, (event) => event.subscriptionId)
  return standing(
    [...subscriptions.values()].map((some) => foldSubscription(some)!),
    1 / 24,
  )
}

/** `[plan, billing status]`, as the suite has it. */
function after(...deliveries: Sent[]) {
  const { coveredPlan, billing } = afterAll(...deliveries)
  return [coveredPlan, billing.status]
}

const sequence = (n: number): More => ({ metadata: { sequence: String(n) } })
const occurred = (n: number): More => ({ metadata: { occurred_at: `2026-03-0${n}T00:00:00.000Z` } })
const gone = (more: More = {}): More => ({ eventType: 'subscription.deleted', ...more })

test('effect.record, effect.facts', () => {
  const { coveredPlan, billing } = afterAll([
    's',
    'starter',
    'active',
    { currentPeriodEnd: '2036-02-01T00:00:00.000Z' },
  ])
  assert.deepEqual([coveredPlan, billing.status, billing.subscriptionId], ['starter', 'active', 's'])
  assert.deepEqual(billing.currentPeriodEnd, new Date('2036-02-01'))
  assert.deepEqual(after(['s', 'pro', 'active', { eventType: 'payment.failed' }]), ['pro', 'active'])
  assert.deepEqual(after(['s', 'pro', 'past_due', { eventType: 'payment.succeeded' }]), ['pro', 'past_due'])
})

test('effect.equal-body', () => {
  const paid: Sent = ['s', 'pro', 'active', { eventType: 'payment.succeeded' }]
  const failed: Sent = ['s', 'pro', 'past_due', { eventType: 'payment.failed' }]
  assert.equal(afterAll(paid, failed).tenantStatus, 'past_due')
  assert.equal(afterAll(paid, failed, paid).tenantStatus, 'active')
})

test('effect.order, effect.numeric-order', () => {
  const events: Sent[] = [
    ['s', 'starter', 'active', sequence(1)],
    ['s', 'pro', 'past_due', sequence(2)],
    ['s', 'enterprise', 'active', sequence(3)],
  ]
  for (const order of [
    [0, 1, 2],
    [2, 1, 0],
    [1, 2, 0, 1],
    [2, 0, 0, 1, 2],
  ])
    assert.deepEqual(after(...order.map((at) => events[at]!)), ['enterprise', 'active'])
  assert.deepEqual(after(['s', 'pro', 'active', sequence(10)], ['s', 'starter', 'active', sequence(9)]), [
    'pro',
    'active',
  ])
})

test('effect.registers, effect.arrival', () => {
  const first: Sent = ['s', 'pro', 'active', sequence(1)]
  const second: Sent = ['s', 'starter', 'active', occurred(2)]
  const third: Sent = ['s', 'enterprise', 'active']
  assert.deepEqual(after(third, second, first), ['pro', 'active'])
  assert.deepEqual(after(first, second, third), ['pro', 'active'])
  assert.deepEqual(after(second, third), ['starter', 'active'])
  assert.deepEqual(after(['s', 'pro', 'active', occurred(2)], ['s', 'starter', 'active', occurred(1)]), [
    'pro',
    'active',
  ])
  for (const id of ['s', undefined])
    assert.deepEqual(after([id, 'pro', 'past_due'], [id, 'starter', 'active']), ['starter', 'active'])
})

test('effect.tie', () => {
  const [good, bad]: Sent[] = [
    ['s', 'pro', 'active', sequence(5)],
    ['s', 'pro', 'past_due', sequence(5)],
  ]
  const [cancelled, unpaid]: Sent[] = [
    ['s', 'pro', 'cancelled', sequence(5)],
    ['s', 'pro', 'unpaid', sequence(5)],
  ]
  for (const order of [
    [good!, bad!],
    [bad!, good!],
  ])
    assert.deepEqual(after(...order), ['pro', 'past_due'])
  assert.equal(after(cancelled!, bad!)[1], 'cancelled')
  assert.equal(after(unpaid!, cancelled!, bad!)[1], 'unpaid')
})

test('effect.malformed', () => {
  const wrong = ['1.5', '-9', '9'.repeat(16), 'x'].map((text): Record<string, string> => ({ sequence: text }))
  for (const metadata of [...wrong, { occurred_at: 'yesterday' }])
    assert.deepEqual(after(['s', 'pro', 'active', { metadata }], ['s', 'starter', 'active']), ['starter', 'active'])
})

test('effect.deleted', () => {
  for (const later of [sequence(1), sequence(9), {}])
    assert.deepEqual(after(['s', 'pro', 'active', gone(sequence(2))], ['s', 'enterprise', 'active', later]), [
      'free',
      'cancelled',
    ])
  assert.equal(after([undefined, 'pro', 'active', gone()])[1], 'cancelled')
  const reopened = after([undefined, 'pro', 'active', gone()], [undefined, 'enterprise', 'active'])
  assert.deepEqual(reopened, ['enterprise', 'active'])
})

test('effect.subscriptions', () => {
  const [one, two]: Sent[] = [
    ['one', 'enterprise', 'active'],
    ['two', 'starter', 'active'],
  ]
  assert.deepEqual(after(['one', 'pro', 'active'], ['two', 'pro', 'unpaid']), ['pro', 'active'])
  assert.deepEqual(after(one!, two!), ['enterprise', 'active'])
  assert.deepEqual(after(['one', 'enterprise', 'past_due'], two!), ['enterprise', 'past_due'])
  assert.deepEqual(after(['one', 'enterprise', 'unpaid'], two!), ['starter', 'active'])
  assert.deepEqual(after(one!, two!, ['one', 'enterprise', 'active', gone()]), ['starter', 'active'])
})

test('effect.past-due', () => {
  for (const [plan, days] of [
    ['starter', 7],
    ['pro', 14],
    ['enterprise', 30],
  ] as const) {
    const failed: Sent = [undefined, plan, 'past_due', { eventType: 'payment.failed' }]
    const once = afterAll(failed)
    assert.deepEqual(
      [once.tenantStatus, once.billing.status, once.billing.graceEndsAt],
      ['past_due', 'past_due', day(days)],
    )
    const twice = afterAll(failed, [undefined, plan, 'past_due', { eventType: 'invoice.payment_failed' }])
    assert.deepEqual(twice.billing.graceEndsAt, once.billing.graceEndsAt)
  }
})

test('effect.unpaid', () => {
  const unpaid: Sent = [undefined, 'pro', 'unpaid', { eventType: 'payment.failed' }]
  const { tenantStatus, reason, gate, coveredPlan } = afterAll(unpaid)
  assert.deepEqual([tenantStatus, reason, gate, coveredPlan], ['suspended', 'unpaid', 'writes_refused', 'pro'])
  const paid = afterAll(unpaid, [undefined, 'pro', 'active', { eventType: 'payment.succeeded' }])
  assert.deepEqual([paid.tenantStatus, paid.gate], ['active', 'open'])
})
