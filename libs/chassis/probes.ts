// The open routes that both programs have: live, ready, startup, metrics, and the documents about themselves.

import { healthResponse, notReadyResponse, readyResponse, startupResponse } from '@loci/contract/health.ts'
import { ApiError } from './api-error.ts'
import { cachedFor } from './cached.ts'
import { docsPage } from './docs-page.ts'
import type { Lifecycle } from './lifecycle.ts'
import type { Metrics } from './metrics.ts'
import { html } from './pages.ts'
import { publish } from './published.ts'
import { type Access, type Route, reply, route } from './route.ts'

/** Nobody is asked; the rate of the address bounds it. */
export const open: Access<undefined> = {
  class: 'open',
  schemes: [],
  units: 1,
  errors: ['RATE_LIMITED'],
  authorize: () => undefined,
}
/** What load balancers ask for, however often: they must never be refused. */
const unlimited: Access<undefined> = { ...open, units: 0, errors: [] }

/** A scrape costs milliseconds of the one thread that everybody shares, and anyone may ask for it. */
const METRICS_MS = 1_000
const JSON_TYPE = 'application/json; charset=utf-8'
const UNCHANGED = { contentType: [], description: 'The client has this text already.' }

interface ProbeOptions {
  lifecycle: Lifecycle
  metrics: Metrics
  /** Path prefixes that the health routes are served under: the daemon has '' and '/v1'. */
  prefixes: string[]
  /** The state of each part, for the startup probe. */
  parts(): Record<string, string>
}

export function probeRoutes({ lifecycle, metrics, prefixes, parts }: ProbeOptions): Route[] {
  const scrape = cachedFor(METRICS_MS, () => metrics.registry.metrics())
  // Once started it stays so, also when it must warm up again: it is not to be restarted for that. What was told to
  // stop before it served never started, and knows no state of any part.
  let hasServed = false
  lifecycle.onMove(({ to }) => {
    hasServed ||= to === 'ready' || to === 'degraded'
  })
  const health = prefixes.flatMap((prefix) => [
    route(
      {
        method: 'GET',
        path: `${prefix}/health/live`,
        access: unlimited,
        tag: 'health',
        deadline: 'probe',
        summary: 'Ask whether the process is alive.',
        details: 'Touches no dependency.',
        answers: { 200: healthResponse },
      },
      () => ({ status: 'ok' }),
    ),

    route(
      {
        method: 'GET',
        path: `${prefix}/health/ready`,
        access: unlimited,
        tag: 'health',
        deadline: 'probe',
        summary: 'Ask whether requests should be sent here.',
        answers: { 200: readyResponse, 503: notReadyResponse },
      },
      () => {
        if (lifecycle.state === 'ready') return { status: 'ok' }
        if (lifecycle.state === 'degraded') return { status: 'degraded' }
        const isEnding = lifecycle.state === 'draining' || lifecycle.state === 'stopped'
        const status = isEnding ? 'draining' : 'starting'
        return reply(503, { status }, { 'retry-after': '1' })
      },
    ),

    route(
      {
        method: 'GET',
        path: `${prefix}/health/startup`,
        access: unlimited,
        tag: 'health',
        deadline: 'probe',
        summary: 'Ask whether the process has started, and in what state each part is.',
        answers: { 200: startupResponse },
        errors: ['STARTING'],
      },
      () => {
        if (!hasServed) throw new ApiError('STARTING', `The process is ${lifecycle.state}. Try again.`)
        return { status: 'ok', services: parts() }
      },
    ),
  ])
  return [
    ...health,
    route(
      {
        method: 'GET',
        path: '/metrics',
        access: open,
        tag: 'health',
        deadline: 'probe',
        summary: 'Read Prometheus metrics, at most a second old.',
        answers: { 200: { contentType: 'text/plain', description: 'Prometheus text format.' } },
        errors: ['INTERNAL_ERROR', 'OVERLOADED'],
        failureMessage: 'The metrics could not be collected.',
      },
      async () => reply(200, await scrape(), { 'content-type': metrics.registry.contentType }),
    ),
  ]
}

/** `document` is called once, on the first request, when every route is known. */
export function documentRoutes(document: () => Record<string, unknown>): Route[] {
  let made: Record<string, unknown> | undefined
  const known = () => {
    made ??= document()
    return made
  }
  const openapi = publish(() => reply(200, JSON.stringify(known()), { 'content-type': JSON_TYPE }))
  const page = publish(() => {
    const { html: text, policy } = docsPage(known())
    return html(text, policy)
  })
  const common = {
    method: 'GET',
    access: open,
    tag: 'documents',
    requestHeaders: { 'If-None-Match': 'The ETag of the text that the client has: then 304 without a body.' },
    answerHeaders: { ETag: 'Of this text, in the encoding of the answer.', Vary: '`accept-encoding`.' },
  } as const
  return [
    route(
      {
        ...common,
        path: '/openapi.json',
        summary: 'Read this document.',
        details: 'Compressed where the client accepts gzip.',
        answers: { 200: { contentType: 'application/json', description: 'OpenAPI 3.1.' }, 304: UNCHANGED },
      },
      ({ headers }) => openapi(headers),
    ),
    route(
      {
        ...common,
        path: '/docs',
        summary: 'Read the documentation as a page.',
        details: 'Compressed where the client accepts gzip.',
        answers: {
          200: { contentType: 'text/html', description: 'A page that loads nothing from anywhere else.' },
          304: UNCHANGED,
        },
      },
      ({ headers }) => page(headers),
    ),
  ]
}
