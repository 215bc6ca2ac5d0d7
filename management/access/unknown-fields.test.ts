import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { isClosed } from '@loci/chassis/field-names.ts'
import { ask } from '@loci/chassis/testing/request.ts'
import { HEADER } from '@loci/contract/headers.ts'
import {
  addParties,
  type Credentials,
  MATRIX_SETTINGS,
  makeCredentials,
  matrixPeople,
  type Parties,
} from '../testing/credentials.ts'
import { type IdentityProvider, startIdentityProvider } from '../testing/identity-provider.ts'
import { type TestManagement, testManagement } from '../testing/management.ts'
import { MATRIX } from '../testing/matrix.ts'
import { oidcSettings } from '../testing/sign-in.ts'
import { makeTargets, type Targets } from '../testing/targets.ts'

/**
 * The bodies that make or change a credential, a member, an invitation, a revocation or a limit: a field
 * that such a body does not know is 400. Every other body refuses misspelt names alone. The daemon's list:
 * daemon/access/unknown-fields.test.ts.
 */
const CLOSED = [
  'PATCH /api/v1/cells/{id}',
  'PATCH /api/v1/organizations/{id}/members/{user_id}',
  'PATCH /api/v1/services/{id}',
  'POST /api/auth/exchange',
  'POST /api/v1/api-keys',
  'POST /api/v1/api-keys/{id}/rotate',
  'POST /api/v1/cells',
  'POST /api/v1/cells/{id}/subservices/switch',
  'POST /api/v1/cli-logins',
  'POST /api/v1/cli-logins/{id}/approve',
  'POST /api/v1/cli-logins/{id}/deny',
  'POST /api/v1/invitations/accept',
  'POST /api/v1/oauth-clients',
  'POST /api/v1/organizations/{id}/invitations',
  'POST /api/v1/services/{id}/partner-credentials',
  'POST /api/v1/services/{id}/partner-credentials/{credential_id}/rotate',
  'POST /api/v1/tenants/{id}/tokens',
  'POST /api/v1/tenants/{id}/tokens/{token_id}/children',
]

/** And the queries that end one: what they drop would end less than was asked for. */
const CLOSED_QUERIES = ['DELETE /api/v1/api-keys/{id}', 'DELETE /api/v1/tenants/{id}/tokens/{token_id}']

/**
 * They ignore all unknown names: the payment provider's are its own, a cell may be newer than management, the daemon
 * looks at what the proxy passes on, a command line may send back all that it was told, and forms are our own pages'.
 */
const IGNORING = [
  'GET /cell/v1/feed',
  'GET /oauth/authorize',
  'PATCH /api/v1/services/{id}/proxy/{path...}',
  'POST /api/v1/cli-logins/{id}/poll',
  'POST /api/v1/services/{id}/proxy/{path...}',
  'POST /api/webhooks/billing',
  'POST /cell/v1/reports',
  'POST /cli-login',
  'POST /oauth/authorize',
  'POST /oauth/token',
  'POST /sign-out',
  'POST /signed-in/done',
  'PUT /api/v1/services/{id}/proxy/{path...}',
]

let management: TestManagement
let parties: Parties
let targets: Targets
let staffKey: string
let provider: IdentityProvider
let credentials: Credentials
before(async () => {
  provider = await startIdentityProvider({ people: matrixPeople() })
  management = await testManagement({ settings: { ...MATRIX_SETTINGS, ...oidcSettings(provider) } })
  parties = await addParties(management)
  targets = await makeTargets(management, parties)
  credentials = await makeCredentials(management, parties, targets.issued, provider)
  const line = 'GET /api/v1/cells'
  staffKey = String(credentials.headersOf('staff', { line, operation: 'staff' })[HEADER.apiKey])
})
after(async () => {
  await management?.[Symbol.asyncDispose]()
  await provider?.[Symbol.asyncDispose]()
})

// Mutant: `z.object(` for `z.strictObject(` in tokenDeleteQuery.
test('exactly the bodies that give somebody something are closed, and the queries that take it back', () => {
  const specs = management.management.routes.map(({ spec }) => spec)
  const closed = specs.filter(({ body, documentedBody }) => body && isClosed(documentedBody ?? body))
  assert.deepEqual(closed.map(({ method, path }) => `${method} ${path}`).sort(), CLOSED)
  const queries = specs.filter(({ query }) => query && isClosed(query))
  assert.deepEqual(queries.map(({ method, path }) => `${method} ${path}`).sort(), CLOSED_QUERIES)
  // The creation of a service parses its body itself, after the look for a known key: the last test of this file asks
  // it.
  const isRaw = ({ bodyRaw, path }: (typeof specs)[number]) => bodyRaw && path !== '/api/v1/services'
  const ignoring = specs.filter((spec) => spec.ignoresUnknownNames || isRaw(spec))
  assert.deepEqual(ignoring.map(({ method, path }) => `${method} ${path}`).sort(), IGNORING)
})

// Mutant: `.object(` for `.strictObject(` in one of the schemas.
test('an unknown field of a closed body is 400 and named, whatever else the body says', async () => {
  for (const name of CLOSED) {
    const row = MATRIX.rows[name]
    assert.ok(row, name)
    const line = name.replace(/\{(\w+)\}/g, (_, param: string) => row.params?.[param] ?? `{${param}}`)
    const filled = await targets.fill({ line, body: { ...(row.body ?? {}), narrower_please: true } })
    const key = { [HEADER.apiKey]: row.operation === 'staff' ? staffKey : parties.own.apiKey }
    const { operation } = row
    const headers = operation === 'session' ? credentials.headersOf('session', { line: filled.line, operation }) : key
    const { status, error } = await ask(management.url, filled.line, { body: filled.body, headers })
    assert.deepEqual([status, error.code], [400, 'VALIDATION_ERROR'], `${name}: ${error.message}`)
    assert.match(error.message, /unknown field `narrower_please`/, name)
  }
})

// Measured from outside: this body came back as all operations, on `default`, for a day.
test('a token asked for with scopes, database or ttl is refused and names ops, databases, ttl_seconds', async () => {
  const service = (await targets.fill({ id: '~service' })).id
  for (const [field, value, known] of [
    ['scopes', ['kv:read'], 'ops'],
    ['database', 'notes', 'databases'],
    ['ttl', 60, 'ttl_seconds'],
    ['ttlSeconds', 60, 'ttl_seconds'],
    ['depth', 0, undefined],
    ['operator', false, undefined],
  ] as const) {
    const body = { service_id: service, [field]: value }
    const { status, error } = await parties.own.ask(`POST /api/v1/tenants/${parties.own.tenantId}/tokens`, { body })
    assert.equal(status, 400, field)
    assert.ok(error.message.includes(`unknown field \`${field}\``), error.message)
    if (known) assert.ok(error.message.endsWith(`did you mean \`${known}\`?`), error.message)
  }
})

// Measured from outside: every scope, all tenants, no end.
test('an API key asked for with scope, tenants or expires_seconds is refused and names the known fields', async () => {
  const before = await management.sql('select id from loci.api_keys')
  for (const [field, value, known] of [
    ['scope', ['services:read'], 'scopes'],
    ['tenants', [parties.own.tenantId], 'tenant_ids'],
    ['expires_seconds', 60, 'expires_in'],
  ] as const) {
    const { status, error } = await parties.own.ask('POST /api/v1/api-keys', { body: { name: 'k', [field]: value } })
    assert.deepEqual([status, error.code], [400, 'VALIDATION_ERROR'], field)
    assert.ok(error.message.endsWith(`unknown field \`${field}\`; did you mean \`${known}\`?`), error.message)
  }
  assert.equal((await management.sql('select id from loci.api_keys')).length, before.length)
})

// Measured from outside: a free plan in the default region.
test('a service asked for with plna or regoin is refused; other unknown fields and query names are ignored', async () => {
  const create = (more: object) =>
    parties.own.ask('POST /api/v1/services', {
      body: { service_type: 'kv', name: 'n', tenant_id: parties.own.tenantId, ...more },
    })
  for (const [field, known] of [
    ['plna', 'plan'],
    ['regoin', 'region'],
    ['tenantId', 'tenant_id'],
  ] as const) {
    const { status, error } = await create({ [field]: 'pro' })
    assert.equal(status, 400, field)
    assert.ok(error.message.endsWith(`did you mean \`${known}\`?`), error.message)
  }
  assert.equal((await create({ colour: 'green', status: 'active', organization_id: 'x' })).status, 202)
  assert.equal((await create({ config: { plna: 1, anything: true } })).status, 202)
  assert.equal((await parties.own.ask('GET /api/v1/services?colour=green')).status, 200)
  const misspelt = await parties.own.ask('GET /api/v1/services?tenantId=x')
  assert.deepEqual([misspelt.status, misspelt.error.code], [400, 'VALIDATION_ERROR'])
})
