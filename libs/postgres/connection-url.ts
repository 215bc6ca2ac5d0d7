import { isIP } from 'node:net'
import type { ConnectionOptions } from 'node:tls'

/** Where a `postgres://` url points. `host` is a directory when the server is reached through a unix socket. */
export interface ConnectionUrl {
  host: string
  port: number
  user: string
  password?: string
  database: string
  sslmode?: string
}

/** As libpq: `postgres://user@one:5432,two:5432,[::1]/database` names several servers with one login. */
export function serversOf(url: string): ConnectionUrl[] {
  const {
    before = '',
    places = '',
    after = '',
  } = /^(?<before>[a-z]+:\/\/(?:[^/?#]*@)?)(?<places>[^/?#]*)(?<after>.*)$/s.exec(url)?.groups ?? {}
  return places.includes(',')
    ? places.split(',').map((place) => parseUrl(`${before}${place}${after}`))
    : [parseUrl(url)]
}

/**
 * Reads `postgres://user:password@host:port/database` and libpq's socket form
 * `postgres://user@/database?host=/directory&port=5433`.
 *
 * pg's own parser reads both, but it copies every query parameter over the options of the pool: with it,
 * `?statement_timeout=0` in a url would quietly undo our deadlines, and `?sslmode=no-verify` our TLS.
 */
export function parseUrl(url: string): ConnectionUrl {
  // A user without a host is no valid URL, but it is how libpq writes "through the socket".
  const written = url.replace(/^([a-z]+:\/\/[^/?#]*@)(?=[:/?#]|$)/, '$1nohost')
  if (!/^postgres(ql)?:\/\//.test(written) || !URL.canParse(written)) {
    // The url itself stays out of the message: it may hold a password.
    throw new Error('the Postgres url cannot be read: write it as postgres://user:password@host:5432/database')
  }
  const parsed = new URL(written)
  const parameter = (name: string) => parsed.searchParams.get(name) ?? ''
  const inAuthority = decodeURIComponent(parsed.hostname).replace(/^\[(.+)\]$/, '$1')
  const host = parameter('host') || (inAuthority === 'nohost' ? '' : inAuthority)
  const user = decodeURIComponent(parsed.username) || parameter('user')
  const database = decodeURIComponent(parsed.pathname.slice(1)) || parameter('dbname') || user
  if (host === '') throw new Error('the Postgres url names no host: add one, or ?host=/directory/of/the/socket')
  if (host.includes(','))
    throw new Error('the Postgres url names several hosts: write them as postgres://user@one:5432,two:5432/database')
  if (user === '') throw new Error('the Postgres url names no user: write postgres://user@host/database')
  const port = Number(parsed.port || parameter('port') || 5432)
  if (!Number.isInteger(port)) throw new Error('the port in the Postgres url is not a number')
  const password = decodeURIComponent(parsed.password) || parameter('password')
  const sslmode = parameter('sslmode')
  return { host, port, user, database, ...(password && { password }), ...(sslmode && { sslmode }) }
}

/**
 * Off this machine TLS is always on and the server's certificate is always verified: no parameter of a url can
 * weaken it, because a url is pasted from somewhere and nobody reads its tail.
 */
export function tlsOf(to: ConnectionUrl, ca: string | undefined): ConnectionOptions | false {
  const verified: ConnectionOptions = {
    rejectUnauthorized: true,
    ...(ca !== undefined && { ca }),
    // A server name in the handshake may not be an address (RFC 6066); then pg verifies the address itself.
    ...(isIP(to.host) === 0 && { servername: to.host.startsWith('/') ? 'localhost' : to.host }),
  }
  if (isLocal(to.host)) return ['require', 'verify-ca', 'verify-full'].includes(to.sslmode ?? '') ? verified : false
  if (['disable', 'allow', 'no-verify'].includes(to.sslmode ?? '')) {
    throw new Error(
      `the Postgres url says sslmode=${to.sslmode}, but ${to.host} is not on this machine and is only reached with ` +
        'verified TLS: remove sslmode, and name the authority that signed its certificate if it is not a public one',
    )
  }
  return verified
}

function isLocal(host: string): boolean {
  return host.startsWith('/') || host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
}
