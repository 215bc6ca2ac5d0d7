// Calls as spans of OpenTelemetry. Those on memories follow its GenAI conventions for memory (repository
// semantic-conventions-genai, status Development); all others are named by the method and template of their route.
//
// Nothing is imported. A program that has an OpenTelemetry SDK registered it where @opentelemetry/api keeps it, under a
// symbol that every version 1 of the API shares, so what is found there works with it, whatever its version is. Spans
// hold no content unless it is asked for: no text, no key of the user, no message of an error.

import { LociError } from './error.ts'
import type { Answered } from './exchange.ts'
import { type MemoryCall, memoryCallOf, recordsText } from './memory-calls.ts'

type Value = string | number | boolean
type Attributes = { [name: string]: Value | undefined }

/** As much of @opentelemetry/api as is used here. */
export interface Span {
  setAttribute(name: string, value: Value): unknown
  setStatus(status: { code: number }): unknown
  spanContext(): { traceId: string; spanId: string; traceFlags: number }
  isRecording(): boolean
  end(): void
}

export interface TracerProvider {
  getTracer(name: string): {
    startActiveSpan<Result>(
      name: string,
      options: { kind: number; attributes: { [name: string]: Value } },
      work: (span: Span) => Result,
    ): Result
  }
}

export interface Telemetry {
  /** A provider, or `trace` of @opentelemetry/api. Default: the one that the program registered, if any. */
  provider?: TracerProvider | undefined
  /** Questions and memories too, as gen_ai.memory.query.text and gen_ai.memory.records. Default: false. */
  content?: boolean | undefined
}

export interface Call {
  /** `METHOD /path` with its parameters in braces. */
  name: string
  base: string
  given: { path?: Record<string, string | number>; body?: unknown }
}

export interface CallSpan {
  /** What makes the server's span a part of this trace. */
  readonly headers: { traceparent?: string }
  /** Notes the database of the request, once its headers are known. */
  within(database: string | null): void
}

/** Where @opentelemetry/api keeps what was registered. */
const REGISTERED = Symbol.for('opentelemetry.js.api.1')
const SCOPE = '@locihq/sdk'
const KIND_CLIENT = 2
const STATUS_ERROR = 2
const NO_SPAN: CallSpan = { headers: {}, within() {} }

/** Runs the call, with all its attempts, as one span; without a provider it just runs. */
export function inSpan(
  telemetry: Telemetry | false | undefined,
  call: Call,
  work: (span: CallSpan) => Promise<Answered>,
): Promise<Answered> {
  const provider = telemetry === false ? undefined : (telemetry?.provider ?? registered())
  if (!provider) return work(NO_SPAN)
  const memory = memoryCallOf(call.name, call.given)
  const options = { kind: KIND_CLIENT, attributes: { ...routeAttributes(call), ...memory?.attributes } }
  const content = telemetry !== false && telemetry?.content === true
  return provider
    .getTracer(SCOPE)
    .startActiveSpan(memory?.operation ?? call.name, options, (span) => spanned(span, call, memory, content, work))
}

async function spanned(
  span: Span,
  call: Call,
  memory: MemoryCall | undefined,
  content: boolean,
  work: (span: CallSpan) => Promise<Answered>,
): Promise<Answered> {
  const set = (attributes: Attributes) => {
    for (const [name, value] of Object.entries(attributes)) if (value !== undefined) span.setAttribute(name, value)
  }
  const told = content && span.isRecording() ? memory : undefined
  try {
    if (told?.query !== undefined) set({ 'gen_ai.memory.query.text': told.query })
    if (told?.sent) set({ 'gen_ai.memory.records': recordsText(told.sent) })
    const answer = await work({
      headers: headersOf(span),
      within(database) {
        if (memory) set({ 'gen_ai.memory.store.id': database ?? undefined })
      },
    })
    const { status, requestId, body } = answer
    set({ 'http.response.status_code': status, 'loci.request.id': requestId, ...memory?.found(body) })
    if (told && !told.sent) set({ 'gen_ai.memory.records': recordsText(told.read(body)) })
    return answer
  } catch (error) {
    const { status = 0, requestId, code } = error instanceof LociError ? error : ({} as Partial<LociError>)
    set({ 'http.response.status_code': status || undefined, 'loci.request.id': requestId })
    // That there is no such thing answers a GET; everything else did not do what it was called for.
    if (status !== 404 || !call.name.startsWith('GET ')) {
      set({ 'error.type': code ?? (error as Error | undefined)?.name ?? '_OTHER' })
      span.setStatus({ code: STATUS_ERROR })
    }
    throw error
  } finally {
    span.end()
  }
}

function registered(): TracerProvider | undefined {
  return (globalThis as { [REGISTERED]?: { trace?: TracerProvider } })[REGISTERED]?.trace
}

function routeAttributes({ name, base }: Call): { [name: string]: Value } {
  const [method = '', template = ''] = name.split(' ')
  const { hostname, port, protocol } = new URL(base)
  return {
    'http.request.method': method,
    'url.template': template,
    'server.address': hostname,
    'server.port': Number(port) || (protocol === 'https:' ? 443 : 80),
  }
}

/** W3C trace context, unless the span has none: a provider that records nothing may make such. */
function headersOf(span: Span): CallSpan['headers'] {
  const { traceId, spanId, traceFlags } = span.spanContext()
  if (/^0*$/.test(traceId)) return {}
  return { traceparent: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}` }
}
