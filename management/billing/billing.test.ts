// What an event does to its tenant, from delivery to what the tenant is told.

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import type { BillingEventBody } from '@loci/contract/billing.ts'
import { occurred, sequence, type TestProvider, testProvider } from '../testing/billing-provider.ts'

type Fields = Partial<BillingEventBody>

let provider: TestProvider
before(async () => {
  provider = await testProvider()
})
after(() => provider[Symbol.asyncDispose]())

const one = (plan: Fields['plan'], status: Fields['status'], more: Fields = {}): Fields => ({
  ...(plan ? { plan } : {}),
  ...(status ? { status } : {}),
  ...more,
})
const gone = (more: Fields = {}): Fields => ({ eventType: 'subscription.deleted', ...more })
const check = async (events: Fields[], expected: [string, string | null]) =>
  assert.deepEqual(await provider.after(...events), expected, JSON.stringify(events))

/** Everything that is kept about a tenant, as one text. */
async function traceOf(tenantId: string): Promise<string> {
  const { sql } = provider.management
  return JSON.stringify([
    await sql(`select * from loci.tenants where id = $1`, [tenantId]),
    await sql(`select * from loci.billing_events where tenant_id = $1 order by arrival`, [tenantId]),
    await sql(`select * from loci.due_tenants where tenant_id = $1`, [tenantId]),
    await sql(`select count(*) from loci.audit where subject = $1`, [tenantId]),
    await sql(`select count(*) from loci.events where subject = $1`, [tenantId]),
  ])
}

test('a tenant without any event is on the plan free and active', async () => {
  const { plan, status, status_reason, billing } = await provider.statusOf(await provider.tenant())

  assert.deepEqual([plan, status, status_reason], ['free', 'active', null])
  assert.deepEqual(new Set(Object.values(billing)), new Set([null]))
})

test('an event sets plan, status, customer, subscription and period of the tenant’s billing, and raises its generation', async () => {
  const tenantId = await provider.tenant()
  const period = { currentPeriodStart: '2026-01-01T01:00:00+01:00', currentPeriodEnd: '2036-02-01T00:00:00Z' }
  await provider.bill(tenantId, { plan: 'starter', customerId: 'cus_1', subscriptionId: 'sub_1', ...period })

  const { plan, status, billing } = await provider.statusOf(tenantId)
  const { last_event_at, ...rest } = billing
  assert.deepEqual([plan, status], ['starter', 'active'])
  assert.deepEqual(rest, {
    status: 'active',
    customer_id: 'cus_1',
    subscription_id: 'sub_1',
    current_period_start: '2026-01-01T00:00:00.000Z',
    current_period_end: '2036-02-01T00:00:00.000Z',
    grace_ends_at: null,
    suspended_since: null,
    reads_end_at: null,
    deletion_at: null,
  })
  assert.ok(Math.abs(Date.parse(last_event_at as string) - Date.now()) < 60_000)
  const [row] = await provider.management.sql<{ generation: string }>(
    'select generation from loci.tenants where id = $1',
    [tenantId],
  )
  assert.equal(Number(row?.generation), 2)
})

// Mutant: the period of the deciding event alone: the customer loses what was paid for.
test('who cancels, or whose payment fails, without repeating the period keeps plan and period to its end', async () => {
  const tenantId = await provider.tenant()
  const period = { currentPeriodStart: '2026-01-01T00:00:00.000Z', currentPeriodEnd: '2036-02-01T00:00:00.000Z' }
  const told = async () => {
    const { plan, covered_plan, billing } = await provider.statusOf(tenantId)
    return [plan, covered_plan, billing.status, billing.current_period_start, billing.current_period_end]
  }
  await provider.bill(tenantId, { eventType: 'subscription.created', ...period })
  for (const [eventType, status] of [
    ['payment.failed', 'past_due'],
    ['subscription.cancelled', 'cancelled'],
    ['subscription.deleted', 'cancelled'],
  ] as const) {
    await provider.bill(tenantId, { eventType, status })
    assert.deepEqual(await told(), ['pro', 'pro', status, ...Object.values(period)], eventType)
  }
  await provider.bill(tenantId, { eventType: 'subscription.created', status: 'cancelled' })
  assert.deepEqual(await told(), ['free', 'free', 'cancelled', null, null])
})

test('status and plan are the facts, whatever the type of the event says', async () => {
  await check([one('pro', 'active', { eventType: 'payment.failed' })], ['pro', 'active'])
  await check([one('pro', 'past_due', { eventType: 'payment.succeeded' })], ['pro', 'past_due'])
})

for (const [name, fieldsOf, headersOf] of [
  ['webhook-id', () => ({}), (key: string) => ({ 'webhook-id': key })],
  ['metadata.event_id', (key: string) => ({ metadata: { event_id: key } }), () => ({})],
] as [string, (key: string) => Fields, (key: string) => Record<string, string>][]) {
  test(`a delivery with a known ${name} is received and changes nothing, even when its body differs`, async () => {
    const [tenantId, other, key] = [await provider.tenant(), await provider.tenant(), randomUUID()]
    const deliver = (to: string, plan: Fields['plan']) =>
      provider.bill(to, one(plan, 'active', fieldsOf(key)), headersOf(key))
    await deliver(tenantId, 'pro')
    await provider.bill(tenantId, { plan: 'starter' })
    const [trace, otherTrace] = [await traceOf(tenantId), await traceOf(other)]

    await deliver(tenantId, 'pro')
    await deliver(tenantId, 'enterprise')
    // The provider numbers its deliveries for all; an event_id is its tenant's.
    await deliver(other, 'enterprise')

    assert.equal(await traceOf(tenantId), trace)
    assert.equal((await traceOf(other)) === otherTrace, name === 'webhook-id')
    assert.equal((await provider.statusOf(tenantId)).plan, 'starter')
    assert.equal((await provider.statusOf(other)).plan, name === 'webhook-id' ? 'free' : 'enterprise')
  })
}

test('an id of a delivery says nothing about an equal id of an event', async () => {
  const [tenantId, key] = [await provider.tenant(), randomUUID()]
  await provider.bill(tenantId, { plan: 'pro' }, { 'webhook-id': key })
  await provider.bill(tenantId, { plan: 'starter', metadata: { event_id: key } })

  assert.equal((await provider.statusOf(tenantId)).plan, 'starter')
})

test('without either an equal body is a new event: active, past_due and the same active again ends active', async () => {
  const tenantId = await provider.tenant()
  const paid = { status: 'active', eventType: 'payment.succeeded' } as const
  await provider.bill(tenantId, paid)
  await provider.bill(tenantId, { status: 'past_due', eventType: 'payment.failed' })
  assert.equal((await provider.statusOf(tenantId)).status, 'past_due')

  await provider.bill(tenantId, paid)

  assert.equal((await provider.statusOf(tenantId)).status, 'active')
})

test('with a sequence or a time neither the order of delivery nor repetition changes the record', async () => {
  const day = (n: number) => occurred(`2026-03-0${n}T00:00:00.000Z`)
  for (const mark of [sequence, day]) {
    const events = [
      one('starter', 'active', mark(1)),
      one('pro', 'past_due', mark(2)),
      one('enterprise', 'active', mark(3)),
    ]
    for (const order of [
      [0, 1, 2],
      [2, 1, 0],
      [1, 2, 0, 1],
      [2, 0, 0, 1, 2],
    ])
      await check(
        order.map((at) => events[at] as Fields),
        ['enterprise', 'active'],
      )
  }
})

test('sequences are compared as numbers; a malformed sequence or time counts as absent', async () => {
  await check([one('pro', 'active', sequence(10)), one('starter', 'active', sequence(9))], ['pro', 'active'])
  for (const metadata of [
    { sequence: '1.5' },
    { sequence: '-9' },
    { sequence: '9'.repeat(16) },
    { sequence: 'x' },
    { occurred_at: 'yesterday' },
  ])
    await check([one('pro', 'active', { metadata }), one('starter', 'active')], ['starter', 'active'])
})

test('sequence decides before occurred_at, and occurred_at before arrival, whichever came last', async () => {
  const [first, second, third] = [
    one('pro', 'active', sequence(1)),
    one('starter', 'active', occurred('2026-03-02T00:00:00Z')),
    one('enterprise', 'active'),
  ]
  await check([third, second, first], ['pro', 'active'])
  await check([first, second, third], ['pro', 'active'])
  await check([second, third], ['starter', 'active'])
})

const of = (subscriptionId: string, plan: Fields['plan'], status: Fields['status'], more: Fields = {}) =>
  one(plan, status, { subscriptionId, ...more })

// Specification, Events: each of the eight types is handled by updating the tenant's billing status. With the
// specification's fields alone, after what usually comes before it.
const EFFECTS: [Fields['eventType'], Fields[], Fields, [string, string, string]][] = [
  ['subscription.created', [], one('starter', 'active'), ['starter', 'active', 'active']],
  ['subscription.updated', [one('starter', 'active')], one('pro', 'active'), ['pro', 'active', 'active']],
  [
    'subscription.cancelled',
    [one('pro', 'active')],
    one('pro', 'cancelled', { currentPeriodEnd: '2036-02-01' }),
    ['pro', 'cancelled', 'active'],
  ],
  ['subscription.deleted', [one('pro', 'active')], one('pro', 'active'), ['free', 'cancelled', 'active']],
  ['payment.succeeded', [one('pro', 'past_due')], one('pro', 'active'), ['pro', 'active', 'active']],
  ['payment.failed', [one('pro', 'active')], one('pro', 'past_due'), ['pro', 'past_due', 'past_due']],
  ['invoice.payment_succeeded', [one('pro', 'unpaid')], one('pro', 'active'), ['pro', 'active', 'active']],
  ['invoice.payment_failed', [one('pro', 'active')], one('pro', 'unpaid'), ['pro', 'unpaid', 'suspended']],
]
for (const [eventType, before, fields, expected] of EFFECTS) {
  test(`${eventType} changes plan and billing status to what it says, and the status of the tenant`, async () => {
    const tenantId = await provider.tenant()
    for (const earlier of before) await provider.bill(tenantId, earlier)
    await provider.bill(tenantId, { ...fields, ...(eventType ? { eventType } : {}) })

    const { plan, status, billing } = await provider.statusOf(tenantId)
    assert.deepEqual([plan, billing.status, status], expected)
  })
}

// specification 160 226
test('without sequence and time the last arrival shows, of whichever subscription and without one', async () => {
  await check([one('pro', 'past_due'), one('starter', 'active')], ['starter', 'active'])
  const none = { subscriptionId: '' }
  await check([one('pro', 'past_due', none), one('starter', 'active', none)], ['starter', 'active'])
  await check([of('1', 'enterprise', 'active'), of('2', 'starter', 'active')], ['starter', 'active'])
  await check([of('1', 'pro', 'active'), of('2', 'starter', 'unpaid')], ['starter', 'unpaid'])
  await check([of('1', 'pro', 'active'), of('2', 'starter', 'active'), of('1', 'pro', 'past_due')], ['pro', 'past_due'])
})

test('an event without a subscription counts for the open one, and for an unnamed one when none is open', async () => {
  const tell = async (...events: Fields[]) => {
    const tenantId = await provider.tenant()
    for (const fields of events) await provider.bill(tenantId, fields)
    const { plan, billing } = await provider.statusOf(tenantId)
    return [plan, billing.status, billing.subscription_id]
  }
  const none = (plan: Fields['plan'], status: Fields['status'], more: Fields = {}) => of('', plan, status, more)
  assert.deepEqual(await tell(of('1', 'pro', 'active'), none('starter', 'past_due')), ['starter', 'past_due', '1'])
  assert.deepEqual(await tell(of('1', 'pro', 'active'), of('2', 'pro', 'active'), none('starter', 'past_due')), [
    'starter',
    'past_due',
    '2',
  ])
  assert.deepEqual(await tell(of('1', 'pro', 'active', gone()), none('starter', 'active')), ['starter', 'active', null])
  // A deletion too counts for it, and closes it.
  const closed = [of('1', 'pro', 'active'), none('pro', 'active', gone()), of('1', 'pro', 'active')]
  assert.deepEqual(await tell(...closed), ['free', 'cancelled', '1'])
})

// specification 68
test('the customer stays with the record when a later event names none', async () => {
  const tenantId = await provider.tenant()
  await provider.bill(tenantId, { customerId: 'cus_1' })
  await provider.bill(tenantId, { plan: 'starter' })

  assert.equal((await provider.statusOf(tenantId)).billing.customer_id, 'cus_1')
})

// specification 72 73
test('a period is read from a time, a date or epoch seconds; anything else is kept and ignored', async () => {
  for (const [currentPeriodEnd, end, plan] of [
    ['2036-12-31T10:00:00+02:00', '2036-12-31T08:00:00.000Z', 'pro'],
    ['2036-12-31', '2036-12-31T00:00:00.000Z', 'pro'],
    ['2114380800', '2037-01-01T00:00:00.000Z', 'pro'],
    ['2036-13-45', null, 'free'],
    ['someday', null, 'free'],
  ] as const) {
    const tenantId = await provider.tenant()
    await provider.bill(tenantId, { status: 'cancelled', currentPeriodEnd })
    const status = await provider.statusOf(tenantId)
    assert.deepEqual([status.plan, status.billing.current_period_end], [plan, end], currentPeriodEnd)
  }
})

test('of two events in one place the more severe status decides, in either order', async () => {
  const at = (status: Fields['status']) => one('pro', status, sequence(5))
  for (const order of [
    [at('active'), at('past_due')],
    [at('past_due'), at('active')],
  ])
    await check(order, ['pro', 'past_due'])
  assert.equal((await provider.after(at('cancelled'), at('past_due')))[1], 'cancelled')
  assert.equal((await provider.after(at('unpaid'), at('cancelled'), at('past_due')))[1], 'unpaid')
})

test('subscription.deleted means cancelled and closes a named subscription, until it is created later in order', async () => {
  for (const later of [sequence(1), sequence(9), {}])
    assert.equal((await provider.after(gone(sequence(2)), one('enterprise', 'active', later)))[1], 'cancelled')
  assert.equal((await provider.after(gone(), one('enterprise', 'active')))[1], 'cancelled')
  const none = { subscriptionId: '' }
  assert.equal((await provider.after(gone(none)))[1], 'cancelled')
  await check([gone(none), one('enterprise', 'active', none)], ['enterprise', 'active'])

  const created = (more: Fields = {}) => one('starter', 'active', { eventType: 'subscription.created', ...more })
  await check([gone(sequence(2)), created(sequence(3))], ['starter', 'active'])
  await check([created(sequence(3)), gone(sequence(2))], ['starter', 'active'])
  assert.equal((await provider.after(gone(sequence(2)), created(sequence(1))))[1], 'cancelled')
  await check([gone(), created()], ['starter', 'active'])
  await check([gone(), of('other', 'enterprise', 'active')], ['enterprise', 'active'])
})

test('with marks the record is the most favourable open subscription: entitled now, then plan, then status', async () => {
  const first = sequence(1)
  await check([of('1', 'pro', 'active', first), of('2', 'pro', 'unpaid', first)], ['pro', 'active'])
  const [large, small] = [of('1', 'enterprise', 'active', first), of('2', 'starter', 'active', first)]
  await check([large, small], ['enterprise', 'active'])
  await check([large, of('1', 'enterprise', 'past_due', sequence(2)), small], ['enterprise', 'past_due'])
  await check([of('1', 'enterprise', 'past_due', first), small], ['starter', 'active'])
  await check([of('1', 'enterprise', 'unpaid', first), small], ['starter', 'active'])
  await check([large, small, of('1', 'enterprise', 'active', gone(sequence(2)))], ['starter', 'active'])
})

test('past_due gives a grace of 7, 14 or 30 days by plan, which a repetition never extends', async () => {
  for (const [plan, days] of [
    ['starter', 7],
    ['pro', 14],
    ['enterprise', 30],
  ] as const) {
    const tenantId = await provider.tenant()
    await provider.bill(tenantId, { plan, status: 'past_due', eventType: 'payment.failed' })
    const { status, status_reason, billing } = await provider.statusOf(tenantId)
    assert.deepEqual([status, status_reason, billing.status], ['past_due', 'past_due', 'past_due'])
    const grace = (Date.parse(billing.grace_ends_at as string) - Date.now()) / 86_400_000
    assert.ok(Math.abs(grace - days) < 0.01, String(grace))

    await provider.bill(tenantId, { plan, status: 'past_due', eventType: 'invoice.payment_failed' })

    assert.equal((await provider.statusOf(tenantId)).billing.grace_ends_at, billing.grace_ends_at)
  }
})

test('who paid for starter and then owes for enterprise is billed for enterprise, with the cover and the grace of starter', async () => {
  const tenantId = await provider.tenant()
  await provider.bill(tenantId, { plan: 'starter', status: 'active' })
  await provider.bill(tenantId, { plan: 'enterprise', status: 'past_due' })

  const { plan, covered_plan, billing } = await provider.statusOf(tenantId)
  const grace = (Date.parse(billing.grace_ends_at as string) - Date.now()) / 86_400_000
  assert.deepEqual([plan, covered_plan, billing.status, Math.round(grace)], ['enterprise', 'starter', 'past_due', 7])
})

test('subscriptions that were never paid are shown and give nothing: no plan, no service of it, no end of a suspension', async () => {
  const tenantId = await provider.tenant()
  const create = (plan: string) =>
    provider.party.ask('POST /api/v1/services', {
      body: { name: 'n', tenant_id: tenantId, service_type: 'kv', region: 'us-east-1', plan },
    })
  const failed = { plan: 'enterprise', status: 'past_due', eventType: 'subscription.created' } as const
  // The attack: a declined card, again and again.
  for (const subscriptionId of ['1', '2', '3', '4']) {
    await provider.bill(tenantId, { ...failed, subscriptionId })
    const { plan, covered_plan, status, limits } = await provider.statusOf(tenantId)
    assert.deepEqual([plan, covered_plan, status], ['enterprise', 'free', 'past_due'])
    assert.deepEqual(limits.bytes, (await provider.statusOf(await provider.tenant())).limits.bytes)
    const refused = await create('enterprise')
    assert.deepEqual([refused.status, refused.error.code], [402, 'PLAN_NOT_COVERED'])
  }

  const suspended = await provider.tenant()
  await provider.bill(suspended, { ...one('pro', 'active'), subscriptionId: '1' })
  await provider.bill(suspended, { ...one('pro', 'unpaid'), subscriptionId: '1' })
  await provider.bill(suspended, { ...failed, subscriptionId: '2' })
  const { status, covered_plan, billing } = await provider.statusOf(suspended)
  assert.deepEqual([status, covered_plan, billing.status], ['suspended', 'pro', 'past_due'])
})

test('unpaid suspends and refuses writes, and active resumes; every service of the tenant is due each time', async () => {
  const tenantId = await provider.tenant()
  const accessOf = async () =>
    (await provider.management.sql<{ access: string }>('select access from loci.tenants where id = $1', [tenantId]))[0]
      ?.access
  await provider.bill(tenantId, { status: 'unpaid' })
  const { status, status_reason, plan } = await provider.statusOf(tenantId)
  assert.deepEqual([status, status_reason, plan, await accessOf()], ['suspended', 'unpaid', 'pro', 'read_only'])

  await provider.bill(tenantId, { status: 'active' })

  assert.deepEqual([(await provider.statusOf(tenantId)).status, await accessOf()], ['active', 'full'])
})

test('the plan of the organization is the best of its tenants', async () => {
  await using other = await testProvider()
  const { sql } = other.management
  await sql(`update loci.tenants set plan = 'free' where id = $1`, [other.party.tenantId])
  const planOf = async () =>
    (await sql<{ plan: string }>('select plan from loci.organizations where id = $1', [other.party.organizationId]))[0]
      ?.plan
  const tenants = [await other.tenant(), await other.tenant()] as [string, string]

  // At the same moment: neither may work from what the other has not committed yet.
  await Promise.all([other.bill(tenants[0], { plan: 'starter' }), other.bill(tenants[1], { plan: 'pro' })])
  assert.equal(await planOf(), 'pro')
  await other.bill(tenants[1], { plan: 'pro', status: 'cancelled' })
  assert.equal(await planOf(), 'starter')
  assert.equal((await other.party.ask(`DELETE /api/v1/tenants/${tenants[0]}`)).status, 200)
  assert.equal(await planOf(), 'free')
})
