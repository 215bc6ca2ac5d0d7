import { ApiError, errorBodyOf } from '@loci/chassis/api-error.ts'
import { createCache } from '@loci/chassis/cache.ts'
import { readCookie } from '@loci/chassis/cookies.ts'
import {
  type Access,
  type AnswerHeaders,
  type Arrival,
  type Reply,
  type Route,
  reply,
  route,
} from '@loci/chassis/route.ts'
import { cookieNames } from '@loci/contract/headers.ts'
import { operationsOf, SCOPES_OF } from '@loci/contract/roles.ts'
import {
  exchangeRequest,
  exchangeResponse,
  logoutRequest,
  sessionEnded,
  sessionMissing,
  sessionShown,
  sessionToken,
  sessionWhole,
} from '@loci/contract/sessions.ts'
import type { Attempts } from '../access/attempts.ts'
import { isStaffAddress } from '../access/roles.ts'
import {
  digestOf,
  noSession,
  noSessionToRefresh,
  type OpenSession,
  SESSION_CHALLENGE,
  type SessionAccess,
} from '../access/session.ts'
import { setSessionCookies } from './cookies.ts'
import { type Handle, readHandle } from './handle.ts'
import { type Profile, type Provider, ProviderRefusal } from './provider.ts'
import type { Cookies, Sessions } from './sessions.ts'
import { createSignOut, type Issued, type RevokeIssued } from './sign-out.ts'

interface SessionRoutesOptions {
  access: SessionAccess
  revokeIssued: RevokeIssued
  publicUrl: string
  /** Undefined where nobody can sign in (LOCI_OIDC_*). */
  signIn: { sessions: Sessions; provider: Provider; redirectUris: string[] } | undefined
  attempts: Attempts
  staffEmails: readonly string[]
}

const BODY_BYTES_MAX = 16 * 1024
const PROFILE_MS = 10_000
const PROFILES_MAX = 10_000
const UNKNOWN_REDIRECT = 'is not one of LOCI_OIDC_REDIRECT_URIS'

export function sessionRoutes(options: SessionRoutesOptions): Route[] {
  return [...readRoutes(options), ...changeRoutes(options)]
}

function readRoutes({ access, signIn, attempts, staffEmails }: SessionRoutesOptions): Route[] {
  const profileOf = createProfiles(signIn?.provider)

  /** Throws for an address whose cookies fail too often. No cookie is no credential: pages ask before a sign-in. */
  function countMissing(address: string, headers: Arrival['headers']): void {
    if (access.textOf(headers) === undefined) return
    const refusal = attempts.failed(address, noSession())
    if (refusal.code === 'RATE_LIMITED') throw refusal
  }

  return [
    route(
      {
        method: 'GET',
        path: '/api/auth/session',
        access: attempts.from,
        tag: 'sessions',
        summary: 'Read who is signed in, as the sign-in provider tells it now.',
        details:
          'Kept for ten seconds at most. With what each role may do, so that a page need not try what is refused; a refusal decides all the same.',
        answers: { 200: sessionShown, 401: sessionMissing },
        errors: ['IDENTITY_PROVIDER_UNAVAILABLE', 'STORE_UNAVAILABLE'],
      },
      async ({ caller: address, headers, requestId, yieldSlot }) => {
        const session = await access.find(headers)
        if (session) yieldSlot()
        const profile = session && (await profileOf(session))
        if (!profile) {
          countMissing(address, headers)
          return missing(requestId)
        }
        return {
          authenticated: true,
          user: {
            ...userOf(session),
            email: profile.email ?? session.email,
            name: profile.name,
            picture: profile.picture,
          },
          staff: isStaffAddress(session.email, staffEmails),
          organizations: session.organizations.map(membershipJson),
          signed_in_at: session.signedInAt.toISOString(),
          expires_at: session.expiresAt.toISOString(),
        }
      },
    ),
    route(
      {
        method: 'GET',
        path: '/api/auth/get-session',
        access: attempts.from,
        tag: 'sessions',
        summary: 'Read the session with its access token, or null.',
        details: 'Not for other sites.',
        answers: { 200: sessionWhole },
        errors: ['ORIGIN_NOT_ALLOWED', 'STORE_UNAVAILABLE'],
      },
      async ({ caller: address, headers }) => {
        const session = await access.find(headers)
        if (!session) {
          countMissing(address, headers)
          return reply(200, null)
        }
        access.requireSameSiteForToken({ method: 'GET', headers })
        const { accessToken: access_token, expiresAt } = session
        return { user: userOf(session), access_token, token_type: 'Bearer', expires_at: expiresAt.toISOString() }
      },
    ),
    route(
      {
        method: 'GET',
        path: '/api/auth/token',
        access: attempts.slowed(access.own),
        tag: 'sessions',
        summary: 'Read the access token of the session, for integrations in the browser.',
        details: 'Not for other sites.',
        answers: { 200: sessionToken },
      },
      ({ caller: { accessToken: access_token, expiresAt } }) => ({
        access_token,
        token_type: 'Bearer',
        ...expiryOf(expiresAt),
      }),
    ),
  ]
}

function changeRoutes({ access, revokeIssued, publicUrl, signIn, attempts }: SessionRoutesOptions): Route[] {
  const names = cookieNames(publicUrl)
  const signOut = createSignOut({ access, revokeIssued, publicUrl, signIn })

  function made(answer: AnswerHeaders, cookies: Cookies): object {
    setSessionCookies(answer, publicUrl, cookies)
    return { authenticated: true, ...expiryOf(cookies.expiresAt) }
  }

  /** By the refresh cookie alone. That it is authentic is known before another site is refused. */
  const byHandle: Access<{ handle: Handle; address: string }> = attempts.slowed({
    class: 'session handle',
    schemes: [['sessionHandle']],
    challenge: SESSION_CHALLENGE,
    errors: ['UNAUTHENTICATED', 'ORIGIN_NOT_ALLOWED', 'STORE_UNAVAILABLE'],
    async authorize(arrival) {
      const handle = readHandle(readCookie(arrival.headers, names.refresh))
      if (!signIn || !handle || !(await signIn.sessions.findByHandle(handle))) throw noSessionToRefresh()
      access.requireSameSite(arrival)
      return { handle, address: attempts.addressOf(arrival) }
    },
  })

  return [
    route(
      {
        method: 'POST',
        path: '/api/auth/exchange',
        access: attempts.counted(access.sameSite),
        tag: 'sessions',
        summary: 'Sign in with the code that the provider gave the browser.',
        details: 'Sets the cookies of a session.',
        body: exchangeRequest,
        bodyBytesMax: BODY_BYTES_MAX,
        answers: { 200: exchangeResponse },
        errors: [
          'UNAUTHENTICATED',
          'FORBIDDEN',
          'PROVIDER_TOKEN_UNUSABLE',
          'IDENTITY_PROVIDER_UNAVAILABLE',
          'STORE_UNAVAILABLE',
        ],
        failureMessage: 'Failed to sign in',
      },
      async ({ caller: address, body, answer, yieldSlot }) => {
        const { code, redirect_uri: redirectUri, code_verifier: verifier } = body
        if (!signIn?.redirectUris.includes(redirectUri))
          throw new ApiError('VALIDATION_ERROR', `redirect_uri ${UNKNOWN_REDIRECT}.`, {
            details: [{ field: 'body.redirect_uri', problem: UNKNOWN_REDIRECT }],
          })
        yieldSlot()
        const opened = signIn.sessions.open({ code, redirectUri, verifier }).catch((error) => {
          throw error instanceof ProviderRefusal ? attempts.failed(address, refusedCode()) : error
        })
        return made(answer, await opened)
      },
    ),
    route(
      {
        method: 'POST',
        path: '/api/auth/refresh',
        access: byHandle,
        tag: 'sessions',
        summary: 'Refresh the tokens of the session by its refresh cookie.',
        details: 'Tabs that ask at once get the same ones.',
        bodyOptional: true,
        bodyBytesMax: BODY_BYTES_MAX,
        answers: { 200: exchangeResponse },
        errors: ['PROVIDER_TOKEN_UNUSABLE', 'IDENTITY_PROVIDER_UNAVAILABLE'],
        failureMessage: 'Failed to refresh the session',
      },
      async ({ caller: { handle, address }, answer, yieldSlot }) => {
        yieldSlot()
        const refreshed = (signIn as NonNullable<typeof signIn>).sessions.refresh(handle).catch((error) => {
          throw error instanceof ApiError && error.status === 401 ? attempts.failed(address, error) : error
        })
        return made(answer, await refreshed)
      },
    ),
    route(
      {
        method: 'POST',
        path: '/api/auth/logout',
        access: access.sameSite,
        tag: 'sessions',
        summary: 'Sign out.',
        details:
          'Ends the session here and its refresh token at the provider, clears the cookies. With `revoke_issued` it also revokes the API keys and command lines that the session made, with what those made, and ends what it allowed clients of OAuth.',
        body: logoutRequest,
        bodyOptional: true,
        bodyBytesMax: BODY_BYTES_MAX,
        answers: { 200: sessionEnded },
        errors: ['STORE_UNAVAILABLE'],
        failureMessage: 'Failed to sign out',
      },
      async (call) => {
        const isRevoking = call.body?.revoke_issued ?? false
        const { url: sign_out_url, revoked, issued } = await signOut(call, { isRevoking })
        const { session, refreshToken: refresh_token } = revoked
        return {
          logged_out: true,
          sign_out_url,
          revoked: { session, refresh_token, ...(issued ? { issued: issuedJson(issued) } : {}) },
        }
      },
    ),
  ]
}

function issuedJson({ apiKeys, cliLogins, tokens, partnerCredentials, invitations, oauthGrants }: Issued) {
  return {
    api_keys: apiKeys,
    cli_logins: cliLogins,
    tokens,
    partner_credentials: partnerCredentials,
    invitations,
    oauth_grants: oauthGrants,
  }
}

function refusedCode(): ApiError {
  return new ApiError(
    'UNAUTHENTICATED',
    'The sign-in provider refused the code: it was used, is too old, or is of another sign-in. Sign in again.',
  )
}

/** The answers of userinfo, each for ten seconds; who asks meanwhile waits for the same one. Undefined: it said 401. */
function createProfiles(provider: Provider | undefined): (session: OpenSession) => Promise<Profile | undefined> {
  const known = createCache<{ profile: Profile; at: number }>(PROFILES_MAX)
  const asked = new Map<string, Promise<Profile | undefined>>()

  async function ask({ accessToken, subject }: OpenSession, key: string): Promise<Profile | undefined> {
    try {
      const profile = await (provider as Provider).profileOf(accessToken, subject)
      known.keep(key, { profile, at: performance.now() })
      return profile
    } catch (error) {
      known.drop(key)
      if (error instanceof ProviderRefusal) return undefined
      throw error
    } finally {
      asked.delete(key)
    }
  }

  return async (session) => {
    const key = digestOf(session.accessToken)
    const found = known.find(key)
    if (found && performance.now() - found.at < PROFILE_MS) return found.profile
    const asking = asked.get(key) ?? ask(session, key)
    asked.set(key, asking)
    return asking
  }
}

function missing(requestId: string): Reply {
  const body = { authenticated: false, ...errorBodyOf(noSession(), requestId, 'snake') }
  return reply(401, body, { 'www-authenticate': SESSION_CHALLENGE })
}

function membershipJson({ id, name, role }: OpenSession['organizations'][number]) {
  return { id, name, role, scopes: [...SCOPES_OF[role]], ops: [...operationsOf(role)] }
}

function userOf({ userId: id, email, name }: OpenSession) {
  return { id, email, name }
}

function expiryOf(expiresAt: Date): { expires_at: string; expires_in: number } {
  const expires_in = Math.max(0, Math.floor((expiresAt.getTime() - Date.now()) / 1_000))
  return { expires_at: expiresAt.toISOString(), expires_in }
}
