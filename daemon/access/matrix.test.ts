import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { appendAudit } from '@loci/acts/audit/store.ts'
import { open } from '@loci/chassis/probes.ts'
import { type Access, type Route, route } from '@loci/chassis/route.ts'
import { type MatrixRequest, matrixProblems } from '@loci/chassis/testing/matrix.ts'
import { type AskOptions, ask, type TestAnswer } from '@loci/chassis/testing/request.ts'
import { testHttpServer } from '@loci/chassis/testing/server.ts'
import { healthResponse } from '@loci/contract/health.ts'
import { type TestAuthority, testAuthority } from '../testing/authority.ts'
import { addParties, type Credentials, makeCredentials, type Parties } from '../testing/credentials.ts'
import { type TestDaemon, testDaemon } from '../testing/daemon.ts'
import { KEY, type Kind, MATRIX } from '../testing/matrix.ts'
import { PROBE_ROWS, probeRoutes } from '../testing/probes.ts'

let daemon: TestDaemon
/** The same cell seen from an address that is not on the allow-list. */
let elsewhere: TestDaemon
let authority: TestAuthority
let parties: Parties
let credentials: Credentials

type Party = keyof Parties

/** In each instance: an entry, and an act in its audit. */
const CANARIES: Record<Party, string> = {
  own: 'canary-own-4f1d',
  sibling: 'canary-sibling-a02c',
  neighbour: 'canary-neighbour-77be',
  stranger: 'canary-stranger-c3e9',
  suspended: 'canary-suspended-d41e',
  plain: 'canary-plain-5b60',
}
/** A database of ours that no credential of the matrix covers. */
const HIDDEN = 'canary-hidden-19d8'

/** Whose instance the credential is for; the others are all ours. */
const PARTY_OF: Partial<Record<Kind, Party>> = {
  'other instance of the tenant': 'sibling',
  'other tenant': 'neighbour',
  'other organization': 'stranger',
  'suspended instance': 'suspended',
  'service type kv': 'plain',
}

before(async () => {
  daemon = await testDaemon()
  elsewhere = await testDaemon({ replicaOf: daemon, settings: { adminAllowlist: ['10.255.255.255/32'] } })
  authority = await testAuthority(daemon)
  parties = await addParties(authority)
  credentials = await makeCredentials(authority, parties, daemon.adminToken)
  for (const party of Object.keys(CANARIES) as Party[]) await plantCanaries(party)
  await parties.suspended.change({ state: 'suspended', state_reason: 'suspended' })
})
after(async () => {
  await authority?.[Symbol.asyncDispose]()
  await elsewhere?.[Symbol.asyncDispose]()
  await daemon?.[Symbol.asyncDispose]()
})

async function plantCanaries(party: Party): Promise<void> {
  const { svc, root, call } = parties[party]
  const token = root({ ks: ['kv/*'] })
  const value = CANARIES[party]
  if (party !== 'plain') {
    const slot = await call(
      root({ ops: ['wm:write'], ks: ['working-memory/*'] }),
      `PUT /v1/working-memory/slots/${KEY}`,
      {
        body: { value },
      },
    )
    assert.equal(slot.status, 200, slot.text)
  }
  for (const [database, key] of party === 'own'
    ? [['default', KEY] as const, [HIDDEN, HIDDEN] as const]
    : [['default', KEY] as const]) {
    const put = await call(token, `PUT /v1/kv/entries/${key}`, {
      body: { value },
      headers: { 'x-loci-database': database },
    })
    assert.equal(put.status, 200, put.text)
  }
  await appendAudit(authority.pool, {
    chain: svc,
    actor: 'test',
    action: 'test.act',
    subject: value,
    detail: {},
  })
}

/** Any object is taken there, and the answer has what was sent: the foreign id that the caller wrote himself. */
const ECHOES = ['PUT /v1/working-memory/config', 'PUT /v1/cognitive/config']

/** An operator's rights are of the whole instance: the names of all its databases are his to see. */
const LISTS_ALL = ['GET /v1/databases']

function asker(url: string, leaks: string[] = [], elsewhereUrl = elsewhere.url) {
  return async (kind: Kind, request: MatrixRequest) => {
    const at = kind === 'admin token from another address' ? elsewhereUrl : url
    const answer = await askWith(at, kind, request)
    const isEcho = kind === 'foreign body namespace' && ECHOES.includes(request.line)
    const leak = isEcho ? undefined : leakIn(kind, answer, LISTS_ALL.includes(request.line.split('?')[0] as string))
    if (leak) leaks.push(`${request.line} with '${kind}' shows ${leak}`)
    return answer
  }
}

/** The documents have a rate by address, and the matrix asks for them from one address once per kind of credential. */
const DOCUMENTS = /^GET \/(docs|openapi\.json)(\?|$)/
const DOCUMENT_PATIENCE_MS = 120_000

/** Asks a document again when its rate refused, after the time that the answer names. */
async function askPatiently(at: string, line: string, options: AskOptions): Promise<TestAnswer> {
  const until = performance.now() + DOCUMENT_PATIENCE_MS
  let answer = await ask(at, line, options)
  while (answer.status === 429 && DOCUMENTS.test(line) && performance.now() < until) {
    await setTimeout(1_000 * Number(answer.headers['retry-after']))
    answer = await ask(at, line, options)
  }
  return answer
}

function askWith(
  at: string,
  kind: Kind,
  { line, body, operation, secondOperation }: MatrixRequest,
): Promise<TestAnswer> {
  const headers = credentials(kind, operation, secondOperation)
  if (kind !== 'foreign body namespace') return askPatiently(at, line, { headers, body, beginning: true })
  const { org, ten, svc } = parties.stranger
  const claim = `${org}/${ten}/${svc}/default`
  if (body) return ask(at, line, { headers, body: { ...body, namespace: claim, service: svc, tenant: ten } })
  return askPatiently(at, `${line}${line.includes('?') ? '&' : '?'}namespace=${encodeURIComponent(claim)}`, {
    headers,
    beginning: true,
  })
}

/** Whatever is of another instance than the credential's, and of any instance when the request was refused. */
function leakIn(kind: Kind, { status, text, headers }: TestAnswer, isOfAll = false): string | undefined {
  const said = text + JSON.stringify(headers)
  const party = PARTY_OF[kind] ?? (kind === 'partner key of another instance' ? 'stranger' : 'own')
  const foreign = (Object.keys(CANARIES) as Party[]).filter((one) => one !== party || status >= 400)
  const hidden = isOfAll && status < 400 && party === 'own' ? [] : [HIDDEN]
  return [...hidden, ...foreign.flatMap((one) => [CANARIES[one], parties[one].svc])].find((text) => said.includes(text))
}

const anyone: Access<unknown> = { ...open, authorize: () => ({ name: 'anyone' }) }
const info = { version: '1', uptime: 1, build: 'release', product: 'loci', meaning: '' }

/** The daemon's routes with one of them changed, on a server of their own: what a mistake in app.ts would make. */
async function problemsWith(routes: Route[], matrix = MATRIX): Promise<string[]> {
  await using server = await testHttpServer(routes)
  return await matrixProblems(matrix, routes, asker(server.url))
}

const systemInfo = ({ spec }: Route) => spec.path === '/v1/system/info'
const onlySystemInfo = { ...MATRIX, rows: { 'GET /v1/system/info': MATRIX.rows['GET /v1/system/info']! } }

test('every registered route answers every kind of credential as the reviewed table says, and shows nobody else’s data', async () => {
  const leaks: string[] = []
  assert.deepEqual(await matrixProblems(MATRIX, daemon.daemon.routes, asker(daemon.url, leaks)), [])
  assert.deepEqual(leaks, [])
})

// Mutants: `return` first in requireServed(), in requireClass() or in requireServiceType(); `operations.slice(0, 1)` in
// requireOperations(); `domains.slice(0, 1).find` in databaseOf(); operator() with the effect `operate`.
test('routes of kinds that no feature has yet answer every kind of credential as the reviewed table says', async () => {
  const routes = probeRoutes(daemon.daemon.access)
  await using server = await testHttpServer(routes)
  await using other = await testHttpServer(probeRoutes(elsewhere.daemon.access))
  const leaks: string[] = []
  const matrix = { ...MATRIX, rows: PROBE_ROWS }
  assert.deepEqual(await matrixProblems(matrix, routes, asker(server.url, leaks, other.url)), [])
  assert.deepEqual(leaks, [])
})

test('the canaries are there to be seen by whom they belong to', async () => {
  for (const [kind, party] of [['exact op and database', 'own'], ...Object.entries(PARTY_OF)] as [Kind, Party][]) {
    for (const [line, operation] of [
      [`GET /v1/kv/entries/${KEY}`, 'kv:read'],
      ['GET /v1/kv/entries', 'kv:read'],
      ['GET /v1/audit', 'operator'],
      ['GET /v1/working-memory/slots', 'wm:read'],
      [`GET /v1/working-memory/slots/${KEY}`, 'wm:read'],
      [`GET /v1/working-memory/slots/${KEY}/history`, 'wm:read'],
    ] as const) {
      if (party === 'plain' && operation === 'wm:read') continue
      const answer = await askWith(daemon.url, kind, { line, operation, body: undefined })
      assert.ok(answer.text.includes(CANARIES[party]), `${line} with '${kind}': ${answer.text}`)
    }
  }
  const headers = { 'x-loci-capability': parties.own.root({ ks: ['kv/*'] }) }
  assert.ok((await daemon.get('/v1/kv/health', headers)).text.includes(HIDDEN))
})

test('a route that answers with another instance’s data is found', async () => {
  const list = daemon.daemon.routes.find(({ spec }) => spec.method === 'GET' && spec.path === '/v1/kv/entries')!
  const careless = route(list.spec, (call) =>
    list.handle({
      ...call,
      countRead: () => undefined,
      caller: { ...(call.caller as object), instance: { id: parties.own.svc } },
    } as never),
  )
  await using server = await testHttpServer([careless])
  const leaks: string[] = []
  const matrix = { ...MATRIX, rows: { 'GET /v1/kv/entries': MATRIX.rows['GET /v1/kv/entries']! } }
  assert.deepEqual(await matrixProblems(matrix, [careless], asker(server.url, leaks)), [])
  assert.deepEqual(
    leaks,
    Object.keys(PARTY_OF).map((kind) => `GET /v1/kv/entries with '${kind}' shows ${CANARIES.own}`),
  )
})

test('a route that nobody reviewed is found', async () => {
  const extra = route(
    { method: 'GET', path: '/v1/extra', access: open, summary: 's', tag: 't', answers: { 200: healthResponse } },
    () => ({}),
  )
  const routes = [...daemon.daemon.routes.filter(systemInfo), extra]
  assert.deepEqual(await matrixProblems(onlySystemInfo, routes, asker(daemon.url)), [
    'GET /v1/extra is registered and has no row: review who may call it and add one',
  ])
})

test('a row whose route is gone is found', async () => {
  assert.deepEqual(await matrixProblems(onlySystemInfo, [], asker(daemon.url)), [
    'GET /v1/system/info has a row and no route: delete the row',
  ])
})

test('an access check that lets everyone in is found', async () => {
  const routes = daemon.daemon.routes.filter(systemInfo).map(({ spec }) => {
    // What counts for an account needs one, and anyone has none.
    const { shareOf, charge, noteAnswer, ...rest } = spec.access
    const access = { ...rest, authorize: () => ({ name: 'anyone' }) }
    return route({ ...spec, access }, () => info)
  })
  const problems = await problemsWith(routes, onlySystemInfo)
  const cells = { ...MATRIX.expected.capability!, ...MATRIX.rows['GET /v1/system/info']!.expected }
  const refused = Object.values(cells).filter((one) => one !== 'admitted')
  assert.equal(problems.length, refused.length - 1, 'all but the kind that is asked of the other daemon')
  assert.ok(problems.includes("GET /v1/system/info with 'none': expected 401 UNAUTHENTICATED, came 200"))
})

test('a route whose class or operation was changed without a review is found', async () => {
  const changed = (access: Access<unknown>) =>
    daemon.daemon.routes.filter(systemInfo).map((one) => route({ ...one.spec, access }, () => info))
  const { access } = daemon.daemon.routes.find(systemInfo)!.spec
  for (const [other, name] of [
    [anyone, 'open'],
    [{ ...access, operation: 'kv:read' }, 'capability with kv:read'],
  ] as const) {
    assert.deepEqual(await matrixProblems(onlySystemInfo, changed(other), asker(daemon.url)), [
      `GET /v1/system/info is reviewed as capability with system:read and registered as ${name}`,
    ])
  }
})

test('a kind of credential that a class says nothing about is found, also where a row differs from its class', async () => {
  const { 'other database': _, ...rest } = MATRIX.expected.capability!
  const matrix = { ...onlySystemInfo, expected: { capability: rest } }
  assert.deepEqual(await matrixProblems(matrix, daemon.daemon.routes.filter(systemInfo), asker(daemon.url)), [
    "GET /v1/system/info: the class capability has no expectation for 'other database'",
  ])
})
