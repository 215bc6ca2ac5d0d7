import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PlanName } from '../plans.ts'
import { course, courseOf, DAY_MS, day, NOW_MS, stateOf, subscription } from '../testing/tenant-states.ts'
import type { SubscriptionRecord } from './fold.ts'
import { tenantStateAt } from './tenant-state.ts'

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
