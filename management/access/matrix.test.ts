import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { ApiError } from '@loci/chassis/api-error.ts'
import { open } from '@loci/chassis/probes.ts'
import { type Route, route } from '@loci/chassis/route.ts'
import { type MatrixRequest, matrixProblems } from '@loci/chassis/testing/matrix.ts'
import { ask, type TestAnswer } from '@loci/chassis/testing/request.ts'
import { testHttpServer } from '@loci/chassis/testing/server.ts'
import { healthResponse } from '@loci/contract/health.ts'
import { type IdType, newId } from '@loci/contract/ids.ts'
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
import { KINDS, type Kind } from '../testing/matrix-classes.ts'
import { oidcSettings } from '../testing/sign-in.ts'
import { makeTargets, type Targets } from '../testing/targets.ts'
import type { Caller } from './caller.ts'

let provider: IdentityProvider
let management: TestManagement
/** The same management seen from an address that no gateway has. */
let elsewhere: TestManagement
let parties: Parties
let targets: Targets
let credentials: Credentials

before(async () => {
  provider = await startIdentityProvider({ people: matrixPeople() })
  // The whole table takes longer than a token usually lives.
  provider.accessTokenS = 3_600
  management = await testManagement({ settings: { ...MATRIX_SETTINGS, ...oidcSettings(provider) } })
  elsewhere = await testManagement({ replicaOf: management, settings: { trustedGateways: ['10.255.255.255/32'] } })
  parties = await addParties(management)
  targets = await makeTargets(management, parties)
  credentials = await makeCredentials(management, parties, targets.issued, provider)
})
// The same few callers ask in every test, and on a fast machine more than they may in a minute.
beforeEach(() => management.sql('delete from loci.rate_limits'))
after(async () => {
  await elsewhere?.[Symbol.asyncDispose]()
  await management?.[Symbol.asyncDispose]()
  await provider?.[Symbol.asyncDispose]()
})

interface Heard extends MatrixRequest {
  kind: Kind
  answer: TestAnswer
}

function asker(url: string, heard: Heard[] = []) {
  return async (kind: Kind, { line: asked, body: given, operation }: MatrixRequest) => {
    const email = credentials.emailOf(kind)
    const { line, body } = await targets.fill({ line: asked, body: given }, email)
    const headers = credentials.headersOf(kind, { line, operation })
    const target = kind === 'gateway from another address' ? elsewhere.url : url
    const first = await ask(target, line, { headers, body })
    // Some hundred readers of the documents at one address are told to come back in a moment.
    const isSlowed = first.status === 429 && /^GET \/(docs|openapi\.json)$/.test(line)
    if (isSlowed) await setTimeout(1_000 * Number(first.headers['retry-after']))
    const answer = isSlowed ? await ask(target, line, { headers, body }) : first
    if (answer.status < 300) targets.spend()
    heard.push({ kind, line: asked, body, operation, answer })
    return answer
  }
}

/** Whose word the credential is; of those that are not here nobody may see anything. */
const PARTY_OF: Partial<Record<Kind, 'own' | 'other'>> = {
  session: 'own',
  'cookie from another site': 'own',
  'session of another organization': 'other',
  'session that names another organization': 'other',
  'role owner': 'own',
  'role admin': 'own',
  'role member': 'own',
  'role viewer': 'own',
  'API key with the scope': 'own',
  'API key without the scope': 'own',
  'API key limited to another tenant': 'own',
  'rotated API key inside its overlap': 'own',
  'gateway with proof': 'own',
  'cell key': 'own',
  'API key of another organization': 'other',
  'API key that names another organization': 'other',
  'gateway of another organization': 'other',
  'gateway that names staff': 'other',
  'forged x-consumer-* beside an API key': 'other',
  'staff scope without the address': 'other',
  'cell key of another cell': 'other',
}

/** Cells are nobody's, and several organizations may be in one. */
const ID = /\b(?:org|ten|svc|op|usr|key|cap|inv|ptr|evt)_[0-9a-z]{26}(?![0-9a-z])/g
/** What hangs on a tenant; the people and keys of an organization are the same for all its tenants. */
const OF_A_TENANT = /^(?:ten|svc|op|cap|ptr)_/

/** Every id in every row of every table that has the value in the column. */
async function idsWith(column: 'organization_id' | 'tenant_id', value: string): Promise<Set<string>> {
  const tables = await management.sql<{ name: string }>(
    `select c.table_name as name from information_schema.columns c join information_schema.tables t using (table_schema, table_name)
      where c.table_schema = 'loci' and c.column_name = $1 and t.table_type = 'BASE TABLE'`,
    [column],
  )
  assert.ok(tables.length > 5, `only ${tables.length} tables have a ${column}`)
  const rows = `select coalesce(string_agg(to_jsonb(t)::text, ' '), '') as text from`
  const texts = await Promise.all(
    tables.map(({ name }) => management.sql<{ text: string }>(`${rows} loci.${name} t where ${column} = $1`, [value])),
  )
  return new Set(texts.flatMap(([row]) => row?.text.match(ID) ?? []))
}

/** What an answer shows to whom it does not belong, one sentence each. */
async function leaksIn(heard: Heard[]): Promise<string[]> {
  const { own, other } = parties
  const ids = {
    own: await idsWith('organization_id', own.organizationId),
    other: await idsWith('organization_id', other.organizationId),
  }
  const ofTenant = await idsWith('tenant_id', own.tenantId)
  const secrets = [...Object.values(targets.issued), own.apiKey, other.apiKey, 'canary-gateway', 'canary-webhook']
  return heard.flatMap(({ kind, line, operation, answer }) => {
    const said = answer.text + JSON.stringify(answer.headers)
    const party = answer.status < 400 ? PARTY_OF[kind] : undefined
    const shown = said.match(ID) ?? []
    const foreign = (['own', 'other'] as const).filter((one) => one !== party && !isForStaff(kind, line, operation))
    const found = [
      ...foreign.flatMap((one) => shown.filter((id) => ids[one].has(id))),
      ...foreign.flatMap((one) => (said.includes(`canary-${one}`) ? [`canary-${one}`] : [])),
      ...secrets.filter((secret) => said.includes(secret)),
      ...(kind === 'API key limited to another tenant'
        ? shown.filter((id) => OF_A_TENANT.test(id) && ofTenant.has(id))
        : []),
    ]
    // Who names an instance is told that it is not his; he learns nothing that he did not say.
    const isRepeated = line === 'POST /cell/v1/reports' && kind === 'cell key of another cell'
    return found.length === 0 || isRepeated ? [] : [`${line} with '${kind}' shows ${found[0]}`]
  })
}

function isForStaff(kind: Kind, line: string, operation: string | undefined): boolean {
  const isStaff = kind === 'staff' || kind === 'session of staff' || kind === 'gateway that names staff'
  return isStaff && (operation === 'staff' || line.startsWith('GET /api/v1/audit-events?organization_id='))
}

test('every registered route answers every kind of credential as the reviewed table says, and shows nobody else’s data', async () => {
  const heard: Heard[] = []
  assert.deepEqual(await matrixProblems(MATRIX, management.management.routes, asker(management.url, heard)), [])
  assert.equal(heard.length, Object.keys(MATRIX.rows).length * KINDS.length)
  assert.deepEqual(await leaksIn(heard), [])
})

test('the canaries are there to be seen by whom they belong to', async () => {
  const { own, other } = parties
  const send = asker(management.url)
  const service = await targets.fill('~service')
  for (const [kind, line, operation, canary] of [
    ['role viewer', 'GET /api/v1/services', 'services:read', service],
    ['role viewer', 'GET /api/v1/services/~service', 'services:read', 'canary-own'],
    ['gateway with proof', 'GET /api/v1/tenants', 'tenants:read', own.tenantId],
    ['API key limited to another tenant', 'GET /api/v1/tenants', 'tenants:read', own.otherTenantId],
    ['API key of another organization', 'GET /api/v1/tenants', 'tenants:read', other.tenantId],
    ['role owner', 'GET /api/v1/organizations/~organization/members', 'tenants:read', 'canary-own-owner@example.com'],
    ['staff', 'GET /api/v1/audit-events?organization_id=~organization', 'audit:read', service],
    ['cell key', 'GET /cell/v1/feed', undefined, service],
  ] as const) {
    const answer = await send(kind, { line, operation, body: undefined })
    assert.ok(answer.text.includes(canary), `${line} with '${kind}': ${answer.text}`)
  }
  const ids = await idsWith('organization_id', own.organizationId)
  for (const id of [own.organizationId, own.tenantId, own.ownerId, service]) assert.ok(ids.has(id), id)
})

/** Who is somebody, and to whom the things of the rows do not belong. */
const OUTSIDERS = ['API key of another organization', 'API key limited to another tenant'] as const

/** Without what differs between any two answers. */
const wordsOf = ({ status, text }: TestAnswer) => `${status} ${text.replaceAll(ID, 'id').replaceAll(/req_\w+/g, 'req')}`

test('to whom a thing does not belong it is answered as if there were none, in the same words', async () => {
  let compared = 0
  for (const [line, { operation, params, body }] of Object.entries(MATRIX.rows)) {
    if (operation === undefined || !`${line}${JSON.stringify(params)}`.includes('~')) continue
    const asked = { line: line.replace(/\{(\w+)\}/g, (_, name) => params?.[name] ?? name), body }
    const real = await targets.fill(asked)
    for (const kind of OUTSIDERS) {
      // A key that is limited to tenants knows its organization.
      const known = kind === 'API key limited to another tenant' ? parties.own.organizationId : undefined
      const other = (id: string) => (id === known ? id : newId(id.split('_')[0] as IdType))
      const fake: typeof real = JSON.parse(JSON.stringify(real).replaceAll(ID, other))
      const [theirs, none] = await Promise.all(
        [real, fake].map((request) => {
          const headers = credentials.headersOf(kind, { line: request.line, operation })
          return ask(management.url, request.line, { headers, body: request.body })
        }),
      )
      assert.ok(theirs && none && theirs.status >= 400, line)
      assert.equal(wordsOf(theirs), wordsOf(none), `${line} with '${kind}'`)
      compared += 1
    }
  }
  assert.ok(compared > 60, `only ${compared} pairs`)
})

test('an id of ours inside a path of theirs opens nothing', async () => {
  const { own, other } = parties
  const inTenant = (id: string) => [
    [`POST /api/v1/tenants/${id}/tokens`, { service_id: '~service' }],
    [`POST /api/v1/tenants/${id}/tokens/~token/children`, { jti: 'x', exp: Math.floor(Date.now() / 1000) + 600 }],
    [`DELETE /api/v1/tenants/${id}/tokens/~token`],
  ]
  const theirs = [
    ...inTenant(other.tenantId),
    [`PATCH /api/v1/organizations/${other.organizationId}/members/~member`, { role: 'viewer' }],
    [`DELETE /api/v1/organizations/${other.organizationId}/members/~member`],
    [`DELETE /api/v1/organizations/${other.organizationId}/invitations/~doomedInvitation`],
    [`DELETE /api/v1/services/${other.serviceId}/partner-credentials/~credential`],
    [`POST /api/v1/services/${other.serviceId}/partner-credentials/~credential/rotate`, {}],
  ]
  for (const [kind, lines] of [
    [OUTSIDERS[0], theirs],
    [OUTSIDERS[1], inTenant(own.otherTenantId)],
  ] as const) {
    const heard: Heard[] = []
    for (const [line, body] of lines as [string, Record<string, unknown>?][]) {
      const answer = await asker(management.url, heard)(kind, { line, body, operation: undefined })
      assert.deepEqual([answer.status, answer.error.code], [404, 'NOT_FOUND'], `${line} with '${kind}'`)
    }
    const line = `GET /api/v1/tenants/${kind === OUTSIDERS[0] ? other.tenantId : own.otherTenantId}/tokens?service_id=~service`
    const listed = await asker(management.url, heard)(kind, { line, body: undefined, operation: undefined })
    assert.deepEqual(listed.json().tokens, [], line)
    assert.deepEqual(await leaksIn(heard), [])
  }
})

/** The routes with one of them changed, on a server of their own: what a mistake in a feature would make. */
async function problemsWith(changed: Route, heard: Heard[] = []): Promise<string[]> {
  await using server = await testHttpServer([changed], { letterCase: 'snake' })
  const { method, path } = changed.spec
  const rows = Object.entries(MATRIX.rows).filter(([line]) => line.split('?')[0] === `${method} ${path}`)
  return await matrixProblems({ ...MATRIX, rows: Object.fromEntries(rows) }, [changed], asker(server.url, heard))
}

function routeOf(line: string): Route {
  return management.management.routes.find(({ spec }) => `${spec.method} ${spec.path}` === line) as Route
}

const LIVE = 'GET /health/live'
const onlyLive = { ...MATRIX, rows: { [LIVE]: MATRIX.rows[LIVE]! } }

test('a route that nobody reviewed is found', async () => {
  const answers = { 200: healthResponse }
  const extra = route(
    { method: 'GET', path: '/api/v1/extra', access: open, summary: 's', tag: 't', answers },
    () => ({}),
  )
  assert.deepEqual(await matrixProblems(onlyLive, [routeOf(LIVE), extra], asker(management.url)), [
    'GET /api/v1/extra is registered and has no row: review who may call it and add one',
  ])
})

test('a row whose route is gone is found', async () => {
  assert.deepEqual(await matrixProblems(onlyLive, [], asker(management.url)), [
    'GET /health/live has a row and no route: delete the row',
  ])
})

test('an open route that looks at a credential all the same is found', async () => {
  const live = routeOf(LIVE)
  const curious = {
    ...open,
    authorize({ headers }: { headers: Record<string, unknown> }) {
      if (headers.cookie) throw new ApiError('UNAUTHENTICATED', 'no')
      return undefined
    },
  }
  const withCookies = KINDS.filter((kind) => /cookie|session/.test(kind))
  assert.deepEqual(
    await problemsWith(route({ ...live.spec, access: curious }, live.handle)),
    withCookies.map((kind) => `GET /health/live with '${kind}': expected as none, came 401 UNAUTHENTICATED`),
  )
})

test('a route whose scope check was removed is found', async () => {
  const patch = routeOf('PATCH /api/v1/tenants/{id}')
  // Of a route that takes any caller: who it is, and not what it may do.
  const { authorize } = routeOf('GET /api/v1/organizations').spec.access
  const access = { ...patch.spec.access, authorize }
  assert.deepEqual(
    await problemsWith(route({ ...patch.spec, access }, patch.handle)),
    ['role member', 'role viewer', 'API key without the scope'].map(
      (kind) => `PATCH /api/v1/tenants/{id} with '${kind}': expected 403 FORBIDDEN, came 200`,
    ),
  )
})

test('a route that asks for another scope than the reviewed one is found', async () => {
  const patch = routeOf('PATCH /api/v1/tenants/{id}')
  const { access } = routeOf('GET /api/v1/tenants').spec
  assert.deepEqual(await problemsWith(route({ ...patch.spec, access }, patch.handle)), [
    'PATCH /api/v1/tenants/{id} is reviewed as caller with tenants:write and registered as caller with tenants:read',
  ])
})

test('a handler that takes the organization from a header is found, by what it answers and by what it shows', async () => {
  for (const [header, kind] of [
    ['x-consumer-organization', 'forged x-consumer-* beside an API key'],
    ['x-loci-organization', 'API key that names another organization'],
  ] as const) {
    for (const [line, problems] of [
      ['GET /api/v1/services/{id}', 1],
      ['GET /api/v1/tenants', 0],
    ] as const) {
      const { spec, handle } = routeOf(line)
      // Access would refuse this one by itself, so the mutant is blind there too.
      const isSeen = header === 'x-loci-organization'
      const authorize: typeof spec.access.authorize = ({ headers, ...arrival }) =>
        spec.access.authorize({ ...arrival, headers: isSeen ? { ...headers, [header]: undefined } : headers })
      const careless = route({ ...spec, access: { ...spec.access, authorize } }, (call) => {
        const caller = call.caller as Caller
        const organizationId = String(call.headers[header] ?? caller.organizationId)
        return handle({ ...call, caller: { ...caller, organizationId } } as never)
      })
      const heard: Heard[] = []
      const found = (await problemsWith(careless, heard)).filter((text) => text.includes('came 200'))
      assert.ok(found.length >= problems && found.every((text) => text.includes(`'${kind}'`)), `${found}`)
      const leak = `${line.replace('{id}', '~service')} with '${kind}' shows `
      assert.ok(
        (await leaksIn(heard)).some((text) => text.startsWith(leak)),
        leak,
      )
    }
  }
})

test('a handler that forgets the limit of a key to its tenants is found', async () => {
  const { spec, handle } = routeOf('GET /api/v1/tenants')
  const careless = route(spec, (call) =>
    handle({ ...call, caller: { ...(call.caller as Caller), tenantIds: null } } as never),
  )
  const heard: Heard[] = []
  assert.deepEqual(await problemsWith(careless, heard), [])
  const [leak] = await leaksIn(heard)
  assert.equal(leak, `GET /api/v1/tenants with 'API key limited to another tenant' shows ${parties.own.tenantId}`)
})

test('a kind of credential that a class says nothing about is found', async () => {
  const { 'garbage cookie': _, ...rest } = MATRIX.expected.open!
  assert.deepEqual(
    await matrixProblems({ ...onlyLive, expected: { open: rest } }, [routeOf(LIVE)], asker(management.url)),
    ["GET /health/live: the class open has no expectation for 'garbage cookie'"],
  )
})
