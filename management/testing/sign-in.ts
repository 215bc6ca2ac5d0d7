// People who sign in: from the provider's form to the cookies of a session, as a browser without scripts walks it.

import { createHash, randomBytes } from 'node:crypto'
import { type AskOptions, ask, type TestAnswer } from '@loci/chassis/testing/request.ts'
import { cookieNames } from '@loci/contract/headers.ts'
import type { ManagementSettings } from '../settings.ts'
import { type IdentityProvider, startIdentityProvider } from './identity-provider.ts'
import { type TestManagement, testManagement } from './management.ts'

/** The cookies that a browser holds. `ask` sends them, and keeps what the answer sets. */
export interface Browser {
  access: string
  refresh: string
  /** As a page of ours asks, unless `headers` say otherwise. */
  ask(line: string, options?: AskOptions & { url?: string }): Promise<TestAnswer>
  /** The same cookies in another tab, which does not see what this one is given. */
  tab(): Browser
}

export interface SignInWorld extends AsyncDisposable {
  management: TestManagement
  provider: IdentityProvider
  /** Signs in, and answers the browser that did. */
  signIn(login?: string): Promise<Browser>
}

export function oidcSettings(provider: IdentityProvider): Partial<ManagementSettings> {
  return {
    oidcIssuer: provider.issuer,
    oidcClientId: provider.client.id,
    oidcClientSecret: provider.client.secret,
    oidcAudience: provider.audience,
    oidcRedirectUris: [provider.client.redirectUri],
  }
}

export async function signInWorld(settings: Partial<ManagementSettings> = {}): Promise<SignInWorld> {
  const provider = await startIdentityProvider()
  const management = await testManagement({ settings: { ...oidcSettings(provider), ...settings } })
  return {
    management,
    provider,
    async signIn(login = 'alice') {
      const { answer, browser } = await exchange(management, await obtainCode(provider, { login }))
      if (answer.status !== 200) throw new Error(`the exchange answered ${answer.status}: ${answer.text}`)
      return browser
    },
    async [Symbol.asyncDispose]() {
      await management[Symbol.asyncDispose]()
      await provider[Symbol.asyncDispose]()
    },
  }
}

export interface Code {
  code: string
  redirect_uri: string
  code_verifier: string
}

/** What somebody who signs in must know of a provider; what is left out is as oidc-provider has it. */
export interface AskedProvider {
  issuer: string
  client: IdentityProvider['client']
  authorizeUrl?: string
  scopes?: string
  parameters?: Record<string, string>
  form?(sub: string): Record<string, string>
}

/** Walks the provider's redirects and forms to the code, which is not exchanged yet. */
export async function obtainCode(
  provider: AskedProvider,
  { login = 'alice', client = provider.client }: { login?: string; client?: IdentityProvider['client'] } = {},
): Promise<Code> {
  const { authorizeUrl = `${provider.issuer}/auth`, parameters = { prompt: 'consent' } } = provider
  const code_verifier = randomBytes(32).toString('base64url')
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: client.id,
    redirect_uri: client.redirectUri,
    scope: provider.scopes ?? 'openid profile email offline_access',
    state: 'x',
    nonce: 'n',
    code_challenge: createHash('sha256').update(code_verifier).digest('base64url'),
    code_challenge_method: 'S256',
    ...parameters,
  })
  const { searchParams } = await walkToCode(provider, new URL(`${authorizeUrl}?${query}`), { login, client })
  return { code: searchParams.get('code') as string, redirect_uri: client.redirectUri, code_verifier }
}

/** From where a browser is sent to sign in, to the address that it comes back to with a code. */
export async function walkToCode(
  { client: ours, form: fieldsOf = (login) => ({ login }) }: AskedProvider,
  start: URL,
  { login = 'alice', client = ours }: { login?: string; client?: IdentityProvider['client'] } = {},
): Promise<URL> {
  const jar = new Map<string, string>()
  let next = start
  let form: string | undefined
  for (let step = 0; step < 12; step += 1) {
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
    const answer = await ask(next.origin, `${form === undefined ? 'GET' : 'POST'} ${next.pathname}${next.search}`, {
      headers: {
        ...(cookie ? { cookie } : {}),
        ...(form === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' }),
      },
      ...(form === undefined ? {} : { body: form }),
    })
    for (const [name, value] of cookiesSet(answer)) value === '' ? jar.delete(name) : jar.set(name, value)
    form = undefined
    if (answer.headers.location) {
      next = new URL(answer.headers.location, next)
      if (next.href.startsWith(client.redirectUri) && next.searchParams.has('code')) return next
    } else if (answer.status === 200 && answer.text.includes('<form')) {
      const action = /<form\b[^>]*\saction="([^"]*)"/.exec(answer.text)?.[1]
      if (action) next = new URL(action.replaceAll('&amp;', '&'), next)
      form = String(new URLSearchParams(fieldsOf(login)))
    } else throw new Error(`the provider answered ${answer.status}: ${answer.text}`)
  }
  throw new Error('the provider did not come to an end')
}

/** A management that is asked: in this process, or a process of its own. */
export interface AskedManagement {
  url: string
  settings: Pick<ManagementSettings, 'publicUrl'>
}

export async function exchange(
  management: AskedManagement,
  body: object,
  headers: Record<string, string> = SAME_ORIGIN,
): Promise<{ answer: TestAnswer; browser: Browser }> {
  const answer = await ask(management.url, 'POST /api/auth/exchange', { body, headers })
  return { answer, browser: browserOf(management, new Map(cookiesSet(answer))) }
}

/** What a browser says of a request of our own page. */
export const SAME_ORIGIN = { 'sec-fetch-site': 'same-origin' }

function browserOf(management: AskedManagement, jar: Map<string, string>): Browser {
  const names = cookieNames(management.settings.publicUrl)
  return {
    get access() {
      return jar.get(names.access) ?? ''
    },
    get refresh() {
      return jar.get(names.refresh) ?? ''
    },
    async ask(line, { url = management.url, headers = SAME_ORIGIN, ...options } = {}) {
      const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
      const answer = await ask(url, line, { ...options, headers: { ...(cookie ? { cookie } : {}), ...headers } })
      for (const [name, value] of cookiesSet(answer)) value === '' ? jar.delete(name) : jar.set(name, value)
      return answer
    },
    tab: () => browserOf(management, new Map(jar)),
  }
}

function cookiesSet({ headers }: TestAnswer): [string, string][] {
  return (headers['set-cookie'] ?? []).map((line) => {
    const [, name, value] = /^([^=]+)=([^;]*)/.exec(line) ?? []
    return [name as string, value as string]
  })
}
