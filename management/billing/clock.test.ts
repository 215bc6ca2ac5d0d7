// Days that pass, notices before each step, and events that wait for their tenant. The
// clock is handed in; the events are real deliveries.

import assert from 'node:assert/strict'
import { after, before, mock, test } from 'node:test'
import { testLog } from '@loci/chassis/testing/server.ts'
import { newId } from '@loci/contract/ids.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import { transaction } from '@loci/postgres/transaction.ts'
import { useOrganization } from '../access/store.ts'
import { insertTenant } from '../tenants/store.ts'
import { event, occurred, sequence, type TestProvider, testProvider } from '../testing/billing-provider.ts'
import { applyParkedOf } from './billing.ts'
import { applyParkedEvents, billingJobs, settleDueTenants } from './clock.ts'

const DAY_MS = 86_400_000
const START = Date.now()
const day = (days: number) => new Date(START + days * DAY_MS)

let provider: TestProvider
before(async () => {
  provider = await testProvider()
})
after(() => provider[Symbol.asyncDispose]())

function fail(error: unknown): never {
  throw error
}

interface Row {
  plan: string
  status: string
  access: string
}

async function rowOf(tenantId: string): Promise<Row> {
  const [row] = await provider.management.sql<Row>('select plan, status, access from loci.tenants where id = $1', [
    tenantId,
  ])
  return row as Row
}

/**
 * After this many days. A little later than the whole day, as the events were delivered a little later than the start.
 */
async function at(tenantId: string, days: number): Promise<Row> {
  await settleDueTenants(provider.management.pool, new Date(day(days).getTime() + 60_000), fail)
  return rowOf(tenantId)
}

const told = async (tenantId: string, type: string) =>
  (
    await provider.management.sql<{ data: { takes_effect_at: string } }>(
      'select data from loci.events where subject = $1 and type = $2 order by seq',
      [tenantId, type],
    )
  ).map(({ data }) => Math.round((Date.parse(data.takes_effect_at) - START) / DAY_MS))

test('past_due runs through grace, suspension, the end of access and deletion, each step told 7 days before', async () => {
  const tenantId = await provider.tenant()
  await provider.bill(tenantId)
  await provider.bill(tenantId, { plan: 'pro', status: 'past_due' })
  const expected: [number, string, string][] = [
    [13.9, 'past_due', 'full'],
    [14, 'suspended', 'read_only'],
    [36.9, 'suspended', 'read_only'],
    [37, 'suspended', 'read_only'],
    [43.9, 'suspended', 'read_only'],
    [44, 'suspended', 'none'],
    [67, 'suspended', 'none'],
    [73.9, 'suspended', 'none'],
    [74, 'suspended', 'delete'],
    [400, 'suspended', 'delete'],
  ]
  for (const [days, status, access] of expected) {
    const row = await at(tenantId, days)
    assert.deepEqual([days, row.status, row.access, row.plan], [days, status, access, 'pro'])
    if (days === 36.9) assert.deepEqual(await told(tenantId, 'tenant.access_ends'), [])
    if (days === 37) assert.deepEqual(await told(tenantId, 'tenant.access_ends'), [44])
    if (days === 67) assert.deepEqual(await told(tenantId, 'tenant.deletion_due'), [74])
  }
  // Once each, however often the clock was looked at.
  assert.deepEqual(await told(tenantId, 'tenant.access_ends'), [44])
  assert.deepEqual(await told(tenantId, 'tenant.deletion_due'), [74])
})

test('a clock that was not looked at for months announces first, and deletes 7 days after', async () => {
  const tenantId = await provider.tenant()
  await provider.bill(tenantId, { status: 'unpaid' })

  assert.equal((await at(tenantId, 100)).access, 'read_only')
  assert.deepEqual(await told(tenantId, 'tenant.deletion_due'), [107])
  assert.equal((await at(tenantId, 106.9)).access, 'read_only')
  assert.equal((await at(tenantId, 107)).access, 'delete')
})

test('an event that tells of months long past suspends at once, and ends access and data 7 days after the notice', async () => {
  const tenantId = await provider.tenant()
  await provider.bill(tenantId, occurred(day(-101)))
  await provider.bill(tenantId, { status: 'unpaid', ...occurred(day(-100)) })

  assert.deepEqual(await rowOf(tenantId), { plan: 'pro', status: 'suspended', access: 'read_only' })
  assert.deepEqual(await told(tenantId, 'tenant.access_ends'), [7])
  assert.deepEqual(await told(tenantId, 'tenant.deletion_due'), [7])
  assert.equal((await at(tenantId, 6.9)).access, 'read_only')
  assert.equal((await at(tenantId, 7)).access, 'delete')
})

test('a payment opens everything again, and the next suspension is announced anew', async () => {
  const tenantId = await provider.tenant()
  await provider.bill(tenantId, { status: 'unpaid', ...occurred(day(-50)) })
  assert.equal((await at(tenantId, 7)).access, 'none')

  await provider.bill(tenantId, { status: 'active', ...occurred(day(-40)) })
  assert.deepEqual(await rowOf(tenantId), { plan: 'pro', status: 'active', access: 'full' })
  await provider.bill(tenantId, { status: 'unpaid', ...occurred(day(-39)) })

  assert.equal((await rowOf(tenantId)).access, 'read_only')
  assert.equal((await told(tenantId, 'tenant.access_ends')).length, 2)
})

test('cancelled runs to the end of its period, then the plan is free; without an end it is free at once', async () => {
  const [tenantId, other] = [await provider.tenant(), await provider.tenant()]
  await provider.bill(tenantId, { status: 'cancelled', currentPeriodEnd: day(20).toISOString() })
  await provider.bill(other, { status: 'cancelled' })

  assert.deepEqual(await rowOf(other), { plan: 'free', status: 'active', access: 'full' })
  assert.deepEqual(await at(tenantId, 19.9), { plan: 'pro', status: 'active', access: 'full' })
  assert.deepEqual(await at(tenantId, 20), { plan: 'free', status: 'active', access: 'full' })
})

test('what the clock changes has one audit entry, and what it does not change has none', async () => {
  const tenantId = await provider.tenant()
  await provider.bill(tenantId, { plan: 'starter', status: 'past_due' })
  const entries = async () =>
    (
      await provider.management.sql<{ count: number }>(
        `select count(*)::int as count from loci.audit where subject = $1 and action = 'billing.clock'`,
        [tenantId],
      )
    )[0]?.count

  for (const days of [1, 6.9]) await at(tenantId, days)
  assert.equal(await entries(), 0)
  for (const days of [7, 7.1, 8]) await at(tenantId, days)
  assert.equal(await entries(), 1)
})

test('two clocks at the same moment do it once', async () => {
  const tenantId = await provider.tenant()
  await provider.bill(tenantId, { status: 'unpaid' })
  const now = new Date(day(24).getTime())

  await Promise.all(Array.from({ length: 4 }, () => settleDueTenants(provider.management.pool, now, fail)))

  assert.deepEqual(await told(tenantId, 'tenant.access_ends'), [31])
})

test('a tenant whose turn fails is told and put off, and the others have theirs', async () => {
  const [bad, good] = [await provider.tenant(), await provider.tenant()]
  for (const tenantId of [bad, good]) await provider.bill(tenantId, { status: 'past_due', plan: 'starter' })
  const { sql, pool } = provider.management
  await sql(
    `create function loci.fail() returns trigger language plpgsql as $$ begin raise exception 'sabotage'; end $$`,
  )
  await sql(
    `create trigger fail before update on loci.tenants for each row when (new.id = '${bad}') execute function loci.fail()`,
  )
  const failed: string[] = []
  const now = new Date(day(8).getTime())
  try {
    await settleDueTenants(pool, now, (_, tenantId = '') => failed.push(tenantId))
  } finally {
    await sql('drop trigger fail on loci.tenants')
  }

  assert.deepEqual([failed, (await rowOf(good)).status, (await rowOf(bad)).status], [[bad], 'suspended', 'past_due'])
  await settleDueTenants(pool, new Date(now.getTime() + 60_000), fail)
  assert.equal((await rowOf(bad)).status, 'suspended')
})

test('what a clock that was wrong has done is set right at the next look, which is never more than a day away', async () => {
  const tenantId = await provider.tenant()
  await provider.bill(tenantId)
  await provider.bill(tenantId, { status: 'past_due' })
  assert.equal((await at(tenantId, 400)).status, 'suspended')
  assert.equal((await at(tenantId, 407)).access, 'delete')

  assert.deepEqual(await at(tenantId, 1), { plan: 'pro', status: 'past_due', access: 'full' })

  const cancelled = await provider.tenant()
  await provider.bill(cancelled, { status: 'cancelled', currentPeriodEnd: day(20).toISOString() })
  assert.equal((await at(cancelled, 400)).plan, 'free')
  assert.equal((await at(cancelled, 1)).plan, 'pro')
})

test('where no time has a say nobody looks', async () => {
  const tenantId = await provider.tenant()
  await provider.bill(tenantId, { status: 'active' })
  const due = await provider.management.sql('select from loci.due_tenants where tenant_id = $1', [tenantId])

  assert.equal(due.length, 0)
})

test('the clock goes by the time of the database', async () => {
  const tenantId = await provider.tenant()
  await provider.bill(tenantId, { status: 'past_due' })
  const { sql, pool } = provider.management
  await sql(`update loci.due_tenants set due_at = now() where tenant_id = $1`, [tenantId])
  const [clock] = billingJobs(pool, testLog().log)
  mock.timers.enable({ apis: ['Date'], now: day(400) })
  await clock?.run(new AbortController().signal).finally(() => mock.timers.reset())
  const looked = 'select from loci.due_tenants where tenant_id = $1 and due_at > now()'
  assert.equal((await sql(looked, [tenantId])).length, 1)

  assert.equal((await rowOf(tenantId)).status, 'past_due')
})

test('a clock that is stopped finishes the tenant it is at, and begins no other', async () => {
  const tenants = [await provider.tenant(), await provider.tenant()]
  for (const tenantId of tenants) await provider.bill(tenantId, { status: 'past_due', plan: 'starter' })
  const stopping = new AbortController()
  let turns = 0
  const pool: Pool = Object.assign(Object.create(provider.management.pool), {
    client() {
      turns += 1
      stopping.abort()
      return provider.management.pool.client()
    },
  })

  await settleDueTenants(pool, day(8), fail, stopping.signal)

  assert.equal(turns, 1)
})

// Parked events.

async function appear(id: string, { isAdopting = true } = {}): Promise<void> {
  const { organizationId } = provider.party
  const tenant = { id, organizationId, name: id, slug: id.replace('_', '-'), plan: 'free', status: 'active' } as const
  await transaction(provider.management.pool, async (sql) => {
    await useOrganization(sql, organizationId)
    await insertTenant(sql, { ...tenant, isDefault: false })
    if (isAdopting) await applyParkedOf(sql, tenant)
  })
}

const eventsOf = (tenantId: string) =>
  provider.management.sql<{ organization_id: string; effect: string; plan: string }>(
    'select organization_id, effect, plan from loci.billing_events where tenant_id = $1 order by arrival',
    [tenantId],
  )

test('events that came before their tenant are applied when it appears, in the order of their arrival', async () => {
  const tenantId = newId('ten')
  for (const plan of ['starter', 'enterprise', 'pro'] as const) await provider.bill(tenantId, { plan })
  assert.deepEqual(
    (await eventsOf(tenantId)).map(({ organization_id, effect }) => [organization_id, effect]),
    Array.from({ length: 3 }, () => ['platform', 'parked']),
  )

  await appear(tenantId)

  assert.equal((await provider.statusOf(tenantId)).plan, 'pro')
  const { organizationId } = provider.party
  assert.deepEqual(
    await eventsOf(tenantId),
    ['starter', 'enterprise', 'pro'].map((plan) => ({ organization_id: organizationId, effect: 'applied', plan })),
  )
  const audit = await provider.management.sql<{ chain: string; action: string }>(
    'select chain, action from loci.audit where subject = $1 order by chain, seq',
    [tenantId],
  )
  assert.deepEqual(audit.map(({ action }) => action).toSorted(), [
    ...Array.from({ length: 3 }, () => 'billing.event'),
    ...Array.from({ length: 3 }, () => 'billing.park'),
  ])
})

test('a parked delivery that is repeated is one event, also after its tenant has appeared', async () => {
  const tenantId = newId('ten')
  const headers = { 'webhook-id': tenantId }
  for (let times = 0; times < 2; times += 1) await provider.bill(tenantId, { plan: 'starter' }, headers)
  await appear(tenantId)
  await provider.bill(tenantId, { plan: 'enterprise' }, headers)

  assert.deepEqual(
    (await eventsOf(tenantId)).map(({ plan }) => plan),
    ['starter'],
  )
})

test('an event and the making of its tenant at the same moment never miss each other', async () => {
  for (let turn = 0; turn < 8; turn += 1) {
    const tenantId = newId('ten')
    await Promise.all([provider.bill(tenantId, { plan: 'starter' }), appear(tenantId)])
    assert.deepEqual([turn, (await rowOf(tenantId)).plan], [turn, 'starter'])
  }
})

test('a tenant that appeared without asking is found by upkeep; what waits 30 days is dead, and adopted all the same', async () => {
  const [found, late] = [newId('ten'), newId('ten')]
  for (const tenantId of [found, late]) await provider.bill(tenantId, { plan: 'starter', ...sequence(1) })
  await appear(found, { isAdopting: false })
  const { pool } = provider.management

  await applyParkedEvents(pool, day(29.9), fail)
  assert.equal((await rowOf(found)).plan, 'starter')
  assert.equal((await eventsOf(late))[0]?.effect, 'parked')

  await applyParkedEvents(pool, day(30.1), fail)
  assert.equal((await eventsOf(late))[0]?.effect, 'dead')

  await appear(late)
  assert.equal((await rowOf(late)).plan, 'starter')
})

test('a tenant that cannot adopt its events is told, and keeps neither the others nor the dead waiting', async () => {
  const [bad, good, late] = [newId('ten'), newId('ten'), newId('ten')]
  // The newest are looked at first.
  for (const tenantId of [late, good, bad]) await provider.bill(tenantId, { plan: 'starter' })
  for (const tenantId of [good, bad]) await appear(tenantId, { isAdopting: false })
  const { sql, pool } = provider.management
  await sql(
    `create or replace function loci.fail() returns trigger language plpgsql as $$ begin raise exception 'sabotage'; end $$`,
  )
  await sql(
    `create trigger fail before update on loci.tenants for each row when (new.id = '${bad}') execute function loci.fail()`,
  )
  const failed: unknown[] = []
  try {
    await applyParkedEvents(pool, day(30.1), (_, tenantId) => failed.push(tenantId))
  } finally {
    await sql('drop trigger fail on loci.tenants')
  }

  assert.deepEqual(failed, [bad])
  assert.deepEqual([(await rowOf(good)).plan, (await eventsOf(late))[0]?.effect], ['starter', 'dead'])
  assert.deepEqual([(await rowOf(bad)).plan, (await eventsOf(bad))[0]?.organization_id], ['free', 'platform'])
})

test('parked events are nobody’s: no organization sees them', async () => {
  const tenantId = newId('ten')
  assert.equal((await provider.deliver(event({ tenantId }))).status, 200)
  const rows = await transaction(provider.management.pool, async (sql) => {
    await useOrganization(sql, provider.party.organizationId)
    return (await sql.query({ text: `select id from loci.billing_events where tenant_id = '${tenantId}'` })).rows
  })

  assert.deepEqual(rows, [])
})
