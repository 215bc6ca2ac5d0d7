// W3C trace context. Spans go to whatever OpenTelemetry SDK the operator preloads (`node --import`, see deploy/otel);
// without one nothing is done here but to read the caller's trace id for our logs.
//
// @opentelemetry/api is held at 1.9 on purpose. The API works with an SDK made for its own minor version or a later
// one, and says nothing otherwise: 1.10 gave no span under the SDK 2 line, 1.9 gives them under SDK 2 and SDK 3.

import {
  type Context,
  context,
  ProxyTracerProvider,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api'

const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/

const UNTRACED = { context: ROOT_CONTEXT, traceId: undefined }
const NO_HEADERS = Object.freeze({})

/**
 * A malformed header is no error: the trace begins here. It comes twice where a client sends the span of its call and
 * the caller's fetch is instrumented too, which adds that of the request, further in. Of two traces neither counts.
 */
export function remoteContext(traceparent: string | undefined): { context: Context; traceId: string | undefined } {
  if (traceparent === undefined) return UNTRACED
  const all = traceparent.split(', ')
  const [, traceId, spanId, flags] = TRACEPARENT.exec(all.at(-1) as string) ?? []
  if (all.some((one) => TRACEPARENT.exec(one)?.[1] !== traceId)) return UNTRACED
  if (!traceId || !spanId || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return UNTRACED
  const traceFlags = Number.parseInt(flags as string, 16) & TraceFlags.SAMPLED
  return { context: trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true }), traceId }
}

/**
 * The span of a request. Undefined without an SDK. One that is not sampled is a span all the same: what happens below
 * it must know. Its attributes are the route's template and no more of the path: ids of customers stay out of traces.
 */
export function startSpan(route: string, method: string, remote: Context): Span | undefined {
  if (!isTraced()) return undefined
  // Where the operator's SDK instruments node:http as well, that span is the server's and ours hangs below it.
  const outer = trace.getActiveSpan()
  return tracer().startSpan(
    `${method} ${route}`,
    {
      kind: outer ? SpanKind.INTERNAL : SpanKind.SERVER,
      attributes: { 'http.route': route, 'http.request.method': method },
    },
    outer ? context.active() : remote,
  )
}

export function endSpan(span: Span, status: number, code: string | undefined): void {
  span.setAttribute('http.response.status_code', status)
  if (status >= 500) {
    if (code) span.setAttribute('error.type', code)
    span.setStatus({ code: SpanStatusCode.ERROR })
  }
  span.end()
}

/** What `work` does and awaits, statements and calls, hangs below the span. */
export function runInSpan(span: Span, work: () => void): void {
  context.with(trace.setSpan(ROOT_CONTEXT, span), work)
}

/** A call to another server. `call` gets the headers that make its span the parent of what happens there. */
export async function callInSpan<Answer>(
  name: string,
  call: (headers: Record<string, string>) => Promise<Answer>,
): Promise<Answer> {
  if (!isTraced()) return call(NO_HEADERS)
  const span = tracer().startSpan(name, { kind: SpanKind.CLIENT })
  const { traceId, spanId, traceFlags } = span.spanContext()
  const traceparent = `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`
  try {
    return await context.with(trace.setSpan(context.active(), span), () => call({ traceparent }))
  } catch (error) {
    span.setAttribute('error.type', (error as Error).name)
    span.setStatus({ code: SpanStatusCode.ERROR })
    throw error
  } finally {
    span.end()
  }
}

/**
 * Work that another thread does for a request: its wait and its answer. Work without a request makes no span, as its
 * statements make none.
 */
export async function workInSpan<Answer extends object>(name: string, work: () => Promise<Answer>): Promise<Answer> {
  if (!isTraced() || trace.getActiveSpan() === undefined) return work()
  const span = tracer().startSpan(name)
  try {
    const answer = await work()
    if ('us' in answer) span.setAttribute('loci.thread.cpu_us', Number(answer.us))
    return answer
  } catch (error) {
    span.setAttribute('error.type', (error as Error).name)
    span.setStatus({ code: SpanStatusCode.ERROR })
    throw error
  } finally {
    span.end()
  }
}

/** Asked for each request: an SDK may be registered late, and the look costs nanoseconds. */
function isTraced(): boolean {
  const provider = trace.getTracerProvider()
  return !(provider instanceof ProxyTracerProvider) || provider.getDelegateTracer('loci') !== undefined
}

function tracer() {
  return trace.getTracer('loci')
}
