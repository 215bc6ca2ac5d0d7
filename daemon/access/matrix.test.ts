import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { open } from '@loci/chassis/probes.ts'
import { type Access, type Route, route } from '@loci/chassis/route.ts'
import { type MatrixRequest, matrixProblems } from '@loci/chassis/test-matrix.ts'
import { ask } from '@loci/chassis/test-request.ts'
import { testHttpServer } from '@loci/chassis/test-server.ts'
import { healthResponse } from '@loci/contract/health.ts'
import { type TestDaemon, testDaemon } from '../test-daemon.ts'
import { credentials, type Kind, MATRIX } from './matrix.ts'

let daemon: TestDaemon
/** The same cell seen from an address that is not on the allow-list. */
let elsewhere: TestDaemon

before(async () => {
  daemon = await testDaemon()
  elsewhere = await testDaemon({ replicaOf: daemon, settings: { adminAllowlist: ['10.255.255.255/32'] } })
})
after(async () => {
  await elsewhere?.[Symbol.asyncDispose]()
  await daemon?.[Symbol.asyncDispose]()
})

function asker(url: string) {
  const headersOf = credentials(daemon.adminToken)
  return (kind: Kind, { line, body }: MatrixRequest) => {
    const at = kind === 'admin token from another address' ? elsewhere.url : url
    const headers = headersOf[kind]
    if (kind !== 'foreign body namespace') return ask(at, line, { headers, body })
    const claim = 'org_x/ten_x/svc_x/default'
    if (body) return ask(at, line, { headers, body: { ...body, namespace: claim } })
    return ask(at, `${line}?namespace=${encodeURIComponent(claim)}`, { headers })
  }
}

const anyone: Access<unknown> = { ...open, authorize: () => ({ name: 'anyone' }) }
const info = { version: '1', uptime: 1, build: 'release', product: 'loci' }

/** The daemon's routes with one of them changed, on a server of their own: what a mistake in app.ts would make. */
async function problemsWith(routes: Route[], matrix = MATRIX): Promise<string[]> {
  await using server = await testHttpServer(routes)
  return await matrixProblems(matrix, routes, asker(server.url))
}

const systemInfo = ({ spec }: Route) => spec.path === '/v1/system/info'

test('every registered route answers every kind of credential as the reviewed table says', async () => {
  assert.deepEqual(await matrixProblems(MATRIX, daemon.daemon.routes, asker(daemon.url)), [])
})

test('a route that nobody reviewed is found', async () => {
  const extra = route(
    { method: 'GET', path: '/v1/extra', access: open, summary: 's', tag: 't', answers: { 200: healthResponse } },
    () => ({}),
  )
  assert.deepEqual(await matrixProblems(MATRIX, [...daemon.daemon.routes, extra], asker(daemon.url)), [
    'GET /v1/extra is registered and has no row: review who may call it and add one',
  ])
})

test('a row whose route is gone is found', async () => {
  const fewer = daemon.daemon.routes.filter((one) => !systemInfo(one))
  assert.deepEqual(await matrixProblems(MATRIX, fewer, asker(daemon.url)), [
    'GET /v1/system/info has a row and no route: delete the row',
  ])
})

test('an access check that lets everyone in is found', async () => {
  const routes = daemon.daemon.routes.filter(systemInfo).map(({ spec }) => {
    const access = { ...spec.access, authorize: () => ({ name: 'anyone' }) }
    return route({ ...spec, access }, () => info)
  })
  const rows = { 'GET /v1/system/info': MATRIX.rows['GET /v1/system/info']! }
  const problems = await problemsWith(routes, { ...MATRIX, rows })
  assert.equal(problems.length, MATRIX.kinds.length - 1, 'all but the kind that is asked of the other daemon')
  assert.ok(problems.includes("GET /v1/system/info with 'none': expected 401 UNAUTHENTICATED, came 200"))
})

test('a route whose class or operation was changed without a review is found', async () => {
  const changed = (access: Access<unknown>) =>
    daemon.daemon.routes.map((one) => (systemInfo(one) ? route({ ...one.spec, access }, () => info) : one))
  const { access } = daemon.daemon.routes.find(systemInfo)!.spec
  for (const [other, name] of [
    [anyone, 'open'],
    [{ ...access, operation: 'kv:read' }, 'capability with kv:read'],
  ] as const) {
    assert.deepEqual(await matrixProblems(MATRIX, changed(other), asker(daemon.url)), [
      `GET /v1/system/info is reviewed as capability with system:read and registered as ${name}`,
    ])
  }
})

test('a kind of credential that a class says nothing about is found', async () => {
  const { none: _, ...rest } = MATRIX.expected.admin!
  const matrix = { ...MATRIX, expected: { ...MATRIX.expected, admin: rest } }
  const problems = await matrixProblems(matrix, daemon.daemon.routes, asker(daemon.url))
  assert.equal(problems.length, 3)
  assert.match(String(problems[0]), /the class admin has no expectation for 'none'/)
})
