import assert from 'node:assert/strict'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { test } from 'node:test'
import { HEADER } from '@loci/contract/headers.ts'
import { newId } from '@loci/contract/ids.ts'
import { ROLES } from '@loci/contract/roles.ts'
import { PEOPLE } from '../testing/identity-provider.ts'
import { testManagement } from '../testing/management.ts'
import { type Browser, SAME_ORIGIN, type SignInWorld, signInWorld } from '../testing/sign-in.ts'
import { addService, claimsOf, type Heard, startCell } from '../testing/stand-in.ts'

const [ALICE, BOB] = PEOPLE.map(({ email }) => email) as [string, string]

const json = (_: IncomingMessage, response: ServerResponse) =>
  void response
    .writeHead(200, { 'content-type': 'application/json', etag: '"3"', 'set-cookie': 'a=b', 'x-request-id': 'req_x' })
    .end('{"product":"loci"}')

const tokenOf = (heard: Heard | undefined) => String(heard?.headers[HEADER.capability])

async function worldWith(
  endpoint: string,
): Promise<{ world: SignInWorld; own: Awaited<ReturnType<typeof addService>>; alice: Browser }> {
  const world = await signInWorld()
  const own = await addService(world.management, ALICE, endpoint)
  return { world, own, alice: await world.signIn() }
}

test('a session reaches its service with a capability that the browser never sees, and nothing else of it passes', async () => {
  await using cell = await startCell(json)
  const { world, own, alice } = await worldWith(cell.endpoint)
  await using _ = world
  const passing = {
    'if-match': '"2"',
    'idempotency-key': 'k',
    [HEADER.database]: 'notes',
    'content-type': 'application/json',
  }
  const staying = {
    authorization: 'Bearer x',
    [HEADER.organization]: own.organizationId,
    'x-consumer-id': 'x',
    [HEADER.adminToken]: 'x',
    'x-forwarded-for': '1.2.3.4',
  }
  const answer = await alice.ask(`PUT ${own.proxy}/v1/kv/entries/a%20b?limit=5&cursor=%26`, {
    body: '{"value":1}',
    headers: { ...SAME_ORIGIN, ...passing, ...staying },
  })
  assert.deepEqual([answer.status, answer.text], [200, '{"product":"loci"}'])
  const [request] = cell.heard
  assert.deepEqual(
    [request?.method, request?.url, request?.body],
    ['PUT', '/v1/kv/entries/a%20b?limit=5&cursor=%26', '{"value":1}'],
  )
  for (const [name, value] of Object.entries(passing)) assert.equal(request?.headers[name], value)
  for (const name of [...Object.keys(staying), 'cookie', 'sec-fetch-site'])
    assert.equal(request?.headers[name], undefined, name)
  const { sub, ops, exp, iat, svc, del_max } = claimsOf(tokenOf(request))
  assert.deepEqual([sub, svc, del_max], [own.ownerId, own.serviceId, 0])
  assert.ok((ops as string[]).includes('operator') && Number(exp) - Number(iat) <= 300)
  assert.deepEqual([answer.headers.etag, answer.headers['set-cookie']], ['"3"', undefined])
  assert.equal(answer.headers['x-content-type-options'], 'nosniff')
  assert.notEqual(answer.headers['x-request-id'], 'req_x')
  assert.ok(!(answer.text + JSON.stringify(answer.headers)).includes(tokenOf(request)))
})

// Mutants: the look at the second segment left out of pathOf(); proxyParams with any end; `session` access in place of
// `caller.session`.
test('the proxy leads to the data of the own service alone', async () => {
  await using cell = await startCell(json)
  const { world, own, alice } = await worldWith(cell.endpoint)
  await using _ = world
  const other = await addService(world.management, BOB, cell.endpoint)
  const closed = [
    ...[
      '/admin/services/status',
      '/mcp',
      '/v1/partner/projections',
      '/docs',
      '/openapi.json',
      '/metrics',
      '/v1',
      '/v1/export',
      '/v1/import',
    ],
    ...[
      '/v1/../admin/services/status',
      '/v1/%2e%2e/admin/services/status',
      '/v1/..%2fadmin/services/status',
      '//v1/system/info',
      '/v1/kv/%2fx',
      '/v1/system/info/',
      '/v1/system/info//',
      '/V1/system/info',
    ],
  ]
  for (const path of closed) {
    const { status } = await alice.ask(`GET ${own.proxy}${path}`)
    assert.ok([400, 404].includes(status), `${path} ${status}`)
  }
  for (const path of ['/v1/system/info', '/v1/events'])
    assert.equal((await alice.ask(`GET ${other.proxy}${path}`)).status, 404, path)
  assert.equal((await alice.ask(`GET /api/v1/services/${newId('svc')}/proxy/v1/system/info`)).status, 404)
  assert.equal((await own.ask(`GET ${own.proxy}/v1/system/info`)).status, 403)
  assert.equal((await world.management.ask(`GET ${own.proxy}/v1/system/info`)).status, 401)
  const fromElsewhere = await alice.ask(`GET ${own.proxy}/v1/system/info`, {
    headers: { 'sec-fetch-site': 'same-site' },
  })
  assert.equal(fromElsewhere.error.code, 'ORIGIN_NOT_ALLOWED')
  assert.deepEqual(cell.heard, [])
})

// Mutants: 'health' or 'lifecycle' left out of OPEN; a 503 of the daemon taken for silence of the cell.
test('a page reads the health and the lifecycle of the process behind its service, whatever it says of itself', async () => {
  let status = 200
  await using cell = await startCell(
    (_, response) =>
      void response.writeHead(status, { 'content-type': 'application/json' }).end('{"status":"as it says"}'),
  )
  const { world, own, alice } = await worldWith(cell.endpoint)
  await using _ = world
  await world.management.sql(`update loci.members set role = 'viewer'`)
  const paths = ['/v1/health/live', '/v1/health/ready', '/v1/health/startup', '/v1/health/all', '/v1/lifecycle/status']
  for (status of [200, 503])
    for (const path of paths) {
      const answer = await alice.ask(`GET ${own.proxy}${path}`)
      assert.deepEqual([answer.status, answer.text], [status, '{"status":"as it says"}'], path)
    }
  assert.deepEqual(
    cell.heard.map(({ url }) => url),
    [...paths, ...paths],
  )
  assert.equal((await own.ask(`GET ${own.proxy}/v1/health/all`)).status, 403, 'an API key')
  assert.equal((await alice.ask(`GET ${own.proxy}/v1/healthy`)).status, 404)
})

// Mutants: `service.endpoint` in place of endpointOf(); `new URL(path, endpoint)`, which drops the endpoint's own path.
test('the proxy asks at the address that customers get for their service', async () => {
  await using cell = await startCell(json)
  const { world, own, alice } = await worldWith(`${cell.endpoint}/of/{service_id}/`)
  await using _ = world
  const { endpoint } = (await alice.ask(`GET /api/v1/services/${own.serviceId}`)).json<{ endpoint: string }>()
  assert.equal(endpoint, `${cell.endpoint}/of/${own.serviceId}/`)
  assert.equal((await alice.ask(`GET ${own.proxy}/v1/kv/entries/a%20b%3F?limit=5&cursor=%26`)).status, 200)
  assert.equal(cell.heard[0]?.url, `/of/${own.serviceId}/v1/kv/entries/a%20b%3F?limit=5&cursor=%26`)
})

// Mutant: onEnded() that does nothing, and no job.
test('one capability per session and service, in all processes, with what the role may do, revoked with the session', async () => {
  await using cell = await startCell(json)
  const { world, own, alice } = await worldWith(cell.endpoint)
  await using _ = world
  const { management } = world
  await using second = await testManagement({ replicaOf: management })
  const line = `GET ${own.proxy}/v1/system/info`
  const urls = [management.url, second.url]
  const answers = await Promise.all(
    Array.from({ length: 6 }, (_, at) => alice.tab().ask(line, { url: urls[at % 2] as string })),
  )
  for (const { status, text } of answers) assert.equal(status, 200, text)
  assert.equal(new Set(cell.heard.map(tokenOf)).size, 1)
  const again = await world.signIn()
  assert.equal((await again.ask(line)).status, 200)
  assert.equal(new Set(cell.heard.map(tokenOf)).size, 2)

  await management.sql(`update loci.members set role = 'viewer'`)
  assert.equal((await alice.ask(line)).status, 200)
  const { ops } = claimsOf(tokenOf(cell.heard.at(-1)))
  assert.ok(
    (ops as string[]).every((op) => op.endsWith(':read')),
    String(ops),
  )

  const { jti } = claimsOf(tokenOf(cell.heard.at(-1)))
  assert.equal((await alice.tab().ask('POST /api/auth/logout', { body: {} })).status, 200)
  const revoked = await management.sql<{ value: string }>(`select value from loci.revocations where kind = 'jti'`)
  assert.ok(revoked.some(({ value }) => value === jti))
  assert.equal((await alice.ask(line)).status, 401)
  assert.equal((await again.ask(line)).status, 200)
  const dump = JSON.stringify(await management.sql('select * from loci.session_capabilities'))
  for (const heard of cell.heard) assert.ok(!dump.includes(tokenOf(heard)))
})

// Mutants: findCapability() without its condition on tokens; current() that answers what was refused, or another one
// whatever its age.
test('a capability that somebody revoked is replaced and the page goes on; one that is refused from the start is not minted again and again', async () => {
  const refused = new Set<string>()
  await using cell = await startCell((request, response) => {
    if (!refused.has(String(request.headers[HEADER.capability]))) return json(request, response)
    response.writeHead(401, { 'content-type': 'application/json' }).end('{"error":{"code":"CAPABILITY_REVOKED"}}')
  })
  const { world, own, alice } = await worldWith(cell.endpoint)
  await using _ = world
  const line = `GET ${own.proxy}/v1/system/info`
  const asked = () => tokenOf(cell.heard.at(-1))
  assert.equal((await alice.ask(line)).status, 200)
  const first = asked()

  // In the list of tokens: it is not even tried.
  refused.add(first)
  await world.management.sql(`update loci.tokens set revoked_at = now() where jti = '${claimsOf(first).jti}'`)
  assert.equal((await alice.ask(line)).status, 200)
  const second = asked()
  assert.deepEqual([cell.heard.length, second === first], [2, false])

  // A daemon that takes none: it may have yet to hear of the service.
  refused.add(second)
  assert.equal((await alice.ask(line)).status, 503)
  assert.equal((await alice.ask(line)).status, 503)
  assert.deepEqual(cell.heard.slice(2).map(tokenOf), [second, second])

  // With everything of the person: it worked for a while.
  await world.management.sql(`update loci.session_capabilities set expires_at = expires_at - interval '30 seconds'`)
  const put = await alice.ask(`PUT ${own.proxy}/v1/kv/entries/a`, { body: '{"value":1}', headers: SAME_ORIGIN })
  assert.equal(put.status, 200)
  assert.deepEqual([cell.heard.length, cell.heard.at(-1)?.body, asked() === second], [6, '{"value":1}', false])
})

// Mutants: membershipJson() with the operations of another role, or with those of owners for everybody.
test('a session tells the operations that the proxy asks the service with, for each role', async () => {
  await using cell = await startCell(json)
  const { world, own, alice } = await worldWith(cell.endpoint)
  await using _ = world
  for (const role of ROLES) {
    await world.management.sql('update loci.members set role = $1', [role])
    assert.equal((await alice.ask(`GET ${own.proxy}/v1/system/info`)).status, 200)
    const asked = claimsOf(tokenOf(cell.heard.at(-1))).ops as string[]
    const [told] = (await alice.ask('GET /api/auth/session')).json<{ organizations: { ops: string[] }[] }>()
      .organizations
    assert.deepEqual(told?.ops.toSorted(), asked.toSorted(), role)
  }
})

// Mutant: unanswered() in place of broken() for an answer that is no JSON.
test('a cell that is away or silent, or answers no JSON, is a typed answer; a write that may be done says so', async () => {
  let isPage = true
  let status = 200
  await using cell = await startCell((_, response) => {
    if (isPage) response.writeHead(status, { 'content-type': 'text/html' }).end('<script>alert(1)</script>')
    else response.destroy()
  })
  const { world, own, alice } = await worldWith(cell.endpoint)
  await using _ = world
  const page = await alice.ask(`GET ${own.proxy}/v1/system/info`)
  assert.deepEqual([page.status, page.error.code], [503, 'STORE_UNAVAILABLE'])
  const headers = { ...SAME_ORIGIN, 'content-type': 'application/json' }
  for (status of [200, 502, 504])
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      const body = method === 'DELETE' ? {} : { body: '{}' }
      const unknown = await alice.ask(`${method} ${own.proxy}/v1/kv/entries/a`, { ...body, headers })
      assert.deepEqual([unknown.status, unknown.error.code], [500, 'OUTCOME_UNKNOWN'], `${method} ${status}`)
    }
  isPage = false
  const read = await alice.ask(`GET ${own.proxy}/v1/system/info`)
  assert.deepEqual([read.status, read.error.code], [503, 'STORE_UNAVAILABLE'])
  const write = await alice.ask(`PUT ${own.proxy}/v1/kv/entries/a`, { body: '{}', headers })
  assert.deepEqual([write.status, write.error.code], [500, 'OUTCOME_UNKNOWN'])
  await cell[Symbol.asyncDispose]()
  const refused = await alice.ask(`PUT ${own.proxy}/v1/kv/entries/a`, { body: '{}', headers })
  assert.deepEqual([refused.status, refused.error.code], [503, 'STORE_UNAVAILABLE'])
})

// Mutant: COLLECTED_BYTES_MAX that is never looked at.
test('large answers of services are collected 64 MiB at a time, whoever asks for them', async () => {
  const open: ServerResponse[] = []
  const large = `"${'x'.repeat(7 * 1024 * 1024)}`
  await using cell = await startCell((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).write(large)
    open.push(response)
  })
  const { world, own, alice } = await worldWith(cell.endpoint)
  await using _ = world
  const asking = Array.from({ length: 11 }, () => alice.tab().ask(`GET ${own.proxy}/v1/kv/entries`))
  const { status, error } = await Promise.race(asking)
  assert.deepEqual([status, error?.code], [503, 'OVERLOADED'])
  while (open.length < asking.length) await new Promise((resolve) => setTimeout(resolve, 5))
  for (const response of open) response.end('"')
  const answers = await Promise.all(asking)
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200, 503]))
  const again = alice.ask(`GET ${own.proxy}/v1/kv/entries`)
  while (open.length === asking.length) await new Promise((resolve) => setTimeout(resolve, 5))
  open.at(-1)?.end('"')
  assert.equal((await again).status, 200)
})
