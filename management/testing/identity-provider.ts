// A real OpenID provider on loopback for tests and development: oidc-provider, with refresh tokens that are good once,
// JWT access tokens for our audience, and a form that takes the name of a person and no password. It counts what it is
// asked, and can be told to fail as providers do.

import { generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createLocalJWKSet, jwtVerify } from 'jose'
import Provider, { type Configuration, type KoaContextWithOIDC } from 'oidc-provider'
import { createStorage } from './provider-storage.ts'

export interface TestPerson {
  sub: string
  email: string
  email_verified: boolean
  name: string
  picture?: string
  /** Their access tokens name this issuer, under the provider's own keys: as where several issuers share a key set. */
  foreignIssuer?: string
}

export interface ProviderCall {
  /** `GET /jwks`; of the token endpoint with its grant: `POST /token refresh_token`. */
  what: string
  refreshToken: string | undefined
  startedAt: number
  /** Undefined while it is under way. */
  endedAt: number | undefined
  status: number | undefined
}

/**
 * `stopped`: connections are closed at once. `silent`: it reads and never answers. `error`: 500. `garbage`: a page.
 * `empty`: JSON of nothing. `forbidden`, `unauthorized`: as a gateway before it says so. `lost`: what is asked of the
 * token endpoint is done, and the answer lost.
 */
export type Fault =
  | 'none'
  | 'stopped'
  | 'silent'
  | 'error'
  | 'garbage'
  | 'empty'
  | 'forbidden'
  | 'unauthorized'
  | 'lost'

export interface IdentityProvider {
  issuer: string
  client: { id: string; secret: string; redirectUri: string }
  otherClient: { id: string; secret: string; redirectUri: string }
  audience: string
  people: TestPerson[]
  calls: ProviderCall[]
  /** Every token that it gave: access, refresh and ID tokens. */
  issued: Set<string>
  /** How many requests the token endpoint was sent, whatever became of them. */
  tokenRequests: number
  fault: Fault
  /** The one path that the fault is of; undefined: all of them. */
  faultAt: string | undefined
  /** Every request that arrived, as `GET /jwks`, whatever became of it. */
  heard: string[]
  /** Of the token endpoint, before it answers. */
  delayMs: number
  /** Of the token endpoint, after it has done what was asked and before it says so. */
  answerDelayMs: number
  /** Lifetime of access tokens made from now on. */
  accessTokenS: number
  /** Signs with a new key from now on; `keep` publishes the one before as well. */
  rotateKeys(options?: { keep?: boolean }): void
  /** What access tokens made from now on are for. */
  grantAudience: string
  format: 'jwt' | 'opaque'
  /** The `azp` of access tokens made from now on; undefined: they have none. */
  authorizedParty: string | undefined
  [Symbol.asyncDispose](): Promise<void>
}

const AUDIENCE = 'https://api.loci.test'
const OTHER_AUDIENCE = 'https://elsewhere.test'

export const PEOPLE: TestPerson[] = [
  { sub: 'alice', email: 'alice@example.test', email_verified: true, name: 'Alice Example' },
  { sub: 'bob', email: 'bob@example.test', email_verified: true, name: 'Bob Example' },
]

export async function startIdentityProvider({
  people = PEOPLE,
  port = 0,
  redirectUri = 'http://127.0.0.1:3000/auth/callback',
}: {
  people?: TestPerson[]
  port?: number
  redirectUri?: string
} = {}): Promise<IdentityProvider> {
  const run = randomUUID().slice(0, 8)
  const client = { id: `loci-${run}`, secret: randomBytes(32).toString('base64url'), redirectUri }
  const otherClient = { id: `other-${run}`, secret: randomBytes(32).toString('base64url'), redirectUri }
  const adapter = createStorage()
  let keys = [newKey()]
  let handle: (request: IncomingMessage, response: ServerResponse) => void = (_, response) => response.destroy()
  const server = createServer((request, response) => {
    const path = String(request.url).replace(/\?.*/, '')
    const fault = self.faultAt === undefined || self.faultAt === path ? self.fault : 'none'
    self.heard.push(`${request.method} ${path}`)
    if (request.url === '/token') self.tokenRequests += 1
    if (fault === 'stopped') request.socket.destroy()
    else if (fault === 'silent') return
    else if (fault === 'error') response.writeHead(500).end('{}')
    else if (fault === 'empty') response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    else if (fault === 'forbidden' || fault === 'unauthorized')
      response
        .writeHead(fault === 'forbidden' ? 403 : 401, { 'content-type': 'application/json' })
        .end('{"error":"access_denied"}')
    else if (fault === 'garbage') response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>maintenance</h1>')
    else {
      if (fault === 'lost' && request.url === '/token') {
        response.end = () => {
          request.socket.destroy()
          return response
        }
      }
      handle(request, response)
    }
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  const issuer = `http://127.0.0.1:${(server.address() as { port: number }).port}`

  const self: IdentityProvider = {
    issuer,
    client,
    otherClient,
    audience: AUDIENCE,
    people,
    calls: [],
    issued: new Set(),
    tokenRequests: 0,
    fault: 'none',
    faultAt: undefined,
    heard: [],
    delayMs: 0,
    answerDelayMs: 0,
    accessTokenS: 300,
    grantAudience: AUDIENCE,
    format: 'jwt',
    authorizedParty: undefined,
    rotateKeys({ keep = true } = {}) {
      keys = [newKey(), ...(keep ? keys : [])]
      handle = createProvider()
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  handle = createProvider()
  return self

  function createProvider(): (request: IncomingMessage, response: ServerResponse) => void {
    const provider = new Provider(issuer, { ...configurationOf(self, keys), adapter })
    provider.on('server_error', (_, error) => console.error('the identity provider of the test failed', error))
    provider.use(async (ctx, next) => {
      const call: ProviderCall = {
        what: `${ctx.method} ${ctx.path}`,
        refreshToken: undefined,
        startedAt: performance.now(),
        endedAt: undefined,
        status: undefined,
      }
      self.calls.push(call)
      if (ctx.path === '/token' && self.delayMs > 0) await new Promise((resolve) => setTimeout(resolve, self.delayMs))
      try {
        await next()
      } finally {
        const { grant_type: grant, refresh_token: token } = (ctx as KoaContextWithOIDC).oidc?.params ?? {}
        if (grant) call.what += ` ${grant}`
        Object.assign(call, { refreshToken: token, endedAt: performance.now(), status: ctx.status })
        if (ctx.path === '/token' && ctx.status === 200) {
          const { access_token, refresh_token, id_token } = ctx.body as Record<string, string | undefined>
          for (const one of [access_token, refresh_token, id_token]) if (one) self.issued.add(one)
        }
        if (ctx.path === '/token' && self.answerDelayMs > 0)
          await new Promise((resolve) => setTimeout(resolve, self.answerDelayMs))
      }
    })
    provider.use((ctx, next) => (ctx.path.startsWith('/interaction/') ? interact(provider, ctx as never) : next()))
    // JWT access tokens at userinfo, as other providers take them; this one by itself takes opaque ones alone.
    provider.use((ctx, next) =>
      ctx.path === '/me' && /^Bearer [\w-]+\.[\w-]+\.[\w-]+$/.test(ctx.get('authorization'))
        ? userinfo(provider, self, keys, ctx as never)
        : next(),
    )
    return provider.callback()
  }
}

function newKey(): Record<string, unknown> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return { ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'ES256', kid: randomUUID() }
}

function configurationOf(self: IdentityProvider, keys: Record<string, unknown>[]): Configuration {
  const clientOf = ({ id, secret, redirectUri }: IdentityProvider['client']) => ({
    client_id: id,
    client_secret: secret,
    redirect_uris: [redirectUri],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code' as const],
    token_endpoint_auth_method: 'client_secret_basic' as const,
  })
  return {
    clients: [clientOf(self.client), clientOf(self.otherClient)],
    jwks: { keys: keys as never },
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    pkce: { required: () => true },
    scopes: ['openid', 'offline_access', 'profile', 'email'],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name', 'picture'] },
    findAccount: (_, id) => {
      const person = self.people.find(({ sub }) => sub === id)
      return person && { accountId: id, claims: async () => ({ ...person }) }
    },
    cookies: { keys: [self.client.secret] },
    // Each is good once; one that comes twice takes back everything that was granted with it.
    rotateRefreshToken: true,
    issueRefreshToken: async (_, client, code) =>
      client.grantTypeAllowed('refresh_token') && code.scopes.has('offline_access'),
    ttl: {
      // A number here would win over accessTokenTTL below.
      AccessToken: (_, token) =>
        (token as { resourceServer?: { accessTokenTTL?: number } }).resourceServer?.accessTokenTTL ?? 300,
      AuthorizationCode: 60,
      IdToken: 300,
      RefreshToken: 86_400,
      Grant: 86_400,
      Session: 86_400,
      Interaction: 600,
    },
    features: {
      devInteractions: { enabled: false },
      revocation: { enabled: true, allowedPolicy: (_, client, token) => token.clientId === client.clientId },
      rpInitiatedLogout: { enabled: true },
      userinfo: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: (_, client) => (client.clientId === self.client.id ? AUDIENCE : OTHER_AUDIENCE),
        useGrantedResource: () => true,
        getResourceServerInfo: (_, resource) => ({
          scope: 'openid profile email',
          audience: resource === AUDIENCE ? self.grantAudience : resource,
          accessTokenTTL: self.accessTokenS,
          accessTokenFormat: self.format,
          jwt: { sign: { alg: 'ES256' } },
        }),
      },
    },
    formats: {
      customizers: {
        jwt: (_, token, { payload }) => {
          const { accountId } = token as { accountId?: string }
          const foreign = self.people.find(({ sub }) => sub === accountId)?.foreignIssuer
          if (foreign) payload.iss = foreign
        },
      },
    },
    // Lets userinfo see that what was granted has been taken back.
    extraTokenClaims: (_, token) => ({
      gid: (token as { grantId?: string }).grantId,
      ...(self.authorizedParty === undefined ? {} : { azp: self.authorizedParty }),
    }),
    interactions: { url: (_, { uid }) => `/interaction/${uid}` },
  }
}

/** Asks who signs in, by a form with one field; agrees to whatever a client asks for. */
async function interact(provider: Provider, ctx: KoaContextWithOIDC): Promise<void> {
  const { prompt, params, session, grantId } = await provider.interactionDetails(ctx.req, ctx.res)
  if (prompt.name === 'login') {
    if (ctx.method === 'GET') {
      ctx.type = 'html'
      ctx.body = `<!doctype html><title>Sign in</title><form method="post"><label>Name <input name="login"></label> <button>Sign in</button></form>`
      return
    }
    const chunks: Buffer[] = []
    for await (const chunk of ctx.req) chunks.push(chunk as Buffer)
    const accountId = new URLSearchParams(Buffer.concat(chunks).toString()).get('login') ?? ''
    return provider.interactionFinished(ctx.req, ctx.res, { login: { accountId } }, { mergeWithLastSubmission: false })
  }
  const known = grantId ? await provider.Grant.find(grantId) : undefined
  const grant =
    known ?? new provider.Grant({ accountId: session?.accountId as string, clientId: params.client_id as string })
  const { missingOIDCScope, missingOIDCClaims, missingResourceScopes } = prompt.details as {
    missingOIDCScope?: string[]
    missingOIDCClaims?: string[]
    missingResourceScopes?: Record<string, string[]>
  }
  if (missingOIDCScope) grant.addOIDCScope(missingOIDCScope.join(' '))
  if (missingOIDCClaims) grant.addOIDCClaims(missingOIDCClaims)
  for (const [resource, scopes] of Object.entries(missingResourceScopes ?? {}))
    grant.addResourceScope(resource, scopes.join(' '))
  const consent = { grantId: await grant.save() }
  return provider.interactionFinished(ctx.req, ctx.res, { consent }, { mergeWithLastSubmission: true })
}

async function userinfo(
  provider: Provider,
  { issuer, people }: IdentityProvider,
  keys: Record<string, unknown>[],
  ctx: KoaContextWithOIDC,
): Promise<void> {
  try {
    const published = createLocalJWKSet({ keys: keys.map(({ d, ...key }) => key) as never })
    const token = ctx.get('authorization').slice('Bearer '.length)
    const issuers = [issuer, ...people.flatMap(({ foreignIssuer }) => foreignIssuer ?? [])]
    const { payload } = await jwtVerify(token, published, { issuer: issuers, typ: 'at+jwt' })
    if (!(await provider.Grant.find(String(payload.gid)))) throw new Error('taken back')
    ctx.body = people.find(({ sub }) => sub === payload.sub)
  } catch {
    ctx.status = 401
    ctx.set('www-authenticate', 'Bearer error="invalid_token"')
    ctx.body = { error: 'invalid_token' }
  }
}
