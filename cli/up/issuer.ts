// The OpenID provider of `loci up`: one person, who proves with a code of `loci up code` that the data directory is
// theirs. Authorization code with PKCE for one client, management; tokens are signed with a key of the data directory,
// so a restart signs nobody out.
//
// Whoever holds its port is believed by management. So the process of management inherits the listening socket and
// keeps it as long as it lives: nobody else can take the port, not even while this process is away.

import {
  createHash,
  createPrivateKey,
  createPublicKey,
  createSign,
  createVerify,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto'
import { renameSync, rmSync } from 'node:fs'
import { createLog } from '@loci/chassis/log.ts'
import { html, redirect } from '@loci/chassis/pages.ts'
import { open } from '@loci/chassis/probes.ts'
import { type Reply, type Route, reply, route } from '@loci/chassis/route.ts'
import { createChassis } from '@loci/chassis/serve.ts'
import { createServer, type HttpServer } from '@loci/chassis/server.ts'
import { z } from 'zod'
import { type DataDirectory, keepSecret, readJson, writeWhole } from './files.ts'

export const PERSON = { sub: 'dev', email: 'dev@loci.localhost', email_verified: true, name: 'Developer' }
export const CLIENT_ID = 'loci-up'
const ACCESS_S = 300
const REFRESH_S = 30 * 86_400
const GRANT_MS = 60_000
const REQUEST_MS = 600_000
const CODE_MS = 600_000
const PENDING_MAX = 1_000
const TRIES_MAX = 10
const FORM_BYTES_MAX = 4 * 1024

interface Pending {
  redirectUri: string
  state: string | undefined
  challenge: string
  nonce: string | undefined
  expiresAt: number
}

interface Granted extends Pending {
  authTime: number
}

export interface IssuerOptions {
  data: DataDirectory
  port: number
  listen: string
  redirectUri: string
  version: string
}

/** What `loci up code` leaves for the issuer; the code itself stands nowhere. */
interface CodeFile {
  digest: string
  expiresAt: number
}

export function newSignInCode(data: DataDirectory): { code: string; expiresAt: Date } {
  // Without letters that look like digits.
  const letters = 'ABCDEFGHJKMNPQRSTUVWXYZ23456789'
  const code = Array.from(randomBytes(10), (byte) => letters[byte % letters.length]).join('')
  const expiresAt = Date.now() + CODE_MS
  writeWhole(data.signInCode, JSON.stringify({ digest: digestOf(code), expiresAt } satisfies CodeFile))
  return { code: `${code.slice(0, 5)}-${code.slice(5)}`, expiresAt: new Date(expiresAt) }
}

export async function startIssuer(options: IssuerOptions): Promise<HttpServer> {
  const settings = {
    listen: { host: options.listen, port: options.port },
    tlsCert: undefined,
    tlsKey: undefined,
    requireHttps: false,
    trustedProxies: [],
    concurrencyMax: 16,
    queueMax: 64,
    queueMs: 1_000,
  }
  const log = createLog({ level: 'silent', program: 'up' })
  const chassis = createChassis({ settings, log, version: options.version })
  for (const state of ['migrating', 'warming', 'ready'] as const) chassis.lifecycle.move(state, 'nothing to wait for')
  const server = await createServer({
    ...chassis,
    routes: issuerRoutes(options),
    letterCase: 'snake',
    requireHttps: false,
  })
  await server.listen(settings.listen)
  return server
}

const queryOf = z.record(z.string(), z.unknown())
const formBody = z.unknown()
const PAGE = { contentType: 'text/html', description: 'A page without scripts.' }
const JSON_ANSWER = { contentType: 'application/json', description: 'JSON.' }
const LEADS_ON = { contentType: [], description: 'Back to management.' }

function issuerRoutes({ data, port, redirectUri }: IssuerOptions): Route[] {
  const issuer = `http://127.0.0.1:${port}`
  const secret = keepSecret(data, 'oidc-client-secret', () => randomBytes(32).toString('base64url'))
  const signer = createSigner(data, issuer)
  const pending = new Map<string, Pending>()
  const grants = new Map<string, Granted>()
  let tries = { file: '', count: 0 }

  const keep = <Value extends { expiresAt: number }>(map: Map<string, Value>, value: Value) => {
    for (const [id, { expiresAt }] of map) if (expiresAt < Date.now() || map.size >= PENDING_MAX) map.delete(id)
    const id = randomBytes(24).toString('base64url')
    map.set(id, value)
    return id
  }
  const take = <Value extends { expiresAt: number }>(map: Map<string, Value>, id: string): Value | undefined => {
    const found = map.get(id)
    map.delete(id)
    return found && found.expiresAt > Date.now() ? found : undefined
  }

  /** Good once: the file is moved away before anybody is let in. */
  function isTheirs(code: string): boolean {
    const file = readJson<CodeFile>(data.signInCode)
    if (!file || file.expiresAt < Date.now()) return false
    if (tries.file !== file.digest) tries = { file: file.digest, count: 0 }
    tries.count += 1
    if (tries.count > TRIES_MAX) {
      rmSync(data.signInCode, { force: true })
      return false
    }
    const given = digestOf(code.toUpperCase().replaceAll(/[^A-Z0-9]/g, ''))
    if (!timingSafeEqual(Buffer.from(given), Buffer.from(file.digest))) return false
    renameSync(data.signInCode, `${data.signInCode}.used`)
    return true
  }

  const tokens = (authTime: number | undefined, nonce: string | undefined) => {
    const now = Math.floor(Date.now() / 1_000)
    const claims = { iss: issuer, sub: PERSON.sub, iat: now }
    return reply(200, {
      token_type: 'Bearer',
      expires_in: ACCESS_S,
      access_token: signer.sign(
        { ...claims, aud: issuer, client_id: CLIENT_ID, jti: randomBytes(12).toString('hex'), exp: now + ACCESS_S },
        'at+jwt',
      ),
      refresh_token: signer.sign(
        { ...claims, aud: 'refresh', jti: randomBytes(12).toString('hex'), exp: now + REFRESH_S },
        'refresh+jwt',
      ),
      ...(authTime === undefined
        ? {}
        : {
            id_token: signer.sign(
              { ...claims, aud: CLIENT_ID, exp: now + ACCESS_S, auth_time: authTime, ...(nonce ? { nonce } : {}) },
              'JWT',
            ),
          }),
    })
  }

  return [
    route(
      {
        method: 'GET',
        path: '/.well-known/openid-configuration',
        access: open,
        tag: 'issuer',
        summary: 'What this issuer is.',
        answers: { 200: JSON_ANSWER },
      },
      () => ({
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        userinfo_endpoint: `${issuer}/userinfo`,
        jwks_uri: `${issuer}/jwks`,
        response_types_supported: ['code'],
        grant_types_supported: ['authorization_code', 'refresh_token'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['ES256'],
        token_endpoint_auth_methods_supported: ['client_secret_basic'],
        code_challenge_methods_supported: ['S256'],
        scopes_supported: ['openid', 'profile', 'email', 'offline_access'],
      }),
    ),
    route(
      { method: 'GET', path: '/jwks', access: open, tag: 'issuer', summary: 'Its key.', answers: { 200: JSON_ANSWER } },
      () => ({ keys: [signer.publicJwk] }),
    ),
    route(
      {
        method: 'GET',
        path: '/authorize',
        access: open,
        tag: 'issuer',
        summary: 'Asks for the code.',
        query: queryOf,
        answers: { 200: PAGE, 400: PAGE },
      },
      ({ query }) => {
        const given = (name: string) => (typeof query[name] === 'string' ? query[name] : undefined)
        const challenge = given('code_challenge')
        const isOurs = given('client_id') === CLIENT_ID && given('redirect_uri') === redirectUri
        if (!isOurs || given('response_type') !== 'code' || !challenge || given('code_challenge_method') !== 'S256')
          return page('This is no sign-in of this loci.', '', 400)
        const asked = {
          redirectUri,
          state: given('state'),
          challenge,
          nonce: given('nonce'),
          expiresAt: Date.now() + REQUEST_MS,
        }
        return askForCode(keep(pending, asked), '')
      },
    ),
    route(
      {
        method: 'POST',
        path: '/authorize',
        access: open,
        tag: 'issuer',
        summary: 'Takes the code.',
        body: formBody,
        bodyRaw: true,
        bodyBytesMax: FORM_BYTES_MAX,
        answers: { 200: PAGE, 303: LEADS_ON, 400: PAGE },
      },
      ({ body }) => {
        const form = new URLSearchParams(String(body))
        const asked = take(pending, form.get('request') ?? '')
        if (!asked) return page('This sign-in took too long.', '<p>Go back and begin again.</p>', 400)
        if (!isTheirs(form.get('code') ?? ''))
          return askForCode(
            keep(pending, asked),
            '<p role="alert">That is not the code, or it was used, or ten minutes have passed. Make a new one.</p>',
            400,
          )
        const to = new URL(asked.redirectUri)
        to.searchParams.set(
          'code',
          keep(grants, { ...asked, authTime: Math.floor(Date.now() / 1_000), expiresAt: Date.now() + GRANT_MS }),
        )
        if (asked.state !== undefined) to.searchParams.set('state', asked.state)
        to.searchParams.set('iss', issuer)
        return redirect(to)
      },
    ),
    route(
      {
        method: 'POST',
        path: '/token',
        access: open,
        tag: 'issuer',
        summary: 'Tokens for management.',
        body: formBody,
        bodyRaw: true,
        bodyBytesMax: 16 * 1024,
        answers: { 200: JSON_ANSWER, 400: JSON_ANSWER, 401: JSON_ANSWER },
      },
      ({ body, headers }) => {
        const form = new URLSearchParams(String(body))
        if (!isClient(String(headers.authorization ?? ''), secret))
          return reply(401, { error: 'invalid_client' }, { 'www-authenticate': 'Basic' })
        if (form.get('grant_type') === 'authorization_code') {
          const grant = take(grants, form.get('code') ?? '')
          const verifier = createHash('sha256')
            .update(form.get('code_verifier') ?? '')
            .digest('base64url')
          if (!grant || grant.redirectUri !== form.get('redirect_uri') || grant.challenge !== verifier)
            return reply(400, { error: 'invalid_grant' })
          return tokens(grant.authTime, grant.nonce)
        }
        if (form.get('grant_type') !== 'refresh_token') return reply(400, { error: 'unsupported_grant_type' })
        return signer.verify(form.get('refresh_token') ?? '', 'refresh')
          ? tokens(undefined, undefined)
          : reply(400, { error: 'invalid_grant' })
      },
    ),
    route(
      {
        method: 'GET',
        path: '/userinfo',
        access: open,
        tag: 'issuer',
        summary: 'Who it is.',
        answers: { 200: JSON_ANSWER, 401: JSON_ANSWER },
      },
      ({ headers }) => {
        const [, token = ''] = /^Bearer (\S+)$/i.exec(String(headers.authorization ?? '')) ?? []
        return signer.verify(token, issuer)
          ? reply(200, PERSON)
          : reply(401, { error: 'invalid_token' }, { 'www-authenticate': 'Bearer error="invalid_token"' })
      },
    ),
  ]

  function askForCode(request: string, problem: string, status = 200): Reply {
    return page(
      'Sign in to your own loci',
      `<p>Type the code that this command prints, on the machine where loci runs:</p><pre>loci up code</pre>${problem}
<form method="post" action="/authorize"><input type="hidden" name="request" value="${request}">
<p><label>Code <input name="code" required autofocus autocomplete="one-time-code" spellcheck="false"></label> <button>Sign in</button></p></form>`,
      status,
    )
  }

  function page(title: string, body: string, status: number): Reply {
    const text = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title><h1>${title}</h1>${body}</html>`
    // The form leads on to management, and browsers hold a redirect to the policy too.
    return html(
      text,
      { 'form-action': `'self' ${new URL(redirectUri).origin}` },
      { 'cache-control': 'no-store' },
      status,
    )
  }
}

function digestOf(code: string): string {
  return createHash('sha256').update(code).digest('hex')
}

function isClient(authorization: string, secret: string): boolean {
  const [, basic = ''] = /^Basic (\S+)$/i.exec(authorization) ?? []
  const [id = '', ...rest] = Buffer.from(basic, 'base64').toString('utf8').split(':')
  try {
    const given = digestOf(decodeURIComponent(rest.join(':')))
    return decodeURIComponent(id) === CLIENT_ID && timingSafeEqual(Buffer.from(given), Buffer.from(digestOf(secret)))
  } catch {
    return false // Not percent-encoded, so not by our client.
  }
}

function createSigner(data: DataDirectory, issuer: string) {
  const pem = keepSecret(
    data,
    'issuer-key',
    () =>
      generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
  )
  const key: KeyObject = createPrivateKey(pem)
  const jwk = createPublicKey(key).export({ format: 'jwk' })
  const kid = createHash('sha256')
    .update(JSON.stringify([jwk.x, jwk.y]))
    .digest('base64url')
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  return {
    publicJwk: { ...jwk, kid, use: 'sig', alg: 'ES256' },
    sign(claims: object, typ: string): string {
      const text = `${encode({ alg: 'ES256', typ, kid })}.${encode(claims)}`
      return `${text}.${createSign('sha256').update(text).sign({ key, dsaEncoding: 'ieee-p1363' }, 'base64url')}`
    },
    /** Ours, for this audience, in time. */
    verify(token: string, audience: string): boolean {
      const [header = '', claims = '', signature = ''] = token.split('.')
      const isOurs = createVerify('sha256')
        .update(`${header}.${claims}`)
        .verify({ key: createPublicKey(key), dsaEncoding: 'ieee-p1363' }, signature, 'base64url')
      if (!isOurs) return false
      const { iss, aud, exp } = JSON.parse(Buffer.from(claims, 'base64url').toString('utf8')) as {
        iss: string
        aud: string
        exp: number
      }
      return iss === issuer && aud === audience && exp * 1_000 > Date.now()
    },
  }
}
