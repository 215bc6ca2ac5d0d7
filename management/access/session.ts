// Access by the session cookie of a browser, and the rule that keeps other sites from using it.
//
// A cookie travels with every request to us, whoever caused it. So what a cookie authorises is refused when the browser
// says that another site caused it; a client that says nothing at all is no browser, and has its cookie from whoever
// runs it.

import { hash } from 'node:crypto'
import { ApiError } from '@loci/chassis/api-error.ts'
import { readCookie } from '@loci/chassis/cookies.ts'
import { createMisses } from '@loci/chassis/misses.ts'
import type { Access, Arrival } from '@loci/chassis/route.ts'
import { cookieNames } from '@loci/contract/headers.ts'
import type { Role } from '@loci/contract/roles.ts'
import type { PlanName } from '../plans.ts'

export interface Session {
  id: string
  userId: string
  issuer: string
  subject: string
  email: string
  name: string | null
  /** When its access token does. */
  expiresAt: Date
  /** When the person last signed in: as the provider says it (auth_time), else when the session began. */
  signedInAt: Date
  organizations: { id: string; name: string; role: Role; plan: PlanName; createdAt: string }[]
}

/** With the access token that the cookie held. */
export type OpenSession = Session & { accessToken: string }

export interface SessionAccess {
  /** The cookie's own text. */
  textOf(headers: Arrival['headers']): string | undefined
  /** Undefined when there is no cookie, or none of a session that goes on. */
  find(headers: Arrival['headers']): Promise<OpenSession | undefined>
  /** Throws when another site caused the request. */
  requireSameSite(arrival: Pick<Arrival, 'method' | 'headers'>): void
  /** For the two routes that tell a token: also never as a page of its own, where it would stay in a history. */
  requireSameSiteForToken(arrival: Pick<Arrival, 'method' | 'headers'>): void
  /** A session, and a request of our own pages or of no browser. */
  own: Access<OpenSession>
  /** Anybody, but not by way of another site. */
  sameSite: Access<undefined>
}

const SAFE = new Set(['GET', 'HEAD'])

export function sessionAccess({
  publicUrl,
  findSession,
}: {
  publicUrl: string
  findSession(digest: string): Promise<Session | undefined>
}): SessionAccess {
  const names = cookieNames(publicUrl)
  const { origin } = new URL(publicUrl)
  const misses = createMisses()

  const textOf = (headers: Arrival['headers']) => readCookie(headers, names.access)

  async function find(headers: Arrival['headers']): Promise<OpenSession | undefined> {
    const accessToken = textOf(headers)
    if (!accessToken || !isAccessToken(accessToken)) return undefined
    const digest = digestOf(accessToken)
    if (misses.has(digest)) return undefined
    const session = await findSession(digest)
    if (!session) misses.keep(digest)
    return session && { ...session, accessToken }
  }

  function requireSameSite({ method, headers }: Pick<Arrival, 'method' | 'headers'>): void {
    const site = headers['sec-fetch-site']
    // `none` is a person who typed the address or opened a bookmark: of a GET alone, for no such thing sends a form.
    const isOwn = site === undefined || site === 'same-origin' || (site === 'none' && SAFE.has(method))
    if (!isOwn || (headers.origin !== undefined && headers.origin !== origin))
      throw new ApiError('ORIGIN_NOT_ALLOWED', `Another site caused this request. Only pages of ${origin} may.`)
  }

  function requireSameSiteForToken(arrival: Pick<Arrival, 'method' | 'headers'>): void {
    requireSameSite(arrival)
    if (arrival.headers['sec-fetch-dest'] === 'document')
      throw new ApiError(
        'ORIGIN_NOT_ALLOWED',
        'This tells a credential and is no page. Ask for it from a script of ours.',
      )
  }

  return {
    textOf,
    find,
    requireSameSite,
    requireSameSiteForToken,
    own: {
      class: 'session',
      schemes: [['session']],
      challenge: SESSION_CHALLENGE,
      errors: ['UNAUTHENTICATED', 'ORIGIN_NOT_ALLOWED', 'STORE_UNAVAILABLE'],
      async authorize(arrival) {
        const session = await find(arrival.headers)
        if (!session) throw noSession()
        requireSameSiteForToken(arrival)
        return session
      },
    },
    sameSite: {
      class: 'same site',
      schemes: [],
      units: 1,
      errors: ['ORIGIN_NOT_ALLOWED', 'RATE_LIMITED'],
      authorize: (arrival) => requireSameSite(arrival) as undefined,
    },
  }
}

export const SESSION_CHALLENGE = 'Cookie realm="loci"'

export function noSession(): ApiError {
  return new ApiError(
    'UNAUTHENTICATED',
    'There is no session, or it is over. POST /api/auth/refresh, else sign in again.',
  )
}

/** Where the refresh cookie itself opens nothing: to refresh again would not help. */
export function noSessionToRefresh(): ApiError {
  return new ApiError('UNAUTHENTICATED', 'There is no session to refresh, or it is over. Sign in again.')
}

const ACCESS_TOKEN = /^[\w-]+\.[\w-]+\.[\w-]+$/
/** Of a cookie, with its name and its flags. */
export const ACCESS_TOKEN_BYTES_MAX = 3_800

/** Whether the text has the form of what sign-in puts into the cookie: a JWT. Nothing else is looked for. */
export function isAccessToken(text: string): boolean {
  return text.length <= ACCESS_TOKEN_BYTES_MAX && ACCESS_TOKEN.test(text)
}

export function digestOf(accessToken: string): string {
  return hash('sha256', accessToken, 'hex')
}
