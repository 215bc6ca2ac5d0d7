// What happens once per request, and only once: its line in the log, its observation, its slot.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { z } from 'zod'
import { ApiError } from './api-error.ts'
import { createLifecycle } from './lifecycle.ts'
import { open } from './probes.ts'
import { type Access, type Call, type Method, type Route, type RouteSpec, route } from './route.ts'
import { eventually } from './testing/request.ts'
import { testHttpServer } from './testing/server.ts'

type Spec = Partial<RouteSpec<unknown, z.ZodType, z.ZodType, z.ZodType>>

function at(line: string, handle: Route['handle'] = () => ({}), spec: Spec = {}): Route {
  const [method, path] = line.split(' ') as [Method, string]
  return route({ method, path, access: open, summary: 's', tag: 't', answers: { 200: z.object({}) }, ...spec }, handle)
}

/** A route that answers when the test says so. */
function gated(line = 'GET /gate') {
  const gate = Promise.withResolvers<object>()
  const calls: Call<unknown, unknown, unknown, unknown>[] = []
  const handle: Route['handle'] = (call) => {
    calls.push(call)
    return gate.promise
  }
  return { calls, route: at(line, handle), answer: () => gate.resolve({}) }
}

const ONE = { runningMax: 1, queueMax: 0, queueMs: 50 }

async function leave(url: string, text: string): Promise<() => void> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  socket.write(text)
  return () => void socket.destroy()
}

test('each request leaves one line: what was asked for as a template, never the customer’s key', async () => {
  const params = z.object({ key: z.string() })
  await using server = await testHttpServer([at('GET /entries/{key}', undefined, { params })])
  await server.ask('GET /entries/canary-key?canary=query', { headers: { 'x-canary-header': 'canary-value' } })
  await server.ask('GET /canary-path')
  await server.ask('PUT /entries/canary-key')
  await eventually(() => server.lines.length >= 3)
  const lines = server.lines.map((line) => JSON.parse(line))
  assert.deepEqual(
    lines.map(({ message, method, route: path, status }) => [message, method, path, status]),
    [
      ['request', 'GET', '/entries/{key}', 200],
      ['request', 'GET', 'unmatched', 404],
      ['request', 'PUT', '/entries/{key}', 405],
    ],
  )
  assert.doesNotMatch(server.lines.join(), /canary/)
})

// Mutant: exchange.reason not set: an operator sees 503 and cannot tell which of a dozen limits it was.
test('the line of a refusal for load says which limit it was', async () => {
  const refuse = () => {
    throw new ApiError('OVERLOADED', 'Too many "letters" wait. Try again.')
  }
  await using server = await testHttpServer([at('GET /full', refuse)])
  await server.ask('GET /full')
  const line = await server.logged(({ route: path }) => path === '/full')
  assert.deepEqual([line.code, line.reason], ['OVERLOADED', 'Too many "letters" wait. Try again.'])
})

test('the line has the request’s id, its time, the code of a refusal, and the address of who was refused', async () => {
  const refuse = () => {
    throw new ApiError('FORBIDDEN', 'no')
  }
  await using server = await testHttpServer([at('GET /no', refuse), at('GET /yes')])
  const { headers } = await server.ask('GET /no')
  const line = await server.logged(({ route: path }) => path === '/no')
  assert.equal(line.requestId, headers['x-request-id'])
  assert.deepEqual([line.code, line.address], ['FORBIDDEN', '127.0.0.1'])
  assert.ok(Number(line.durationMs) >= 0)
  await server.ask('GET /yes')
  assert.equal('address' in (await server.logged(({ route: path }) => path === '/yes')), false)
})

test('probes are told at level debug, and at level info when they fail', async () => {
  let fails = false
  const handle = () => {
    if (fails) throw new ApiError('STARTING', 'not yet')
    return {}
  }
  await using server = await testHttpServer([at('GET /probe', handle, { deadline: 'probe' })])
  await server.ask('GET /probe')
  assert.equal((await server.logged(({ status }) => status === 200)).level, 'debug')
  fails = true
  await server.ask('GET /probe')
  assert.equal((await server.logged(({ status }) => status === 503)).level, 'info')
})

test('the trace of the caller reaches the log, and a malformed one is no error', async () => {
  await using server = await testHttpServer([at('GET /x')])
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
  await server.ask('GET /x', { headers: { traceparent: `00-${traceId}-00f067aa0ba902b7-01` } })
  await server.logged((line) => line.traceId === traceId)
  const twice = `00-${traceId}-00f067aa0ba902b8-01, 00-${traceId}-00f067aa0ba902b9-01`
  await server.ask('GET /x', { headers: { traceparent: twice } })
  for (const traceparent of [
    'x',
    `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`,
    `00-${traceId}-${'0'.repeat(16)}-01`,
    `01-${traceId}`,
    // Of two traces neither is the caller's.
    `00-${'a'.repeat(32)}-00f067aa0ba902b7-01, 00-${traceId}-00f067aa0ba902b7-01`,
    `x, 00-${traceId}-00f067aa0ba902b7-01`,
  ])
    assert.equal((await server.ask('GET /x', { headers: { traceparent } })).status, 200, traceparent)
  await eventually(() => server.lines.length === 8)
  assert.equal(server.lines.filter((line) => line.includes(traceId)).length, 2)
})

test('each request is observed once, by template, method and class of status', async () => {
  await using server = await testHttpServer([
    at('GET /entries/{key}', undefined, { params: z.object({ key: z.string() }) }),
  ])
  await server.ask('GET /entries/canary')
  await server.ask('GET /canary')
  await eventually(() => server.lines.length >= 2)
  const text = await server.metrics.registry.metrics()
  const counts = text.match(/^loci_http_request_duration_seconds_count.*$/gm)
  assert.deepEqual(counts?.toSorted(), [
    'loci_http_request_duration_seconds_count{route="/entries/{key}",method="GET",code="2xx"} 1',
    'loci_http_request_duration_seconds_count{route="unmatched",method="GET",code="4xx"} 1',
  ])
  assert.ok(!text.includes('canary'))
})

test('over its limits the process says so at once, with the time to come back, and probes still answer', async () => {
  const gate = gated()
  await using server = await testHttpServer([gate.route, at('GET /probe', undefined, { deadline: 'probe' })], {
    limits: ONE,
  })
  const first = server.ask('GET /gate')
  await eventually(() => gate.calls.length === 1)
  const { status, headers, error } = await server.ask('GET /gate')
  assert.deepEqual([status, error.code, headers['retry-after']], [503, 'OVERLOADED', '1'])
  assert.equal((await server.ask('GET /probe')).status, 200)
  gate.answer()
  assert.equal((await first).status, 200)
  assert.equal((await server.ask('GET /gate')).status, 200, 'the slot is back')
  assert.equal(gate.calls.length, 2, 'the refused one did nothing')
})

test('a request that waits for its turn is served when one ends', async () => {
  const gate = gated()
  await using server = await testHttpServer([gate.route], { limits: { runningMax: 1, queueMax: 1, queueMs: 2_000 } })
  const both = Promise.all([server.ask('GET /gate'), server.ask('GET /gate')])
  await eventually(() => server.limiter.waiting === 1)
  gate.answer()
  assert.deepEqual(
    (await both).map(({ status }) => status),
    [200, 200],
  )
  await eventually(() => server.limiter.running === 0)
})

test('a client that leaves aborts the work, and its slot comes back when the work has ended, not before', async () => {
  const gate = gated()
  await using server = await testHttpServer([gate.route], { limits: ONE })
  const go = await leave(server.url, 'GET /gate HTTP/1.1\r\nhost: x\r\n\r\n')
  await eventually(() => gate.calls.length === 1)
  const signal = gate.calls[0]!.signal
  go()
  await eventually(() => signal.aborted)
  assert.equal(server.limiter.running, 1, 'the work still runs')
  gate.answer()
  await eventually(() => server.limiter.running === 0)
  await server.logged(({ status }) => status === 499)
})

test('a client that leaves while it waits for its turn takes no slot with it', async () => {
  const gate = gated()
  await using server = await testHttpServer([gate.route], { limits: { runningMax: 1, queueMax: 2, queueMs: 2_000 } })
  const first = server.ask('GET /gate')
  await eventually(() => gate.calls.length === 1)
  const go = await leave(server.url, 'GET /gate HTTP/1.1\r\nhost: x\r\n\r\n')
  await eventually(() => server.limiter.waiting === 1)
  go()
  await server.logged(({ status }) => status === 499)
  gate.answer()
  assert.equal((await first).status, 200)
  await eventually(() => server.limiter.running === 0)
})

test('a refusal gives its slot back: of access, of the body, of its size, of a schema', async () => {
  const body = z.object({ a: z.string() })
  const denied = {
    class: 'denied',
    schemes: [],
    errors: [],
    authorize() {
      throw new ApiError('UNAUTHENTICATED', 'no')
    },
  }
  await using server = await testHttpServer(
    [at('POST /body', undefined, { body, bodyBytesMax: 100 }), at('POST /denied', undefined, { access: denied })],
    { limits: ONE },
  )
  for (const [line, sent, status] of [
    ['POST /denied', {}, 401],
    ['POST /body', 'no json', 415],
    ['POST /body', { a: 1 }, 400],
    ['POST /body', { a: 'x'.repeat(200) }, 413],
    ['POST /body', { a: 'x' }, 200],
  ] as const) {
    assert.equal((await server.ask(line, { body: sent })).status, status, `${line} ${status}`)
    await eventually(() => server.limiter.running === 0)
  }
})

const BODY = z.object({ a: z.string() })

const named: Access<string> = {
  class: 'named',
  schemes: [],
  errors: [],
  authorize: ({ headers }) => String(headers['x-name']),
  shareOf: (caller) => caller,
}

// Mutants: SHARE = 1 in limiter.ts; shareOf not asked for in admission.ts.
test('nobody holds more than a quarter of the slots: who has its share waits, and everybody else is served', async () => {
  const gate = gated()
  const greedy = at('GET /gate', gate.route.handle, { access: named })
  await using server = await testHttpServer([greedy, at('GET /x', undefined, { access: named })], {
    limits: { runningMax: 8, queueMax: 8, queueMs: 30_000 },
  })
  const asked = Array.from({ length: 8 }, () => server.ask('GET /gate', { headers: { 'x-name': 'eve' } }))
  await eventually(() => gate.calls.length === 2 && server.limiter.running === 2 && server.limiter.waiting === 2)
  assert.equal((await server.ask('GET /x', { headers: { 'x-name': 'ada' } })).status, 200)
  assert.equal(gate.calls.length, 2)
  gate.answer()
  const statuses = (await Promise.all(asked)).map(({ status }) => status).toSorted()
  assert.deepEqual(statuses, [200, 200, 200, 200, 503, 503, 503, 503], 'two at work, two waiting, four too many')
  await eventually(() => server.limiter.running === 0)
})

// Mutant: lane() that answers the limiter itself.
test('routes with slots of their own answer while all others are taken', async () => {
  const gate = gated()
  const admin = at('POST /admin', undefined, { access: { ...open, lane: 'admin' }, body: BODY })
  await using server = await testHttpServer([gate.route, admin], { limits: ONE })
  const first = server.ask('GET /gate')
  await eventually(() => gate.calls.length === 1)
  assert.equal((await server.ask('GET /gate')).status, 503)
  assert.equal((await server.ask('POST /admin', { body: { a: 'b' } })).status, 200)
  gate.answer()
  await first
})

// Mutant: exchange.destroy() in place of refuse() in expire() of server.ts.
test('a handler past its deadline is answered for, its signal is aborted, and its slot stays with its work', async () => {
  for (const [line, status, code] of [
    ['GET /gate', 503, 'STORE_UNAVAILABLE'],
    ['POST /gate', 500, 'OUTCOME_UNKNOWN'],
  ] as const) {
    const gate = gated(line)
    await using server = await testHttpServer([gate.route], { deadlinesMs: { normal: 400 } })
    const startedAt = performance.now()
    const asked = server.ask(line)
    await eventually(() => gate.calls.length === 1)
    const signal = gate.calls[0]!.signal
    const answer = await asked
    assert.deepEqual([answer.status, answer.error.code], [status, code])
    assert.ok(performance.now() - startedAt >= 390)
    assert.ok(signal.aborted)
    await server.logged(({ message }) => message.startsWith('a handler is past its deadline'))
    assert.equal(server.limiter.running, 1, 'the work still runs')
    gate.answer()
    await eventually(() => server.limiter.running === 0)
    assert.equal(server.lines.filter((text) => text.includes('"message":"request"')).length, 1, 'one line per request')
  }
})

test('a process that starts refuses all but probes', async () => {
  const lifecycle = createLifecycle()
  await using server = await testHttpServer([at('GET /x'), at('GET /probe', undefined, { deadline: 'probe' })], {
    lifecycle,
  })
  const { status, error, headers } = await server.ask('GET /x')
  assert.deepEqual([status, error.code, headers['retry-after']], [503, 'STARTING', '1'])
  assert.equal((await server.ask('GET /probe')).status, 200)
})

test('while draining, answers close their connection, and after the grace requests are refused', async () => {
  const routes = [at('GET /x'), at('GET /probe', undefined, { deadline: 'probe' })]
  await using early = await testHttpServer(routes)
  early.lifecycle.beginDrain('SIGTERM', { graceMs: 600_000, deadlineMs: 700_000 })
  const within = await early.ask('GET /x')
  assert.deepEqual([within.status, within.headers.connection], [200, 'close'])

  await using server = await testHttpServer(routes)
  server.lifecycle.beginDrain('SIGTERM', { graceMs: 50, deadlineMs: 600_000 })
  const after = await eventually(async () => {
    const answer = await server.ask('GET /x')
    return answer.status !== 200 && answer
  })
  assert.deepEqual([after.status, after.error.code, after.headers.connection], [503, 'DRAINING', 'close'])
  assert.equal(after.headers['retry-after'], '1')
  assert.equal((await server.ask('GET /probe')).status, 200)
})

// Mutant: OVERDUE in place of CUT in close() of server.ts.
test('closing waits for what runs, and at the deadline answers for it', async () => {
  const patient = gated()
  await using one = await testHttpServer([patient.route])
  const answered = one.ask('GET /gate')
  await eventually(() => one.server.inFlight() === 1)
  const closed = one.server.close(60_000)
  patient.answer()
  assert.equal((await answered).status, 200)
  assert.equal(await closed, 0)

  const stuck = gated()
  await using two = await testHttpServer([stuck.route])
  const told = two.ask('GET /gate')
  await eventually(() => two.server.inFlight() === 1)
  assert.equal(await two.server.close(50), 1)
  assert.equal((await told).status, 503, 'not cut: answered')
  await two.logged(({ message }) => message.startsWith('a request was cut at the end of the drain'))
  stuck.answer()
})

test('a sub-service counts a request out that it counted in, also when its body never arrives whole', async () => {
  let inside = 0
  const subservices = {
    enter() {
      inside += 1
    },
    leave() {
      inside -= 1
    },
  }
  const spec = { body: z.object({ a: z.string() }), bodyBytesMax: 100, subservice: 'kv' }
  await using server = await testHttpServer([at('POST /body', undefined, spec)], { subservices })
  assert.equal((await server.ask('POST /body', { body: { a: 'x'.repeat(200) } })).status, 413)
  await eventually(() => inside === 0)
  const go = await leave(server.url, 'POST /body HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{"a":')
  await eventually(() => inside === 1)
  go()
  await eventually(() => inside === 0)
})

test('a client that leaves while its request waits for a slot takes none with it', async () => {
  const gate = gated()
  const worked: unknown[] = []
  const body = z.object({})
  const put = at('PUT /body', (call) => worked.push(call.body) && {}, { body })
  await using server = await testHttpServer([gate.route, put], {
    limits: { runningMax: 1, queueMax: 8, queueMs: 5_000 },
  })
  const first = server.ask('GET /gate')
  await eventually(() => gate.calls.length === 1)
  const lines = 'PUT /body HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}'
  const goAway = await leave(server.url, lines)
  await eventually(() => server.limiter.waiting === 1)
  goAway()
  await eventually(() => server.lines.some((line) => line.includes('"status":499')))

  gate.answer()
  await first

  await eventually(() => server.limiter.running === 0)
  assert.deepEqual(worked, [])
})

test('a client that leaves while its credential is looked up takes no slot with it', async () => {
  const known = Promise.withResolvers<object>()
  const access = { ...open, authorize: () => known.promise }
  await using server = await testHttpServer([at('PUT /body', undefined, { body: z.object({}), access })])
  const lines = 'PUT /body HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}'
  const goAway = await leave(server.url, lines)
  await eventually(() => server.limiter.running === 1)
  goAway()
  await eventually(() => server.lines.some((line) => line.includes('"status":499')))

  known.resolve({})

  await eventually(() => server.limiter.running === 0)
})
