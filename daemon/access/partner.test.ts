import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { createFailures } from '@loci/chassis/failures.ts'
import { createLastUses } from '@loci/chassis/last-uses.ts'
import { route } from '@loci/chassis/route.ts'
import { ask } from '@loci/chassis/testing/request.ts'
import { testHttpServer } from '@loci/chassis/testing/server.ts'
import { newId } from '@loci/contract/ids.ts'
import { formatSecretToken } from '@loci/contract/secret-token.ts'
import { anyObject } from '@loci/contract/wire.ts'
import { AGELESS } from '../testing/ageless.ts'
import { createActivity } from './activity.ts'
import { createAuthority, type Instance, type PartnerCredential } from './authority.ts'
import { partnerAccess } from './partner.ts'
import { createRates } from './rates.ts'
import { servedBy } from './served.ts'

const LIMITS = { databases: 1, records: 1, bytes: 1, requests_per_second: 1_000, burst: 2_000, streams: 1 }
const INSTANCE: Instance = {
  id: 'svc_a',
  organizationId: 'org_a',
  tenantId: 'ten_a',
  serviceType: 'memory',
  plan: 'pro',
  state: 'active',
  stateReason: null,
  heldUntilMs: null,
  limits: LIMITS,
}

function newSecretToken(): { id: string; token: string } {
  const id = newId('ptr')
  return { id, token: formatSecretToken('ptr', id, randomBytes(32).toString('base64url')) }
}

/** A server with one route of each kind that partners have, and a credential for it. */
async function partnerServer({
  credential = {},
  instance = {},
}: {
  credential?: Partial<PartnerCredential>
  instance?: Partial<Instance>
} = {}) {
  const { id, token } = newSecretToken()
  const known: PartnerCredential = {
    id,
    instanceId: 'svc_a',
    organizationId: 'org_a',
    tenantId: 'ten_a',
    partner: 'crm',
    database: 'notes',
    projectionClasses: ['event'],
    routes: ['projections'],
    digest: createHash('sha256').update(token).digest(),
    state: 'active',
    expiresAt: null,
    ...credential,
  }
  const stored = { credential: known as PartnerCredential | undefined, hasInstance: true, looks: 0 }
  const authority = createAuthority({
    loadInstance: async (asked) => (asked === 'svc_a' && stored.hasInstance ? { ...INSTANCE, ...instance } : undefined),
    async loadPartnerCredential(asked) {
      stored.looks += 1
      return asked === id ? stored.credential : undefined
    },
    ...AGELESS,
  })
  const partner = partnerAccess({
    authority,
    failures: createFailures(1_000),
    uses: createLastUses(),
    rates: createRates(),
    activity: createActivity(),
    requireServed: servedBy(authority, 86_400),
  })
  const answers = { 200: anyObject }
  const server = await testHttpServer([
    route(
      { method: 'POST', path: '/projections', access: partner('projections'), summary: 's', tag: 't', answers },
      ({ caller, headers }) => {
        if (headers['test-class'] !== undefined) caller.requireClass(String(headers['test-class']))
        return { caller: { ...caller, instance: caller.instance.id } }
      },
    ),
    route({ method: 'POST', path: '/advice', access: partner('advice'), summary: 's', tag: 't', answers }, () => ({})),
  ])
  const post = (path: string, headers: Record<string, string> = {}) =>
    ask(server.url, `POST ${path}`, { headers: { authorization: `Bearer ${token}`, ...headers } })
  return { ...server, authority, id, known, stored, token, post }
}

test('a partner credential opens its route, and the handler learns partner, instance and database from it alone', async () => {
  await using server = await partnerServer()
  const answer = await server.post('/projections', { 'x-loci-service': 'svc_a', 'x-loci-database': 'notes' })
  assert.equal(answer.status, 200)
  const { caller } = answer.json<{ caller: Record<string, unknown> }>()
  assert.deepEqual([caller.instance, caller.database, caller.partner], ['svc_a', 'notes', 'crm'])
})

test('a route that the credential was not issued for is refused by name', async () => {
  await using server = await partnerServer()
  const { status, error } = await server.post('/advice')
  assert.deepEqual([status, error.code, error.details], [403, 'OPERATION_NOT_ALLOWED', { operation: 'advice' }])
})

// Mutant: one sentence for both: who sent a revoked credential is told to send one.
test('a refusal says whether a credential was missing or does not count, and what it is good for', async () => {
  await using server = await partnerServer()
  const missing = await ask(server.url, 'POST /projections')
  assert.match(missing.error.message, /^This route needs a partner credential .*partner-credentials\.$/)
  const unknown = await server.post('/projections', { authorization: `Bearer ${newSecretToken().token}` })
  assert.match(unknown.error.message, /^The partner credential .* is unknown, expired or revoked/)
  const otherClass = await server.post('/projections', { 'test-class': 'fact' })
  assert.match(otherClass.error.message, /does not allow projections of the class fact, only event\.$/)
})

// specification 111
test('another secret, another place, another scheme, or none is 401', async () => {
  await using server = await partnerServer()
  const other = newSecretToken().token
  const half = server.token.slice(0, -3)
  for (const authorization of [
    `Bearer ${other}`,
    `Bearer ${half}`,
    `Bearer ${half}aaa`,
    server.token,
    `Basic ${server.token}`,
    `bearer ${server.token}`,
    '',
    'Bearer loci_ptr_',
  ])
    assert.equal((await server.post('/projections', { authorization })).status, 401, authorization.slice(0, 20))
  assert.equal(
    (await ask(server.url, 'POST /projections', { headers: { 'x-loci-capability': server.token } })).status,
    401,
  )
})

test('a revoked or expired credential, and one of a deleted instance, is 401', async () => {
  for (const change of [
    { credential: { state: 'revoked' as const } },
    { credential: { expiresAt: new Date(Date.now() - 1) } },
    { instance: { state: 'deleted' as const } },
    { credential: { instanceId: 'svc_gone' } },
  ]) {
    await using server = await partnerServer(change)
    assert.equal((await server.post('/projections')).status, 401, JSON.stringify(change))
  }
})

// Mutants: a miss is remembered (the second is 401); no misses.delete() in loadPartner() (the same, by its instance).
test('what is 401 for a credential that is not in the cell yet is 200 once it is there, before any poll', async () => {
  await using server = await partnerServer()
  const { authority, known, stored } = server
  Object.assign(stored, { credential: undefined, hasInstance: false })
  assert.equal((await server.post('/projections')).status, 401)
  assert.equal(await authority.findInstance('svc_a'), undefined, 'remembered for a second')
  Object.assign(stored, { credential: known, hasInstance: true })
  assert.equal((await server.post('/projections')).status, 200)
})

// Mutants: findPartnerCredential() that answers what is cached, good or not (the new secret is 401); or that loads
// always (each request is a look).
test('a new secret is good at once where the old one is cached, and what is good and cached costs no look', async () => {
  await using server = await partnerServer()
  const { id, known, stored } = server
  for (let n = 0; n < 3; n += 1) assert.equal((await server.post('/projections')).status, 200)
  assert.equal(stored.looks, 1)
  const token = formatSecretToken('ptr', id, randomBytes(32).toString('base64url'))
  stored.credential = { ...known, digest: createHash('sha256').update(token).digest() }
  assert.equal((await server.post('/projections', { authorization: `Bearer ${token}` })).status, 200)
  assert.equal((await server.post('/projections')).status, 401, 'the old one, as soon as the new one was seen')
})

test('identity headers and the database must equal the credential’s', async () => {
  await using server = await partnerServer()
  for (const [header, code] of [
    ['x-loci-organization', 'IDENTITY_MISMATCH'],
    ['x-loci-tenant', 'IDENTITY_MISMATCH'],
    ['x-loci-service', 'IDENTITY_MISMATCH'],
    ['x-loci-database', 'DATABASE_MISMATCH'],
  ] as const) {
    const { status, error } = await server.post('/projections', { [header]: 'other' })
    assert.deepEqual([status, error.code], [403, code], header)
  }
})

// Mutant: requireClass() that returns at once.
test('a class of projections that the credential was not issued for is refused by name', async () => {
  await using server = await partnerServer()
  assert.equal((await server.post('/projections', { 'test-class': 'event' })).status, 200)
  const { status, error } = await server.post('/projections', { 'test-class': 'fact' })
  assert.deepEqual([status, error.code, error.details], [403, 'OPERATION_NOT_ALLOWED', { operation: 'fact' }])
})

// What a suspended instance still takes from a partner: served.test.ts.
test('a service of type kv has no routes for partners', async () => {
  const credential = { routes: ['projections', 'advice'] }
  await using server = await partnerServer({ credential, instance: { serviceType: 'kv' } })
  for (const path of ['/projections', '/advice'])
    assert.deepEqual((await server.post(path)).error.code, 'FORBIDDEN', path)
})
