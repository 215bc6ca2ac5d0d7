// What must be right about a request before anything of it is believed: its framing, its host, how it arrived.

import type { IncomingMessage } from 'node:http'
import { type AddressSet, arrivedByTls } from './addresses.ts'
import { ApiError } from './api-error.ts'
import type { Mismatch } from './router.ts'

/** The path of the request target, also in absolute form (RFC 9112, 3.2.2). */
export function pathOf(target: string): string {
  const from = target.startsWith('/') ? 0 : (/^https?:\/\/[^/?]*/i.exec(target)?.[0].length ?? 0)
  const end = target.indexOf('?', from)
  return end < 0 ? target.slice(from) : target.slice(from, end)
}

interface ArrivalRules {
  requireHttps: boolean
  trustedProxies: AddressSet
}

export function requireArrival(request: IncomingMessage, { requireHttps, trustedProxies }: ArrivalRules): void {
  requireFraming(request)
  requireHost(request)
  if (requireHttps && !arrivedByTls(request.socket, request.headers, trustedProxies))
    throw new ApiError('HTTPS_REQUIRED', 'This deployment answers requests that arrive by TLS only. Use https.')
}

/** Two readers that disagree where a request ends are how a second one is smuggled past the first (RFC 9112, 6.1). */
function requireFraming({ headers, httpVersion }: IncomingMessage): void {
  const encoding = headers['transfer-encoding']
  if (encoding === undefined) return
  if (httpVersion === '1.0') throw malformed('HTTP/1.0 has no Transfer-Encoding.')
  if (encoding.toLowerCase() !== 'chunked')
    throw malformed('Transfer-Encoding must be exactly: chunked. Send the body without another encoding.')
}

/** Uri-host and port (RFC 3986, 3.2.2), not taken apart. Empty is allowed where the target has no authority. */
const HOST = /^[\w.~!$&'()*+;=%:[\]-]*$/

function requireHost({ headers, rawHeaders, httpVersion }: IncomingMessage): void {
  requireSingle(rawHeaders)
  const { host } = headers
  // HTTP/1.0 has no Host; health checks of load balancers still speak it.
  if (host === undefined && httpVersion === '1.0') return
  if (host === undefined) throw malformed('The request has no Host header.')
  if (!HOST.test(host)) throw malformed('The Host header is not a host with an optional port.')
}

/** Node keeps the first of these and drops the rest without a word; whoever stands before us may have read the last. */
function requireSingle(raw: string[]): void {
  let hosts = 0
  let authorizations = 0
  for (let at = 0; at < raw.length; at += 2) {
    const name = raw[at] as string
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1
    else if (name.length === 13 && name.toLowerCase() === 'authorization') authorizations += 1
  }
  if (hosts > 1) throw malformed('The request has more than one Host header.')
  if (authorizations > 1) throw malformed('The request has more than one Authorization header.')
}

/** The connection is closed: what else is on it may be read in two ways too. */
function malformed(message: string): ApiError {
  return new ApiError('VALIDATION_ERROR', message, { headers: { connection: 'close' } })
}

export function noRoute({ allow, isMalformed }: Mismatch): ApiError {
  if (isMalformed)
    return new ApiError(
      'VALIDATION_ERROR',
      'The path is not percent-encoded UTF-8, or has segments that no path here has.',
    )
  if (allow.length === 0)
    return new ApiError(
      'NOT_FOUND',
      'There is nothing at this path. /docs shows what there is, /openapi.json lists it.',
    )
  const methods = allow.join(', ')
  return new ApiError('METHOD_NOT_ALLOWED', `This path has ${methods}.`, { headers: { allow: methods } })
}
