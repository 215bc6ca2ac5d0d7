import { isIP } from 'node:net'
import { type ConnectionUrl, parseUrl } from '../connection-url.ts'

/** The same server, but another role or database. A new user drops the old one's password. */
export function changeUrl(url: string, change: { user?: string; password?: string; database?: string }): string {
  const from = parseUrl(url)
  const user = change.user ?? from.user
  const password = change.password ?? (change.user === undefined ? from.password : undefined)
  return formatUrl({ ...from, user, database: change.database ?? from.database }, password)
}

function formatUrl(to: ConnectionUrl, password: string | undefined): string {
  const who = encodeURIComponent(to.user) + (password === undefined ? '' : `:${encodeURIComponent(password)}`)
  const database = encodeURIComponent(to.database)
  const parameters = new URLSearchParams()
  if (to.host.startsWith('/')) {
    parameters.set('host', to.host)
    parameters.set('port', String(to.port))
  }
  if (to.sslmode !== undefined) parameters.set('sslmode', to.sslmode)
  const query = parameters.size === 0 ? '' : `?${parameters}`
  if (to.host.startsWith('/')) return `postgres://${who}@/${database}${query}`
  const host = isIP(to.host) === 6 ? `[${to.host}]` : to.host
  return `postgres://${who}@${host}:${to.port}/${database}${query}`
}
