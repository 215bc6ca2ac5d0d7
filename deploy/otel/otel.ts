// Sends the spans of a loci program to an OpenTelemetry collector:
//
//   npm ci --prefix deploy/otel OTEL_SERVICE_NAME=loci-daemon OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 node
//   --import ./deploy/otel/otel.ts daemon/main.ts
//
// An example to use as it is or to replace by an SDK setup of your own; the programs know nothing of it. The versions
// beside it are those that were tried together (npm run test:system -- trace). The SDK reads OTEL_SERVICE_NAME,
// OTEL_RESOURCE_ATTRIBUTES and OTEL_EXPORTER_OTLP_*; OTEL_TRACES_SAMPLER_ARG is the share of traces that begin here and
// are kept, 1 unless it is set.

import { register } from 'node:module'
import { context, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { registerInstrumentations } from '@opentelemetry/instrumentation'
import { PgInstrumentation } from '@opentelemetry/instrumentation-pg'
import { defaultResource, detectResources, envDetector } from '@opentelemetry/resources'
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'

const provider = new TracerProvider({
  // Whoever calls us has decided for his trace already.
  sampler: new ParentBasedSampler({
    root: new TraceIdRatioBasedSampler(Number(process.env.OTEL_TRACES_SAMPLER_ARG ?? 1)),
  }),
  resource: defaultResource().merge(detectResources({ detectors: [envDetector] })),
  spanProcessors: [new BatchSpanProcessor({ exporter: new OTLPTraceExporter() })],
})
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
trace.setGlobalTracerProvider(provider)

// Statements of requests only, as spans below the request. Their text has no values (they are parameters), so no id of
// a customer; enhancedDatabaseReporting would add the values: leave it off.
register('@opentelemetry/instrumentation/hook.mjs', import.meta.url)
registerInstrumentations({
  tracerProvider: provider,
  instrumentations: [new PgInstrumentation({ requireParentSpan: true, enhancedDatabaseReporting: false })],
})

// The programs end by themselves after a drain and wait for nothing that hangs: what is in the batch is sent on the
// signal, too.
for (const signal of ['SIGTERM', 'SIGINT'] as const)
  process.once(signal, () => void provider.forceFlush().catch(() => {}))
