// How events are stored: at the same moment, twice, with a failure between, each with its trace.

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { eventually } from '@loci/chassis/testing/request.ts'
import type { BillingEventBody } from '@loci/contract/billing.ts'
import { newId } from '@loci/contract/ids.ts'
import { event, sequence, type TestProvider, testProvider } from '../testing/billing-provider.ts'

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

const auditOf = (tenantId: string, action = 'billing.event') =>
  provider.management.sql<{ detail: Record<string, unknown>; requestId: string | null }>(
    `select detail, request_id as "requestId" from loci.audit where subject = $1 and action = $2 order by seq`,
    [tenantId, action],
  )

test('two events of one tenant at the same moment are both kept, in one order, and none is folded past the other', async () => {
  const tenantId = await provider.tenant()
  const plans = ['free', 'starter', 'pro', 'enterprise'] as const
  const events = Array.from({ length: 12 }, (_, at) => one(plans[at % 4], 'active', sequence(at + 1)))

  // More at once than the webhook has slots: on a busy machine some are 500 with Retry-After, and a provider delivers
  // them again.
  await Promise.all(
    events.map(async (fields) => {
      const [body, headers] = [event({ ...fields, tenantId }), { 'webhook-id': randomUUID() }]
      const isReceived = async () => {
        const { status } = await provider.deliver(body, headers)
        assert.ok(status === 200 || status === 500, String(status))
        return status === 200
      }
      await eventually(isReceived)
    }),
  )

  const rows = await provider.management.sql<{ arrival: string }>(
    'select arrival from loci.billing_events where tenant_id = $1 order by arrival',
    [tenantId],
  )
  assert.deepEqual(
    rows.map(({ arrival }) => Number(arrival)),
    Array.from({ length: 12 }, (_, at) => at + 1),
  )
  assert.equal((await provider.statusOf(tenantId)).plan, 'enterprise')
  assert.equal((await auditOf(tenantId)).length, 12)
})

test('the same delivery twice at the same moment is one event', async () => {
  const tenantId = await provider.tenant()
  const headers = { 'webhook-id': randomUUID() }

  await Promise.all(Array.from({ length: 6 }, () => provider.bill(tenantId, {}, headers)))

  assert.equal((await auditOf(tenantId)).length, 1)
})

// specification 153 162 230
test('a failure after the event was written leaves no trace, and the delivery that is repeated does it all', async () => {
  const { sql } = provider.management
  const tenantId = await provider.tenant()
  const [body, headers] = [event({ tenantId, plan: 'starter' }), { 'webhook-id': randomUUID() }]
  const trace = await traceOf(tenantId)
  const failWith = (code: string) =>
    sql(`create or replace function loci.fail() returns trigger language plpgsql as $$
      begin raise exception 'sabotage' using errcode = '${code}'; end $$`)
  await failWith('XX000')
  // The very last statement of the transaction.
  await sql('create trigger fail before insert on loci.events for each row execute function loci.fail()')
  try {
    const failed = await provider.deliver(body, headers)
    assert.deepEqual([failed.status, failed.text], [500, '{"error":"Failed to process billing event"}'])
    assert.equal(await traceOf(tenantId), trace)
    // As a server that shuts down says it.
    await failWith('57P01')
    const away = await provider.deliver(body, headers)
    // The specification: any other failure gives 500. A 503 says that the webhook is not configured, and nothing else.
    assert.deepEqual([away.status, away.text], [500, '{"error":"Failed to process billing event"}'])
    assert.equal(away.headers['retry-after'], '1')
    assert.equal(await traceOf(tenantId), trace)
  } finally {
    await sql('drop trigger fail on loci.events')
  }

  assert.equal((await provider.deliver(body, headers)).status, 200)

  assert.equal((await provider.statusOf(tenantId)).plan, 'starter')
  assert.equal((await auditOf(tenantId)).length, 1)
})

test('each stored event has exactly one audit entry and one event for whoever follows', async () => {
  const tenantId = await provider.tenant()
  await provider.bill(tenantId, sequence(2))
  await provider.bill(tenantId, { ...sequence(1), plan: 'starter' })
  await provider.bill(tenantId, { plan: 'free' })

  const entries = await auditOf(tenantId)
  assert.deepEqual(
    entries.map(({ detail }) => [detail.effect, detail.plan, detail.status]),
    [
      ['applied', 'pro', 'active'],
      ['superseded', 'pro', 'active'],
      ['unordered', 'pro', 'active'],
    ],
  )
  assert.ok(entries.every(({ requestId }) => /^req_/.test(String(requestId))))
  const told = await provider.management.sql<{ type: string; data: Record<string, unknown> }>(
    `select type, data from loci.events where subject = $1 and type <> 'tenant.created' order by seq`,
    [tenantId],
  )
  assert.deepEqual(
    told.map(({ type, data }) => [type, data.effect, data.tenant_id]),
    ['applied', 'superseded', 'unordered'].map((effect) => ['tenant.billing_changed', effect, tenantId]),
  )
})

test('an event without the mark that others have is a warning and is counted', async () => {
  await using other = await testProvider()
  const tenantId = await other.tenant()
  await other.bill(tenantId, sequence(1))
  await other.bill(tenantId, {})

  // What /metrics shows is made once a second.
  await eventually(async () => /^loci_billing_unordered_total 1$/m.test((await other.management.get('/metrics')).text))
  await other.management.logged(({ level, message }) => level === 'warn' && /does not count/.test(String(message)))
})

test('a refused event changes nothing', async () => {
  const tenantId = await provider.tenant()
  await provider.bill(tenantId, { plan: 'pro' })
  const trace = await traceOf(tenantId)

  assert.equal((await provider.deliver(event({ tenantId, plan: 'gold' }))).status, 400)
  assert.equal((await provider.deliver(event({ tenantId, plan: 'free' }), { authorization: 'Bearer no' })).status, 401)

  assert.equal(await traceOf(tenantId), trace)
})

test('an event about a tenant that was deleted is kept and opens nothing', async () => {
  const tenantId = await provider.tenant()
  await provider.bill(tenantId)
  assert.equal((await provider.party.ask(`DELETE /api/v1/tenants/${tenantId}`)).status, 200)

  await provider.bill(tenantId, { status: 'active', plan: 'enterprise' })

  const [row] = await provider.management.sql(
    `select status, access, plan, arrivals::int, (select count(*)::int from loci.due_tenants where tenant_id = $1) as due
      from loci.tenants where id = $1`,
    [tenantId],
  )
  assert.deepEqual(row, { status: 'closed', access: 'full', plan: 'pro', arrivals: 2, due: 0 })
})

test('an event for an id that is no tenant’s is received and is nobody’s', async () => {
  const service = newId('svc')
  for (const tenantId of [newId('ten'), service, 'acme', ''])
    assert.equal((await provider.deliver(event({ tenantId }))).status, 200)

  const rows = await provider.management.sql<{ organization_id: string; effect: string }>(
    'select organization_id, effect from loci.billing_events where tenant_id = $1',
    [service],
  )
  assert.deepEqual(rows, [{ organization_id: 'platform', effect: 'parked' }])
})
