// The document of a client that names itself by an address (OAuth Client ID Metadata Document). Whoever asks chooses
// the address, so it is fetched as a stranger's: https on its usual port, a name that leads to public addresses alone,
// the connection made to the very address that was looked at, no redirects, 64 KiB, three seconds, few at a time.

import { Resolver } from 'node:dns/promises'
import { request } from 'node:https'
import { BlockList, isIP } from 'node:net'
import { ApiError } from '@loci/chassis/api-error.ts'
import { createCache } from '@loci/chassis/cache.ts'
import { isRedirectUri } from './redirect-uris.ts'

export interface ClientDocument {
  id: string
  name: string
  redirectUris: string[]
}

export interface ClientDocuments {
  /** Throws VALIDATION_ERROR where the id cannot be that of a document. Nothing is fetched. */
  requireAddress(clientId: string): void
  /** Throws VALIDATION_ERROR with why there is none. `by`: the person who asks. */
  find(clientId: string, by: string): Promise<ClientDocument>
}

interface Reach {
  resolve(name: string): Promise<{ address: string; family: number }[]>
  isAllowed(address: string): boolean
  port: number
  /** A certificate authority besides those of the system. */
  ca?: string
}

const BYTES_MAX = 64 * 1024
const WITHIN_MS = 3_000
const KEPT_MS = 10 * 60_000
const REFUSAL_KEPT_MS = 60_000
/** Of all documents together: one may have 40 KB of redirect addresses. */
const KEPT_LENGTH_MAX = 4_000_000
/** What is kept of each besides its texts. */
const KEPT_LENGTH_MIN = 1_000
const AT_ONCE_MAX = 16
/** Of one person: with addresses that never answer, one could keep everybody else's waiting. */
const AT_ONCE_OF_ONE_MAX = 2
const ID_LENGTH_MAX = 500
const NAME_LENGTH_MAX = 100
const REDIRECTS_MAX = 20

const PUBLIC: Reach = {
  resolve: (name) => resolveName(name),
  isAllowed: isPublicAddress,
  port: 443,
}

export function createClientDocuments(reach: Reach = PUBLIC): ClientDocuments {
  const known = createCache<{ found: ClientDocument | ApiError; until: number }>(KEPT_LENGTH_MAX)
  const asked = new Map<string, { by: string; document: Promise<ClientDocument> }>()

  function keep(clientId: string, found: ClientDocument | ApiError, forMs: number): void {
    const texts = found instanceof ApiError ? [] : [found.name, ...found.redirectUris]
    const size = texts.reduce((sum, { length }) => sum + length, KEPT_LENGTH_MIN + clientId.length)
    known.keep(clientId, { found, until: Date.now() + forMs }, size)
  }

  async function ask(clientId: string): Promise<ClientDocument> {
    try {
      const found = readDocument(clientId, await fetchText(requireAddress(clientId, reach.port), reach))
      keep(clientId, found, KEPT_MS)
      return found
    } catch (error) {
      const refusal = error instanceof ApiError ? error : refused('it could not be read')
      keep(clientId, refusal, REFUSAL_KEPT_MS)
      throw refusal
    } finally {
      asked.delete(clientId)
    }
  }

  return {
    requireAddress: (clientId) => void requireAddress(clientId, reach.port),
    async find(clientId, by) {
      requireAddress(clientId, reach.port)
      const kept = known.find(clientId)
      if (kept && kept.until > Date.now()) {
        if (kept.found instanceof ApiError) throw kept.found
        return kept.found
      }
      const under = asked.get(clientId)
      if (under) return under.document
      const own = [...asked.values()].filter((one) => one.by === by)
      if (asked.size >= AT_ONCE_MAX || own.length >= AT_ONCE_OF_ONE_MAX)
        throw new ApiError('OVERLOADED', 'Too many clients are being looked up. Nothing was done; try again.')
      const document = ask(clientId)
      asked.set(clientId, { by, document })
      return document
    },
  }
}

/**
 * By DNS alone, IPv4 first. Not as the system does it: that holds one of the process's few threads for as long as the
 * name's own server likes, and everything else that needs one waits.
 */
export async function resolveName(name: string, servers?: string[]): Promise<{ address: string; family: number }[]> {
  const resolver = new Resolver({ timeout: WITHIN_MS, tries: 1 })
  if (servers) resolver.setServers(servers)
  const none = (): string[] => []
  const [four, six] = await Promise.all([resolver.resolve4(name).catch(none), resolver.resolve6(name).catch(none)])
  return [...four.map((address) => ({ address, family: 4 })), ...six.map((address) => ({ address, family: 6 }))]
}

/** An https address with a path, spelt as a browser would spell it, and nothing that could mean something else. */
function requireAddress(clientId: string, port: number): URL {
  const url = clientId.length <= ID_LENGTH_MAX ? URL.parse(clientId) : null
  const isPlain =
    url !== null &&
    url.href === clientId &&
    url.protocol === 'https:' &&
    url.pathname !== '/' &&
    url.username === '' &&
    url.password === '' &&
    url.hash === '' &&
    url.search === '' &&
    (url.port === '' ? 443 : Number(url.port)) === port
  const host = url?.hostname ?? ''
  if (!isPlain || isIP(host.replace(/^\[|\]$/g, '')) !== 0 || !host.includes('.'))
    throw refused('client_id must be an id of a registered client (oac_…) or the plain https address of its document')
  return url
}

async function fetchText(url: URL, { resolve: lookUp, isAllowed, port, ca }: Reach): Promise<string> {
  const signal = AbortSignal.timeout(WITHIN_MS)
  const overdue = rejected(signal)
  const addresses = await Promise.race([lookUp(url.hostname), overdue])
  // All of them: a name that leads to both could be answered with either.
  const [first] = addresses
  if (!first || !addresses.every(({ address }) => isAllowed(address)))
    throw refused('its name does not lead to public addresses')
  const text = new Promise<string>((resolve, reject) => {
    const asking = request(
      {
        ...{ host: url.hostname, servername: url.hostname, port, path: url.pathname, signal, agent: false },
        ...(ca === undefined ? {} : { ca }),
        headers: { accept: 'application/json', 'user-agent': 'loci' },
        // What was looked at is what is connected to: the name is not asked again.
        lookup: (_, options, done) =>
          options.all
            ? done(null, [{ address: first.address, family: first.family }])
            : done(null, first.address, first.family),
      },
      (answer) => {
        const type = String(answer.headers['content-type'] ?? '').toLowerCase()
        if (answer.statusCode !== 200 || !/^application\/([\w.-]+\+)?json\b/.test(type)) {
          answer.destroy()
          reject(refused('it was not answered with 200 and JSON'))
          return
        }
        const parts: Buffer[] = []
        let bytes = 0
        answer.on('data', (part: Buffer) => {
          bytes += part.length
          if (bytes > BYTES_MAX) answer.destroy(refused('it is larger than 64 KiB'))
          else parts.push(part)
        })
        answer.once('end', () => resolve(Buffer.concat(parts).toString('utf8')))
        answer.once('error', reject)
      },
    )
    asking.once('error', reject)
    asking.end()
  })
  // Raced, because a request does not always tell its end: answered with another protocol (101) it ends without an
  // event of ours, and what is never told would keep its place among the AT_ONCE_MAX for ever.
  return Promise.race([text, overdue])
}

function rejected(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }))
}

function readDocument(clientId: string, text: string): ClientDocument {
  let document: Record<string, unknown>
  try {
    document = Object(JSON.parse(text))
  } catch {
    throw refused('it is no JSON')
  }
  const { client_id: id, client_name: name, redirect_uris: given, token_endpoint_auth_method: method } = document
  if (id !== clientId) throw refused('its client_id is not its own address')
  if (method !== undefined && method !== 'none')
    throw refused('its token_endpoint_auth_method is not none: clients here prove themselves by PKCE')
  const redirectUris = Array.isArray(given) ? given.filter(isRedirectUri).slice(0, REDIRECTS_MAX) : []
  if (redirectUris.length === 0)
    throw refused('it has no redirect_uris that are https, or http on loopback, without a fragment')
  // Without invisible characters, some of which turn the direction of what a person reads.
  const told = typeof name === 'string' ? name.replace(/\p{C}/gu, '').trim() : ''
  const shown = told === '' ? new URL(clientId).hostname : told
  return { id: clientId, name: shown.slice(0, NAME_LENGTH_MAX), redirectUris }
}

function refused(why: string): ApiError {
  return new ApiError('VALIDATION_ERROR', `The client is not known here: ${why}.`)
}

const CLOSED = new BlockList()
for (const [network, bits] of [
  ...([
    ['0.0.0.0', 8],
    ['10.0.0.0', 8],
    ['100.64.0.0', 10],
    ['127.0.0.0', 8],
    ['169.254.0.0', 16],
  ] as const),
  ...([
    ['172.16.0.0', 12],
    ['192.0.0.0', 24],
    ['192.0.2.0', 24],
    ['192.88.99.0', 24],
    ['192.168.0.0', 16],
  ] as const),
  ...([
    ['198.18.0.0', 15],
    ['198.51.100.0', 24],
    ['203.0.113.0', 24],
    ['224.0.0.0', 4],
    ['240.0.0.0', 4],
  ] as const),
] as const)
  CLOSED.addSubnet(network, bits)
/** Of IPv6 what is global unicast, but for tunnels, which lead to any IPv4 address, and documentation. */
const OPEN_6 = new BlockList()
OPEN_6.addSubnet('2000::', 3, 'ipv6')
const CLOSED_6 = new BlockList()
for (const [network, bits] of [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
] as const)
  CLOSED_6.addSubnet(network, bits, 'ipv6')

export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 4) return !CLOSED.check(address)
  return isIP(address) === 6 && OPEN_6.check(address, 'ipv6') && !CLOSED_6.check(address, 'ipv6')
}
