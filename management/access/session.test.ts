import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openEventStream } from '@loci/chassis/testing/event-stream.ts'
import { HEADER } from '@loci/contract/headers.ts'
import { ROLES, SCOPES, type Scope } from '@loci/contract/roles.ts'
import { PEOPLE } from '../testing/identity-provider.ts'
import { type Browser, SAME_ORIGIN, signInWorld } from '../testing/sign-in.ts'

const [ALICE, BOB] = PEOPLE.map(({ email }) => email) as [string, string]

/** As a page of ours asks that has chosen an organization. */
const of = (organizationId: string) => ({ ...SAME_ORIGIN, [HEADER.organization]: organizationId })

// specification 210
test('a session acts in the organization that it names, in its only one, and in no other', async () => {
  await using world = await signInWorld()
  const { management } = world
  const own = await management.organization({ email: ALICE })
  const foreign = await management.organization({ name: 'Globex' })
  const alice = await world.signIn()
  assert.equal((await alice.ask('GET /api/v1/services')).status, 200)
  assert.equal((await alice.ask('GET /api/v1/services', { headers: of(own.organizationId) })).status, 200)
  const refused = await alice.ask('GET /api/v1/services', { headers: of(foreign.organizationId) })
  assert.deepEqual([refused.status, refused.error.code], [403, 'FORBIDDEN'])
  assert.equal((await alice.ask(`GET /api/v1/tenants/${foreign.tenantId}/status`)).status, 403)

  const second = await management.organization({ name: 'Initech' })
  await management.sql(
    `insert into loci.members (organization_id, user_id, role) select $1, id, 'viewer' from loci.users where email = $2`,
    [second.organizationId, ALICE],
  )
  const unsaid = await alice.ask('GET /api/v1/services')
  assert.deepEqual([unsaid.status, unsaid.error.code], [400, 'ORGANIZATION_REQUIRED'])
  assert.equal((await alice.ask('GET /api/v1/services', { headers: of(second.organizationId) })).status, 200)
  const body = { name: 'x' }
  assert.equal((await alice.ask('POST /api/v1/tenants', { body, headers: of(second.organizationId) })).status, 403)
  const made = await alice.ask('POST /api/v1/tenants', { body, headers: of(own.organizationId) })
  assert.equal(made.status, 201, made.text)
  const [entry] = await management.sql<{ actor: string }>(
    `select actor from loci.audit where action = 'tenant.make' and subject = $1`,
    [made.json().id],
  )
  assert.equal(entry?.actor, own.ownerId)
  const listed = await alice.ask('GET /api/v1/organizations')
  const names = listed.json<{ organizations: { name: string; role: string }[] }>().organizations
  assert.deepEqual(names.map(({ name, role }) => `${name} ${role}`).sort(), ['Acme owner', 'Initech viewer'])
})

test('somebody without an organization makes one, or joins by an invitation to the verified address', async () => {
  await using world = await signInWorld()
  const { management } = world
  const acme = await management.organization()
  const invite = async (email: string) => {
    const body = { email, role: 'member' }
    const made = await acme.ask(`POST /api/v1/organizations/${acme.organizationId}/invitations`, { body })
    return made.json<{ token: string }>().token
  }
  const [alice, bob] = [await world.signIn('alice'), await world.signIn('bob')]
  const nowhere = await alice.ask('GET /api/v1/services')
  assert.deepEqual([nowhere.status, nowhere.error.code], [400, 'ORGANIZATION_REQUIRED'])
  assert.deepEqual((await alice.ask('GET /api/v1/organizations')).json().organizations, [])

  const token = await invite(ALICE)
  assert.equal((await bob.ask('POST /api/v1/invitations/accept', { body: { token } })).status, 403)
  const fromElsewhere = { headers: { 'sec-fetch-site': 'cross-site' }, body: { token } }
  assert.equal((await alice.ask('POST /api/v1/invitations/accept', fromElsewhere)).error.code, 'ORIGIN_NOT_ALLOWED')
  const joined = await alice.ask('POST /api/v1/invitations/accept', { body: { token } })
  assert.deepEqual([joined.status, joined.json().role], [200, 'member'], joined.text)
  assert.equal((await alice.ask('GET /api/v1/services')).status, 200)

  const key = { ...SAME_ORIGIN, 'idempotency-key': 'found' }
  const [founded, again] = [
    await bob.ask('POST /api/v1/organizations', { body: { name: 'Globex' }, headers: key }),
    await bob.ask('POST /api/v1/organizations', {
      body: { name: 'Globex' },
      headers: { ...key, [HEADER.organization]: '' },
    }),
  ]
  assert.equal(founded.status, 201, founded.text)
  assert.equal(again.status, 403)
  assert.equal((await bob.ask('GET /api/v1/services')).status, 200)
})

// Mutant: `staff` of the session told as true, or by the role owner.
test('staff is who signed in with an address of staff, whatever organization, and the session says so', async () => {
  await using world = await signInWorld({ staffEmails: [BOB] })
  await world.management.organization({ email: ALICE })
  await world.management.organization({ email: BOB })
  const asked = async (login: string) => {
    const browser = await world.signIn(login)
    const { status } = await browser.ask('GET /api/v1/cells')
    return [status, (await browser.ask('GET /api/auth/session')).json().staff]
  }
  assert.deepEqual(await asked('bob'), [200, true])
  assert.deepEqual(await asked('alice'), [403, false])
})

/** One read or change for each scope, which is refused for nothing but the want of the scope. */
const NEEDING = (organizationId: string, tenantId: string): Record<Scope, [line: string, body?: object]> => ({
  'services:read': ['GET /api/v1/services'],
  'services:write': ['POST /api/v1/services', { service_type: 'kv', name: 'x' }],
  'tokens:write': [`POST /api/v1/tenants/${tenantId}/tokens`, {}],
  'tenants:read': ['GET /api/v1/tenants'],
  'tenants:write': ['POST /api/v1/tenants', { name: 'x' }],
  'billing:read': [`GET /api/v1/tenants/${tenantId}/billing/events`],
  'keys:write': ['GET /api/v1/oauth-clients'],
  'members:write': [
    `POST /api/v1/organizations/${organizationId}/invitations`,
    { email: 'x@y.example', role: 'viewer' },
  ],
  'audit:read': ['GET /api/v1/audit-events'],
  'usage:read': [`GET /api/v1/tenants/${tenantId}/usage`],
  'events:read': ['GET /api/v1/events?after=0'],
})

// Mutants: membershipJson() without `scopes` of the role; SCOPES for everybody.
test('a session tells, for each organization, what is refused to its role and what is not', async () => {
  await using world = await signInWorld()
  const acme = await world.management.organization({ email: ALICE })
  await world.management.organization({ name: 'Globex' })
  const alice = await world.signIn()
  const needing = Object.entries(NEEDING(acme.organizationId, acme.tenantId))
  assert.deepEqual(needing.map(([scope]) => scope).sort(), SCOPES.toSorted())

  for (const role of ROLES) {
    await world.management.sql('update loci.members set role = $1 where organization_id = $2', [
      role,
      acme.organizationId,
    ])
    const { organizations } = (await alice.ask('GET /api/auth/session')).json<{
      organizations: { id: string; role: string; scopes: string[] }[]
    }>()
    assert.deepEqual(
      organizations.map(({ id, role }) => ({ id, role })),
      [{ id: acme.organizationId, role }],
    )
    for (const [scope, [line, body]] of needing) {
      const { status, text } = await alice.ask(line, body ? { body } : {})
      const isTold = organizations[0]?.scopes.includes(scope)
      assert.equal(status === 403, !isTold, `${role} ${line} ${status} ${text}`)
    }
  }
})

test('a change of role holds from the next request on, and who was removed is nobody', async () => {
  await using world = await signInWorld()
  const { management } = world
  const acme = await management.organization()
  const { ownerId: userId } = await management.member(acme, 'admin', { email: ALICE })
  const alice = await world.signIn()
  const make = () => alice.ask('POST /api/v1/tenants', { body: { name: 'x' } })
  assert.equal((await make()).status, 201)
  const member = `/api/v1/organizations/${acme.organizationId}/members/${userId}`
  assert.equal((await acme.ask(`PATCH ${member}`, { body: { role: 'viewer' } })).status, 200)
  assert.equal((await make()).status, 403)
  assert.equal((await acme.ask(`DELETE ${member}`)).status, 200)
  assert.equal((await alice.ask('GET /api/v1/services')).error.code, 'ORGANIZATION_REQUIRED')
  assert.equal((await alice.ask('GET /api/auth/session')).status, 200)
})

// Mutant: `return true` for a session in isStill().
test('a stream of events ends within 5 s after its session does, or its role changed', async () => {
  await using world = await signInWorld()
  const { management } = world
  const acme = await management.organization()
  const { ownerId: userId } = await management.member(acme, 'admin', { email: ALICE })
  const follow = (browser: Browser) => {
    const cookie = `loci_access_token=${browser.access}`
    return openEventStream(`${management.url}/api/v1/events`, { cookie, ...SAME_ORIGIN })
  }
  const endings: ((browser: Browser) => Promise<unknown>)[] = [
    (browser) => browser.tab().ask('POST /api/auth/logout', { body: {} }),
    () =>
      acme.ask(`PATCH /api/v1/organizations/${acme.organizationId}/members/${userId}`, { body: { role: 'viewer' } }),
    () => management.sql('update loci.session_tokens set expires_at = now()'),
  ]
  for (const end of endings) {
    const alice = await world.signIn()
    const stream = await follow(alice)
    assert.equal(stream.status, 200)
    await end(alice)
    await stream.ended()
  }
})

// Mutant: `keys` in place of `subs` for partner credentials in takeBack().
test('what somebody made by a session ends when they leave the organization', async () => {
  await using world = await signInWorld()
  const { management } = world
  const acme = await management.organization()
  const { ownerId: userId } = await management.member(acme, 'admin', { email: ALICE })
  const { id: cellId } = await management.cell()
  const { id } = await management.instance(cellId, { organization: acme.organizationId, tenant: acme.tenantId })
  const alice = await world.signIn()
  const body = { name: 'x', database: 'default' }
  const credential = await alice.ask(`POST /api/v1/services/${id}/partner-credentials`, { body })
  const token = await alice.ask(`POST /api/v1/tenants/${acme.tenantId}/tokens`, { body: { service_id: id } })
  const key = await alice.ask('POST /api/v1/api-keys', { body: { name: 'x' } })
  for (const { status, text } of [credential, token, key]) assert.equal(status, 201, text)
  const left = await acme.ask(`DELETE /api/v1/organizations/${acme.organizationId}/members/${userId}`)
  assert.equal(left.status, 200, left.text)
  const alive = await management.sql(`select id from loci.partner_credentials where revoked_at is null
    union all select jti from loci.tokens where revoked_at is null union all select id from loci.api_keys where revoked_at is null and user_id = '${userId}'`)
  assert.deepEqual(alive, [])
})

test('an API key beside a cookie is what counts, and a cookie that comes twice is refused', async () => {
  await using world = await signInWorld()
  const { management } = world
  await management.organization({ email: ALICE })
  const other = await management.organization({ name: 'Globex' })
  const alice = await world.signIn()
  const cookie = `loci_access_token=${alice.access}`
  const both = await management.ask('GET /api/v1/organizations', { headers: { cookie, [HEADER.apiKey]: other.apiKey } })
  assert.deepEqual(
    both.json<{ organizations: { id: string }[] }>().organizations.map(({ id }) => id),
    [other.organizationId],
  )
  const twice = await management.ask('GET /api/v1/organizations', { headers: { cookie: `${cookie}; ${cookie}` } })
  assert.equal(twice.status, 400)
})

// Mutants: boundOf() with the organization for a session too; no bound for one.
test('streams of people are not counted by the plan, and each session has eight', async () => {
  await using world = await signInWorld({ billingWebhookSecrets: ['a-billing-secret-of-the-tests-1234'] })
  const { management } = world
  const acme = await management.organization({ email: ALICE, callsOf: 'free' })
  const [alice, again] = [await world.signIn(), await world.signIn()]
  const open = (headers: Record<string, string>) => openEventStream(`${management.url}/api/v1/events`, headers)
  const cookie = ({ access }: Browser) => ({ cookie: `loci_access_token=${access}`, ...SAME_ORIGIN })
  const streams = []
  for (let count = 0; count < 8; count += 1) streams.push(await open(cookie(alice)))
  const ofKey = { [HEADER.apiKey]: acme.apiKey }
  streams.push(await open(cookie(again)), await open(ofKey), await open(ofKey))
  assert.deepEqual(new Set(streams.map(({ status }) => status)), new Set([200]))
  assert.equal((await open(cookie(alice))).status, 429)
  assert.equal((await open(ofKey)).status, 429, 'the plan free has two')
  for (const stream of streams) stream.close()
})
