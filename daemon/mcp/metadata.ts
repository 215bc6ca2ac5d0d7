// For clients of /mcp that bring no credential: where they can ask a person for one (RFC 9728). The resource is the
// address under which the client reached us, because it holds the document against that.

import type { AddressSet } from '@loci/chassis/addresses.ts'
import { ApiError } from '@loci/chassis/api-error.ts'
import { open } from '@loci/chassis/probes.ts'
import { type Access, type Arrival, type Route, route } from '@loci/chassis/route.ts'
import { MCP_OPERATIONS } from '@loci/contract/mcp.ts'
import { protectedResource } from '@loci/contract/oauth.ts'

export interface MetadataOptions {
  /** Management's public URL; undefined where there is none to ask. */
  authorizationServer: string | undefined
  /** Whether the listener speaks TLS itself. */
  isTls: boolean
  trustedProxies: AddressSet
}

const DOCUMENT = '/.well-known/oauth-protected-resource'

/** The same access, whose 401s also say where to ask. Not where Authorization is for a legacy JWT. */
export function withChallenge<Caller>(access: Access<Caller>, options: MetadataOptions): Access<Caller> {
  if (access.schemes.some((all) => all.includes('legacyJwt'))) return access
  return {
    ...access,
    async authorize(arrival) {
      try {
        return await access.authorize(arrival)
      } catch (error) {
        const told = error instanceof ApiError && error.status === 401 ? challengeOf(options, arrival) : undefined
        if (told !== undefined) arrival.answer.header('www-authenticate', `${told}, ${access.challenge}`)
        throw error
      }
    },
  }
}

/** The WWW-Authenticate of a 401; undefined where there is nobody to ask. */
function challengeOf({ authorizationServer, ...options }: MetadataOptions, arrival: Arrival): string | undefined {
  const origin = originOf(options, arrival)
  if (authorizationServer === undefined || origin === undefined) return undefined
  const error = arrival.headers.authorization === undefined ? '' : ', error="invalid_token"'
  return `Bearer realm="loci"${error}, resource_metadata="${origin}${DOCUMENT}/mcp", scope="${MCP_OPERATIONS.join(' ')}"`
}

export function metadataRoutes({ authorizationServer, ...options }: MetadataOptions): Route[] {
  const access: Access<string | undefined> = { ...open, authorize: (arrival) => originOf(options, arrival) }
  return ['', '/mcp'].map((path) =>
    route(
      {
        method: 'GET',
        path: `${DOCUMENT}${path}`,
        access,
        tag: 'mcp',
        summary: 'Read where a client of /mcp can ask a person for access.',
        answers: { 200: protectedResource },
        errors: ['NOT_FOUND'],
      },
      ({ caller: origin }) => {
        if (authorizationServer === undefined || origin === undefined)
          throw new ApiError('NOT_FOUND', 'No people sign in here: bring a capability.')
        return {
          resource: `${origin}/mcp`,
          authorization_servers: [authorizationServer],
          scopes_supported: [...MCP_OPERATIONS],
          bearer_methods_supported: ['header'],
          resource_name: 'loci',
        }
      },
    ),
  )
}

function originOf(
  { isTls, trustedProxies }: Omit<MetadataOptions, 'authorizationServer'>,
  { headers, peer }: Arrival,
): string | undefined {
  const { host } = headers
  const isSecure = isTls || (headers['x-forwarded-proto'] === 'https' && trustedProxies.has(peer))
  // It stands in a quoted text; a host of other characters is none that a client could have asked.
  return typeof host === 'string' && /^[\w.:[\]-]{1,255}$/.test(host)
    ? `http${isSecure ? 's' : ''}://${host}`
    : undefined
}
