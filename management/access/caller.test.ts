// Who calls: API keys and where they stand, and the word of a trusted gateway.

import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { after, before, test } from 'node:test'
import { newId } from '@loci/contract/ids.ts'
import { type TestManagement, type TestParty, testManagement } from '../testing/management.ts'

const SECRET = 'a-gateway-secret-of-the-tests-12345'
const OLD_SECRET = 'the-gateway-secret-before-that-12345'

let management: TestManagement
let own: TestParty
before(async () => {
  management = await testManagement({
    settings: { trustedGateways: ['127.0.0.1'], gatewaySecrets: [SECRET, OLD_SECRET] },
  })
  own = await management.organization()
})
after(() => management?.[Symbol.asyncDispose]())

interface Word {
  id?: string
  organization?: string
  roles?: string
  timestamp?: number | string
  secret?: string
}

/** The word of a gateway, signed by code that is not the one under test. */
function wordFor(line: string, { id = 'jane', organization, roles = 'owner', timestamp, secret = SECRET }: Word = {}) {
  const [method, target] = line.split(' ') as [string, string]
  const at = String(timestamp ?? Math.floor(Date.now() / 1000))
  const organizationId = organization ?? own.organizationId
  const signed = [method, target, at, id, organizationId, roles].join('\n')
  return {
    'x-consumer-id': id,
    'x-consumer-organization': organizationId,
    'x-consumer-roles': roles,
    'x-consumer-timestamp': at,
    'x-consumer-proof': createHmac('sha256', secret).update(signed).digest('hex'),
  }
}

const LIST = 'GET /api/v1/tenants?limit=5'
const statusOf = async (headers: Record<string, string>, line = LIST) =>
  (await management.ask(line, { headers })).status

// specification 215
test('a trusted gateway speaks for a caller of the organization, in the highest role that it names', async () => {
  assert.equal(await statusOf(wordFor(LIST)), 200)
  assert.equal(await statusOf(wordFor(LIST, { secret: OLD_SECRET })), 200)
  const audit = 'GET /api/v1/audit-events'
  assert.equal(await statusOf(wordFor(audit, { roles: 'viewer' }), audit), 403)
  assert.equal(await statusOf(wordFor(audit, { roles: 'viewer, admin' }), audit), 200)
  const listed = await management.ask('GET /api/v1/organizations', {
    headers: wordFor('GET /api/v1/organizations', { roles: 'member' }),
  })
  const [organization] = listed.json<{ organizations: { id: string; role: string }[] }>().organizations
  assert.deepEqual([organization?.id, organization?.role], [own.organizationId, 'member'])
})

test('a word that is not proven, late, early, for another request or of nobody is as none', async () => {
  const good = wordFor(LIST)
  const now = Math.floor(Date.now() / 1000)
  const { 'x-consumer-proof': _, ...unproven } = good
  const wrong: Record<string, Record<string, string>> = {
    'no proof': unproven,
    'another secret': wordFor(LIST, { secret: 'x'.repeat(32) }),
    'no hex': { ...good, 'x-consumer-proof': 'x'.repeat(64) },
    short: { ...good, 'x-consumer-proof': good['x-consumer-proof'].slice(2) },
    expired: wordFor(LIST, { timestamp: now - 90 }),
    'of the future': wordFor(LIST, { timestamp: now + 90 }),
    'no time': wordFor(LIST, { timestamp: 'now' }),
    'another path': wordFor('GET /api/v1/tenants?limit=6'),
    'another method': wordFor('POST /api/v1/tenants?limit=5'),
    'another organization': { ...good, 'x-consumer-organization': newId('org') },
    'another role': { ...wordFor(LIST, { roles: 'viewer' }), 'x-consumer-roles': 'owner' },
    'another id': { ...good, 'x-consumer-id': 'joe' },
    'an organization that is none': wordFor(LIST, { organization: newId('org') }),
    'no role that we know': wordFor(LIST, { roles: 'emperor' }),
  }
  for (const [name, headers] of Object.entries(wrong)) assert.equal(await statusOf(headers), 401, name)
})

// specification 216
test('from a peer that is no gateway the best proof is nothing', async () => {
  await using strict = await testManagement({ settings: { trustedGateways: ['10.0.0.0/8'], gatewaySecrets: [SECRET] } })
  const { organizationId } = await strict.organization()
  const headers = wordFor(LIST, { organization: organizationId })
  assert.equal((await strict.ask(LIST, { headers })).status, 401)
  const forwarded = { ...headers, 'x-forwarded-for': '10.0.0.1' }
  assert.equal((await strict.ask(LIST, { headers: forwarded })).status, 401)
})

test('with an API key the headers of a gateway change nothing, and a bad key is not rescued by them', async () => {
  const other = await management.organization()
  const headers = wordFor('GET /api/v1/organizations', { organization: other.organizationId })
  const answer = await own.ask('GET /api/v1/organizations', { headers })
  assert.ok(answer.text.includes(own.organizationId) && !answer.text.includes(other.organizationId))
  assert.equal(await statusOf({ ...wordFor(LIST), 'x-api-key': 'loci_sk_' }), 401)
})

test('behind a gateway is no person: no keys, organizations or memberships come of it, and the words say what to do', async () => {
  const key = `key_${own.apiKey.split('_')[2]}`
  const lines: [string, object][] = [
    ['POST /api/v1/api-keys', { name: 'x' }],
    [`POST /api/v1/api-keys/${key}/rotate`, {}],
    ['POST /api/v1/organizations', { name: 'x' }],
    ['POST /api/v1/invitations/accept', { token: 'x' }],
  ]
  for (const [line, body] of lines) {
    const answer = await management.ask(line, { headers: wordFor(line, { roles: 'owner,staff' }), body })
    assert.deepEqual([answer.status, answer.error.code], [403, 'FORBIDDEN'], line)
    assert.match(answer.error.message, /API key/, line)
  }
  const line = 'GET /api/v1/api-keys'
  const none = await management.ask(line, { headers: wordFor(line, { roles: 'viewer' }) })
  assert.deepEqual(none.json().api_keys, [])
})

test('a gateway’s caller changes things in its own name, which the audit keeps', async () => {
  const line = 'POST /api/v1/tenants'
  const made = await management.ask(line, { headers: wordFor(line, { id: 'jane' }), body: { name: 'By Jane' } })
  assert.equal(made.status, 201)
  const [entry] = await management.sql('select actor from loci.audit where subject = $1', [made.json().id])
  assert.deepEqual(entry, { actor: 'gateway:jane' })
})

// specification 224
test('an API key in Authorization is 401 CREDENTIAL_MISPLACED, and the message names the right header', async () => {
  for (const line of [LIST, 'POST /api/v1/api-keys', 'GET /api/v1/audit-events', 'POST /api/v1/invitations/accept']) {
    const answer = await management.ask(line, { headers: { authorization: `Bearer ${own.apiKey}` } })
    assert.deepEqual([answer.status, answer.error.code], [401, 'CREDENTIAL_MISPLACED'], line)
    assert.match(answer.error.message, /x-api-key/)
  }
})

test('a key with a changed secret, checksum or id is 401, and so is none', async () => {
  const { apiKey } = own
  const swap = (at: number) => apiKey.slice(0, at) + (apiKey[at] === 'a' ? 'b' : 'a') + apiKey.slice(at + 1)
  for (const wrong of [swap(apiKey.length - 1), swap(apiKey.length - 20), swap(12), apiKey.slice(0, -1), 'x', ''])
    assert.equal(await statusOf({ 'x-api-key': wrong }), 401, wrong)
  assert.equal(await statusOf({}), 401)
})

test('x-loci-organization selects among the caller’s own and never grants', async () => {
  const other = await management.organization()
  const named = (id: string) => own.ask(LIST, { headers: { 'x-loci-organization': id } })
  assert.equal((await named(own.organizationId)).status, 200)
  const [theirs, none] = [await named(other.organizationId), await named(newId('org'))]
  assert.deepEqual([theirs.status, none.status], [403, 403])
  assert.equal(theirs.error.message, none.error.message)
})

// Mutant: leave out slowed() in caller.ts (401 instead of 429).
test('an address whose keys or cell tokens keep failing is slowed, and a valid key from there never is', async () => {
  await using slow = await testManagement({ settings: { unauthenticatedPerMinute: 5 } })
  const party = await slow.organization()
  const cell = await slow.cell()
  const bad = (key = 'loci_sk_x') => slow.get('/api/v1/tenants', { 'x-api-key': key })
  for (let n = 0; n < 5; n += 1) assert.equal((await bad()).status, 401)
  const slowed = await bad()
  assert.deepEqual([slowed.status, slowed.error.code], [429, 'RATE_LIMITED'])
  assert.ok(Number(slowed.headers['retry-after']) >= 1 && Number(slowed.headers['retry-after']) <= 60)
  assert.equal((await slow.get('/api/v1/tenants')).status, 429, 'none at all is one that fails')
  assert.equal((await slow.get('/cell/v1/self', { authorization: 'Bearer x' })).status, 429)
  assert.equal((await party.ask('GET /api/v1/tenants')).status, 200)
  assert.equal((await party.ask('GET /api/v1/cells')).status, 403, 'what a valid key may not do is no failure of it')
  assert.equal((await cell.feed()).full, true)
})
