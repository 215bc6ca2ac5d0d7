import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { isId } from '@loci/contract/ids.ts'
import { CommitUnknownError } from '@loci/contract/outcomes.ts'
import { z } from 'zod'
import { addressSet } from './addresses.ts'
import { ApiError } from './api-error.ts'
import { createLimiter } from './limiter.ts'
import { open } from './probes.ts'
import { type Access, type Method, type Route, type RouteSpec, reply, route } from './route.ts'
import { selfSigned } from './testing/certificate.ts'
import { eventually } from './testing/request.ts'
import { testHttpServer } from './testing/server.ts'

type Spec = Partial<RouteSpec<unknown, z.ZodType, z.ZodType, z.ZodType>>

function at(line: string, handle: Route['handle'] = () => ({ ok: true }), spec: Spec = {}): Route {
  const [method, path] = line.split(' ') as [Method, string]
  const answers = { 200: z.object({ ok: z.boolean() }) }
  return route({ method, path, access: open, summary: 's', tag: 't', answers, ...spec }, handle)
}

const ok = at('GET /ok')

test('every answer has a request id of our own making, whatever the caller sends', async () => {
  await using server = await testHttpServer([ok])
  const ids = new Set<string>()
  for (let i = 0; i < 20; i += 1) {
    const { headers } = await server.ask('GET /ok', { headers: { 'x-request-id': 'req_of_the_caller' } })
    assert.ok(isId('req', String(headers['x-request-id'])), String(headers['x-request-id']))
    ids.add(String(headers['x-request-id']))
  }
  assert.equal(ids.size, 20)
})

test('no answer is kept by a cache or guessed at by a browser', async () => {
  await using server = await testHttpServer([ok])
  for (const line of ['GET /ok', 'GET /nothing', 'PUT /ok']) {
    const { headers } = await server.ask(line)
    assert.equal(headers['cache-control'], 'no-store', line)
    assert.equal(headers['x-content-type-options'], 'nosniff', line)
    assert.equal(headers['content-type'], 'application/json; charset=utf-8', line)
  }
})

test('a refusal names its request in the letter case of its service', async () => {
  const handle = () => {
    throw new ApiError('OVERLOADED', 'm', { hint: 'h' })
  }
  for (const [letterCase, field] of [
    ['camel', 'requestId'],
    ['snake', 'request_id'],
  ] as const) {
    await using server = await testHttpServer([at('GET /no', handle)], { letterCase })
    const { status, headers, error } = await server.ask('GET /no')
    assert.equal(status, 503)
    assert.equal(headers['retry-after'], '1')
    assert.deepEqual(error, {
      code: 'OVERLOADED',
      message: 'm',
      status: 503,
      [field]: headers['x-request-id'],
      retryable: true,
      ...(letterCase === 'camel' ? { retryAfterMs: 1_000 } : { retry_after: 1 }),
      hint: 'h',
    })
  }
})

test('an unknown path is 404 and an unknown method of a known path is 405 with those it has', async () => {
  await using server = await testHttpServer([ok, at('POST /ok'), at('DELETE /x/{id}')])
  assert.equal((await server.ask('GET /nothing')).error.code, 'NOT_FOUND')
  assert.equal((await server.ask('GET /ok/')).error.code, 'NOT_FOUND')
  for (const [line, allow] of [
    ['PUT /ok', 'GET, HEAD, POST'],
    ['OPTIONS /ok', 'GET, HEAD, POST'],
    ['GET /x/1', 'DELETE'],
    ['HEAD /x/1', 'DELETE'],
  ] as const) {
    const { status, headers } = await server.ask(line)
    assert.deepEqual([status, headers.allow], [405, allow], line)
  }
  const odd = await server.ask('PROPFIND /ok')
  assert.deepEqual([odd.status, odd.error.code], [405, 'METHOD_NOT_ALLOWED'])
})

test('HEAD is GET without its body', async () => {
  await using server = await testHttpServer([ok])
  const [get, head] = [await server.ask('GET /ok'), await server.ask('HEAD /ok')]
  assert.deepEqual([head.status, head.text], [200, ''])
  assert.equal(head.headers['content-length'], get.headers['content-length'])
})

test('a colon in a path is a colon', async () => {
  await using server = await testHttpServer([at('POST /tools:rank')])
  assert.equal((await server.ask('POST /tools:rank')).status, 200)
  assert.equal((await server.ask('POST /toolsXYZ')).status, 404)
})

test('a route without an access class cannot be made', () => {
  for (const access of [undefined, {}, { class: 'open' }])
    assert.throws(() => at('GET /x', undefined, { access: access as Access<unknown> }), /declares no access class/)
})

test('access is decided before the body is read, and the handler gets what it returned', async () => {
  const names: Access<string> = {
    class: 'names',
    schemes: [],
    errors: [],
    authorize({ headers, method, peer, requestId }) {
      assert.deepEqual([method, peer, isId('req', requestId)], ['POST', '127.0.0.1', true])
      if (!headers['x-name']) throw new ApiError('UNAUTHENTICATED', 'who?')
      return String(headers['x-name'])
    },
  }
  const spec = { access: names, body: z.object({ a: z.string() }), answers: { 200: z.object({ caller: z.string() }) } }
  const later = {
    ...names,
    authorize: async (arrival: Parameters<typeof names.authorize>[0]) => names.authorize(arrival),
  }
  const handle: Route['handle'] = ({ caller }) => ({ caller })
  await using server = await testHttpServer([
    at('POST /now', handle, spec),
    at('POST /later', handle, { ...spec, access: later }),
  ])
  for (const line of ['POST /now', 'POST /later']) {
    for (const body of ['not json', { a: 1 }, 'x'.repeat(2_000_000)])
      assert.equal((await server.ask(line, { body })).error.code, 'UNAUTHENTICATED', line)
    const { text } = await server.ask(line, { body: { a: 'b' }, headers: { 'x-name': 'ada' } })
    assert.equal(text, '{"caller":"ada"}')
  }
})

test('who may not come in is not told what is switched off', async () => {
  const closed: Access<never> = {
    class: 'closed',
    schemes: [],
    errors: [],
    authorize() {
      throw new ApiError('UNAUTHENTICATED', 'no')
    },
  }
  const left: unknown[] = []
  const subservices = {
    enter(name: string) {
      if (name === 'off') throw new ApiError('SUBSERVICE_DISABLED', 'off')
    },
    leave: (name: string, failure: unknown) => void left.push([name, failure !== undefined]),
  }
  const bug = () => {
    throw new Error('bug')
  }
  await using server = await testHttpServer(
    [
      at('GET /closed', undefined, { subservice: 'off', access: closed }),
      at('GET /off', undefined, { subservice: 'off' }),
      at('GET /on', undefined, { subservice: 'on' }),
      at('GET /bug', bug, { subservice: 'on' }),
    ],
    { subservices },
  )
  assert.equal((await server.ask('GET /closed')).error.code, 'UNAUTHENTICATED')
  assert.equal((await server.ask('GET /off')).error.code, 'SUBSERVICE_DISABLED')
  assert.equal((await server.ask('GET /on')).status, 200)
  assert.equal((await server.ask('GET /bug')).status, 500)
  assert.deepEqual(left, [
    ['on', false],
    ['on', true],
  ])
})

test('a bug is 500 with a request id and without its message, which the log has', async () => {
  const bug = () => {
    throw new Error('row of ada@example.com')
  }
  await using server = await testHttpServer([
    at('GET /bug', bug),
    at('GET /own', bug, { failureMessage: 'Own words.' }),
  ])
  const { status, text, error } = await server.ask('GET /bug')
  assert.equal(status, 500)
  assert.equal(error.code, 'INTERNAL_ERROR')
  assert.ok(!text.includes('ada@example.com'))
  const line = await server.logged(({ message }) => message === 'request failed')
  assert.equal(line.requestId, error.requestId)
  assert.match(JSON.stringify(line.error), /ada@example\.com/)
  assert.equal((await server.ask('GET /own')).error.message, 'Own words.')
})

const unknown = () => {
  throw new CommitUnknownError('the connection broke')
}

// Mutants: exchange.destroy() in place of refuse() in server.ts; STORE_UNAVAILABLE in unknownOutcome() of api-error.ts.
test('a write whose outcome is unknown is told so: 500 OUTCOME_UNKNOWN, and the connection goes on', async () => {
  const methods = ['POST', 'PUT', 'PATCH', 'DELETE'] as const
  await using server = await testHttpServer(methods.map((method) => at(`${method} /write`, unknown)))
  for (const method of methods) {
    const { status, headers, error } = await server.ask(`${method} /write`, { headers: { connection: 'keep-alive' } })
    assert.deepEqual([status, error.code, error.retryable], [500, 'OUTCOME_UNKNOWN', true], method)
    assert.match(error.message, /may or may not have happened/)
    assert.equal(headers.connection, 'keep-alive')
  }
  const line = await server.logged(({ message }) => message.startsWith('the outcome of a write is unknown'))
  assert.equal(line.route, '/write')
})

test('a GET whose outcome is unknown is 503: nobody asked for what it leaves behind', async () => {
  await using server = await testHttpServer([at('GET /report', unknown)])
  const { status, headers } = await server.ask('GET /report')
  assert.deepEqual([status, headers['retry-after']], [503, '1'])
})

test('where the specification has a text of its own, an unknown outcome is INTERNAL_ERROR with it', async () => {
  const spec = { failureMessage: 'Failed to list', unknownIsInternal: true }
  await using server = await testHttpServer([at('GET /list', unknown, spec), at('POST /list', unknown, spec)])
  for (const line of ['GET /list', 'POST /list']) {
    const { status, error } = await server.ask(line)
    assert.deepEqual([status, error.code, error.message], [500, 'INTERNAL_ERROR', 'Failed to list'], line)
  }
})

test('access that does not know whether it has committed has done nothing of what was asked for', async () => {
  await using server = await testHttpServer([at('POST /write', undefined, { access: { ...open, authorize: unknown } })])
  const { status, error } = await server.ask('POST /write')
  assert.deepEqual([status, error.code], [503, 'STORE_UNAVAILABLE'])
})

// Mutant: failsWith500 not passed to failureOf().
test('a route whose senders repeat on 500 alone never says 503 of itself, in its flat form', async () => {
  const spec = {
    flatErrors: true,
    failsWith500: true,
    failureMessage: 'Failed to take it',
    deadline: 'normal',
  } as const
  const away = () => {
    throw Object.assign(new Error('gone'), { code: '08006' })
  }
  await using server = await testHttpServer([at('POST /hook', away, spec), at('POST /unknown', unknown, spec)], {
    letterCase: 'snake',
  })
  const flat = async (line: string) => {
    const { status, text, headers } = await server.ask(line)
    assert.deepEqual([status, text], [500, '{"error":"Failed to take it"}'], line)
    assert.ok(Number(headers['retry-after']) >= 1, line)
  }
  await flat('POST /hook')
  await flat('POST /unknown')
  // For whoever is on call it is what it was: the store, and no bug of a handler.
  const line = await server.logged(({ message, route }) => message === 'request' && route === '/hook')
  assert.equal(line.code, 'STORE_UNAVAILABLE')
  server.lifecycle.beginDrain('SIGTERM', { graceMs: 0, deadlineMs: 1_000 })
  await flat('POST /hook')
})

test('what the database refuses although the schema took it is 400, and an error in our log', async () => {
  const gap = () => {
    throw Object.assign(new Error('invalid byte sequence'), { code: '22021' })
  }
  await using server = await testHttpServer([at('POST /gap', gap)])
  assert.equal((await server.ask('POST /gap')).error.code, 'VALIDATION_ERROR')
  const line = await server.logged(({ message }) => message.includes('passed the schema of the route'))
  assert.deepEqual([line.level, line.route], ['error', '/gap'])
})

test('an answer that its own document does not allow fails in tests', async () => {
  const routes = [at('GET /field', () => ({ ok: 'yes' })), at('GET /status', () => reply(201, { ok: true }))]
  await using strict = await testHttpServer(routes)
  for (const line of ['GET /field', 'GET /status']) assert.equal((await strict.ask(line)).status, 500, line)
  const line = await strict.logged(({ message }) => message === 'request failed')
  assert.match(JSON.stringify(line.error), /answered what its schema refuses/)
  await using production = await testHttpServer(routes, { verifyAnswers: false })
  assert.equal((await production.ask('GET /field')).text, '{"ok":"yes"}')
})

test('a text answer goes out as it is, with its own type', async () => {
  const answers = { 200: { contentType: 'text/plain', description: 'd' } }
  const handle = () => reply(200, 'plain', { 'content-type': 'text/plain' })
  await using server = await testHttpServer([at('GET /text', handle, { answers })])
  const { text, headers } = await server.ask('GET /text')
  assert.deepEqual([text, headers['content-type']], ['plain', 'text/plain'])
})

// specification 107
test('where https is demanded, plain http is refused on every route, probes included, and an untrusted word does not help', async () => {
  const requireHttps = { requireHttps: true, trustedProxies: addressSet(['10.0.0.1']) }
  await using server = await testHttpServer([ok, at('GET /probe', undefined, { deadline: 'probe' })], requireHttps)
  for (const line of ['GET /ok', 'GET /probe', 'HEAD /ok'])
    assert.equal((await server.ask(line, { headers: { 'x-forwarded-proto': 'https' } })).status, 403, line)
  assert.equal((await server.ask('GET /probe')).error.code, 'HTTPS_REQUIRED')
})

test('where https is demanded, the word of a trusted proxy counts', async () => {
  await using server = await testHttpServer([ok], { requireHttps: true, trustedProxies: addressSet(['127.0.0.1']) })
  assert.equal((await server.ask('GET /ok', { headers: { 'x-forwarded-proto': 'https' } })).status, 200)
  assert.equal((await server.ask('GET /ok', { headers: { 'x-forwarded-proto': 'http' } })).status, 403)
  assert.equal((await server.ask('GET /ok')).status, 403)
})

test('where https is demanded, our own TLS listener serves', async () => {
  await using server = await testHttpServer([ok], { requireHttps: true, tls: selfSigned() })
  assert.match(server.url, /^https:/)
  assert.equal((await server.ask('GET /ok', { unverified: true })).status, 200)
})

// Mutants: the header whatever the request came by; none for the word of a proxy.
test('what comes by https is told to come by nothing else, refusals too', async () => {
  const told = ({ headers }: { headers: Record<string, unknown> }) => headers['strict-transport-security']
  await using own = await testHttpServer([ok], { tls: selfSigned() })
  for (const line of ['GET /ok', 'GET /nothing'])
    assert.equal(told(await own.ask(line, { unverified: true })), 'max-age=31536000')
  await using behind = await testHttpServer([ok], { trustedProxies: addressSet(['127.0.0.1']) })
  assert.equal(told(await behind.ask('GET /ok', { headers: { 'x-forwarded-proto': 'https' } })), 'max-age=31536000')
  assert.equal(told(await behind.ask('GET /ok', { headers: { 'x-forwarded-proto': 'http' } })), undefined)
  await using plain = await testHttpServer([ok])
  assert.equal(told(await plain.ask('GET /ok', { headers: { 'x-forwarded-proto': 'https' } })), undefined)
})

test('a client that asks for large answers and never reads them takes no slot from others, and cannot send ahead without end', async () => {
  const large = route(
    { method: 'GET', path: '/large', access: open, summary: 's', tag: 't', answers: { 200: z.unknown() } },
    () => ({ text: 'x'.repeat(500_000) }),
  )
  const small = route(
    { method: 'GET', path: '/small', access: open, summary: 's', tag: 't', answers: { 200: z.unknown() } },
    () => ({}),
  )
  await using server = await testHttpServer([large, small], { limits: { runningMax: 4, queueMax: 0, queueMs: 50 } })
  const { hostname, port } = new URL(server.url)
  const greedy = Array.from({ length: 4 }, () => {
    const socket = connect(Number(port), hostname)
    socket.pause()
    socket.write('GET /large HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(8))
    return socket
  })
  const flood = connect(Number(port), hostname)
  flood.on('error', () => undefined)
  const cut = new Promise((resolve) => flood.once('close', resolve))
  flood.pause()
  flood.write('GET /large HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(100))
  flood.resume()
  await cut
  assert.equal((await server.ask('GET /small')).status, 200)
  assert.equal(server.limiter.running, 0)
  for (const socket of greedy) socket.destroy()
})

// How many are told at once and how long the others wait: limiter.test.ts. Mutants in in-turn.ts: the refusal is
// thrown at once; the slot is not given back.
test('who is over its rate waits its turn to be told, and holds no slot meanwhile', async () => {
  const access: Access<unknown> = {
    ...open,
    authorize() {
      throw new ApiError('RATE_LIMITED', 'm', { retryAfterMs: 3_000, headers: { ratelimit: 'r=0' } })
    },
  }
  const limiter = createLimiter({ runningMax: 1, queueMax: 0, queueMs: 1_000 })
  const inTurn = limiter.refuse
  const waiting: ApiError[] = []
  let goOn = () => {}
  const turn = new Promise<void>((resolve) => (goOn = resolve))
  limiter.refuse = async (refusal) => {
    waiting.push(refusal)
    await turn
    return inTurn(refusal)
  }
  await using server = await testHttpServer([at('GET /over', undefined, { access }), ok], { limiter })
  const over = server.ask('GET /over')
  await eventually(async () => waiting.length === 1)
  assert.equal((await server.ask('GET /ok')).status, 200)
  goOn()
  const { status, headers } = await over
  assert.deepEqual([status, headers['retry-after'], headers.ratelimit], [429, '3', 'r=0'])
  assert.equal(limiter.running, 0)
})
