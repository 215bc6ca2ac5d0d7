import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { verifyCapability } from '@loci/capability/capability.ts'
import { publicKeyOf } from '@loci/capability/jws.ts'
import type { TestAnswer } from '@loci/chassis/testing/request.ts'
import type { Service } from '../services/store.ts'
import { PUBLIC_URL, type TestCell, type TestManagement, type TestParty } from '../testing/management.ts'
import {
  type Asked,
  askedBy,
  askToken,
  exchangeOf,
  fieldsOf,
  ledTo,
  REDIRECT_URI,
  RESOURCE,
  sendForm,
  type Tokens,
} from '../testing/oauth.ts'
import { type Browser, type SignInWorld, signInWorld } from '../testing/sign-in.ts'

let world: SignInWorld
let management: TestManagement
let cell: TestCell
let acme: TestParty
let service: Service
let alice: Browser
let clientId: string
before(async () => {
  world = await signInWorld()
  management = world.management
  cell = await management.cell()
  acme = await management.organization({ email: 'alice@example.test' })
  service = await management.instance(cell.id, { organization: acme.organizationId, tenant: acme.tenantId })
  alice = await world.signIn()
  clientId = await register(acme)
})
after(() => world?.[Symbol.asyncDispose]())

async function register(party: TestParty, redirect_uris = [REDIRECT_URI, 'https://client.example/done']) {
  const answer = await party.ask('POST /api/v1/oauth-clients', { body: { name: 'Notes', redirect_uris } })
  assert.equal(answer.status, 201, answer.text)
  return answer.json<{ id: string }>().id
}

/** Asks, is allowed, and has the code. */
async function allowed(change: Record<string, string | string[]> = {}, browser = alice, id = clientId) {
  const asked = askedBy(id)
  const page = await browser.ask(asked.line)
  const code = ledTo(await sendForm(browser, fieldsOf(page, change))).searchParams.get('code') as string
  return { asked, code }
}

const use = (asked: Asked, code: string, change: Record<string, string> = {}) =>
  askToken(management.url, { ...exchangeOf(asked, code), ...change })

async function tokensOf(change: Record<string, string | string[]> = {}, browser = alice, id = clientId) {
  const { asked, code } = await allowed(change, browser, id)
  const answer = await use(asked, code)
  assert.equal(answer.status, 200, answer.text)
  return answer.json<Tokens>()
}

const refresh = (refresh_token: string, client_id = clientId) =>
  askToken(management.url, { grant_type: 'refresh_token', refresh_token, client_id })

const errorOf = (answer: TestAnswer) => [answer.status, answer.json<{ error: string }>().error]
const REFUSED = [400, 'invalid_grant']

/** The jtis that cells are told to refuse. */
async function revoked(): Promise<string[]> {
  const rows = await management.sql<{ value: string }>(`select value from loci.revocations where kind = 'jti'`)
  return rows.map(({ value }) => value)
}

async function claimsOf(token: string) {
  const { keys } = (await management.get('/.well-known/loci-capability-keys.json')).json<{
    keys: Record<string, unknown>[]
  }>()
  return verifyCapability(token, {
    now: Date.now() / 1000,
    findKey: (kid) => publicKeyOf(withoutNames(keys.find((one) => one.kid === kid) as Record<string, unknown>)),
  })
}

function withoutNames({ kty, crv, x }: Record<string, unknown>) {
  return { kty, crv, x }
}

test('the server describes itself: code with S256 alone, public clients, who it is in every answer', async () => {
  const { status, text } = await management.get('/.well-known/oauth-authorization-server')
  const told = JSON.parse(text)
  assert.deepEqual(
    [status, told.issuer, told.code_challenge_methods_supported, told.token_endpoint_auth_methods_supported],
    [200, PUBLIC_URL, ['S256'], ['none']],
  )
  assert.ok(told.authorization_response_iss_parameter_supported && told.client_id_metadata_document_supported)
  assert.ok(!told.scopes_supported.includes('operator'))
})

// Mutants: `aud` of mintToken(); the role not asked in withGrant().
test('a client gets a capability of the service that the person chose, with the databases and rights that she chose', async () => {
  const { access_token, expires_in, scope } = await tokensOf({
    ops: ['memory:read', 'wm:read', 'operator'],
    databases: 'ada notes',
  })
  const { root } = await claimsOf(access_token)
  assert.deepEqual([root.aud, root.svc, root.sub], [service.id, service.id, acme.ownerId])
  assert.deepEqual([scope.split(' ').sort(), expires_in], [['memory:read', 'wm:read'], 600])
  assert.deepEqual([...root.ks].sort(), [
    ...['memory/ada', 'memory/notes', 'working-memory/ada', 'working-memory/notes'],
  ])
  const [entry] = await management.sql<{ action: string; detail: Record<string, string> }>(
    `select action, detail from loci.audit where action = 'oauth.allow' order by seq desc limit 1`,
  )
  assert.deepEqual(
    [entry?.detail.client_id, entry?.detail.service_id, entry?.detail.databases],
    [clientId, service.id, 'ada notes'],
  )
})

test('the page names client, service, databases and rights, loads and runs nothing, and may lead to the client alone', async () => {
  const page = await alice.ask(askedBy(clientId).line)
  for (const word of ['Notes', clientId, service.id, 'alice@example.test', 'memory:read', 'default', 'this computer'])
    assert.ok(page.text.includes(word), word)
  assert.ok(!/<script|onclick|javascript:/i.test(page.text))
  const policy = String(page.headers['content-security-policy'])
  assert.match(policy, /default-src 'none'/)
  assert.match(policy, /frame-ancestors 'none'/)
  assert.match(policy, /form-action 'self' http:\/\/127\.0\.0\.1:7777(;|$)/)
})

// Mutant: isOneOf() that compares beginnings.
test('nobody is led to an address that the client has not registered letter by letter; on loopback the port is free', async () => {
  for (const redirect_uri of [
    'https://client.example/done/',
    'https://client.example/done?x=1',
    'https://client.example.evil.example/done',
    'http://client.example/done',
    'https://client.example@evil.example/done',
    'http://127.0.0.1:7777/other',
    'http://localhost:7777/done',
    'http://127.0.0.1.evil.example/done',
    'javascript:alert(1)',
    undefined,
  ]) {
    const answer = await alice.ask(askedBy(clientId, { redirect_uri }).line)
    assert.deepEqual([answer.status, answer.headers.location], [400, undefined], String(redirect_uri))
  }
  const other = askedBy(clientId, { redirect_uri: 'http://127.0.0.1:50123/done' })
  const to = ledTo(await sendForm(alice, fieldsOf(await alice.ask(other.line))))
  assert.deepEqual(
    [to.host, to.searchParams.get('iss'), to.searchParams.get('state')],
    [...['127.0.0.1:50123', PUBLIC_URL, 'the state']],
  )
  const unknown = await alice.ask(askedBy('oac_00000000000000000000000000').line)
  assert.equal(unknown.status, 400)
})

// Mutants: the method not looked at; the challenge not asked for.
test('a request without S256, with another type, another resource or an unknown right is refused to the client by name', async () => {
  for (const [change, error] of [
    [{ code_challenge_method: 'plain' }, 'invalid_request'],
    [{ code_challenge_method: undefined }, 'invalid_request'],
    [{ code_challenge: undefined }, 'invalid_request'],
    [{ code_challenge: 'short' }, 'invalid_request'],
    [{ resource: undefined }, 'invalid_request'],
    [{ response_type: 'token' }, 'unsupported_response_type'],
    [{ scope: 'memory:read operator' }, 'invalid_scope'],
  ] as const) {
    const to = ledTo(await alice.ask(askedBy(clientId, change).line))
    assert.deepEqual([to.origin + to.pathname, to.searchParams.get('error')], [REDIRECT_URI, error])
    assert.equal(to.searchParams.get('code'), null)
  }
  const elsewhere = await alice.ask(askedBy(clientId, { resource: 'https://elsewhere.example/mcp' }).line)
  assert.ok(elsewhere.text.includes('No service to allow'), elsewhere.text)
})

// Mutants: `sealed` of another context; the service not held against the resource; requireSameSite left out.
test('nothing is allowed by a form of another session, another site, or of a service that is not the person’s', async () => {
  const bob = await world.signIn('bob')
  const page = await alice.ask(askedBy(clientId).line)
  const fields = fieldsOf(page)
  assert.equal((await sendForm(bob, fields)).status, 403)
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  for (const site of [{ 'sec-fetch-site': 'cross-site' }, { origin: 'https://evil.example' }, { origin: 'null' }]) {
    const forged = await alice.ask('POST /oauth/authorize', { body: fields, headers: { ...headers, ...site } })
    assert.deepEqual([forged.status, forged.error.code], [403, 'ORIGIN_NOT_ALLOWED'])
  }
  const others = await management.organization({ name: 'Others' })
  const foreign = await management.instance(cell.id, { organization: others.organizationId, tenant: others.tenantId })
  for (const value of [`${others.organizationId}/${foreign.id}`, `${acme.organizationId}/${foreign.id}`, 'x', ''])
    assert.equal((await sendForm(alice, fieldsOf(page, { service: value }))).status, 403, value)
  assert.equal((await sendForm(alice, fieldsOf(page, { databases: 'NOT A NAME' }))).status, 400)
  assert.equal((await sendForm(alice, fieldsOf(page, { ops: ['operator'] }))).status, 400)
  const denied = ledTo(await sendForm(alice, fieldsOf(page, { decision: 'deny' })))
  assert.deepEqual([denied.searchParams.get('error'), denied.searchParams.get('code')], ['access_denied', null])
  assert.equal((await alice.ask(askedBy(await register(others)).line)).text.includes('No service to allow'), true)
})

// Mutants: code_misused that ends nothing; the verifier not compared; `codeUsedAt` not looked at.
test('a code is good once, for a minute, for its client, address, resource and verifier; one that comes twice ends the grant', async () => {
  for (const change of [
    { code_verifier: 'x'.repeat(43) },
    { client_id: 'oac_00000000000000000000000000' },
    { redirect_uri: 'https://client.example/done' },
    { resource: 'https://elsewhere.example/mcp' },
  ]) {
    const { asked, code } = await allowed()
    assert.deepEqual(errorOf(await use(asked, code, change)), REFUSED, JSON.stringify(change))
    assert.deepEqual(errorOf(await use(asked, code)), REFUSED, 'a code that was tried with something wrong is over')
  }
  const { asked, code } = await allowed()
  const [first, second] = await Promise.all([use(asked, code), use(asked, code)])
  assert.deepEqual([first.status, second.status].sort(), [200, 400])
  const good = (first.status === 200 ? first : second).json<Tokens>()
  assert.deepEqual(errorOf(await refresh(good.refresh_token)), REFUSED)
  assert.ok((await revoked()).includes((await claimsOf(good.access_token)).root.jti))

  const late = await allowed()
  await management.sql(`update loci.oauth_grants set expires_at = now() where code_used_at is null`)
  assert.deepEqual(errorOf(await use(late.asked, late.code)), REFUSED)
})

// Mutants: spentDigests not looked at; saveRefresh() that keeps the token.
test('a refresh token is good once; an old one that comes back ends the grant and its access tokens', async () => {
  const first = await tokensOf()
  const answer = await refresh(first.refresh_token)
  assert.equal(answer.status, 200, answer.text)
  const second = answer.json<Tokens>()
  assert.notEqual(second.refresh_token, first.refresh_token)
  assert.deepEqual(errorOf(await refresh(second.refresh_token, 'oac_00000000000000000000000000')), REFUSED)
  const third = await tokensOf()
  const fourth = (await refresh(third.refresh_token)).json<Tokens>()
  assert.deepEqual(errorOf(await refresh(third.refresh_token)), REFUSED)
  assert.deepEqual(errorOf(await refresh(fourth.refresh_token)), REFUSED)
  const told = await revoked()
  for (const { access_token } of [third, fourth]) assert.ok(told.includes((await claimsOf(access_token)).root.jti))
  for (const [what, error] of [
    [{ grant_type: 'password' }, 'unsupported_grant_type'],
    [{ grant_type: 'refresh_token' }, 'invalid_request'],
    [{ grant_type: 'refresh_token', refresh_token: 'loci_ort_x' }, 'invalid_grant'],
  ] as const)
    assert.equal(errorOf(await askToken(management.url, { client_id: clientId, ...what }))[1], error)
  const json = await management.ask('POST /oauth/token', { body: { client_id: clientId } })
  assert.deepEqual([json.status, json.error.code], [415, 'UNSUPPORTED_MEDIA_TYPE'])
})

test('neither codes nor refresh tokens are in the database or the log', async () => {
  const { asked, code } = await allowed()
  const { refresh_token } = (await use(asked, code)).json<Tokens>()
  await refresh('x')
  const dump = JSON.stringify(await management.sql('select * from loci.oauth_grants')) + management.lines.join('\n')
  for (const secret of [code, refresh_token, asked.verifier]) assert.ok(!dump.includes(secret))
})

// Mutants: takeBack() without grants; lockRole() not asked at a refresh; revokeIssued() without grants; changeRole()
// without endAccessBeyond(), or one that ends all access tokens.
test('a grant ends with the membership, with a sign-out that asks for it, with its client, and by its person; not for others', async () => {
  const bobs = await management.member(acme, 'member', { email: 'bob@example.test' })
  const bob = await world.signIn('bob')
  const ended = async ({ access_token, refresh_token }: Tokens, message: string) => {
    assert.deepEqual(errorOf(await refresh(refresh_token)), REFUSED, message)
    const { root } = await claimsOf(access_token)
    const epochs = await management.sql(`select from loci.revocations where kind = 'sub' and value like $1`, [
      `%/${root.sub}`,
    ])
    assert.ok((await revoked()).includes(root.jti) || epochs.length > 0, message)
  }
  const kept = await tokensOf()

  const byHim = await tokensOf({}, bob)
  const grants = async (browser: Browser) =>
    (await browser.ask('GET /api/v1/oauth-grants')).json<{ oauth_grants: { id: string; user_id: string }[] }>()
      .oauth_grants
  const own = await grants(bob)
  assert.deepEqual([own.length, own[0]?.user_id], [1, bobs.ownerId])
  const others = (await grants(alice)).find(({ user_id }) => user_id === acme.ownerId)
  assert.equal((await bob.ask(`DELETE /api/v1/oauth-grants/${others?.id}`)).status, 404)
  assert.equal((await bob.ask(`DELETE /api/v1/oauth-grants/${own[0]?.id}`)).status, 200)
  await ended(byHim, 'by the person')

  const signedOut = await tokensOf({}, bob)
  const out = await bob.ask('POST /api/auth/logout', { body: { revoke_issued: true } })
  assert.equal(out.json<{ revoked: { issued: { oauth_grants: number } } }>().revoked.issued.oauth_grants, 1)
  await ended(signedOut, 'by a sign-out')

  const again = await world.signIn('bob')
  const removed = await tokensOf({}, again)
  const demoted = await tokensOf({ ops: ['memory:read', 'memory:write'] }, again)
  const reading = await tokensOf({ ops: ['memory:read'] }, again)
  const line = `/api/v1/organizations/${acme.organizationId}/members/${bobs.ownerId}`
  assert.equal((await acme.ask(`PATCH ${line}`, { body: { role: 'viewer' } })).status, 200)
  // Before, it wrote for ten minutes more.
  const ofHis = await Promise.all([reading, demoted].map(async ({ access_token }) => claimsOf(access_token)))
  const told = await revoked()
  assert.deepEqual(
    ofHis.map(({ root }) => told.includes(root.jti)),
    [false, true],
  )
  const lesser = (await refresh(demoted.refresh_token)).json<Tokens>()
  assert.equal(lesser.scope, 'memory:read')
  assert.equal((await acme.ask(`DELETE ${line}`)).status, 200)
  await management.sql('insert into loci.members (organization_id, user_id, role) values ($1, $2, $3)', [
    ...[acme.organizationId, bobs.ownerId, 'member'],
  ])
  await ended(removed, 'by the removal, also after the next invitation')
  await ended(lesser, 'by the removal')

  const own2 = await register(acme)
  const ofClient = await tokensOf({}, alice, own2)
  assert.equal((await acme.ask(`DELETE /api/v1/oauth-clients/${own2}`)).status, 200)
  assert.deepEqual(errorOf(await refresh(ofClient.refresh_token, own2)), REFUSED)
  assert.equal((await refresh(kept.refresh_token)).status, 200)
})

test('while a service is suspended its clients get no token, and afterwards they do', async () => {
  const { refresh_token } = await tokensOf()
  const [{ status = '' } = {}] = await management.sql<{ status: string }>(
    'select status from loci.services where id = $1',
    [service.id],
  )
  await management.sql(`update loci.services set status = 'suspended' where id = $1`, [service.id])
  assert.deepEqual(errorOf(await refresh(refresh_token)), REFUSED)
  await management.sql('update loci.services set status = $2 where id = $1', [service.id, status])
  assert.equal((await refresh(refresh_token)).status, 200)
})

test('who is not signed in signs in first and comes back; a sign-in of more than ten minutes ago is not enough', async () => {
  const asked = askedBy(clientId)
  const stranger = await management.ask(asked.line)
  assert.equal(stranger.status, 303)
  const to = new URL(stranger.headers.location as string, PUBLIC_URL)
  assert.equal(to.pathname, '/sign-in')
  const back = new URL(to.searchParams.get('return_to') as string, PUBLIC_URL)
  assert.deepEqual(Object.fromEntries(back.searchParams), asked.query)

  const old = await world.signIn()
  const page = await old.ask(asked.line)
  await management.sql(`update loci.sessions set created_at = created_at - interval '11 minutes', auth_time = null`)
  assert.ok((await old.ask(asked.line)).text.includes('Sign in again'))
  assert.equal((await sendForm(old, fieldsOf(page))).status, 403)
  await management.sql(`update loci.sessions set created_at = created_at + interval '11 minutes'`)
})

// Mutant: `beyond` left out.
test('a person has twenty clients at a time, one more ends the oldest; and a grant is not refreshed without measure', async () => {
  const { refresh_token } = await tokensOf()
  for (let times = 0; times < 20; times += 1) await allowed()
  assert.deepEqual(errorOf(await refresh(refresh_token)), REFUSED)
  const [{ count } = { count: 0 }] = await management.sql<{ count: number }>(
    'select count(*)::int as count from loci.oauth_grants where user_id = $1 and ended_at is null',
    [acme.ownerId],
  )
  assert.equal(count, 20)
  let { refresh_token: next } = await tokensOf()
  let last = 200
  for (let times = 0; times < 40 && last === 200; times += 1) {
    const answer = await refresh(next)
    last = answer.status
    if (last === 200) next = answer.json<Tokens>().refresh_token
  }
  assert.equal(last, 429)
})

test('clients are registered by who may make keys, with addresses that can be kept', async () => {
  const member = await management.member(acme, 'member')
  const body = { name: 'Other', redirect_uris: [REDIRECT_URI] }
  assert.equal((await member.ask('POST /api/v1/oauth-clients', { body })).status, 403)
  for (const uri of [
    'http://client.example/done',
    'https://client.example/#x',
    'cursor://done',
    'https://a:b@c.example/',
  ])
    assert.equal(
      (await acme.ask('POST /api/v1/oauth-clients', { body: { ...body, redirect_uris: [uri] } })).status,
      400,
    )
  const listed = (await acme.ask('GET /api/v1/oauth-clients')).json<{ oauth_clients: { id: string }[] }>()
  assert.ok(listed.oauth_clients.some(({ id }) => id === clientId))
  assert.equal(RESOURCE.endsWith('/mcp'), true)
})
