// Calls as spans, recorded by the SDK of OpenTelemetry itself, in memory.

import assert from 'node:assert/strict'
import { after, beforeEach, test } from 'node:test'
import { context, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { InMemorySpanExporter, type ReadableSpan, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { LociError } from './error.ts'
import { Loci, type LociOptions } from './loci.ts'
import { completed } from './node.ts'
import { type Act, scripted } from './testing/scripted.ts'

const exporter = new InMemorySpanExporter()
const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })
const SERVICE = `svc_${'0'.repeat(26)}`
const CANARY = 'zebra-4711'

context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
beforeEach(() => exporter.reset())
after(() => provider.shutdown())

const spans = () => exporter.getFinishedSpans()
const told = ({ name, attributes, status, events }: ReadableSpan) => [name, attributes, status, events]
const spanOf = (name: string) => {
  const [only, ...others] = spans().filter((span) => span.name === name)
  assert.ok(only && others.length === 0, `not one ${name} in: ${spans().map((span) => span.name)}`)
  return only
}

/** A user of a service whose daemon does what it is told, with a capability, so that management is not asked. */
async function userAt(acts: Act[], options: Partial<LociOptions> = {}) {
  const server = await scripted(...acts)
  const token = `e30.${btoa(JSON.stringify({ svc: SERVICE }))}.x`
  const loci = new Loci({ url: server.url, token, telemetry: { provider }, ...options })
  const service = loci.service()
  return { server, service, ada: service.user('ada'), [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
}

const HIT = { id: 'mem_1', content: `Ada likes ${CANARY}`, relevance: 0.9, metadata: { from: CANARY }, explain: null }
const refusal = (status: number, code: string): Act => ({
  status,
  body: { error: { code, message: `about ${CANARY}`, status, requestId: 'req_refused', retryable: false } },
})

// Mutants: content unless it is refused; no database.
test('a recall is a search_memory span of the database, with its count and no word of it', async () => {
  const busy: Act = { status: 503, body: { error: { code: 'OVERLOADED', message: 'm', retryAfterMs: 1 } } }
  await using at = await userAt([busy, { body: { results: [HIT, HIT], abstained: false } }])

  await at.ada.recall(`who likes ${CANARY}?`)

  const { attributes, kind, status } = spanOf('search_memory')
  assert.deepEqual(
    { ...attributes },
    {
      'gen_ai.operation.name': 'search_memory',
      'gen_ai.provider.name': 'loci',
      'gen_ai.memory.store.id': 'ada',
      'gen_ai.memory.record.count': 2,
      'http.request.method': 'POST',
      'url.template': '/v1/memory/recall',
      'server.address': '127.0.0.1',
      'server.port': Number(new URL(at.server.url).port),
      'http.response.status_code': 200,
      'loci.request.id': 'req_header',
    },
  )
  assert.deepEqual([kind, status.code, spans().length, at.server.seen.length], [2, 0, 1, 2])
  assert.doesNotMatch(JSON.stringify(spans().map(told)), new RegExp(CANARY))
})

test('the operation says what the call does to memories: creates, updates, either, deletes, searches', async () => {
  await using at = await userAt([{ body: { id: 'mem_1', records: [{ id: 'mem_1', content: 'a' }] } }])
  const { ada } = at

  await ada.remember('a')
  await ada.remember('a', { key: 'k' })
  await ada.remember('a', { supersedes: 'mem_0' })
  await ada.rememberAll(['a', { content: 'b', key: 'k' }])
  await ada.memories().all()
  await ada.memory('mem_1')
  await ada.forget('mem_1')
  await ada.kv.put('k', 1)

  const shown = spans().map(({ name, attributes }) => [
    ...[name, attributes['gen_ai.memory.record.count'], attributes['gen_ai.memory.record.id']],
  ])
  assert.deepEqual(shown, [
    ['create_memory', 1, 'mem_1'],
    ['upsert_memory', 1, 'mem_1'],
    ['update_memory', 1, 'mem_1'],
    ['upsert_memory', 2, undefined],
    ['search_memory', 1, undefined],
    ['search_memory', 1, 'mem_1'],
    ['delete_memory', 1, 'mem_1'],
    ['PUT /v1/kv/entries/{key}', undefined, undefined],
  ])
})

test('a user who is forgotten whole is a delete_memory_store span', async () => {
  await using at = await userAt([{ body: { deleted: true, name: 'ada' } }])

  await at.service.forgetUser('ada')

  assert.equal(spanOf('delete_memory_store').attributes['gen_ai.memory.store.id'], 'ada')
})

test('content is in spans where it was asked for: the question, what was found, what was stored', async () => {
  await using at = await userAt([{ body: { id: 'mem_1', results: [HIT] } }], {
    telemetry: { provider, content: true },
  })

  await at.ada.recall('who?')
  await at.ada.remember('Bob likes tea', { metadata: { from: 'chat' } })

  const [search, create] = [spanOf('search_memory').attributes, spanOf('create_memory').attributes]
  const records = (attributes: typeof search) => JSON.parse(String(attributes['gen_ai.memory.records']))
  assert.equal(search['gen_ai.memory.query.text'], 'who?')
  assert.deepEqual(records(search), [{ id: 'mem_1', content: HIT.content, score: 0.9, metadata: HIT.metadata }])
  assert.deepEqual(records(create), [{ content: 'Bob likes tea', metadata: { from: 'chat' } }])
})

// Mutant: the message of the error as that of the status.
test('a refusal ends the span with its code and its request id, and not with its message', async () => {
  await using at = await userAt([refusal(402, 'PAYMENT_REQUIRED')])

  await assert.rejects(at.ada.remember('a'), { code: 'PAYMENT_REQUIRED' })

  const { attributes, status, events } = spanOf('create_memory')
  assert.deepEqual([attributes['error.type'], attributes['loci.request.id']], ['PAYMENT_REQUIRED', 'req_refused'])
  assert.deepEqual([attributes['http.response.status_code'], status, events], [402, { code: 2 }, []])
})

test('what is not there is no error of a GET, and one of a DELETE', async () => {
  await using at = await userAt([refusal(404, 'NOT_FOUND')])

  assert.equal(await at.ada.kv.get('a'), undefined)
  await assert.rejects(at.ada.kv.delete('a'), LociError)

  const [get, gone] = spans()
  assert.deepEqual([get?.status.code, get?.attributes['error.type']], [0, undefined])
  assert.deepEqual([gone?.status.code, gone?.attributes['error.type']], [2, 'NOT_FOUND'])
})

test('a call that is given up or never sent is an error of its own', async () => {
  await using at = await userAt(['hang'])

  await assert.rejects(at.ada.recall('a', {}, { signal: AbortSignal.timeout(20) }))
  await assert.rejects(at.ada.memory('..'), { code: 'INVALID_REQUEST' })

  assert.deepEqual(
    spans().map(({ attributes }) => attributes['error.type']),
    ['TimeoutError', 'INVALID_REQUEST'],
  )
})

// Mutant: no headers of the span.
test('traceparent names the span of the call, which hangs below what is active; one that is given stays', async () => {
  await using at = await userAt([{ body: { results: [] } }])
  const theirs = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`

  await provider.getTracer('agent').startActiveSpan('answer', async (answer) => {
    await at.ada.recall('a')
    answer.end()
  })
  const daemon = await at.ada.daemon()
  await daemon.call('GET /v1/kv/health', { headers: { traceparent: theirs } })

  const [call, outer] = [spanOf('search_memory'), spanOf('answer')]
  const { traceId, spanId } = call.spanContext()
  assert.equal(call.parentSpanContext?.spanId, outer.spanContext().spanId)
  assert.deepEqual(
    at.server.seen.map(({ headers }) => headers.traceparent),
    [`00-${traceId}-${spanId}-01`, theirs],
  )
})

// Mutant: registered() under another symbol.
test('what the program registered is found; false switches it off; without any there is no header', async () => {
  await using at = await userAt([{ body: { results: [] } }], { telemetry: undefined })
  await using off = await userAt([{ body: { results: [] } }], { telemetry: false })
  await at.ada.recall('a')
  trace.setGlobalTracerProvider(provider)
  try {
    await at.ada.recall('b')
    await off.ada.recall('c')
  } finally {
    trace.disable()
  }
  assert.equal(spans().length, 1)
  assert.deepEqual(
    [...at.server.seen, ...off.server.seen].map(({ headers }) => headers.traceparent?.length),
    [undefined, 55, undefined],
  )
})

test('the trace of @opentelemetry/api may be handed over; while nothing is registered it records nothing', async () => {
  await using at = await userAt([{ body: { results: [] } }], { telemetry: { provider: trace } })
  await at.ada.recall('a')
  assert.deepEqual([spans().length, at.server.seen[0]?.headers.traceparent], [0, undefined])
})

test('in Node content is also asked for as of all GenAI instrumentations', () => {
  const wanted = (value: string, telemetry?: LociOptions['telemetry']) =>
    completed({ url: 'http://x', telemetry }, { OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: value }).telemetry
  assert.deepEqual(wanted('true'), { content: true })
  assert.deepEqual(wanted('SPAN_AND_EVENT'), { content: true })
  assert.deepEqual(wanted('event_only'), { content: false })
  assert.deepEqual(wanted('true', { content: false }), { content: false })
  assert.equal(wanted('true', false), false)
})
