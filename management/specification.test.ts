// What the specification says of management, statement by statement: `// specification N` names them
// (docs/specification-statements.json), and `npm run promises -- specification` lists which test asserts which. What
// needs a test of its own stands with its feature.

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import type { TestAnswer } from '@loci/chassis/testing/request.ts'
import { newId } from '@loci/contract/ids.ts'
import { event, HOOK, SECRET, type TestProvider, testProvider } from './testing/billing-provider.ts'
import type { TestCell, TestManagement, TestParty } from './testing/management.ts'

let provider: TestProvider
let management: TestManagement
let cell: TestCell
before(async () => {
  provider = await testProvider()
  management = provider.management
  cell = await management.cell()
})
after(() => provider?.[Symbol.asyncDispose]())

const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/

function fields(answer: TestAnswer, status: number): Record<string, unknown> {
  assert.equal(answer.status, status, answer.text)
  assert.match(String(answer.headers['content-type']), /^application\/json/)
  assert.match(String(answer.headers['x-request-id']), /^req_/)
  return answer.json()
}

const create = (party: TestParty, body: object, headers: Record<string, string> = {}) =>
  party.ask('POST /api/v1/services', { body: { service_type: 'memory', name: 'n', ...body }, headers })

// specification 13 149 150 159 225
test('every event type, plan and status of the specification is received, with and without the optional fields', async () => {
  const tenantId = await provider.tenant()
  const types = [
    ...['subscription.created', 'subscription.updated', 'subscription.cancelled', 'subscription.deleted'],
    ...['payment.succeeded', 'payment.failed', 'invoice.payment_succeeded', 'invoice.payment_failed'],
  ]
  const optional = {
    customerId: 'cus',
    subscriptionId: 'sub',
    currentPeriodStart: 'any string',
    currentPeriodEnd: '2026-12-31',
    metadata: { a: 'b' },
  }
  const received = async (more: object) => {
    const answer = await provider.deliver(event({ tenantId, ...more }))
    assert.deepEqual([answer.status, answer.json()], [200, { received: true }], JSON.stringify(more))
  }
  // specification 66 67 104
  for (const eventType of types) await received({ eventType })
  // specification 70 71
  for (const plan of ['free', 'starter', 'pro', 'enterprise']) await received({ plan })
  for (const status of ['active', 'cancelled', 'past_due', 'unpaid']) await received({ status })
  // specification 68 69 72 73 74
  await received(optional)
})

// specification 160 226
test('each event updates the plan and the billing status of its tenant', async () => {
  for (const [eventType, plan, status] of [
    ['subscription.created', 'starter', 'active'],
    ['subscription.updated', 'pro', 'active'],
    ['subscription.cancelled', 'pro', 'cancelled'],
    ['subscription.deleted', 'pro', 'cancelled'],
    ['payment.succeeded', 'enterprise', 'active'],
    ['payment.failed', 'starter', 'past_due'],
    ['invoice.payment_succeeded', 'starter', 'active'],
    ['invoice.payment_failed', 'starter', 'unpaid'],
  ] as const) {
    const tenantId = await provider.tenant()
    const currentPeriodEnd = '2999-12-31T00:00:00.000Z'
    await provider.bill(tenantId, { eventType: 'subscription.created', plan: 'starter', status: 'active' })
    await provider.bill(tenantId, { eventType, plan, status, currentPeriodEnd })
    const { billing, plan: covered } = await provider.statusOf(tenantId)
    assert.equal(billing.status, status, eventType)
    assert.equal(covered, plan, eventType)
  }
})

// specification 151 159 161 229
test('an event that has another form is 400 with a message and the issues', async () => {
  const bodies = [
    ...['eventType', 'tenantId', 'plan', 'status'].map((field) => event({ [field]: undefined })),
    ...['eventType', 'plan', 'status'].map((field) => event({ [field]: 'teapot' })),
    ...['tenantId', 'customerId', 'subscriptionId', 'currentPeriodStart', 'currentPeriodEnd'].map((field) =>
      event({ [field]: 5 }),
    ),
    event({ metadata: { a: 1 } }),
    [],
    null,
  ]
  for (const body of bodies) {
    const { error, details } = fields(await provider.deliver(body), 400) as { error: string; details: object[] }
    assert.equal(error, 'Invalid billing event')
    assert.ok(Array.isArray(details) && details.length > 0, JSON.stringify(body))
  }
})

// specification 152 158 207 209 228
test('the webhook is verified first: without its secret it is 401 whatever the body, a customer’s key does not help', async () => {
  for (const headers of [
    {},
    { authorization: `Bearer ${SECRET}x` },
    { authorization: SECRET },
    { authorization: `Bearer ${provider.party.apiKey}` },
    { 'x-api-key': provider.party.apiKey },
  ]) {
    const answer = await management.ask(HOOK, { body: '{"broken', headers })
    assert.deepEqual([answer.status, Object.keys(answer.json())], [401, ['error']])
    assert.equal(typeof answer.json().error, 'string')
  }
})

// specification 155 156 157
test('GET of the webhook tells anybody that it is active, the provider and the time', async () => {
  const { status, webhook, timestamp } = fields(await management.get('/api/webhooks/billing'), 200)
  assert.deepEqual([status, webhook], ['active', 'stripe'])
  assert.match(String(timestamp), RFC_3339)
})

// specification 14 105 163 169 171
test('a creation is 202 with every field of the specification, within its bounds', async () => {
  const party = await management.organization()
  const made = await create(party, { name: 'Ünïcode Agent' })
  const body = fields(made, 202)
  // specification 84 85 86 89
  assert.match(String(body.service_id), /^svc_/)
  assert.deepEqual([body.service_type, body.name, body.status], ['memory', 'Ünïcode Agent', 'provisioning'])
  // specification 79 87 88 90 91
  assert.match(String(body.slug), /^unicode-agent-[a-z0-9]{6}$/)
  assert.match(String(body.created_at), RFC_3339)
  assert.ok(Number.isInteger(body.estimated_ready_in))
  assert.ok(!('endpoint' in body) || URL.canParse(String(body.endpoint)))
  // specification 173 174
  assert.ok(made.headers.ratelimit && made.headers['ratelimit-policy'])
  // specification 80
  const read = (await party.ask(`GET /api/v1/services/${body.service_id}`)).json()
  assert.equal(read.plan, 'free')
  assert.equal((await create(party, { slug: 'abc' })).json().slug, 'abc')
  // specification 76 77 78 238 239
  for (const good of [{ name: 'x' }, { name: 'x'.repeat(100) }, { slug: 'a'.repeat(63) }, { slug: '-0-' }])
    assert.equal((await create(party, good)).status, 202, JSON.stringify(good))
  for (const bad of [
    ...['', 'x'.repeat(101), 5, null, undefined].map((name) => ({ name })),
    ...['ab', 'a'.repeat(64), 'Abc', 'a_c', 'ä-ö', '', 5].map((slug) => ({ slug })),
    ...['gold', '', 5].map((plan) => ({ plan })),
    ...[undefined, null, 5].map((service_type) => ({ service_type })),
  ])
    assert.equal((await create(party, bad)).status, 400, JSON.stringify(bad))
})

// specification 82 83
test('a config is kept as it was sent and must be an object; tenant_id links an existing tenant of one’s own', async () => {
  const party = await management.organization()
  const config = { Any_Key: { deep: [1, null, 'ä'] }, camelCase: true }
  const { id: tenant } = (await party.ask('POST /api/v1/tenants', { body: { name: 't' } })).json()
  const made = (await create(party, { config, tenant_id: tenant })).json()
  const read = (await party.ask(`GET /api/v1/services/${made.service_id}`)).json()
  assert.deepEqual([read.config, read.tenant_id], [config, tenant])
  for (const wrong of ['x', [], 5, null]) assert.equal((await create(party, { config: wrong })).status, 400)
  for (const wrong of [newId('ten'), provider.party.tenantId])
    assert.equal((await create(party, { tenant_id: wrong })).status, 403)
})

// specification 14 164 173 174
test('the list has its filters, its bounds, its items and its pagination', async () => {
  const party = await management.organization()
  const { id: tenant } = (await party.ask('POST /api/v1/tenants', { body: { name: 't' } })).json()
  const { service_id: first } = (await create(party, { tenant_id: tenant })).json()
  const { service_id: second } = (await create(party, { service_type: 'kv' })).json()
  const list = async (query = '') => {
    const answer = await party.ask(`GET /api/v1/services${query}`)
    assert.ok(answer.headers.ratelimit && answer.headers['ratelimit-policy'])
    const body = fields(answer, 200) as { services: Record<string, unknown>[]; pagination: object }
    return { ids: body.services.map(({ id }) => id), ...body }
  }
  const all = await list()
  assert.deepEqual([all.ids, all.pagination], [[second, first], { total: 2, limit: 20, offset: 0 }])
  // specification 98 99
  const names = ['id', 'service_type_id', 'tenant_id', 'name', 'slug', 'endpoint', 'plan', 'status', 'created_at']
  // Fields are only added: a list of services says where each is and why it is as it is, without a request for each.
  const added = ['region', 'status_reason']
  assert.deepEqual(Object.keys(all.services[0] ?? {}).sort(), [...names, ...added].sort())
  // specification 92 93 94
  assert.deepEqual((await list(`?tenant_id=${tenant}`)).ids, [first])
  assert.deepEqual((await list('?service_type=kv')).ids, [second])
  // Mutant: a list with any status finds nothing.
  await management.sql(`update loci.services set status = 'suspended' where id = $1`, [first])
  assert.deepEqual((await list('?status=suspended')).ids, [first])
  assert.deepEqual((await list('?status=provisioning')).ids, [second])
  assert.deepEqual((await list('?status=deleted')).ids, [])
  // specification 95 96 240 241
  assert.deepEqual((await list('?limit=1&offset=1')).ids, [first])
  assert.deepEqual((await list('?limit=100')).pagination, { total: 2, limit: 100, offset: 0 })
  for (const query of ['limit=0', 'limit=101', 'limit=x', 'offset=-1', 'offset=1.5', 'status=asleep'])
    assert.equal((await party.ask(`GET /api/v1/services?${query}`)).status, 400, query)
})

// specification 165 170 175 233 243
test('a stored 202 is replayed under its key, and a limit that blocks says when to come back', async () => {
  const party = await management.organization({ callsOf: 'free' })
  const key = { 'idempotency-key': randomUUID() }
  const first = await create(party, {}, key)
  const again = await create(party, {}, key)
  assert.deepEqual([again.status, again.text], [202, first.text])
  assert.equal((await management.ask('POST /api/v1/services', { body: {} })).status, 401)
  await party.ask('GET /api/v1/services')
  // What the evaluation says: the fill of the bucket beyond its burst, which is 29 s of writes and 11.8 s of reads.
  // Mutant: 60 s, whatever the evaluation says.
  for (const filledS of [50, 200]) {
    await management.sql(`update loci.rate_limits set tat = $2 where bucket like $1 || ':%:services'`, [
      party.organizationId,
      Date.now() + filledS * 1_000,
    ])
    for (const [blocked, burstS] of [
      [await create(party, {}), 29],
      [await party.ask('GET /api/v1/services'), 11.8],
    ] as const) {
      assert.deepEqual([blocked.status, blocked.error.code], [429, 'RATE_LIMITED'])
      const seconds = Number(blocked.headers['retry-after'])
      assert.ok(Math.abs(seconds - (filledS - burstS)) < 10, `${seconds} s of ${filledS - burstS}`)
    }
  }
})

// specification 1 15 188 189 246
test('a tenant has a status, and tokens for its services, under /api/v1', async () => {
  const service = await management.instance(cell.id, {
    organization: provider.party.organizationId,
    tenant: provider.party.tenantId,
  })
  const path = `/api/v1/tenants/${provider.party.tenantId}`
  assert.equal(fields(await provider.party.ask(`GET ${path}/status`), 200).tenant_id, provider.party.tenantId)
  const minted = fields(await provider.party.ask(`POST ${path}/tokens`, { body: { service_id: service.id } }), 201)
  assert.equal(minted.header, 'x-loci-capability')
})

// specification 190 213
test('an API key is who calls; an organization’s id proves nothing, and another’s is 403', async () => {
  const [own, other] = [await management.organization(), await management.organization()]
  assert.equal((await own.ask('GET /api/v1/services')).status, 200)
  // specification 191 214
  for (const headers of [{}, { 'x-loci-organization': own.organizationId }, { 'x-api-key': `${own.apiKey}x` }]) {
    const refused = await management.ask('GET /api/v1/services', { headers })
    assert.deepEqual([refused.status, refused.error.code], [401, 'UNAUTHENTICATED'])
  }
  // specification 217 218 235
  const headers = { 'x-loci-organization': other.organizationId }
  assert.equal((await own.ask('GET /api/v1/services', { headers })).status, 403)
  assert.equal((await own.ask(`GET /api/v1/tenants/${other.tenantId}/status`)).status, 403)
  const viewer = await management.member(own, 'viewer')
  assert.equal((await create(viewer, {})).status, 403)
  // Mutants: requireScope() left out; a key that is limited to tenants reads others.
  const narrow = await management.member(own, 'owner', { scopes: ['services:read'] })
  assert.deepEqual([(await narrow.ask('GET /api/v1/services')).status, (await create(narrow, {})).status], [200, 403])
  const { id: tenant } = (await own.ask('POST /api/v1/tenants', { body: { name: 't' } })).json()
  const limited = await management.member(own, 'owner', { tenantIds: [String(tenant)] })
  assert.equal((await limited.ask(`GET /api/v1/tenants/${tenant}/status`)).status, 200)
  assert.equal((await limited.ask(`GET /api/v1/tenants/${own.tenantId}/status`)).status, 403)
})

// specification 222
test('no answer puts a credential into a URL: no location and no link holds the key or the token', async () => {
  const party = await management.organization()
  const made = await create(party, {})
  const service = await management.instance(cell.id, { organization: party.organizationId, tenant: party.tenantId })
  const path = `/api/v1/tenants/${party.tenantId}/tokens`
  const minted = await party.ask(`POST ${path}`, { body: { service_id: service.id } })
  const key = await party.ask('POST /api/v1/api-keys', { body: { name: 'k' } })
  const secrets = [party.apiKey, minted.json().token, key.json().secret].map(String)
  for (const answer of [made, minted, key]) {
    assert.ok(answer.status < 300, answer.text)
    const urls = [answer.headers.location, answer.headers['operation-location'], answer.headers.link].join(' ')
    const inBody = [...answer.text.matchAll(/https?:\/\/[^"\s]+/g)].join(' ')
    for (const secret of secrets) assert.ok(!urls.includes(secret) && !inBody.includes(secret))
  }
})

// specification 232
test('a known error has its own status, code and message, and the request id', async () => {
  const missing = await provider.party.ask(`GET /api/v1/services/${newId('svc')}`)
  assert.deepEqual([missing.status, missing.error.code], [404, 'NOT_FOUND'])
  assert.match(missing.error.message, /There is no such service/)
  assert.equal(missing.error.request_id, missing.headers['x-request-id'])
})
