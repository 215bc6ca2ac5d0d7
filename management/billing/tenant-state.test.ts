import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import type { PlanName } from '../plans.ts'
import {
  type BillingEvent,
  type BillingStatus,
  foldTenant,
  type SubscriptionRecord,
  subscriptionFor,
  type TenantFold,
} from './fold.ts'
import { readMarks } from './ordering.ts'
import { type TenantState, tenantStateAt } from './tenant-state.ts'

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
function stateOf(records: SubscriptionRecord[], at = 0): TenantState {
  return tenantStateAt({ by: 'favour', records }, day(at))
}

/** Tenant status, covered plan, access and next change (in days), at each of these days. */
function course(records: SubscriptionRecord[], ...days: number[]) {
  return courseOf({ by: 'favour', records }, ...days)
}

function courseOf(fold: TenantFold, ...days: number[]) {
  return days.map((at) => {
    const { tenantStatus, coveredPlan, access, nextChangeAt } = tenantStateAt(fold, day(at))
    return [tenantStatus, coveredPlan, access, nextChangeAt && (nextChangeAt.getTime() - NOW_MS) / DAY_MS]
  })
}

const MOMENT = 1 / DAY_MS

test('without any subscription a tenant is on the plan free and active, for ever', () => {
  assert.deepEqual(stateOf([]), {
    tenantStatus: 'active',
    reason: null,
    plan: 'free',
    coveredPlan: 'free',
    billing: {
      status: null,
      customerId: null,
      subscriptionId: null,
      currentPeriodStart: null,
      currentPeriodEnd: null,
      graceEndsAt: null,
    },
    access: 'full',
    suspendedSince: null,
    notices: [],
    nextChangeAt: null,
  })
})

test('an active subscription entitles whatever the clock says, also after its period', () => {
  const record = subscription('active', 0, { currentPeriodEnd: day(-3) })
  assert.deepEqual(course([record], 0, 1000), Array(2).fill(['active', 'pro', 'full', null]))
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
      ['past_due', plan, 'full', days],
      ['past_due', plan, 'full', days],
      ['suspended', plan, 'read_only', days + 23],
    ])
    assert.deepEqual(stateOf(records).billing.graceEndsAt, day(days))
    assert.deepEqual([stateOf(records).reason, stateOf(records, days).reason], ['past_due', 'unpaid'])
    assert.deepEqual(
      [stateOf(records, days).billing.status, stateOf(records, days).billing.graceEndsAt],
      ['past_due', day(days)],
    )
  }
})

test('grace, cover and rank of a past_due one are by the plan that it covers, and not by the one it is billed for', () => {
  const records = [subscription('past_due', 0, { plan: 'enterprise', coveredPlan: 'starter' })]
  assert.deepEqual(course(records, 0, 7), [
    ['past_due', 'starter', 'full', 7],
    ['suspended', 'starter', 'read_only', 30],
  ])
  assert.equal(stateOf(records).plan, 'enterprise')
  const paid = subscription('active', 0, { subscriptionId: 'two', plan: 'pro' })
  assert.deepEqual(course([...records, paid], 0), [['active', 'pro', 'full', null]])
})

test('unpaid: writes are refused for 30 days, then off, deleted at 60, each step announced 7 days before', () => {
  const records = [subscription('unpaid', 0)]
  assert.deepEqual(course(records, 0, 23, 30 - MOMENT, 30, 53, 60 - MOMENT, 60, 400), [
    ['suspended', 'pro', 'read_only', 23],
    ['suspended', 'pro', 'read_only', 30],
    ['suspended', 'pro', 'read_only', 30],
    ['suspended', 'pro', 'none', 53],
    ['suspended', 'pro', 'none', 60],
    ['suspended', 'pro', 'none', 60],
    ['suspended', 'pro', 'delete', null],
    ['suspended', 'pro', 'delete', null],
  ])
  assert.deepEqual(stateOf(records).notices, [
    { type: 'tenant.access_ends', at: day(23), takesEffectAt: day(30) },
    { type: 'tenant.deletion_due', at: day(53), takesEffectAt: day(60) },
  ])
})

test('after a grace the steps count from its end', () => {
  const { notices, access } = stateOf([subscription('past_due', 0)], 44)
  assert.equal(access, 'none')
  assert.deepEqual(
    notices.map((notice) => notice.takesEffectAt),
    [day(44), day(74)],
  )
})

test('cancelled runs to the end of its period, then the tenant is active on the plan free', () => {
  const record = subscription('cancelled', 0, { currentPeriodEnd: day(20) })
  assert.deepEqual(course([record], 0, 20 - MOMENT, 20, 400), [
    ['active', 'pro', 'full', 20],
    ['active', 'pro', 'full', 20],
    ['active', 'free', 'full', null],
    ['active', 'free', 'full', null],
  ])
  const { billing, reason } = stateOf([record], 21)
  assert.deepEqual([billing.status, billing.subscriptionId, reason], ['cancelled', 'sub', null])
})

test('cancelled without a period end is over now', () => {
  assert.deepEqual(course([subscription('cancelled', 0)], 0), [['active', 'free', 'full', null]])
})

test('the most favourable open subscription decides: entitled now, then plan, then status', () => {
  const told = (...records: SubscriptionRecord[]) => {
    const answers = [records, records.toReversed()].map((order) => {
      const { coveredPlan, billing } = stateOf(order.map((one, index) => ({ ...one, subscriptionId: `s${index}` })))
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

test('of two alike the one with the later period decides, and then the smaller id, never the one that was heard of later', () => {
  const records = [
    subscription('past_due', -5, { subscriptionId: 'a', currentPeriodEnd: day(1) }),
    subscription('past_due', -9, { subscriptionId: 'b', currentPeriodEnd: day(2) }),
  ]
  for (const order of [records, records.toReversed()]) assert.equal(stateOf(order).billing.subscriptionId, 'b')
  // And when its grace is over the other one's goes on.
  assert.deepEqual(course(records, 5, 9), [
    ['past_due', 'pro', 'full', 9],
    ['suspended', 'pro', 'read_only', 32],
  ])
  const failed = ['f', 'e'].map((subscriptionId): Sent => [subscriptionId, 'pro', 'past_due', sequence(1)])
  for (const order of [failed, failed.toReversed()]) assert.equal(afterAll(...order).billing.subscriptionId, 'e')
  const alike = ['d', 'c'].map((subscriptionId) => subscription('active', 0, { subscriptionId }))
  for (const order of [alike, alike.toReversed()]) assert.equal(stateOf(order).billing.subscriptionId, 'c')
})

test('a closed subscription decides only when all are closed', () => {
  const closed = subscription('cancelled', -1, { plan: 'enterprise', currentPeriodEnd: day(9), closed: true })
  assert.deepEqual(course([closed, subscription('active', 0, { plan: 'starter' })], 0), [
    ['active', 'starter', 'full', null],
  ])
  assert.deepEqual(course([closed, subscription('unpaid', 0)], 0), [['suspended', 'pro', 'read_only', 23]])
  const other = subscription('cancelled', -1, { plan: 'starter', currentPeriodEnd: day(30), closed: true })
  assert.deepEqual(course([closed, other], 0, 9, 30), [
    ['active', 'enterprise', 'full', 9],
    ['active', 'starter', 'full', 30],
    ['active', 'free', 'full', null],
  ])
})

test('the clock alone can move the record from one subscription to another', () => {
  const records = [subscription('past_due', 0), subscription('active', 0, { subscriptionId: 'two', plan: 'starter' })]
  assert.deepEqual(course(records, 0, 14), [
    ['past_due', 'pro', 'full', 14],
    ['active', 'starter', 'full', null],
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
      ['suspended', 'enterprise', 'read_only', 23],
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
    neverPaid(-8, { subscriptionId: 'e' }),
  ]
  for (let chosen = 0; chosen < 2 ** someRecords.length; chosen++) {
    const records = someRecords.filter((_, index) => chosen & (1 << index))
    for (let at = -60; at < 90; at += 9) {
      const { nextChangeAt, ...answer } = stateOf(records, at)
      const noticeAt = answer.notices.map((notice) => (notice.at.getTime() - NOW_MS) / DAY_MS)
      const changes = Array.from({ length: 160 }, (_, index) => at + 1 + index).find((later) => {
        const { nextChangeAt: _, ...then } = stateOf(records, later)
        return noticeAt.includes(later) || JSON.stringify(then) !== JSON.stringify(answer)
      })
      assert.deepEqual(nextChangeAt, changes === undefined ? null : day(changes), `records ${chosen}, day ${at}`)
    }
  }
})

// Subscriptions that owe and were never active.

const neverPaid = (since: number, more: Partial<SubscriptionRecord> = {}) =>
  subscription('past_due', since, { plan: 'enterprise', coveredPlan: null, ...more })

test('one that was never active is shown as past_due with the grace of its plan, and covers nothing', () => {
  assert.deepEqual(course([neverPaid(0)], 0, 30), [
    ['past_due', 'free', 'full', 30],
    ['suspended', 'free', 'read_only', 53],
  ])
  const { plan, billing, reason } = stateOf([neverPaid(0)])
  assert.deepEqual([plan, billing.status, billing.graceEndsAt, reason], ['enterprise', 'past_due', day(30), 'past_due'])
})

test('beside one that was never active the tenant has what it has without it', () => {
  const other = { subscriptionId: 'two' }
  assert.deepEqual(course([neverPaid(0), subscription('active', 0, { ...other, plan: 'starter' })], 0, 400), [
    ['active', 'starter', 'full', null],
    ['active', 'starter', 'full', null],
  ])
  // It outranks them by plan, and is shown; what it gives is theirs.
  const closed = subscription('cancelled', -1, { ...other, currentPeriodEnd: day(9), closed: true })
  assert.deepEqual(course([neverPaid(0), closed], 0, 9), [
    ['past_due', 'pro', 'full', 9],
    ['past_due', 'free', 'full', 30],
  ])
  const unpaid = subscription('unpaid', -29, other)
  assert.deepEqual(course([neverPaid(0), unpaid], 0, 1, 31, 60), [
    ['suspended', 'pro', 'read_only', 1],
    ['suspended', 'pro', 'none', 24],
    ['suspended', 'pro', 'delete', null],
    ['suspended', 'pro', 'delete', null],
  ])
  assert.equal(stateOf([neverPaid(0), unpaid]).billing.status, 'past_due')
})

test('one that was never active and is cancelled covers nothing to the end of its period', () => {
  const cancelled = subscription('cancelled', 0, { coveredPlan: null, currentPeriodEnd: day(20) })
  assert.deepEqual(course([cancelled], 0), [['active', 'free', 'full', null]])
  assert.equal(stateOf([cancelled]).plan, 'free')
})

test('four subscriptions that were never paid, one after the other, give nothing and put nothing off (attack M3)', () => {
  const subscriptions = [0, 29, 58, 87].map((at) => neverPaid(at, { subscriptionId: `s${at}` }))
  const seen = [1, 31, 59, 60, 89, 90, 110].map((at) => {
    const known = subscriptions.filter(({ since }) => since <= day(at))
    const { tenantStatus, coveredPlan, access } = stateOf(known, at)
    return [at, tenantStatus, coveredPlan, access]
  })
  assert.deepEqual(seen, [
    [1, 'past_due', 'free', 'full'],
    [31, 'suspended', 'free', 'read_only'],
    [59, 'suspended', 'free', 'read_only'],
    [60, 'suspended', 'free', 'none'],
    [89, 'suspended', 'free', 'none'],
    [90, 'suspended', 'free', 'delete'],
    [110, 'suspended', 'free', 'delete'],
  ])
})

test('of a thousand that were never paid only the one that is shown and the one that lapses first count', () => {
  const many = Array.from({ length: 1_000 }, (_, at) => neverPaid(-at / 20, { subscriptionId: `s${at}`, plan: 'pro' }))
  const [shown, first] = [neverPaid(0, { subscriptionId: 'z' }), many.at(-1) as SubscriptionRecord]
  for (const by of ['favour', 'arrival'] as const)
    for (const at of [0, 14, 44])
      assert.deepEqual(
        tenantStateAt({ by, records: [shown, ...many] }, day(at)),
        tenantStateAt({ by, records: [shown, first] }, day(at)),
      )
})

test('an old one that was never paid begins no suspension while another entitled, nor before a later one owed', () => {
  const old = subscription('unpaid', -100, { coveredPlan: null, plan: 'enterprise' })
  const other = { subscriptionId: 'two', plan: 'starter' } as const
  assert.deepEqual(course([old, subscription('unpaid', 0, other)], 0), [['suspended', 'starter', 'read_only', 23]])
  const ended = subscription('cancelled', -9, { ...other, currentPeriodEnd: day(0) })
  assert.deepEqual(course([old, ended], 0), [['suspended', 'free', 'read_only', 23]])
  const late = subscription('unpaid', 5, { coveredPlan: null, plan: 'enterprise' })
  assert.deepEqual(course([late, ended], 5), [['suspended', 'free', 'read_only', 28]])
})

// By arrival: the first record decides, the next ones are what would decide without it.

test('by arrival the first record decides, though another subscription is active', () => {
  const records = [subscription('unpaid', 0), subscription('active', -9, { subscriptionId: 'two' })]
  assert.deepEqual(courseOf({ by: 'arrival', records }, 0), [['suspended', 'pro', 'read_only', 23]])
})

test('by arrival one that was never active leaves what the tenant has without it, and puts nothing off', () => {
  const active = subscription('active', -9, { subscriptionId: 'two', plan: 'starter' })
  assert.deepEqual(courseOf({ by: 'arrival', records: [neverPaid(0), active] }, 0, 30), [
    ['past_due', 'starter', 'full', 30],
    ['suspended', 'starter', 'read_only', 53],
  ])
  const unpaid = subscription('unpaid', -29, { subscriptionId: 'two' })
  assert.deepEqual(courseOf({ by: 'arrival', records: [neverPaid(0), unpaid] }, 0, 2, 30, 31), [
    ['suspended', 'pro', 'read_only', 1],
    ['suspended', 'pro', 'none', 24],
    ['suspended', 'pro', 'none', 31],
    ['suspended', 'pro', 'delete', null],
  ])
})

// The conformance suite's billing.effect.*, without the HTTP.

type Sent = [subscription: string | undefined, plan: PlanName, status: BillingStatus, more?: More]
type More = { eventType?: string; metadata?: Record<string, string>; currentPeriodEnd?: string }

function afterAll(...deliveries: Sent[]): TenantState {
  const events: BillingEvent[] = []
  for (const [index, [named = '', plan, status, more = {}]] of deliveries.entries()) {
    const { metadata, ...fields } = more
    events.push({
      id: `evt_${index}`,
      countsFor: subscriptionFor(events, named),
      customerId: null,
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
    })
  }
  return tenantStateAt(foldTenant(events), day(1 / 24))
}

/** `[plan, billing status]`, as the suite has it. */
function after(...deliveries: Sent[]) {
  const { plan, billing } = afterAll(...deliveries)
  return [plan, billing.status]
}

const sequence = (n: number): More => ({ metadata: { sequence: String(n) } })
const occurred = (n: number): More => ({ metadata: { occurred_at: `2026-03-0${n}T00:00:00.000Z` } })
const gone = (more: More = {}): More => ({ eventType: 'subscription.deleted', ...more })

test('effect.record, effect.facts', () => {
  const { plan, billing } = afterAll(['s', 'starter', 'active', { currentPeriodEnd: '2036-02-01T00:00:00.000Z' }])
  assert.deepEqual([plan, billing.status, billing.subscriptionId], ['starter', 'active', 's'])
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

test('effect.orderings, effect.arrival', () => {
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

test('effect.deleted, effect.reopened', () => {
  for (const later of [sequence(1), sequence(9), {}])
    assert.deepEqual(after(['s', 'pro', 'active', gone(sequence(2))], ['s', 'enterprise', 'active', later]), [
      'free',
      'cancelled',
    ])
  assert.equal(after([undefined, 'pro', 'active', gone()])[1], 'cancelled')
  const reopened = after([undefined, 'pro', 'active', gone()], [undefined, 'enterprise', 'active'])
  assert.deepEqual(reopened, ['enterprise', 'active'])
  const begun = (more: More): Sent => ['s', 'starter', 'active', { eventType: 'subscription.created', ...more }]
  const closed = (more: More): Sent => ['s', 'pro', 'active', gone(more)]
  assert.deepEqual(after(closed(sequence(2)), begun(sequence(3))), ['starter', 'active'])
  assert.deepEqual(after(begun(sequence(3)), closed(sequence(2))), ['starter', 'active'])
  assert.equal(after(closed(sequence(2)), begun(sequence(1)))[1], 'cancelled')
  assert.deepEqual(after(closed({}), begun({})), ['starter', 'active'])
})

test('effect.unnamed', () => {
  const told = (...deliveries: Sent[]) => {
    const { plan, billing } = afterAll(...deliveries)
    return [plan, billing.status, billing.subscriptionId]
  }
  assert.deepEqual(told(['one', 'pro', 'active'], [undefined, 'starter', 'past_due']), ['starter', 'past_due', 'one'])
  assert.deepEqual(told(['one', 'pro', 'active', gone()], [undefined, 'starter', 'active']), [
    'starter',
    'active',
    null,
  ])
})

test('effect.subscriptions', () => {
  const first = sequence(1)
  const [one, two]: Sent[] = [
    ['one', 'enterprise', 'active', first],
    ['two', 'starter', 'active', first],
  ]
  assert.deepEqual(after(['one', 'pro', 'active', first], ['two', 'pro', 'unpaid', first]), ['pro', 'active'])
  assert.deepEqual(after(one!, two!), ['enterprise', 'active'])
  assert.deepEqual(after(one!, ['one', 'enterprise', 'past_due', sequence(2)], two!), ['enterprise', 'past_due'])
  assert.deepEqual(after(['one', 'enterprise', 'past_due', first], two!), ['starter', 'active'])
  assert.deepEqual(after(['one', 'enterprise', 'unpaid', first], two!), ['starter', 'active'])
  assert.deepEqual(after(one!, two!, ['one', 'enterprise', 'active', gone(sequence(2))]), ['starter', 'active'])
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
  const { tenantStatus, reason, access, plan } = afterAll(unpaid)
  assert.deepEqual([tenantStatus, reason, access, plan], ['suspended', 'unpaid', 'read_only', 'pro'])
  const paid = afterAll(unpaid, [undefined, 'pro', 'active', { eventType: 'payment.succeeded' }])
  assert.deepEqual([paid.tenantStatus, paid.access], ['active', 'full'])
})
