// The specification's tables, letter by letter. A field or value that changes here changes what the customer ordered.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { POLICY_DEFAULT_REF, recommendationId, toolRankRequest, toolRankResult } from './advice.ts'
import { billingEvent, billingReceived } from './billing.ts'
import { averageDurationMs, specifiedCycle, specifiedList, specifiedStatistics } from './cognitive.ts'
import { configUpdateResult } from './configuration.ts'
import { cookieNames, HEADER } from './headers.ts'
import { projectionResult } from './projections.ts'
import { createServiceRequest, createServiceResponse, listServicesQuery, listServicesResponse } from './services.ts'
import { exchangeRequest, exchangeResponse } from './sessions.ts'
import { slotList, slotStatistics, utilizationPct } from './working-memory.ts'

const accepts = (schema: { safeParse(value: unknown): { success: boolean } }, value: unknown) =>
  schema.safeParse(value).success

test('a billing event has the specification’s eight types, four plans and four statuses, and no others', () => {
  const event = { eventType: 'payment.failed', tenantId: 't', plan: 'pro', status: 'past_due' }
  const types = [
    'subscription.created',
    'subscription.updated',
    'subscription.cancelled',
    'subscription.deleted',
    'payment.succeeded',
    'payment.failed',
    'invoice.payment_succeeded',
    'invoice.payment_failed',
  ]
  for (const eventType of types) assert.ok(accepts(billingEvent, { ...event, eventType }))
  for (const plan of ['free', 'starter', 'pro', 'enterprise']) assert.ok(accepts(billingEvent, { ...event, plan }))
  for (const status of ['active', 'cancelled', 'past_due', 'unpaid'])
    assert.ok(accepts(billingEvent, { ...event, status }))
  for (const wrong of [
    { eventType: 'x' },
    { tenantId: undefined },
    { plan: 'gold' },
    { status: 'canceled' },
    { metadata: { a: 1 } },
  ]) {
    assert.ok(!accepts(billingEvent, { ...event, ...wrong }), JSON.stringify(wrong))
  }
  assert.ok(accepts(billingReceived, { received: true }))
})

test('a service creation request has the specification’s bounds and defaults', () => {
  const parsed = createServiceRequest.parse({ service_type: 'memory', name: 'n' })
  assert.deepEqual([parsed.plan, parsed.region], ['free', 'us-east-1'])
  const asked = { service_type: 'memory', name: 'n' }
  for (const good of [{ name: 'x'.repeat(100) }, { slug: 'abc' }, { slug: 'a-1'.repeat(21) }])
    assert.ok(accepts(createServiceRequest, { ...asked, ...good }))
  for (const bad of [
    { name: '' },
    { name: 'x'.repeat(101) },
    { slug: 'ab' },
    { slug: 'a'.repeat(64) },
    { slug: 'Abc' },
    { slug: 'a_c' },
    { plan: 'gold' },
    { config: [] },
  ]) {
    assert.ok(!accepts(createServiceRequest, { ...asked, ...bad }), JSON.stringify(bad))
  }
})

test('a creation response carries the status provisioning only', () => {
  const answer = {
    service_id: 's',
    service_type: 'memory',
    name: 'n',
    slug: 'abc',
    status: 'provisioning',
    created_at: '2026-01-01T00:00:00.000Z',
    estimated_ready_in: 3,
  }
  assert.ok(accepts(createServiceResponse, answer))
  assert.ok(!accepts(createServiceResponse, { ...answer, status: 'active' }))
})

test('numbers of a list query are digits, within the specification’s bounds', () => {
  assert.deepEqual(listServicesQuery.parse({}), { limit: 20, offset: 0 })
  assert.deepEqual(listServicesQuery.parse({ limit: '100', offset: '7' }), { limit: 100, offset: 7 })
  for (const limit of ['0', '101', '-1', '1e2', '0x10', '', ' 5', '1.5', '1234567890', 'true'])
    assert.ok(!accepts(listServicesQuery, { limit }), limit)
  assert.ok(accepts(listServicesResponse, { services: [], pagination: { total: 0, limit: 20, offset: 0 } }))
})

// specification 41
// Mutant: the average rounded and not divided.
test('statistics round as the specification says', () => {
  assert.deepEqual([averageDurationMs(0, 0), averageDurationMs(7, 4), averageDurationMs(11, 4)], [0, 1, 2])
  assert.deepEqual([utilizationPct(1, 3), utilizationPct(2, 3), utilizationPct(5, 0)], [33, 67, 0])
  assert.ok(
    !accepts(specifiedStatistics, {
      totalCycles: 1,
      completedCycles: 1,
      failedCycles: 1,
      averageDurationMs: 1,
      lastCycleAt: '',
      corruption: {},
    }),
  )
  assert.ok(
    accepts(specifiedList, { cycles: [{ completedAt: '' }], total: 1, corruption: {} }) && !accepts(specifiedCycle, {}),
  )
  assert.ok(
    accepts(configUpdateResult, { ok: true, config: { own: [1] } }) &&
      !accepts(configUpdateResult, { ok: false, config: {} }),
  )
  assert.ok(
    accepts(slotList, { slots: [], count: 0, capacity: 25, asOfSeq: 0 }) &&
      accepts(slotStatistics, { slotCount: 0, capacity: 0, utilizationPct: 0, pinned: 0, bytes: 0, evictions: 0 }),
  )
})

test('a recommendation id replaces every unsafe code point by one underscore', () => {
  assert.equal(recommendationId('evt:1/ä💥-x_y'), 'loci_tool_advisor_evt_1___-x_y')
  assert.equal(POLICY_DEFAULT_REF, 'loci://policy/default')
  const request = { task_class: 't', task_intent: 'i', source_event_id: 'e', run_id: 'r', scope: 's' }
  assert.ok(accepts(toolRankRequest, request))
  for (const field of Object.keys(request))
    assert.ok(!accepts(toolRankRequest, { ...request, [field]: undefined }), field)
  assert.ok(!accepts(toolRankResult, {}))
  assert.ok(
    accepts(projectionResult, {
      accepted: true,
      projectionId: 'p',
      projectionClass: 'event',
      sourceEventId: 'e',
      lociNamespace: 'o/t/s/d',
      appliedSeq: 1,
      duplicate: false,
    }),
  )
})

// specification 2
test('headers and cookies have the specification’s names', () => {
  assert.deepEqual(
    [HEADER.capability, HEADER.adminToken, HEADER.apiKey],
    ['x-loci-capability', 'x-loci-admin-token', 'x-api-key'],
  )
  assert.equal(cookieNames('http://127.0.0.1:4400').access, 'loci_access_token')
  assert.equal(cookieNames('https://loci.example').access, '__Host-loci_access_token')
})

test('an exchange takes code, redirect_uri and code_verifier, and its answer has no room for a refresh token', () => {
  const request = { code: 'c', redirect_uri: 'https://a.example/cb', code_verifier: 'v'.repeat(43) }
  assert.ok(accepts(exchangeRequest, request))
  for (const code_verifier of ['v'.repeat(42), 'v'.repeat(129), `${'v'.repeat(43)}!`])
    assert.ok(!accepts(exchangeRequest, { ...request, code_verifier }))
  assert.ok(!accepts(exchangeResponse, { authenticated: true, expires_at: '', expires_in: 1, refresh_token: 'x' }))
})
