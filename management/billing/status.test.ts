// What a tenant is told about itself, the list of its events, and what staff may see and do.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createLifecycle } from '@loci/chassis/lifecycle.ts'
import { createMetrics } from '@loci/chassis/metrics.ts'
import type { Access, Reply, Route } from '@loci/chassis/route.ts'
import type { TestAnswer } from '@loci/chassis/testing/request.ts'
import { HEADER } from '@loci/contract/headers.ts'
import { newId } from '@loci/contract/ids.ts'
import { SCOPES } from '@loci/contract/roles.ts'
import { openPool } from '@loci/postgres/pool.ts'
import { PATIENT } from '@loci/postgres/testing/database.ts'
import { createCustomerActs } from '../acts/idempotency/acts.ts'
import { event, type Status, sequence, type TestProvider, testProvider } from '../testing/billing-provider.ts'
import { type TestParty, testManagement } from '../testing/management.ts'
import { billingRoutes } from './routes.ts'

let provider: TestProvider
let staff: TestParty
before(async () => {
  provider = await testProvider()
  const { organization } = provider.management
  staff = await organization({ email: 'staff@loci.example', scopes: [...SCOPES, 'staff'] })
})
after(() => provider[Symbol.asyncDispose]())

function refused(answer: TestAnswer, status: number, code: string): string {
  assert.deepEqual([answer.status, answer.error?.code], [status, code], answer.text)
  return answer.error.message
}

test('the limits are those of the covered plan, and what is used counts neither failed nor deleted services', async () => {
  const tenantId = await provider.tenant()
  const { sql } = provider.management
  const [organizationId, names] = [provider.party.organizationId, ['active', 'active', 'failed', 'deleting', 'deleted']]
  for (const [at, status] of names.entries())
    await sql(
      `insert into loci.services (id, organization_id, tenant_id, name, slug, service_type, plan, region, status, desired_state)
        values ($1, $2, $3, 'n', $4, 'kv', 'free', 'us-east-1', $5, 'active')`,
      [newId('svc'), organizationId, tenantId, `${tenantId.slice(4)}-${at}`, status],
    )
  assert.deepEqual((await provider.statusOf(tenantId)).limits.services, { limit: 10, used: 2 })

  await provider.bill(tenantId, { plan: 'enterprise' })

  const { limits, services } = await provider.statusOf(tenantId)
  assert.deepEqual(services, { total: 4, by_status: { active: 2, deleting: 1, failed: 1 } })
  assert.deepEqual(limits, {
    services: { limit: 1000, used: 2 },
    databases: { limit: 100_000 },
    records: { limit: 50_000_000 },
    bytes: { limit: 536_870_912_000 },
    requests_per_second: { limit: 5_000 },
  })
})

// Mutants: the planned time instead of the announced one; no dates where a tenant is suspended.
test('a suspended tenant is told since when, and when reads end and data is deleted: as announced, never before', async () => {
  const tenantId = await provider.tenant()
  const daysBetween = (from?: string | null, to?: string | null) =>
    (Date.parse(String(to)) - Date.parse(String(from))) / 86_400_000
  const read = async () => (await provider.statusOf(tenantId)).billing
  const at = (days: number) => ({ metadata: { occurred_at: new Date(Date.now() - days * 86_400_000).toISOString() } })
  await provider.bill(tenantId, { plan: 'pro', status: 'active', ...at(80) })
  const { suspended_since, reads_end_at, deletion_at } = await read()
  assert.deepEqual([suspended_since, reads_end_at, deletion_at], [null, null, null])

  await provider.bill(tenantId, { plan: 'pro', status: 'unpaid', ...at(10) })
  const planned = await read()
  assert.equal(Math.round(daysBetween(planned.suspended_since, new Date().toISOString())), 10)
  assert.equal(daysBetween(planned.suspended_since, planned.reads_end_at), 30)
  assert.equal(daysBetween(planned.suspended_since, planned.deletion_at), 60)

  // It comes late: both steps would be over, and each is announced seven days before.
  const late = await provider.tenant()
  await provider.bill(late, { plan: 'pro', status: 'active', ...at(80) })
  await provider.bill(late, { plan: 'pro', status: 'unpaid', ...at(70) })
  const told = (await provider.statusOf(late)).billing
  assert.equal(Math.round(daysBetween(new Date().toISOString(), told.reads_end_at)), 7)
  assert.equal(Math.round(daysBetween(new Date().toISOString(), told.deletion_at)), 7)
})

test('where no webhook is configured every limit is that of enterprise, and the plan is shown as it is', async () => {
  await using management = await testManagement()
  const party = await management.organization()
  const answer = await party.ask(`GET /api/v1/tenants/${party.tenantId}/status`)

  const { plan, limits } = answer.json<Status>()
  assert.deepEqual([plan, limits.services?.limit, limits.databases?.limit], ['free', 1000, 100_000])
})

test('another organization’s tenant is 403 in the same words as one that does not exist, for status and events', async () => {
  const other = await provider.management.organization()
  for (const path of ['status', 'billing/events']) {
    const ask = (id: string) => provider.party.ask(`GET /api/v1/tenants/${id}/${path}`)
    const words = new Set<string>()
    for (const id of [other.tenantId, newId('ten'), 'x', 'ten_', '%00', newId('svc')])
      words.add(refused(await ask(id), 403, 'FORBIDDEN'))
    assert.equal(words.size, 1)
  }
})

test('a key that is limited to other tenants is 403, and the scopes are needed', async () => {
  const { tenantId } = provider.party
  const mine = await provider.tenant()
  const limited = await provider.management.member(provider.party, 'owner', { tenantIds: [mine] })
  assert.equal((await limited.ask(`GET /api/v1/tenants/${mine}/status`)).status, 200)
  refused(await limited.ask(`GET /api/v1/tenants/${tenantId}/status`), 403, 'FORBIDDEN')
  refused(await limited.ask(`GET /api/v1/tenants/${tenantId}/billing/events`), 403, 'FORBIDDEN')
  const viewer = await provider.management.member(provider.party, 'viewer')
  assert.equal((await viewer.ask(`GET /api/v1/tenants/${mine}/status`)).status, 200)
  refused(await viewer.ask(`GET /api/v1/tenants/${mine}/billing/events`), 403, 'FORBIDDEN')
})

test('the events of a tenant are listed newest first, a page at a time, with what became of each', async () => {
  const tenantId = await provider.tenant()
  await provider.bill(tenantId, { ...sequence(2), currentPeriodEnd: 'soon' })
  await provider.bill(tenantId, { ...sequence(1), plan: 'starter' })
  await provider.bill(tenantId, { subscriptionId: '', metadata: { occurred_at: '2026-03-01T00:00:00Z' } })
  interface Page {
    events: Record<string, unknown>[]
    next_cursor: string | null
  }
  const page = async (query: string) =>
    (await provider.party.ask(`GET /api/v1/tenants/${tenantId}/billing/events?${query}`)).json<Page>()

  const first = await page('limit=2')
  const second = await page(`limit=2&cursor=${first.next_cursor}`)

  assert.deepEqual(
    [...first.events, ...second.events].map((one) => [
      ...[one.subscription_id, one.counts_for, one.plan],
      ...[one.effect, one.sequence],
    ]),
    [
      // It names none and counts for the only open one, which has sequences.
      [null, 's', 'pro', 'unordered', null],
      ['s', 's', 'starter', 'superseded', 1],
      ['s', 's', 'pro', 'applied', 2],
    ],
  )
  assert.deepEqual(
    [first.events[0]?.occurred_at, second.events[0]?.current_period_end],
    ['2026-03-01T00:00:00.000Z', 'soon'],
  )
  assert.equal(second.next_cursor, null)
  assert.deepEqual(await page('cursor=1'), { events: [], next_cursor: null })
})

// specification 74
test('an event is listed with its customer and metadata as sent, and with warnings of what was not understood', async () => {
  const tenantId = await provider.tenant()
  const metadata = { Any_Case: 'ä €', sequence: '7', empty: '', z: '1', a: '2' }
  await provider.bill(tenantId, { customerId: 'cus', metadata, currentPeriodEnd: '2036-12-31' })
  const unread = { sequence: '1.5', occurred_at: '9999-01-01T00:00:00Z' }
  await provider.bill(tenantId, { currentPeriodStart: 'then', currentPeriodEnd: '31/12/2036', metadata: unread })
  await provider.bill(tenantId)

  const list = await provider.party.ask(`GET /api/v1/tenants/${tenantId}/billing/events`)
  const events = list.json<{ events: { metadata: object; warnings: string[]; [key: string]: unknown }[] }>().events
  assert.deepEqual(
    events.map((one) => [one.customer_id, one.metadata]),
    [
      [null, null],
      [null, unread],
      ['cus', metadata],
    ],
  )
  assert.deepEqual(
    events.map(({ warnings }) => warnings.map((text) => text.split(' ')[0])),
    [[], ['currentPeriodStart', 'currentPeriodEnd', 'metadata.sequence', 'metadata.occurred_at'], []],
  )
  assert.deepEqual([events[1]?.current_period_start, events[1]?.current_period_end], ['then', '31/12/2036'])
})

test('staff alone see parked events, and their look is audited', async () => {
  const ids = [newId('ten'), newId('ten')]
  for (const tenantId of ids) await provider.deliver(event({ tenantId }))
  refused(await provider.party.ask('GET /api/v1/parked-events'), 403, 'FORBIDDEN')

  const first = await staff.ask('GET /api/v1/parked-events?limit=1')
  const body = first.json<{ events: { tenant_id: string; effect: string }[]; next_cursor: string }>()
  const second = (await staff.ask(`GET /api/v1/parked-events?limit=1&cursor=${body.next_cursor}`)).json<typeof body>()

  assert.deepEqual(
    [...body.events, ...second.events].map(({ tenant_id, effect }) => [tenant_id, effect]),
    ids.toReversed().map((id) => [id, 'parked']),
  )
  const looks = await provider.management.sql(`select id from loci.audit where action = 'billing.read_parked'`)
  assert.equal(looks.length, 2)
})

test('staff reset an ordering: what was counted no longer decides, and the act is audited once', async () => {
  const tenantId = await provider.tenant()
  await provider.bill(tenantId, { plan: 'pro', ...sequence(900) })
  await provider.bill(tenantId, { plan: 'starter', ...sequence(1) })
  const line = `POST /api/v1/tenants/${tenantId}/billing/ordering/reset`
  const body = { subscription_id: 's', ordering: 'sequence' }
  assert.equal((await provider.statusOf(tenantId)).plan, 'pro')
  refused(await provider.party.ask(line, { body }), 403, 'FORBIDDEN')
  refused(await staff.ask(line.replace(tenantId, newId('ten')), { body }), 403, 'FORBIDDEN')

  const reset = () => staff.ask(line, { body, headers: { [HEADER.idempotencyKey]: tenantId } })
  const answers = [await reset(), await reset()]

  for (const answer of answers) assert.deepEqual([answer.status, answer.json()], [200, { ...body, events: 2 }])
  assert.equal(answers[1]?.headers['idempotent-replayed'], 'true')
  assert.equal((await provider.statusOf(tenantId)).plan, 'starter')
  const audit = await provider.management.sql<{ chain: string; detail: object }>(
    `select chain, detail from loci.audit where subject = $1 and action = 'billing.reset_ordering'`,
    [tenantId],
  )
  assert.deepEqual(audit, [{ chain: provider.party.organizationId, detail: { ...body, events: 2 } }])
  await provider.bill(tenantId, { plan: 'enterprise', ...sequence(1) })
  assert.equal((await provider.statusOf(tenantId)).plan, 'enterprise')
})

test('a database that goes away right after the commit does not turn a reset into a failure', async () => {
  const tenantId = await provider.tenant()
  await provider.bill(tenantId, sequence(1))
  const { settings } = provider.management
  const told: string[] = []
  const pool = openPool({
    ...PATIENT,
    url: settings.databaseUrl,
    applicationName: 'test',
    connectionsMax: 1,
    onError: (error) => assert.fail(error),
    wake: (...woken) => told.push(woken.join(' ')),
  })
  const gone = async () => assert.fail('asked after the commit')
  const access: Access<never> = { class: 'test', schemes: [], errors: [], authorize: () => assert.fail() }
  const grant = () => access
  const routes = billingRoutes({
    caller: {
      scope: grant,
      stream: grant,
      anyone: grant,
      person: grant,
      session: grant,
      staff: grant,
      isStillValid: async () => true,
    },
    webhook: access,
    act: createCustomerActs(pool, { of: () => pool, inTurn: gone }, settings.sealingKeys).act,
    pool: Object.assign(Object.create(pool), { query: gone, client: gone }),
    signingSecrets: [],
    provider: 'test',
    isBilled: true,
    metrics: createMetrics({ version: 'test' }),
    lifecycle: createLifecycle(),
  })
  const reset = routes.find(({ spec }) => spec.path.endsWith('/ordering/reset')) as Route
  const call = {
    caller: { id: 'key_staff', organizationId: staff.organizationId },
    params: { id: tenantId },
    body: { subscription_id: 's', ordering: 'sequence' },
    headers: {},
    requestId: 'req_test',
  } as unknown as Parameters<Route['handle']>[0]

  const answer = (await reset.handle(call)) as Reply

  await pool.close()

  assert.deepEqual([answer.status, told], [200, ['due services', `events ${provider.party.organizationId}`]])
})

test('a reset of the times leaves those of events with a sequence alone', async () => {
  const tenantId = await provider.tenant()
  const occurredAt = '2026-03-01T00:00:00.000Z'
  await provider.bill(tenantId, { metadata: { sequence: '1', occurred_at: occurredAt } })
  await provider.bill(tenantId, { metadata: { occurred_at: occurredAt } })
  const body = { subscription_id: 's', ordering: 'occurred_at' }
  const answer = await staff.ask(`POST /api/v1/tenants/${tenantId}/billing/ordering/reset`, { body })

  assert.equal(answer.json<{ events: number }>().events, 1)
})
