// What somebody else tries with the parts of OAuth that a client or a person holds. Each test says what it would open.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ask, type TestAnswer } from '@loci/chassis/testing/request.ts'
import type { Service } from '../services/store.ts'
import { PUBLIC_URL, type TestManagement, type TestParty, testManagement } from '../testing/management.ts'
import {
  askedBy,
  askToken,
  exchangeOf,
  fieldsOf,
  ledTo,
  REDIRECT_URI,
  sendForm,
  type Tokens,
} from '../testing/oauth.ts'
import { type Browser, type SignInWorld, signInWorld } from '../testing/sign-in.ts'

let world: SignInWorld
let management: TestManagement
let replica: TestManagement
let acme: TestParty
let service: Service
let alice: Browser
let clientId: string
before(async () => {
  world = await signInWorld()
  management = world.management
  replica = await testManagement({ replicaOf: management })
  acme = await management.organization({ email: 'alice@example.test' })
  service = await instanceAt('http://127.0.0.1:4410')
  alice = await world.signIn()
  clientId = await register(acme)
})
after(async () => {
  await replica?.[Symbol.asyncDispose]()
  await world?.[Symbol.asyncDispose]()
})

async function instanceAt(endpoint: string): Promise<Service> {
  const { id } = await management.cell()
  await management.sql('update loci.cells set endpoint = $2 where id = $1', [id, endpoint])
  return management.instance(id, { organization: acme.organizationId, tenant: acme.tenantId })
}

async function register(party: TestParty, redirect_uris = [REDIRECT_URI]): Promise<string> {
  const answer = await party.ask('POST /api/v1/oauth-clients', { body: { name: 'Notes', redirect_uris } })
  assert.equal(answer.status, 201, answer.text)
  return answer.json<{ id: string }>().id
}

async function allowed(asked = askedBy(clientId), change: Record<string, string | string[]> = {}) {
  const page = await alice.ask(asked.line)
  const chosen = { service: `${acme.organizationId}/${service.id}`, ...change }
  const code = ledTo(await sendForm(alice, fieldsOf(page, chosen))).searchParams.get('code') as string
  return { asked, code, exchange: exchangeOf(asked, code) }
}

const token = (fields: Record<string, string>, url = management.url) => askToken(url, fields)

const errorOf = (answer: TestAnswer) => [answer.status, answer.json<{ error: string }>().error]

// Mutant: the error sent to every client that an organization registered.
test('no link of ours leads to a stranger’s address without a decision: only people of the client’s organization are led', async () => {
  const evil = await register(await management.organization({ name: 'Evil' }), ['https://evil.example/phish'])
  const wrong = (id: string, redirect_uri: string) => askedBy(id, { redirect_uri, response_type: 'none' }).line
  for (const answer of [
    await alice.ask(wrong(evil, 'https://evil.example/phish')),
    await management.ask(wrong(evil, 'https://evil.example/phish')),
    await management.ask(wrong(clientId, REDIRECT_URI)),
  ])
    assert.deepEqual([answer.status, answer.headers.location], [400, undefined])
  assert.equal(ledTo(await alice.ask(wrong(clientId, REDIRECT_URI))).origin, new URL(REDIRECT_URI).origin)
})

// Mutant: isSignedIn not looked at.
test('nobody has documents fetched without a sign-in, and so nobody can keep the few that are fetched at a time busy', async () => {
  const { line } = askedBy('https://client.invalid/client.json')
  const stranger = await management.ask(line)
  assert.equal(stranger.status, 303)
  assert.ok(String(stranger.headers.location).startsWith('/sign-in?return_to=%2Foauth%2Fauthorize'))
  const signedIn = await alice.ask(line)
  assert.deepEqual([signedIn.status, signedIn.headers.location], [400, undefined])
  assert.ok(signedIn.text.includes('not known here'), signedIn.text)
})

// Mutant: HOST of redirect-uris.ts not held against it.
test('a redirect address whose host would mean something in the policy of the page is none', async () => {
  for (const uri of ['https://*.client.example/done', 'https://*/done', 'https://a;sandbox/x', 'https://a,b.example/x'])
    assert.equal(
      (await acme.ask('POST /api/v1/oauth-clients', { body: { name: 'x', redirect_uris: [uri] } })).status,
      400,
      uri,
    )
  const id = await register(acme, ['https://xn--mnchen-3ya.example/done', 'http://[::1]/done'])
  const page = await alice.ask(askedBy(id, { redirect_uri: 'https://xn--mnchen-3ya.example/done' }).line)
  assert.match(
    String(page.headers['content-security-policy']),
    /form-action 'self' https:\/\/xn--mnchen-3ya\.example(;|$)/,
  )
})

// Mutant: `asked` of allow() not looked at.
test('a client gets no right that it did not ask for, and a refresh widens nothing, whatever it asks for', async () => {
  const { exchange } = await allowed(askedBy(clientId, { scope: 'memory:read' }), {
    ops: ['memory:read', 'memory:delete', 'kv:write'],
  })
  const first = (await token({ ...exchange, scope: 'memory:read memory:delete' })).json<Tokens>()
  assert.equal(first.scope, 'memory:read')
  const fields = { grant_type: 'refresh_token', client_id: clientId, refresh_token: first.refresh_token }
  const second = (await token({ ...fields, scope: 'memory:read memory:delete operator' })).json<Tokens>()
  assert.equal(second.scope, 'memory:read')
})

// Mutant: the verifier not compared.
test('a code is worth nothing without the verifier: none, the challenge itself, or that of another request', async () => {
  const { query, verifier } = askedBy(clientId)
  for (const code_verifier of [String(query.code_challenge), verifier, '']) {
    const { asked, exchange } = await allowed()
    const given = code_verifier === query.code_challenge ? String(asked.query.code_challenge) : code_verifier
    assert.deepEqual(errorOf(await token({ ...exchange, code_verifier: given })), [400, 'invalid_grant'])
  }
  const { exchange } = await allowed()
  const { code_verifier: _, ...without } = exchange
  assert.deepEqual(errorOf(await token(without)), [400, 'invalid_request'])
  const other = await register(acme)
  assert.deepEqual(errorOf(await token({ ...exchange, client_id: other })), [400, 'invalid_grant'])
})

// Mutant: answerUrl() that appends.
test('an answer names us once, and has one code, even where the client’s own address has such parameters', async () => {
  const redirect_uri = 'https://client.example/done?iss=https%3A%2F%2Fevil.example&code=mine&state=own&kept=1'
  const id = await register(acme, [redirect_uri])
  const page = await alice.ask(askedBy(id, { redirect_uri }).line)
  for (const decision of ['allow', 'deny']) {
    const { searchParams } = ledTo(await sendForm(alice, fieldsOf(page, { decision })))
    assert.deepEqual(
      [searchParams.getAll('iss'), searchParams.getAll('state'), searchParams.getAll('kept')],
      [[PUBLIC_URL], ['the state'], ['1']],
    )
    assert.deepEqual(searchParams.getAll('code').length, 1)
  }
})

// Mutant: isResourceOf() left out of allow().
test('what was asked for at one address is not given for a service at another, and a token is for one resource', async () => {
  const elsewhere = await instanceAt('http://127.0.0.1:4420')
  const page = await alice.ask(askedBy(clientId).line)
  assert.ok(!page.text.includes(elsewhere.id))
  const confused = fieldsOf(page, { service: `${acme.organizationId}/${elsewhere.id}` })
  assert.equal((await sendForm(alice, confused)).status, 403)

  const { exchange } = await allowed()
  const twice = new URLSearchParams([...Object.entries(exchange), ['resource', 'http://127.0.0.1:4420/mcp']])
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const refused = await ask(management.url, 'POST /oauth/token', { body: String(twice), headers })
  assert.deepEqual(errorOf(refused), [400, 'invalid_request'])
  const { resource: _, ...fields } = exchange
  const { refresh_token } = (await token(fields)).json<Tokens>()
  const other = {
    grant_type: 'refresh_token',
    client_id: clientId,
    refresh_token,
    resource: 'http://127.0.0.1:4420/mcp',
  }
  assert.deepEqual(errorOf(await token(other)), [400, 'invalid_grant'])
})

// Mutant: lockGrant() without `for update`.
test('of two that come at once with one code, or one refresh token, at two processes, one is served, and the grant ends', async () => {
  const isEnded = async ({ refresh_token }: Tokens) =>
    errorOf(await token({ grant_type: 'refresh_token', client_id: clientId, refresh_token }))
  const twins = async (fields: Record<string, string>) => {
    const answers = await Promise.all([token(fields), token(fields, replica.url)])
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 400])
    return answers.find(({ status }) => status === 200)?.json<Tokens>() as Tokens
  }
  for (let round = 0; round < 2; round += 1) {
    assert.deepEqual(await isEnded(await twins((await allowed()).exchange)), [400, 'invalid_grant'])
    const { refresh_token } = (await token((await allowed()).exchange)).json<Tokens>()
    const fields = { grant_type: 'refresh_token', client_id: clientId, refresh_token }
    assert.deepEqual(await isEnded(await twins(fields)), [400, 'invalid_grant'])
  }
})

test('two forms of one page sent at once are two grants, each with its own code; none is sent by who signed out', async () => {
  const asked = askedBy(clientId)
  const fields = fieldsOf(await alice.ask(asked.line), { service: `${acme.organizationId}/${service.id}` })
  const answers = await Promise.all([sendForm(alice, fields), sendForm(alice, fields, replica.url)])
  const codes = answers.map((answer) => ledTo(answer).searchParams.get('code') as string)
  assert.notEqual(codes[0], codes[1])
  for (const code of codes) assert.equal((await token(exchangeOf(asked, code))).status, 200)

  const leaving = await world.signIn()
  const kept = fieldsOf(await leaving.ask(asked.line))
  const cookies = leaving.tab()
  assert.equal((await leaving.ask('POST /api/auth/logout', { body: {} })).status, 200)
  const late = await sendForm(cookies, kept)
  assert.deepEqual([late.status, late.headers.location], [303, '/sign-in'])
})
