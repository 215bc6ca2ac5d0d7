// The webhook from outside: who may deliver, and what a delivery must hold (seed, "Management: billing webhook").

import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { after, before, test } from 'node:test'
import type { TestAnswer } from '@loci/chassis/testing/request.ts'
import { newId } from '@loci/contract/ids.ts'
import { event, HOOK, SECRET, SIGNING, type TestProvider, testProvider } from '../testing/billing-provider.ts'
import { testManagement } from '../testing/management.ts'

let provider: TestProvider
before(async () => {
  provider = await testProvider()
})
after(() => provider[Symbol.asyncDispose]())

interface Flat {
  error: string
  details?: { field: string; problem: string }[]
}

function flat(answer: TestAnswer, status: number): Flat {
  assert.equal(answer.status, status, answer.text)
  const body = answer.json<Flat>()
  assert.equal(typeof body.error, 'string')
  assert.deepEqual(
    Object.keys(body).filter((key) => key !== 'details'),
    ['error'],
  )
  assert.match(String(answer.headers['x-request-id']), /^req_/)
  return body
}

const countEvents = async () =>
  (await provider.management.sql<{ count: number }>('select count(*)::int as count from loci.billing_events'))[0]?.count

test('GET tells that it is active, whose it is, and the time', async () => {
  const answer = await provider.management.get('/api/webhooks/billing')

  assert.equal(answer.status, 200)
  const { status, webhook, timestamp, configured } = answer.json<Record<string, string>>()
  assert.deepEqual([status, webhook, configured], ['active', 'stripe', true])
  assert.ok(Math.abs(Date.parse(timestamp as string) - Date.now()) < 60_000)
})

// specification 154 208 227
test('where no secret is configured it is 503, whatever is sent, and GET still answers', async () => {
  await using management = await testManagement()

  for (const headers of [{}, { authorization: `Bearer ${SECRET}` }] as Record<string, string>[]) {
    const answer = await management.ask(HOOK, { body: '{"broken', headers })
    assert.deepEqual(flat(answer, 503), { error: 'Billing webhook is not configured' })
    assert.equal(answer.headers['retry-after'], undefined)
  }
  const told = (await management.get('/api/webhooks/billing')).json<Record<string, unknown>>()
  assert.deepEqual([told.status, told.configured], ['active', false])
})

test('without the secret, with another or with a customer’s key it is 401, before anything is read', async () => {
  const { ask } = provider.management
  const key = provider.party.apiKey
  for (const body of ['{"broken', '', '[]', 'null', '{}', JSON.stringify(event())]) {
    flat(await ask(HOOK, { body }), 401)
    flat(await provider.deliver(body, { authorization: 'Bearer wrong' }), 401)
  }
  for (const authorization of [SECRET, `Basic ${SECRET}`, `Bearer ${SECRET}x`, 'Bearer', 'Bearer  ', `Bearer ${key}`])
    flat(await provider.deliver(event(), { authorization }), 401)
  flat(await ask(HOOK, { body: event(), headers: { 'x-api-key': key } }), 401)
})

test('where a signing secret is set, a missing, wrong, foreign or old signature is 401, before the body is read', async () => {
  await using signing = await testProvider({ isSigning: true })
  const now = Math.floor(Date.now() / 1000)
  const body = JSON.stringify(event())
  const foreign = createHmac('sha256', SIGNING).update(`msg_other.${now}.${body}`).digest('base64')

  flat(await signing.deliver(body, { 'webhook-signature': '' }), 401)
  flat(await signing.deliver(body, { 'webhook-signature': 'v1,AAAA' }), 401)
  flat(await signing.deliver(body, { 'webhook-signature': `v1,${foreign}` }), 401)
  for (const at of [now - 330, now + 330]) flat(await signing.deliver(body, {}, { at }), 401)
  flat(await signing.deliver('{"broken', { 'webhook-signature': 'v1,AAAA' }), 401)
  flat(await signing.deliver('{"broken'), 400)
  assert.equal((await signing.deliver(body, {}, { at: now - 270 })).status, 200)
})

test('every type, plan and status, all optional fields and unknown ones are received', async () => {
  const types = ['subscription.created', 'subscription.updated', 'subscription.cancelled', 'subscription.deleted']
  const more = ['payment.succeeded', 'payment.failed', 'invoice.payment_succeeded', 'invoice.payment_failed']
  const bodies = [
    ...[...types, ...more].map((eventType) => ({ eventType })),
    ...['free', 'starter', 'pro', 'enterprise'].map((plan) => ({ plan })),
    ...['active', 'cancelled', 'past_due', 'unpaid'].map((status) => ({ status })),
    { customerId: 'c', subscriptionId: 's', currentPeriodStart: 'x', currentPeriodEnd: 'y', metadata: { any: 'text' } },
    { colour: 'green', nested: { a: [1] } },
  ]
  for (const fields of bodies) {
    const answer = await provider.deliver(event(fields))
    assert.deepEqual([answer.status, answer.text], [200, '{"received":true}'], JSON.stringify(fields))
  }
  // The type of the content does not matter: the signature covers bytes.
  assert.equal((await provider.deliver(event(), { 'content-type': 'text/plain' })).status, 200)
})

for (const field of ['eventType', 'tenantId', 'plan', 'status']) {
  test(`an event without ${field}, or with a wrong one, is 400 with issues that name it`, async () => {
    const { [field]: _, ...without } = event()
    const unknown = field === 'tenantId' ? [] : [event({ [field]: 'nothing known' })]
    for (const body of [without, event({ [field]: 5 }), event({ [field]: null }), ...unknown]) {
      const { error, details = [] } = flat(await provider.deliver(body), 400)
      assert.equal(error, 'Invalid billing event')
      assert.ok(
        details.some((one) => one.field === `body.${field}`),
        JSON.stringify(details),
      )
    }
  })
}

// Mutant: readEvent() parses with parseJson().
test('a field that the webhook ignores refuses no payment, whatever its name, its depth and what it holds', async () => {
  const deep = `${'['.repeat(60_000)}${']'.repeat(60_000)}`
  for (const member of [
    '"constructor":{"prototype":{"polluted":true}}',
    '"__proto__":{"polluted":true,"plan":"enterprise"}',
    '"a":{"b":[{"__proto__":{"polluted":true}},{"constructor":1}]}',
    `"a":${deep}`,
    `"a":[${Array.from({ length: 40_000 }, () => '[]').join()}]`,
    '"a":"\\ud800 \\u0000","\\u0000":1e999',
  ]) {
    const tenantId = await provider.tenant()
    const body = `{${member},${JSON.stringify(event({ tenantId, plan: 'starter' })).slice(1)}`
    const answer = await provider.deliver(body)
    assert.deepEqual([answer.status, answer.text], [200, '{"received":true}'], member.slice(0, 60))
    assert.equal((await provider.statusOf(tenantId)).plan, 'starter', member.slice(0, 60))
  }
  assert.ok(!('polluted' in {}))
})

// Mutant: the metadata of the schema's result, which has no __proto__.
test('any name of metadata is kept with its event and changes nothing else', async () => {
  const tenantId = await provider.tenant()
  const metadata = '{"constructor":"x","__proto__":"y","toString":"z","sequence":"7"}'
  const body = JSON.stringify(event({ tenantId, metadata: {} })).replace('"metadata":{}', `"metadata":${metadata}`)
  assert.equal((await provider.deliver(body)).status, 200)

  const { text } = await provider.party.ask(`GET /api/v1/tenants/${tenantId}/billing/events`)
  const [stored] = (JSON.parse(text) as { events: { metadata: object; sequence: number }[] }).events
  assert.deepEqual(
    [Object.entries(stored?.metadata ?? {}).sort(), stored?.sequence],
    [Object.entries(JSON.parse(metadata)).sort(), 7],
  )
  const wrong = body.replace('"y"', '{"polluted":"y"}')
  const { details = [] } = flat(await provider.deliver(wrong), 400)
  assert.deepEqual(
    details.map(({ field }) => field),
    ['body.metadata.__proto__'],
  )
})

test('what is no JSON, no object, or has a field of a wrong type or text that cannot be stored is 400, and stores nothing', async () => {
  const before = await countEvents()
  const wrong = [{ customerId: 5 }, { subscriptionId: {} }, { currentPeriodStart: 5 }, { currentPeriodEnd: [] }]
  const metadata = ['x', { n: 5 }, [], { 'a\0b': 'x' }, { text: 'a\0b' }].map((value) => ({ metadata: value }))
  const bodies = ['{"broken', '[]', 'null', '"x"', '5', '', '\ufeff{}', `${'['.repeat(500)}`, '{"__proto__":{"a":"b"}}']
  const surrogate = JSON.stringify(event({ customerId: 'X' })).replace('X', '\\ud800')
  for (const body of [...bodies, ...[...wrong, ...metadata].map((fields) => event(fields)), surrogate, '{"n":1e999}']) {
    const { error, details = [] } = flat(await provider.deliver(body), 400)
    assert.equal(error, 'Invalid billing event')
    assert.ok(details.length > 0, JSON.stringify(body))
  }
  assert.equal(await countEvents(), before)
})

test('other methods are 405 and a body over 256 KiB is 413, both flat', async () => {
  for (const method of ['PUT', 'DELETE', 'PATCH'])
    flat(await provider.management.ask(`${method} /api/webhooks/billing`), 405)
  flat(await provider.deliver(event({ customerId: 'x'.repeat(256 * 1024) })), 413)
  assert.equal((await provider.deliver(event({ customerId: 'x'.repeat(255 * 1024) }))).status, 200)
})

test('long and odd ids are received: no input is a failure of ours', async () => {
  const long = 'x'.repeat(5_000)
  for (const fields of [
    { tenantId: '' },
    { tenantId: long },
    { tenantId: '💥'.repeat(99) },
    { tenantId: newId('svc') },
    { tenantId: await provider.tenant(), subscriptionId: long, metadata: { event_id: long } },
    { metadata: { event_id: '' } },
    { tenantId: await provider.tenant(), status: 'past_due', metadata: { occurred_at: '0000-01-01T00:00:00Z' } },
    { tenantId: await provider.tenant(), status: 'past_due', metadata: { occurred_at: '9999-12-31T00:00:00Z' } },
    { tenantId: await provider.tenant(), currentPeriodEnd: '0000-01-01T00:00:00Z', status: 'cancelled' },
  ])
    assert.equal((await provider.deliver(event(fields))).status, 200, JSON.stringify(fields).slice(0, 100))
  assert.equal((await provider.deliver(event(), { 'webhook-id': 'y'.repeat(5_000) })).status, 200)
})

test('a time in the future gives no longer grace, and does not silence the events after it', async () => {
  const tenantId = await provider.tenant()
  const graceDays = async () =>
    (Date.parse((await provider.statusOf(tenantId)).billing.grace_ends_at as string) - Date.now()) / 86_400_000
  await provider.bill(tenantId, { status: 'past_due', metadata: { occurred_at: '9999-12-31T00:00:00Z' } })
  assert.ok(Math.abs((await graceDays()) - 14) < 0.001)

  await provider.bill(tenantId, { status: 'active' })

  assert.equal((await provider.statusOf(tenantId)).status, 'active')
  const soon = new Date(Date.now() + 540_000).toISOString()
  await provider.bill(tenantId, { status: 'past_due', metadata: { occurred_at: soon } })
  assert.ok(Math.abs((await graceDays()) - 14) < 0.001)
})
