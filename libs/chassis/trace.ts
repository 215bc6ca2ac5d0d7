// W3C trace context. Spans go to whatever OpenTelemetry SDK the operator preloads (`node --import`); without one the API does
// nothing, and the trace id of the caller still reaches our logs.

import {
  type Context,
  ProxyTracerProvider,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  TraceFlags,
  trace,
} from '@opentelemetry/api'

const tracer = trace.getTracer('loci')
const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/

const UNTRACED = { context: ROOT_CONTEXT, traceId: undefined }

/** A malformed header is no error: the trace begins here. */
export function remoteContext(traceparent: string | undefined): { context: Context; traceId: string | undefined } {
  if (traceparent === undefined) return UNTRACED
  const [, traceId, spanId, flags] = TRACEPARENT.exec(traceparent) ?? []
  if (!traceId || !spanId || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return UNTRACED
  const traceFlags = Number.parseInt(flags as string, 16) & TraceFlags.SAMPLED
  return { context: trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true }), traceId }
}

/** Undefined without an SDK: a span that records nothing is not worth its microsecond. */
export function startSpan(route: string, method: string, context: Context): Span | undefined {
  const provider = trace.getTracerProvider()
  if (provider instanceof ProxyTracerProvider && !provider.getDelegateTracer('loci')) return undefined
  const span = tracer.startSpan(
    `${method} ${route}`,
    { kind: SpanKind.SERVER, attributes: { 'http.route': route, 'http.request.method': method } },
    context,
  )
  return span.isRecording() ? span : undefined
}
