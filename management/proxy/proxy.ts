// What may pass between a page of ours and a daemon: paths, headers, kinds of answers. Everything that is not named
// here stays behind.

import { ApiError } from '@loci/chassis/api-error.ts'

type Headers = Record<string, string | string[] | undefined>

/**
 * What stands behind /v1/. Not the partner's routes, whatever the installation calls them, nor import and export, which
 * are no JSON; administration, MCP and the documents are not under /v1 at all.
 */
const OPEN = new Set([
  ...['kv', 'working-memory', 'cognitive', 'memory', 'advice', 'events', 'databases', 'audit', 'system', 'conductor'],
  // Of the process that answers, not of the service: a page says by them why its data are late.
  ...['health', 'lifecycle'],
])

/**
 * `tail` is decoded, and none of its segments is empty, a dot or has a slash in it: the router has seen to that, and
 * the contract to its end.
 */
export function pathOf(tail: string): string {
  const segments = tail.split('/')
  if (segments[0] !== 'v1' || !OPEN.has(segments[1] ?? ''))
    throw new ApiError(
      'NOT_FOUND',
      'The proxy does not lead there. It leads to the data of the service under /v1 alone.',
    )
  return `/${segments.map(encodeURIComponent).join('/')}`
}

/** Behind the path that the endpoint has, as clients ask: a gateway may tell its services apart by it. */
export function targetOf(endpoint: string, path: string, query: Record<string, string> = {}): URL {
  const target = new URL(endpoint)
  target.pathname = `${target.pathname.replace(/\/+$/, '')}${path}`
  target.search = new URLSearchParams(query).toString()
  return target
}

/** Of the request: no cookie, no credential of the caller's, no address of the caller's. */
const ASKED = [
  'accept',
  'content-type',
  'if-match',
  'if-none-match',
  'idempotency-key',
  'last-event-id',
  'traceparent',
  'x-loci-database',
]
/** Of the answer. */
const ANSWERED = [
  'content-type',
  'etag',
  'retry-after',
  'idempotent-replayed',
  'deprecation',
  'sunset',
  'x-accel-buffering',
]

export function askedHeaders(headers: Headers): Record<string, string> {
  return pick(headers, ASKED)
}

export function answeredHeaders(headers: Headers): Record<string, string> {
  return pick(headers, ANSWERED)
}

function pick(headers: Headers, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => (typeof headers[name] === 'string' ? [[name, headers[name] as string]] : [])),
  )
}

/** A page of a daemon would be a page of our own origin, with our cookies. */
export function isOfType({ 'content-type': type }: Headers, media: 'application/json' | 'text/event-stream'): boolean {
  return (
    String(type ?? '')
      .split(';')[0]
      ?.trim() === media
  )
}
