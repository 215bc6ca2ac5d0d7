// The sign-in provider, as a client of it sees it. Every call ends within three seconds in one of three ways:
//
//   an answer     what was asked for, checked
//   a refusal     ProviderRefusal: the provider understood, and said no to this person or grant
//   no answer     ApiError IDENTITY_PROVIDER_UNAVAILABLE: silence, a broken connection, a 5xx, something that is no
//                 answer of a provider (a gateway's 403), a refusal of our own client, a token of a key that is not
//                 in the key set yet. Says nothing about the session: nobody is signed out for it
//
// What a library's error holds may be a token, so of its errors only a code leaves this file.

import { ApiError } from '@loci/chassis/api-error.ts'
import type { JSONWebKeySet } from 'jose'
import * as openid from 'openid-client'
import { readAccessToken } from './access-token.ts'
import { createKeySet, type KeySet } from './key-set.ts'

export interface ProviderSettings {
  issuer: string
  clientId: string
  clientSecret: string
  audience: string
}

export interface Tokens {
  accessToken: string
  /** Undefined where the provider gave none: at a refresh the one before stays good. */
  refreshToken: string | undefined
  subject: string
  expiresAt: Date
  /** When the person last gave proof of themselves there, where it says so: never at a refresh. */
  authTime?: Date | undefined
}

export interface Profile {
  subject: string
  email: string | null
  isEmailVerified: boolean
  name: string | null
  picture: string | null
}

export interface Provider {
  readonly issuer: string
  /** Where a browser signs in; comes back to `redirectUri` with a code. */
  authorizeUrl(asked: {
    redirectUri: string
    scopes: string
    state: string
    verifier: string
    /** The person signs in anew, also where the provider knows this browser. */
    isFresh?: boolean
  }): Promise<URL>
  exchange(code: { code: string; redirectUri: string; verifier: string }): Promise<Tokens>
  refresh(refreshToken: string): Promise<Tokens>
  profileOf(accessToken: string, subject: string): Promise<Profile>
  /** False: it has no such endpoint, or said no. */
  revoke(refreshToken: string): Promise<boolean>
  /** Null where it has none, or where it has never answered. */
  signOutUrl(): Promise<string | null>
}

/** The provider said no: `reason` is its code, such as `invalid_grant`. */
export class ProviderRefusal extends Error {
  readonly reason: string
  constructor(reason: string) {
    super(`the sign-in provider refused: ${reason}`)
    this.name = 'ProviderRefusal'
    this.reason = reason
  }
}

/** No answer to a request that never left: nothing was received on the other side. */
export class ProviderUnreached extends ApiError {}

/** A refresh was answered, and the access token cannot be checked now. The refresh token before may be used up. */
export class TokensUnchecked extends ApiError {
  readonly refreshToken: string | undefined
  constructor(refreshToken: string | undefined, error: ApiError) {
    super(error.code, error.message, error.options)
    this.refreshToken = refreshToken
  }
}

const TIMEOUT_S = 3
/** Of a sign-in that must be new. */
const MAX_AGE_S = 600
const ANSWER_BYTES_MAX = 256 * 1024
const AGAIN_MS = 5_000
/** Who asks right after a discovery that failed is told so: one request waits for one silence, not for two. */
const DISCOVERY_AGAIN_MS = 1_000
/** Calls under way in this process. A provider that is silent must not collect every request that there is. */
const CALLS_MAX = 256

export function createProvider(settings: ProviderSettings, nowMs: () => number = Date.now): Provider {
  const { issuer, clientId, clientSecret, audience } = settings
  const answered = boundedCalls()
  let found: openid.Configuration | undefined
  let finding: Promise<openid.Configuration> | undefined
  let missed: { error: unknown; at: number } | undefined
  let keys: KeySet | undefined

  /** Kept for the life of the process: the addresses of a provider do not move. Who asks meanwhile waits for it. */
  async function configuration(): Promise<openid.Configuration> {
    if (found) return found
    if (missed && nowMs() - missed.at < DISCOVERY_AGAIN_MS) throw missed.error
    finding ??= discover()
      .catch((error) => {
        missed = { error, at: nowMs() }
        throw error
      })
      .finally(() => {
        finding = undefined
      })
    return finding
  }

  async function discover(): Promise<openid.Configuration> {
    const insecure = issuer.startsWith('http:') ? [openid.allowInsecureRequests] : []
    const options = { execute: insecure, timeout: TIMEOUT_S, [openid.customFetch]: boundedFetch }
    const auth = openid.ClientSecretBasic(clientSecret)
    found = await answered('discovery', () => openid.discovery(new URL(issuer), clientId, undefined, auth, options))
    return found
  }

  async function keySet(config: openid.Configuration): Promise<KeySet> {
    const url = config.serverMetadata().jwks_uri
    if (!url) throw noAnswer('key set', 'the provider names no jwks_uri')
    keys ??= createKeySet({
      nowMs,
      fetch: () =>
        answered('key set', async () => {
          const answer = await boundedFetch(url, { signal: AbortSignal.timeout(TIMEOUT_S * 1_000) })
          if (answer.status !== 200) throw noAnswer('key set', `status ${answer.status}`)
          return (await answer.json()) as JSONWebKeySet
        }),
      unavailable: (why) => noAnswer('key set', why),
    })
    return keys
  }

  /** An access token is ours once its issuer, audience, client, time and signature are checked. */
  async function tokensOf(
    config: openid.Configuration,
    { access_token: accessToken, refresh_token: refreshToken }: openid.TokenEndpointResponse,
  ): Promise<Tokens> {
    try {
      const expected = { issuer, audience, clientId, now: new Date(nowMs()) }
      const { subject, expiresAt } = await readAccessToken(accessToken, await keySet(config), expected)
      return { accessToken, refreshToken, subject, expiresAt }
    } catch (error) {
      if (isNoAnswer(error)) throw new TokensUnchecked(refreshToken, error)
      // What we cannot use must not stay usable.
      if (refreshToken !== undefined) await openid.tokenRevocation(config, refreshToken).catch(() => {})
      throw error
    }
  }

  return {
    issuer,
    async authorizeUrl({ redirectUri, scopes, state, verifier, isFresh = false }) {
      const config = await configuration()
      // OpenID Connect Core, 11: without `consent` a provider ignores offline_access, and there is no refresh token.
      const prompts = [
        ...(isFresh ? ['login'] : []),
        ...(scopes.split(' ').includes('offline_access') ? ['consent'] : []),
      ]
      return openid.buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        scope: scopes,
        state,
        code_challenge: await openid.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        ...(prompts.length > 0 ? { prompt: prompts.join(' ') } : {}),
        // With it the ID token must say when that was (auth_time).
        ...(isFresh ? { max_age: String(MAX_AGE_S) } : {}),
      })
    },
    async exchange({ code, redirectUri, verifier }) {
      const config = await configuration()
      const grant = { code, redirect_uri: redirectUri, code_verifier: verifier }
      // Not authorizationCodeGrant(): that wants to know the nonce, which the page made and keeps. What binds the code
      // to the browser that asked for it is the verifier.
      const answer = await answered('exchange', () => openid.genericGrantRequest(config, 'authorization_code', grant))
      const tokens = await tokensOf(config, answer).catch((error) => {
        // In the background: it has just not answered.
        if (error instanceof TokensUnchecked && error.refreshToken !== undefined)
          void openid.tokenRevocation(config, error.refreshToken).catch(() => {})
        throw error
      })
      const claims = answer.claims()
      if (claims && claims.sub !== tokens.subject) throw new ProviderRefusal('tokens_of_two_people')
      return { ...tokens, authTime: claims?.auth_time === undefined ? undefined : new Date(claims.auth_time * 1_000) }
    },
    async refresh(refreshToken) {
      const config = await configuration()
      return tokensOf(config, await answered('refresh', () => openid.refreshTokenGrant(config, refreshToken)))
    },
    async profileOf(accessToken, subject) {
      const config = await configuration()
      const about = await answered('userinfo', () => openid.fetchUserInfo(config, accessToken, subject))
      return {
        subject,
        email: about.email ?? null,
        isEmailVerified: about.email_verified === true,
        name: about.name?.slice(0, 200) ?? null,
        picture: about.picture?.slice(0, 2_000) ?? null,
      }
    },
    async revoke(refreshToken) {
      const config = await configuration()
      if (!config.serverMetadata().revocation_endpoint) return false
      try {
        // Without the hint it is ours all the same; with it a provider need not look among its access tokens.
        const hint = { token_type_hint: 'refresh_token' }
        await answered('revocation', () => openid.tokenRevocation(config, refreshToken, hint))
        return true
      } catch (error) {
        if (error instanceof ProviderRefusal) return false
        throw error
      }
    },
    async signOutUrl() {
      const config = await configuration().catch(() => undefined)
      // No id_token_hint: an URL is kept in histories and logs. The provider asks the person instead.
      return config?.serverMetadata().end_session_endpoint ? openid.buildEndSessionUrl(config, {}).href : null
    },
  }
}

/** Makes calls, and turns every failure of one into one of the kinds above. */
function boundedCalls() {
  let calls = 0
  return async function answered<Value>(what: string, call: () => Promise<Value>): Promise<Value> {
    if (calls >= CALLS_MAX) throw noAnswer(what, `${CALLS_MAX} calls are waiting for it`, true)
    calls += 1
    try {
      return await call()
    } catch (error) {
      throw failureOf(what, error)
    } finally {
      calls -= 1
    }
  }
}

function failureOf(what: string, error: unknown): Error {
  if (error instanceof ApiError || error instanceof ProviderRefusal) return error
  if (error instanceof openid.ResponseBodyError) {
    if (GRANT_REFUSED.test(error.error)) return new ProviderRefusal(error.error)
    // Of our client or of something between us and the provider: the operator must mend it, and nobody is signed out.
    return noAnswer(what, /^\w{1,40}$/.test(error.error) ? error.error : `status ${error.status}`)
  }
  if (what === 'userinfo' && statusOf(error) === 401) return new ProviderRefusal('invalid_token')
  return noAnswer(what, codeOf(error), isUnreached(error))
}

/** What a token endpoint says of a code or a refresh token that is no good, or of a person who must sign in again. */
const GRANT_REFUSED =
  /^(invalid_grant|invalid_token|interaction_required|login_required|consent_required|account_selection_required)$/

function statusOf(error: unknown): number | undefined {
  if (error instanceof openid.WWWAuthenticateChallengeError) return error.status
  const { cause } = error as { cause?: unknown }
  return cause instanceof Response ? cause.status : undefined
}

export function isNoAnswer(error: unknown): error is ApiError {
  return error instanceof ApiError && error.code === 'IDENTITY_PROVIDER_UNAVAILABLE'
}

function noAnswer(what: string, why: string, unreached = false): ApiError {
  const Kind = unreached ? ProviderUnreached : ApiError
  const cause = new Error(`${what} at the sign-in provider: ${why}`)
  const message = 'The sign-in provider does not answer. Nobody was signed out; try again.'
  return new Kind('IDENTITY_PROVIDER_UNAVAILABLE', message, { retryAfterMs: AGAIN_MS, cause })
}

function codeOf(error: unknown): string {
  const { code, cause } = error as { code?: unknown; cause?: { code?: unknown } }
  const status = statusOf(error)
  const parts = [code, cause?.code, status === undefined ? undefined : `status ${status}`]
  const text = parts.filter((one) => typeof one === 'string').join(' ')
  return text === '' ? (error as Error).name : text
}

/** Before a connection is made nothing is sent; after that nobody knows. */
const UNREACHED =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|CERT_|ERR_TLS_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/

function isUnreached(error: unknown): boolean {
  const { cause } = error as { cause?: { code?: unknown; cause?: { code?: unknown } } }
  return [cause?.code, cause?.cause?.code].some((code) => typeof code === 'string' && UNREACHED.test(code))
}

/** No redirects, which could take a secret elsewhere, and no more bytes than an answer has. */
async function boundedFetch(url: string, options: object): Promise<Response> {
  const answer = await fetch(url, { ...options, redirect: 'manual' })
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of answer.body ?? []) {
    size += chunk.byteLength
    if (size > ANSWER_BYTES_MAX) throw new Error('the answer is too long')
    chunks.push(chunk)
  }
  const { status, headers } = answer
  const hasBody = status !== 204 && status !== 304 && status >= 200
  return new Response(hasBody ? Buffer.concat(chunks) : null, { status, headers })
}
