import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually, type TestAnswer } from '@loci/chassis/testing/request.ts'
import { startIdentityProvider } from '../testing/identity-provider.ts'
import { testManagement } from '../testing/management.ts'
import { exchange, obtainCode, oidcSettings, signInWorld } from '../testing/sign-in.ts'

const ELSEWHERE = [
  { 'sec-fetch-site': 'cross-site' },
  { 'sec-fetch-site': 'same-site' },
  { origin: 'https://evil.example' },
  { origin: 'null' },
  { 'sec-fetch-site': 'same-origin', origin: 'https://evil.example' },
]

// specification 16 181 182
test('a code becomes a session: two cookies for the browser alone, and no token in the answer', async () => {
  await using world = await signInWorld()
  const { answer, browser } = await exchange(world.management, await obtainCode(world.provider))

  assert.equal(answer.status, 200, answer.text)
  // specification 100 101 223
  assert.deepEqual(Object.keys(answer.json()).sort(), ['authenticated', 'expires_at', 'expires_in'])
  assert.equal(answer.headers['cache-control'], 'no-store')
  // specification 3 183 211
  const [access, refresh] = answer.headers['set-cookie'] as string[]
  assert.match(String(access), /^loci_access_token=eyJ[^;]+; Max-Age=\d+; Path=\/; HttpOnly; SameSite=Lax$/)
  assert.match(String(refresh), /^loci_refresh_token=loci_sh_[^;]+; Max-Age=604800; Path=\/; HttpOnly; SameSite=Lax$/)

  // Mutants: `session` told from the database; `authenticated` left out.
  // specification 177 178
  const [alice] = world.provider.people.splice(0, 1) as [(typeof world.provider.people)[number]]
  world.provider.people.unshift({ ...alice, name: 'Alice Renamed' })
  const asked = () => world.provider.calls.filter(({ what }) => what === 'GET /me').length
  const before = asked()
  const shown = await browser.ask('GET /api/auth/session')
  assert.equal(shown.status, 200, shown.text)
  assert.equal(asked(), before + 1, 'userinfo was asked')
  world.provider.people.splice(0, 1, alice)
  const { authenticated, user, staff, organizations, signed_in_at, expires_at, ...rest } =
    shown.json<Record<string, unknown>>()
  assert.deepEqual([authenticated, staff, organizations, rest], [true, false, [], {}])
  const [session] = await world.management.sql<{ at: Date }>(
    'select least(created_at, auth_time) as at from loci.sessions',
  )
  assert.equal(signed_in_at, session?.at.toISOString())
  const { id, ...limited } = user as { id: string }
  assert.deepEqual(limited, { email: 'alice@example.test', name: 'Alice Renamed', picture: null })
  // Mutant: get-session without user or expiry.
  // specification 102 179 180
  const whole = (await browser.ask('GET /api/auth/get-session')).json<Record<string, unknown>>()
  assert.deepEqual(whole, {
    user: { id, email: 'alice@example.test', name: 'Alice Example' },
    access_token: browser.access,
    token_type: 'Bearer',
    expires_at,
  })
  assert.equal(whole.expires_at, answer.json().expires_at)
  assert.equal((await browser.ask('GET /api/auth/token')).json<{ access_token: string }>().access_token, browser.access)
})

test('over https the cookies are Secure and bound to the host', async () => {
  await using world = await signInWorld({ publicUrl: 'https://loci.example' })
  const { answer } = await exchange(world.management, await obtainCode(world.provider))
  for (const line of answer.headers['set-cookie'] as string[])
    assert.match(line, /^__Host-loci_(access|refresh)_token=.*; Path=\/; HttpOnly; Secure; SameSite=Lax$/)
})

// specification 103 236
test('nobody is signed in without a session: 401, and null where the specification orders it', async () => {
  await using world = await signInWorld()
  const { management } = world
  for (const headers of [{}, { cookie: 'loci_access_token=invented; loci_refresh_token=invented' }]) {
    const shown = await management.ask('GET /api/auth/session', { headers })
    assert.deepEqual([shown.status, shown.json().authenticated, shown.error.code], [401, false, 'UNAUTHENTICATED'])
    assert.equal((await management.ask('GET /api/auth/get-session', { headers })).text, 'null')
    assert.equal((await management.ask('GET /api/auth/token', { headers })).status, 401)
    assert.equal((await management.ask('POST /api/auth/refresh', { headers, body: {} })).status, 401)
    const out = await management.ask('POST /api/auth/logout', { headers, body: {} })
    assert.deepEqual(out.json().revoked, { session: false, refresh_token: false })
    assert.equal(new URL(String(out.json().sign_out_url)).origin, world.provider.issuer)
  }
})

test('without a provider in the settings nobody signs in, and every route answers', async () => {
  await using management = await testManagement()
  const body = { code: 'x', redirect_uri: 'http://127.0.0.1:3000/auth/callback', code_verifier: 'x'.repeat(43) }
  const refused = await management.ask('POST /api/auth/exchange', { body })
  assert.equal(refused.status, 400)
  assert.match(refused.error.message, /redirect_uri/)
  assert.equal((await management.ask('POST /api/auth/refresh', { body: {} })).status, 401)
  assert.equal((await management.ask('POST /api/auth/logout', { body: {} })).json().sign_out_url, null)
})

test('a code is good once, with its own verifier and an address of the list; none of the others sets a cookie', async () => {
  await using world = await signInWorld()
  const { management, provider } = world
  const code = await obtainCode(provider)
  const refusals: [object, number, string][] = [
    [{ ...code, redirect_uri: `${code.redirect_uri}/x` }, 400, 'redirect_uri'],
    [{ ...code, redirect_uri: 'https://evil.example/callback' }, 400, 'redirect_uri'],
    [{ ...code, code_verifier: 'x'.repeat(42) }, 400, 'code_verifier'],
    [{ ...code, code: undefined }, 400, 'code'],
    [{ ...code, client_secret: 'x' }, 400, 'client_secret'],
  ]
  for (const [body, status, field] of refusals) {
    const { answer } = await exchange(management, body)
    assert.deepEqual([answer.status, answer.headers['set-cookie']], [status, undefined], answer.text)
    assert.ok(answer.text.includes(field), answer.text)
  }
  assert.equal((await exchange(management, code)).answer.status, 200)
  assert.equal((await exchange(management, code)).answer.status, 401)
  const other = await obtainCode(provider)
  const stolen = await exchange(management, { ...other, code_verifier: 'y'.repeat(43) })
  assert.deepEqual([stolen.answer.status, stolen.answer.headers['set-cookie']], [401, undefined])
})

// Mutant: `requireSameSite` without the Origin comparison, or with `same-site` among the allowed.
// specification 219
test('another site can neither sign a browser in nor out, nor read a token; a client that is no browser can', async () => {
  await using world = await signInWorld()
  const { management } = world
  const code = await obtainCode(world.provider)
  const browser = await world.signIn('bob')
  for (const headers of ELSEWHERE) {
    const { answer } = await exchange(management, code, headers)
    assert.deepEqual([answer.status, answer.error.code], [403, 'ORIGIN_NOT_ALLOWED'])
    for (const line of [
      'GET /api/auth/token',
      'GET /api/auth/get-session',
      'POST /api/auth/refresh',
      'POST /api/auth/logout',
    ])
      assert.equal((await browser.ask(line, { headers })).error.code, 'ORIGIN_NOT_ALLOWED', line)
  }
  for (const line of ['GET /api/auth/token', 'GET /api/auth/get-session']) {
    const asPage = await browser.ask(line, { headers: { 'sec-fetch-site': 'none', 'sec-fetch-dest': 'document' } })
    assert.equal(asPage.error.code, 'ORIGIN_NOT_ALLOWED', line)
  }
  assert.equal((await browser.ask('POST /api/auth/logout', { headers: { 'sec-fetch-site': 'none' } })).status, 403)
  assert.equal((await browser.ask('GET /api/auth/token', { headers: { 'sec-fetch-site': 'none' } })).status, 200)
  const origin = new URL(management.settings.publicUrl).origin
  for (const headers of [{}, { origin }])
    assert.equal((await browser.ask('GET /api/auth/token', { headers })).status, 200)
  assert.equal((await exchange(management, code, {})).answer.status, 200)
})

test('two cookies of one name are refused: one of them may be another site’s', async () => {
  await using world = await signInWorld()
  const { access } = await world.signIn()
  const cookie = `loci_access_token=${access}; loci_access_token=tossed`
  assert.equal((await world.management.ask('GET /api/auth/token', { headers: { cookie } })).status, 400)
})

// Mutants: `audience` left out of jwtVerify, or `issuer`; the comparison of azp and client_id left out.
// specification 212
test('a token that is not a JWT, or of another issuer, or for another audience or client, opens no session and does not stay usable', async () => {
  await using world = await signInWorld()
  const { management, provider } = world
  const foreignIssuer = 'https://elsewhere.example.test'
  provider.people.push({ sub: 'eve', email: 'eve@example.test', email_verified: true, name: 'Eve', foreignIssuer })
  const shared = (await exchange(management, await obtainCode(provider, { login: 'eve' }))).answer
  provider.people.pop()
  assert.deepEqual([shared.status, shared.error.code], [422, 'PROVIDER_TOKEN_UNUSABLE'])
  assert.match(shared.error.message, /LOCI_OIDC_ISSUER/)
  assert.equal(shared.headers['set-cookie'], undefined)
  const given = [...provider.issued].filter((token) => issuerOf(token) === foreignIssuer)
  assert.equal(given.length, 1, 'under a key of the provider')
  const cookie = `loci_access_token=${given[0]}`
  assert.equal((await management.ask('GET /api/auth/token', { headers: { cookie } })).status, 401)
  provider.grantAudience = 'https://elsewhere.test'
  const foreign = (await exchange(management, await obtainCode(provider))).answer
  assert.deepEqual([foreign.status, foreign.error.code], [422, 'PROVIDER_TOKEN_UNUSABLE'])
  assert.match(foreign.error.message, /LOCI_OIDC_AUDIENCE/)
  provider.grantAudience = provider.audience
  provider.authorizedParty = provider.otherClient.id
  const another = (await exchange(management, await obtainCode(provider))).answer
  assert.deepEqual([another.status, another.error.code], [422, 'PROVIDER_TOKEN_UNUSABLE'])
  assert.match(another.error.message, /LOCI_OIDC_CLIENT_ID/)
  provider.authorizedParty = undefined
  provider.format = 'opaque'
  const opaque = (await exchange(management, await obtainCode(provider))).answer
  assert.deepEqual([opaque.status, opaque.error.code], [422, 'PROVIDER_TOKEN_UNUSABLE'])
  assert.equal(provider.calls.filter(({ what }) => what === 'POST /token/revocation').length, 4)
  assert.deepEqual(await management.sql('select from loci.sessions'), [])
})

function issuerOf(token: string): unknown {
  const [, payload] = token.split('.')
  return payload && token.startsWith('eyJ') ? JSON.parse(Buffer.from(payload, 'base64url').toString()).iss : undefined
}

test('a token that the provider gave another client is no session', async () => {
  await using world = await signInWorld()
  const { provider, management } = world
  await world.signIn()
  const { code, redirect_uri, code_verifier } = await obtainCode(provider, { client: provider.otherClient })
  const { id, secret } = provider.otherClient
  const answer = await fetch(`${provider.issuer}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}` },
    body: new URLSearchParams({ grant_type: 'authorization_code', code, redirect_uri, code_verifier }),
  })
  const { access_token, id_token } = (await answer.json()) as Record<string, string>
  for (const token of [access_token, id_token]) {
    const headers = { cookie: `loci_access_token=${token}` }
    assert.equal((await management.ask('GET /api/auth/token', { headers })).status, 401)
  }
})

test('an address that the provider has not verified signs nobody in', async () => {
  await using world = await signInWorld()
  world.provider.people.push({ sub: 'eve', email: 'alice@example.test', email_verified: false, name: 'Eve' })
  const { answer } = await exchange(world.management, await obtainCode(world.provider, { login: 'eve' }))
  assert.deepEqual([answer.status, answer.error.code], [403, 'FORBIDDEN'])
  assert.match(answer.error.message, /verif/i)
  assert.deepEqual(await world.management.sql('select from loci.users'), [])
})

// Mutant: the person looked up by address alone.
test('a person is who the provider says, and an address that is taken makes nobody somebody else', async () => {
  await using world = await signInWorld()
  const { management, provider } = world
  const party = await management.organization({ email: 'alice@example.test' })
  const organizationsOf = async (login: string) =>
    (await (await world.signIn(login)).ask('GET /api/auth/session')).json<{
      organizations: { id: string; name: string; role: string }[]
    }>().organizations
  for (let time = 0; time < 2; time += 1) {
    const [own, ...others] = await organizationsOf('alice')
    assert.deepEqual([own?.id, own?.name, own?.role, others], [party.organizationId, 'Acme', 'owner', []])
  }
  provider.people.push({ sub: 'mallory', email: 'alice@example.test', email_verified: true, name: 'Mallory' })
  assert.deepEqual(await organizationsOf('mallory'), [])
  assert.equal((await management.sql('select from loci.users')).length, 2)
})

// specification 185 186 187
test('logout ends the session everywhere at once, and at the provider', async () => {
  await using world = await signInWorld()
  const { provider } = world
  const browser = await world.signIn()
  const copy = browser.tab()
  const out = await browser.ask('POST /api/auth/logout', { body: {} })
  assert.deepEqual(out.json().revoked, { session: true, refresh_token: true })
  // Mutant: null after a real session.
  const url = new URL(String(out.json().sign_out_url))
  assert.deepEqual([url.origin, url.pathname], [provider.issuer, '/session/end'])
  assert.ok(!url.href.includes('eyJ'))
  for (const line of out.headers['set-cookie'] as string[]) assert.match(line, /=; Max-Age=0; Path=\//)
  assert.equal((await copy.ask('GET /api/auth/token')).status, 401)
  assert.equal((await copy.ask('GET /api/auth/session')).status, 401)
  const refused = await copy.ask('POST /api/auth/refresh', { body: {} })
  assert.deepEqual([refused.status, refused.error.details], [401, { reason: 'signed_out' }])
  const atProvider = await fetch(`${provider.issuer}/me`, { headers: { authorization: `Bearer ${copy.access}` } })
  assert.equal(atProvider.status, 401)
  assert.deepEqual(await world.management.sql('select sealed, sealed_with from loci.sessions'), [
    { sealed: null, sealed_with: null },
  ])
  assert.equal((await copy.ask('POST /api/auth/logout', { body: {} })).status, 200)
})

test('who signs out while the provider is away is signed out, and the provider is told when it is back', async () => {
  await using world = await signInWorld()
  const { provider, management } = world
  const browser = await world.signIn()
  provider.fault = 'stopped'
  const out = await browser.tab().ask('POST /api/auth/logout', { body: {} })
  assert.deepEqual([out.status, out.json().revoked], [200, { session: true, refresh_token: false }])
  assert.equal((await browser.ask('GET /api/auth/token')).status, 401)
  provider.fault = 'none'
  await management.sql(`update loci.sessions set revoke_at = now()`)
  await eventually(async () => (await management.sql('select from loci.sessions where sealed is null')).length === 1)
  assert.ok(provider.calls.some(({ what, status }) => what === 'POST /token/revocation' && status === 200))
})

test('what the provider has ended is no session to GET session, and a provider that is away logs nobody out', async () => {
  await using world = await signInWorld()
  const { provider } = world
  const browser = await world.signIn()
  for (const fault of ['stopped', 'error', 'garbage', 'silent'] as const) {
    provider.fault = fault
    const answer = await browser.ask('GET /api/auth/session')
    assert.deepEqual([answer.status, answer.error.code], [503, 'IDENTITY_PROVIDER_UNAVAILABLE'], fault)
    assert.ok(Number(answer.headers['retry-after']) > 0)
    assert.equal((await browser.ask('GET /api/auth/token')).status, 200)
    assert.notEqual((await browser.ask('GET /api/auth/get-session')).text, 'null')
  }
  provider.fault = 'none'
  assert.equal((await browser.ask('GET /api/auth/session')).status, 200)
})

test('userinfo is asked once in ten seconds, however many tabs ask', async () => {
  await using world = await signInWorld()
  const browser = await world.signIn()
  const before = world.provider.calls.filter(({ what }) => what === 'GET /me').length
  const answers = await Promise.all(Array.from({ length: 12 }, () => browser.tab().ask('GET /api/auth/session')))
  for (const { status } of answers) assert.equal(status, 200)
  assert.equal(world.provider.calls.filter(({ what }) => what === 'GET /me').length, before + 1)
})

// Mutant: get-session, or token, writes its answer to the log.
// specification 221
test('no secret of a session is in the log or, in clear, in the database', async () => {
  await using world = await signInWorld()
  const { management, provider } = world
  const code = await obtainCode(provider)
  const { browser } = await exchange(management, code)
  const first = browser.tab()
  for (const line of ['GET /api/auth/get-session', 'GET /api/auth/token', 'GET /api/auth/session'])
    assert.equal((await browser.ask(line)).status, 200)
  assert.equal((await browser.ask('POST /api/auth/refresh', { body: {} })).status, 200)
  provider.fault = 'garbage'
  await browser.ask('GET /api/auth/session')
  const canaries = [
    code.code,
    code.code_verifier,
    first.access,
    first.refresh,
    browser.access,
    browser.refresh,
    provider.client.secret,
  ]
  canaries.push(...provider.calls.flatMap(({ refreshToken }) => refreshToken ?? []))
  assert.ok(canaries.every((one) => one.length > 20) && canaries.length === 8)
  const rows = JSON.stringify([
    await management.sql('select * from loci.sessions'),
    await management.sql('select * from loci.session_tokens'),
    await management.sql('select * from loci.users'),
  ])
  for (const place of [rows, management.lines.join('\n')])
    for (const canary of canaries) assert.ok(!place.includes(canary), canary)
})

// The provider in another key set: rotation.
test('keys of the provider may change at any time, and the set is fetched once for it', async () => {
  await using provider = await startIdentityProvider()
  await using management = await testManagement({ settings: oidcSettings(provider) })
  const fetches = () => provider.calls.filter(({ what }) => what === 'GET /jwks').length
  const signIn = async (): Promise<TestAnswer> => (await exchange(management, await obtainCode(provider))).answer
  assert.equal((await signIn()).status, 200)
  const before = fetches()
  provider.rotateKeys()
  const answers = await Promise.all(Array.from({ length: 6 }, signIn))
  for (const { status, text } of answers) assert.equal(status, 200, text)
  assert.equal(fetches(), before + 1)
})

// Mutant: findSession() of app.ts that does not ask for `signIn`.
test('where sign-in was taken out of the settings, cookies of before open nothing', async () => {
  await using world = await signInWorld()
  const { management } = world
  await management.organization({ email: 'alice@example.test' })
  const browser = await world.signIn()
  const settings = { oidcIssuer: undefined, oidcClientId: undefined, oidcClientSecret: undefined }
  await using without = await testManagement({ replicaOf: management, settings })
  for (const path of ['/api/auth/session', '/api/auth/token', '/api/v1/services', '/api/v1/organizations']) {
    assert.equal((await browser.tab().ask(`GET ${path}`)).status, 200, path)
    assert.equal((await browser.tab().ask(`GET ${path}`, { url: without.url })).status, 401, path)
  }
  const none = await browser.tab().ask('GET /api/auth/get-session', { url: without.url })
  assert.deepEqual([none.status, none.json()], [200, null])
  assert.equal((await browser.tab().ask('POST /api/auth/refresh', { body: {}, url: without.url })).status, 401)
})
