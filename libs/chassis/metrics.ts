// Prometheus metrics. Labels are few and bounded: route templates, methods, status classes; never an id or a name of a
// customer.

import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from '@prometheus-io/client'

export interface Metrics {
  readonly registry: Registry
  observeRequest(route: string, method: string, status: number, seconds: number): void
  /** Reads a number when scraped, so that nothing has to be kept up to date. */
  gauge(name: string, help: string, read: () => number): void
  counter<Label extends string>(name: string, help: string, labels: readonly Label[]): Counter<Label>
}

/** Around the promises that are made in milliseconds: 1 to 10 for a read, 500 for anything accepted under overload. */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/**
 * Of the default ones, those whose names break the rules of Prometheus, so that `promtool check metrics` has nothing
 * to say. The same is told by loci_nodejs_active_handles, _requests and _resources by type, and by the lag of the
 * event loop.
 */
const MISNAMED = [
  ...['active_handles_total', 'active_requests_total', 'active_resources_total'],
  ...['eventloop_utilization_histogram', 'eventloop_utilization_summary'],
].map((name) => `loci_nodejs_${name}`)

export function createMetrics({ version }: { version: string }): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, prefix: 'loci_' })
  for (const name of MISNAMED) registry.removeSingleMetric(name)
  const duration = new Histogram({
    name: 'loci_http_request_duration_seconds',
    help: 'Time from the first byte of a request to the last byte of its answer.',
    labelNames: ['route', 'method', 'code'] as const,
    buckets: BUCKETS,
    registers: [registry],
  })
  const build = new Gauge({
    name: 'loci_build_info',
    help: 'Always 1; the label is the version.',
    labelNames: ['version'] as const,
    registers: [registry],
  })
  build.set({ version }, 1)
  return {
    registry,
    observeRequest(route, method, status, seconds) {
      duration.observe({ route, method, code: STATUS_CLASS[Math.floor(status / 100)] ?? 'none' }, seconds)
    },
    gauge(name, help, read) {
      const gauge: Gauge = new Gauge({ name, help, registers: [registry], collect: () => gauge.set(read()) })
    },
    counter: (name, help, labels) => new Counter({ name, help, labelNames: labels, registers: [registry] }),
  }
}

const STATUS_CLASS: Record<number, string> = { 1: '1xx', 2: '2xx', 3: '3xx', 4: '4xx', 5: '5xx' }
