import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import type { PlanName } from '../plans.ts'
import { course, day, NOW_MS, stateOf, subscription } from '../testing/tenant-states.ts'
import { type BillingEvent, type BillingStatus, foldTenant, subscriptionFor } from './fold.ts'
import { readMarks } from './ordering.ts'
import { type TenantState, tenantStateAt } from './tenant-state.ts'

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
