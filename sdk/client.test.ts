import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ConnectOptions, connect, connectDaemon, connectManagement } from './client.ts'
import { LociError } from './error.ts'
import { type Act, scripted, type Told } from './testing/scripted.ts'

const refusal = (status: number, code: string, more: object = {}, headers: Record<string, string> = {}): Act => ({
  status,
  headers,
  body: { error: { code, message: `${code}.`, status, requestId: 'req_1', retryable: false, ...more } },
})
const BUSY = refusal(503, 'OVERLOADED', { retryable: true, retryAfterMs: 1 })
const GET = 'GET /v1/kv/entries/{key}'
const PUT = 'PUT /v1/kv/entries/{key}'
const BATCH = 'POST /v1/kv/entries/batch'
const operations = { operations: [{ op: 'delete' as const, key: 'a' }] }
const daemonAt = (url: string, options: Partial<ConnectOptions> = {}) =>
  connectDaemon({ url, capability: 'secret.token', ...options })

async function errorOf(call: Promise<unknown>): Promise<LociError> {
  const error = await call.then(
    () => assert.fail('it was answered'),
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof LociError, String(error))
  return error
}

test('path, query, headers and body arrive as they were given', async () => {
  await using server = await scripted({ body: { key: 'a/b' } })
  const daemon = connectDaemon({ url: `${server.url}/cell/`, capability: 'secret.token', database: 'notes' })

  await daemon.call('GET /v1/kv/entries', { query: { prefix: 'ä&b', limit: 5, cursor: undefined } })
  const answer = await daemon.call(PUT, { path: { key: 'a/b ?#%' }, body: { value: 1, ttlMs: undefined } })

  const [list, put] = server.seen
  assert.equal(list!.line, 'GET /cell/v1/kv/entries?prefix=%C3%A4%26b&limit=5')
  assert.equal(put!.line, 'PUT /cell/v1/kv/entries/a%2Fb%20%3F%23%25')
  assert.equal(put!.body, '{"value":1}')
  assert.equal(put!.headers['content-type'], 'application/json')
  assert.equal(put!.headers['x-loci-capability'], 'secret.token')
  assert.equal(put!.headers['x-loci-database'], 'notes')
  assert.deepEqual([answer.status, answer.body.key, answer.requestId], [200, 'a/b', 'req_header'])
})

for (const key of ['', '.', '..', '\ud800']) {
  test(`the key ${JSON.stringify(key)} would lead to another route and is not sent`, async () => {
    await using server = await scripted()
    const error = await errorOf(daemonAt(server.url).call('DELETE /v1/kv/entries/{key}', { path: { key } }))
    assert.deepEqual([error.code, error.status, server.seen.length], ['INVALID_REQUEST', 0, 0])
  })
}

test('a refusal is an error with all that the server said, in both letter cases', async () => {
  const hint = 'h'
  await using daemon = await scripted(refusal(404, 'NOT_FOUND', { hint, details: { a: 1 } }))
  await using management = await scripted({
    status: 403,
    body: { error: { code: 'FORBIDDEN', message: 'm', status: 403, request_id: 'req_2', retryable: false } },
  })

  const one = await errorOf(daemonAt(daemon.url).call(GET, { path: { key: 'a' } }))
  const two = await errorOf(connectManagement({ url: management.url }).call('GET /health/live'))

  assert.deepEqual(
    [one.code, one.status, one.message, one.requestId, one.retryable, one.retryAfterMs, one.hint, one.details],
    ['NOT_FOUND', 404, 'NOT_FOUND.', 'req_1', false, undefined, 'h', { a: 1 }],
  )
  assert.deepEqual([two.code, two.requestId, two.attempts], ['FORBIDDEN', 'req_2', 1])
  assert.equal(management.seen[0]!.headers['x-api-key'], undefined)
})

test('a page of something in between is an error of its own, and is asked again', async () => {
  await using server = await scripted({ status: 502, body: '<html>' }, { status: 418, body: '<html>' })
  const error = await errorOf(daemonAt(server.url).call(GET, { path: { key: 'a' } }))
  assert.deepEqual([error.code, error.status, error.attempts], ['UNEXPECTED_ANSWER', 418, 2])
  assert.match(error.message, /check the url/)
})

test('a POST that creates keeps one key over a lost connection, a busy server and its own first attempt', async () => {
  const running = refusal(409, 'IDEMPOTENCY_IN_PROGRESS', { retryable: true })
  await using server = await scripted('drop', BUSY, running, { body: { results: [] } })

  await daemonAt(server.url).call(BATCH, { body: operations })
  await daemonAt(server.url).call(BATCH, { body: operations, idempotencyKey: 'mine' })

  const keys = server.seen.map(({ headers }) => headers['idempotency-key'])
  assert.equal(server.seen.length, 5)
  assert.match(String(keys[0]), /^[0-9a-f]{32}$/)
  assert.deepEqual(new Set(keys.slice(0, 4)).size, 1)
  assert.equal(keys[4], 'mine')
})

const UNKNOWN = refusal(500, 'OUTCOME_UNKNOWN', { retryable: true })

// Mutant: status === 500 left out of mayRepeat().
test('a write whose outcome is unknown is repeated with its key, one on a version is not, a bug never is', async () => {
  await using server = await scripted(UNKNOWN, { body: { results: [] } })
  await daemonAt(server.url).call(BATCH, { body: operations })
  const keys = server.seen.map(({ headers }) => headers['idempotency-key'])
  assert.deepEqual([keys.length, new Set(keys).size], [2, 1])

  await using conditional = await scripted(UNKNOWN, {})
  const given = { path: { key: 'a' }, body: { value: 1 }, headers: { 'If-Match': '"3"' } }
  const error = await errorOf(daemonAt(conditional.url).call(PUT, given))
  assert.deepEqual([error.code, error.retryable, conditional.seen.length], ['OUTCOME_UNKNOWN', true, 1])

  await using broken = await scripted(refusal(500, 'INTERNAL_ERROR'), {})
  await errorOf(daemonAt(broken.url).call(BATCH, { body: operations }))
  assert.equal(broken.seen.length, 1)
})

test('the seconds of management are the time to come back', async () => {
  const late = {
    code: 'RATE_LIMITED',
    message: 'm',
    status: 429,
    request_id: 'req_1',
    retryable: true,
    retry_after: 40,
  }
  await using server = await scripted({ status: 429, body: { error: late } })
  const error = await errorOf(connectManagement({ url: server.url }).call('GET /health/live'))
  assert.deepEqual([error.retryAfterMs, server.seen.length], [40_000, 1])
})

test('a service is created strictly: the same key with another body must not pass for the same', async () => {
  type Services = { 'POST /api/v1/services': { given: { body: object }; answers: { 202: { service_id: string } } } }
  await using server = await scripted({ status: 202, body: { service_id: 'svc_1' } })
  const keyed = new Set(['POST /api/v1/services'])
  const management = connect<Services>({ url: server.url }, { 'x-api-key': 'k' }, keyed)

  const { status, body } = await management.call('POST /api/v1/services', { body: {} })

  assert.deepEqual([status, body.service_id], [202, 'svc_1'])
  assert.equal(server.seen[0]!.headers['idempotency-strict'], 'true')
  assert.equal(server.seen[0]!.headers['x-api-key'], 'k')
})

test('a POST whose route honours no key is sent once, whatever happens', async () => {
  for (const act of ['drop', BUSY] as const) {
    await using server = await scripted(act)
    const error = await errorOf(daemonAt(server.url).call('POST /admin/revocations', { body: { jti: 'a' } }))
    assert.equal(error.code, act === 'drop' ? 'NETWORK_FAILURE' : 'OVERLOADED')
    assert.equal(server.seen.length, 1)
    assert.equal(server.seen[0]!.headers['idempotency-key'], undefined)
  }
})

test('a write on a version is repeated when it was refused, not when its answer was lost', async () => {
  const given = { path: { key: 'a' }, body: { value: 1 }, headers: { 'If-Match': '"3"' } }
  await using refusing = await scripted(BUSY, {})
  await daemonAt(refusing.url).call(PUT, given)
  assert.deepEqual(
    refusing.seen.map(({ headers }) => headers['if-match']),
    ['"3"', '"3"'],
  )

  await using losing = await scripted('drop', {})
  const error = await errorOf(daemonAt(losing.url).call(PUT, given))
  assert.deepEqual([error.code, error.status, error.retryable, losing.seen.length], ['NETWORK_FAILURE', 0, true, 1])
})

test('a sub-service that is switched off without an end is not asked again', async () => {
  await using server = await scripted(refusal(503, 'SUBSERVICE_DISABLED'))
  await errorOf(daemonAt(server.url).call(GET, { path: { key: 'a' } }))
  assert.equal(server.seen.length, 1)
})

test('Retry-After is waited for; beyond the deadline the refusal comes at once', async () => {
  await using soon = await scripted(refusal(429, 'RATE_LIMITED', {}, { 'retry-after': '1' }), {})
  await using late = await scripted(refusal(429, 'RATE_LIMITED', {}, { 'retry-after': '31' }))
  const started = performance.now()
  const error = await errorOf(daemonAt(late.url).call(GET, { path: { key: 'a' } }))
  assert.ok(performance.now() - started < 15_000, 'not after 31 s')
  assert.deepEqual([error.retryAfterMs, late.seen.length], [31_000, 1])

  const asked = performance.now()
  await daemonAt(soon.url).call(GET, { path: { key: 'a' } })
  assert.ok(performance.now() - asked >= 1_000)
})

test('attempts and deadline are bounds', async () => {
  await using server = await scripted(BUSY)
  const few = await errorOf(daemonAt(server.url, { attemptsMax: 2 }).call(GET, { path: { key: 'a' } }))
  assert.deepEqual([few.code, few.attempts, server.seen.length], ['OVERLOADED', 2, 2])

  const started = performance.now()
  await errorOf(daemonAt(server.url).call(GET, { path: { key: 'a' }, deadlineMs: 2_000, attemptsMax: undefined }))
  const tookMs = performance.now() - started
  // The default is 30 s.
  assert.ok(tookMs < 15_000 && server.seen.length >= 4, `${tookMs} ms, ${server.seen.length} requests`)
})

test('an attempt that hangs is given up and repeated', async () => {
  await using server = await scripted('hang', {})
  await daemonAt(server.url, { attemptMs: 2_000 }).call(GET, { path: { key: 'a' } })
  assert.equal(server.seen.length, 2)

  await using dead = await scripted('hang')
  const once = { path: { key: 'a' }, attemptMs: 50, attemptsMax: 1 }
  assert.equal((await errorOf(daemonAt(dead.url).call(GET, once))).code, 'TIMEOUT')
})

test('an abort ends the call with its own reason, in flight and between attempts', async () => {
  for (const act of ['hang', refusal(503, 'OVERLOADED', { retryAfterMs: 20_000 })] as const) {
    await using server = await scripted(act)
    const stop = new AbortController()
    const started = performance.now()
    const call = daemonAt(server.url).call(GET, { path: { key: 'a' }, signal: stop.signal })
    const abort = () => (server.seen.length > 0 ? stop.abort(new Error('enough')) : setTimeout(abort, 100))
    setTimeout(abort, 100)
    await assert.rejects(call, /^Error: enough$/)
    assert.ok(performance.now() - started < 15_000)
    await assert.rejects(daemonAt(server.url).call(GET, { path: { key: 'a' }, signal: stop.signal }), /enough/)
    assert.equal(server.seen.length, 1)
  }
})

test('headers are asked for before each attempt, so that a renewed credential is used', async () => {
  await using server = await scripted(BUSY, {})
  let asked = 0
  const headers = async () => ({ 'x-loci-capability': `token-${++asked}` })
  await connectDaemon({ url: server.url, headers }).call(GET, { path: { key: 'a' } })
  assert.deepEqual(
    server.seen.map((one) => one.headers['x-loci-capability']),
    ['token-1', 'token-2'],
  )
})

const movedTo = (endpoint: unknown) => refusal(421, 'SERVICE_MOVED', { details: { endpoint } })

test('a moved service is followed once, with the credential and the same key', async () => {
  await using now = await scripted({ body: { results: [] } })
  await using old = await scripted(movedTo(now.url))
  await daemonAt(old.url).call(BATCH, { body: operations })
  const [first, second] = [old.seen[0]!, now.seen[0]!]
  assert.equal(second.headers['x-loci-capability'], 'secret.token')
  assert.equal(second.headers['idempotency-key'], first.headers['idempotency-key'])
  assert.equal(second.body, first.body)

  // Not counted at the servers that answer 421: fetch itself asks those a second time, on a new connection.
  await using older = await scripted(movedTo(old.url))
  const error = await errorOf(daemonAt(older.url).call(GET, { path: { key: 'a' } }))
  assert.deepEqual([error.code, error.attempts, now.seen.length], ['SERVICE_MOVED', 2, 1])
})

test('a service that says it moved to itself is not asked for ever', async () => {
  await using server = await scripted()
  server.acts.push(movedTo(server.url))
  const error = await errorOf(daemonAt(server.url).call(GET, { path: { key: 'a' } }))
  assert.deepEqual([error.code, error.attempts], ['SERVICE_MOVED', 2])
})

test('a move that is no http(s) address, has a user, or leaves https is not followed', async () => {
  await using server = await scripted()
  const host = server.url.slice('http://'.length)
  for (const endpoint of ['ftp://a/', 'javascript:1', `http://user:pass@${host}`, 'x', 7, undefined]) {
    await using old = await scripted(movedTo(endpoint))
    assert.equal((await errorOf(daemonAt(old.url).call(GET, { path: { key: 'a' } }))).code, 'SERVICE_MOVED')
  }
  const asked: string[] = []
  const overTls: typeof fetch = async (url) => {
    asked.push(String(url))
    const { body } = movedTo(server.url) as Told
    return new Response(JSON.stringify(body), { status: 421, headers: { 'content-type': 'application/json' } })
  }
  const secure = daemonAt('https://loci.example', { fetch: overTls })
  assert.equal((await errorOf(secure.call('GET /health/live'))).code, 'SERVICE_MOVED')
  assert.deepEqual(asked, ['https://loci.example/health/live'])
  assert.equal(server.seen.length, 0)
})

test('a redirect is not followed: the credential would go with it', async () => {
  await using other = await scripted()
  for (const status of [301, 302, 307, 308]) {
    await using server = await scripted({ status, headers: { location: other.url }, body: '' })
    const error = await errorOf(daemonAt(server.url).call(GET, { path: { key: 'a' } }))
    assert.deepEqual([error.code, error.status, server.seen.length], ['UNEXPECTED_ANSWER', status, 1])
  }
  assert.equal(other.seen.length, 0)
})

test('a credential stands in no url and in no error', async () => {
  for (const url of ['https://me:secret@loci.example', 'https://loci.example?key=secret', 'loci.example', 'ftp://a']) {
    assert.throws(
      () => connectDaemon({ url }),
      (error: LociError) => error.code === 'INVALID_REQUEST' && !error.message.includes('secret'),
    )
  }
  assert.throws(
    () => connectManagement({ url: 'https://loci.example', apiKey: 'loci_sk_se\ncret' }),
    (error: LociError) => /x-api-key/.test(error.message) && !/loci_sk/.test(String(error.stack)),
  )
})

test('a server that is not there is told with the cause, and a path parameter that was left out with its name', async () => {
  const gone = await scripted()
  await gone[Symbol.asyncDispose]()
  const error = await errorOf(daemonAt(gone.url, { attemptsMax: 1 }).call(GET, { path: { key: 'a' } }))
  assert.equal(error.code, 'NETWORK_FAILURE')
  assert.match(error.message, /could not be reached, or went away before it had answered \(ECONNREFUSED\)\.$/)
  const missing = await errorOf(daemonAt(gone.url).call(GET, { path: {} as { key: string } }))
  assert.deepEqual(
    [missing.code, missing.message],
    ['INVALID_REQUEST', 'path.key is missing: it stands in the path as {key}.'],
  )
})
