// Every setting of every loci program, in one registry: a name that is unknown here is refused at start, whichever program it
// was meant for, because a misspelt setting that is silently ignored is how defaults end up in production.
// docs/configuration.md is generated from it.

import { createPrivateKey, createPublicKey } from 'node:crypto'
import { isIP } from 'node:net'
import { addressSet, coversEveryone, isLoopback } from './addresses.ts'

export const PROGRAMS = ['daemon', 'management'] as const
export type Program = (typeof PROGRAMS)[number]

export interface Setting<Value> {
  env: string
  programs: readonly Program[]
  doc: string
  /** Masked wherever the configuration is shown. */
  secret?: boolean
  /** As text, as a person would write it; undefined = must be given (or `optional`). */
  fallback?: string | Partial<Record<Program, string>>
  optional?: boolean
  /** Needed by some commands only; the program says which it requires. */
  forCommand?: string
  /** Throws an Error whose message ends the sentence "LOCI_X …". */
  parse(text: string): Value
}

function setting<Value>(definition: Setting<Value>): Setting<Value> {
  return definition
}

function optionalSetting<Value>(definition: Setting<Value>): Setting<Value> & { optional: true } {
  return { ...definition, optional: true }
}

const BOTH = PROGRAMS

export const SETTINGS = {
  listen: setting({
    env: 'LOCI_LISTEN',
    programs: BOTH,
    doc: 'Address and port to serve on; port 0 takes a free one.',
    fallback: { daemon: '127.0.0.1:4410', management: '127.0.0.1:4400' },
    parse: listenAddress,
  }),
  adminListen: optionalSetting({
    env: 'LOCI_ADMIN_LISTEN',
    programs: ['daemon'],
    doc: 'A listener of its own for /admin; the main one then no longer serves it.',
    parse: listenAddress,
  }),
  publicUrl: setting({
    env: 'LOCI_PUBLIC_URL',
    programs: ['management'],
    doc: 'The origin under which browsers and cells reach management: https, or http on loopback.',
    fallback: 'http://127.0.0.1:4400',
    parse: secureUrl,
  }),
  managementUrl: optionalSetting({
    env: 'LOCI_MANAGEMENT_URL',
    programs: ['daemon'],
    doc: 'Where the cell pulls its desired state from: https, or http on loopback.',
    parse: secureUrl,
  }),
  databaseUrl: setting({
    env: 'LOCI_DATABASE_URL',
    programs: BOTH,
    doc: 'PostgreSQL as the role loci_app. Off loopback and unix sockets the connection is TLS with a verified certificate.',
    secret: true,
    parse: databaseUrl,
  }),
  databaseOwnerUrl: optionalSetting({
    env: 'LOCI_DATABASE_OWNER_URL',
    programs: BOTH,
    doc: 'PostgreSQL as the role loci_owner; read by the command migrate alone.',
    secret: true,
    forCommand: 'migrate',
    parse: databaseUrl,
  }),
  databaseCa: optionalSetting({
    env: 'LOCI_DATABASE_CA',
    programs: BOTH,
    doc: 'PEM of the certificate authority of PostgreSQL, where the system does not know it.',
    parse: pem('CERTIFICATE'),
  }),
  databaseConnectionsMax: setting({
    env: 'LOCI_DATABASE_CONNECTIONS_MAX',
    programs: BOTH,
    doc: 'Connections for requests; background work has two of its own.',
    fallback: '16',
    parse: integer(2, 200),
  }),
  adminTokenDigests: setting({
    env: 'LOCI_ADMIN_TOKEN_DIGESTS',
    programs: ['daemon'],
    doc: 'SHA-256 of the admin token in hex, at most two (comma) while rotating. Make one: `node daemon/main.ts admin-token`.',
    secret: true,
    parse: adminTokenDigests,
  }),
  adminAllowlist: setting({
    env: 'LOCI_ADMIN_ALLOWLIST',
    programs: ['daemon'],
    doc: 'Addresses or CIDRs that may reach /admin; empty = nobody.',
    fallback: '127.0.0.0/8, ::1',
    parse: cidrs,
  }),
  trustedProxies: setting({
    env: 'LOCI_TRUSTED_PROXIES',
    programs: BOTH,
    doc: 'Addresses or CIDRs of proxies whose X-Forwarded-* is believed.',
    fallback: '',
    parse: proxies,
  }),
  requireHttps: setting({
    env: 'LOCI_REQUIRE_HTTPS',
    programs: BOTH,
    doc: 'Refuse what did not arrive by TLS (own listener, or the word of a trusted proxy), probes included.',
    fallback: 'false',
    parse: boolean,
  }),
  tlsCert: optionalSetting({
    env: 'LOCI_TLS_CERT',
    programs: BOTH,
    doc: 'PEM of the certificate chain of our own listener.',
    parse: pem('CERTIFICATE'),
  }),
  tlsKey: optionalSetting({
    env: 'LOCI_TLS_KEY',
    programs: BOTH,
    doc: 'PEM of its private key.',
    secret: true,
    parse: pem('PRIVATE KEY'),
  }),
  sealingKeys: setting({
    env: 'LOCI_SEALING_KEYS',
    programs: BOTH,
    doc: 'Keys for secrets at rest, as `<id>:<base64 of 32 random bytes>`, comma between: the first seals, all open. Put a new one in front to rotate.',
    secret: true,
    parse: sealingKeys,
  }),
  cellId: optionalSetting({
    env: 'LOCI_CELL_ID',
    programs: ['daemon'],
    doc: 'The id that management gave this cell; with LOCI_CELL_KEY and LOCI_MANAGEMENT_URL the cell pulls its desired state.',
    parse: cellId,
  }),
  cellKey: optionalSetting({
    env: 'LOCI_CELL_KEY',
    programs: ['daemon'],
    doc: 'The cell’s private Ed25519 key as a JWK, whose public part is registered with management. Make one: `node daemon/main.ts cell-key`.',
    secret: true,
    parse: privateJwk,
  }),
  feedStaleS: setting({
    env: 'LOCI_FEED_STALE_SECONDS',
    programs: ['daemon'],
    doc: 'When management was not heard for this long, writes and operator operations are refused (503 AUTHORITY_STALE).',
    fallback: '86400',
    parse: integer(60, 30 * 86_400),
  }),
  unauthenticatedPerMinute: setting({
    env: 'LOCI_UNAUTHENTICATED_PER_MINUTE',
    programs: ['daemon'],
    doc: 'Requests whose credential fails, per address and minute, before they are told 429.',
    fallback: '1000',
    parse: integer(1, 1_000_000),
  }),
  legacyJwtPublicKey: optionalSetting({
    env: 'LOCI_LEGACY_JWT_PUBLIC_KEY',
    programs: ['daemon'],
    doc: 'PEM of a public key (Ed25519, RSA or P-256): every capability route then needs a JWT of it in Authorization as well.',
    parse: jwtPublicKey,
  }),
  legacyJwtIssuer: optionalSetting({
    env: 'LOCI_LEGACY_JWT_ISSUER',
    programs: ['daemon'],
    doc: 'The `iss` that those tokens must have.',
    parse: nonEmpty,
  }),
  legacyJwtAudience: optionalSetting({
    env: 'LOCI_LEGACY_JWT_AUDIENCE',
    programs: ['daemon'],
    doc: 'The `aud` that those tokens must have.',
    parse: nonEmpty,
  }),
  partnerName: setting({
    env: 'LOCI_PARTNER_NAME',
    programs: ['daemon'],
    doc: 'The path segment of the partner: POST /v1/<name>/projections.',
    fallback: 'partner',
    parse: pathSegment,
  }),
  concurrencyMax: setting({
    env: 'LOCI_CONCURRENCY_MAX',
    programs: BOTH,
    doc: 'Requests worked on at once.',
    fallback: '64',
    parse: integer(1, 10_000),
  }),
  queueMax: setting({
    env: 'LOCI_QUEUE_MAX',
    programs: BOTH,
    doc: 'Requests that may wait for their turn; more are told 503 OVERLOADED.',
    fallback: '256',
    parse: integer(0, 100_000),
  }),
  queueMs: setting({
    env: 'LOCI_QUEUE_MS',
    programs: BOTH,
    doc: 'How long a request waits for its turn at most, in milliseconds.',
    fallback: '300',
    parse: integer(1, 5_000),
  }),
  drainGraceMs: setting({
    env: 'LOCI_DRAIN_GRACE_MS',
    programs: BOTH,
    doc: 'After SIGTERM: how long requests are still taken while readiness says draining. At least two intervals of your load balancer’s health check.',
    fallback: '3000',
    parse: integer(0, 60_000),
  }),
  drainMs: setting({
    env: 'LOCI_DRAIN_MS',
    programs: BOTH,
    doc: 'After the grace: how long what runs may still take before it is cut. Grace and this together must stay below the supervisor’s kill timeout.',
    fallback: '15000',
    parse: integer(0, 120_000),
  }),
  logLevel: setting({
    env: 'LOCI_LOG_LEVEL',
    programs: BOTH,
    doc: 'debug, info, warn, error, fatal or silent.',
    fallback: 'info',
    parse: oneOf('debug', 'info', 'warn', 'error', 'fatal', 'silent'),
  }),
} as const

export type SettingName = keyof typeof SETTINGS
type ValueOf<Name extends SettingName> = (typeof SETTINGS)[Name] extends Setting<infer Value> ? Value : never
type IsOptional<Name extends SettingName> = (typeof SETTINGS)[Name] extends { optional: true } ? true : false

/** What a program's main.ts hands on: values, typed, checked. */
export type Settings = { [Name in SettingName]: ValueOf<Name> | undefined }
export type Required<Name extends SettingName> = {
  [N in Name]: IsOptional<N> extends true ? ValueOf<N> | undefined : ValueOf<N>
}

export interface SealingKey {
  id: string
  key: Buffer
}

const SEALING_KEYS_MAX = 4

function sealingKeys(text: string): SealingKey[] {
  const keys = list(text).map((entry) => {
    const [, id, encoded] = /^([a-z0-9-]{1,32}):([A-Za-z0-9+/_-]{43}=?)$/.exec(entry) ?? []
    if (!id || !encoded)
      throw new Error(
        'must be `<id>:<base64 of 32 bytes>`, such as `2026-11:…`: make one with `openssl rand -base64 32`',
      )
    return { id, key: Buffer.from(encoded, 'base64') }
  })
  if (keys.length < 1 || keys.length > SEALING_KEYS_MAX) throw new Error(`must hold 1 to ${SEALING_KEYS_MAX} keys`)
  if (new Set(keys.map(({ id }) => id)).size < keys.length) throw new Error('has an id twice')
  if (keys.some(({ key }) => isWeakKey(key)))
    throw new Error('has a key that is not random: make one with `openssl rand -base64 32`')
  return keys
}

/** 32 random bytes have fewer than 16 different values, or are all printable, less than once in 10^13 times. */
function isWeakKey(key: Buffer): boolean {
  return new Set(key).size < 16 || key.every((byte) => byte >= 0x20 && byte < 0x7f)
}

function cellId(text: string): string {
  if (!/^cell_[0-9a-hjkmnp-tv-z]{26}$/.test(text))
    throw new Error('must be the cell_… id that `management cells add` answered')
  return text
}

function privateJwk(text: string): { kty: 'OKP'; crv: 'Ed25519'; x: string; d: string } {
  try {
    const { kty, crv, x, d } = JSON.parse(text)
    // Node makes the public half from d and does not look at x; management knows the cell by x.
    const made = createPublicKey(createPrivateKey({ key: { kty, crv, x, d }, format: 'jwk' })).export({ format: 'jwk' })
    if (crv === 'Ed25519' && made.x === x) return { kty, crv, x, d }
  } catch {
    // Said below; the reason of a library could repeat the key.
  }
  throw new Error('must be a private Ed25519 JWK: {"kty":"OKP","crv":"Ed25519","x":…,"d":…}')
}

function jwtPublicKey(text: string): string {
  try {
    const { asymmetricKeyType: type, asymmetricKeyDetails: details } = createPublicKey(text)
    if (type === 'ed25519' || type === 'rsa' || (type === 'ec' && details?.namedCurve === 'prime256v1')) return text
  } catch {
    // Said below.
  }
  throw new Error('must be PEM of a public key of type Ed25519, RSA or EC P-256; name a file with the suffix _FILE')
}

function nonEmpty(text: string): string {
  if (text === '') throw new Error('must not be empty')
  return text
}

function listenAddress(text: string): { host: string; port: number } {
  const match = /^(\[[0-9a-fA-F:]+\]|[^:]+):(\d{1,5})$/.exec(text)
  const host = match?.[1]?.replace(/^\[|\]$/g, '') ?? ''
  const port = Number(match?.[2])
  if (!match || port > 65_535 || (isIP(host) === 0 && host !== 'localhost'))
    throw new Error('must be an address and a port, such as 0.0.0.0:4410 or [::1]:4410')
  return { host, port }
}

function secureUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (
    !url ||
    !/^https?:$/.test(url.protocol) ||
    url.username ||
    url.password ||
    url.pathname !== '/' ||
    url.search ||
    url.hash
  ) {
    throw new Error('must be an origin such as https://loci.example')
  }
  if (url.protocol === 'http:' && !isLoopback(url.hostname))
    throw new Error('must be https: plain http is for loopback only')
  return url.origin
}

/** TLS with a verified certificate is not an option to switch on: anywhere off this machine it is the only way (see libs/postgres). */
function databaseUrl(text: string): string {
  // libpq's form for a unix socket has no host at all (postgres://role@/database?host=/directory), which no URL may have.
  const parseable = text.replace(/^(postgres(?:ql)?:\/\/[^/?@]*@)(?=\/)/, '$1localhost')
  const url = URL.canParse(parseable) ? new URL(parseable) : undefined
  if (!url || !/^postgres(ql)?:$/.test(url.protocol))
    throw new Error('must be a URL such as postgres://loci_app@127.0.0.1:5432/loci_cell')
  if (!/^([^%]|%[0-9a-fA-F]{2})*$/.test(text))
    throw new Error('has a % that is not followed by two hex digits: write %25')
  if (url.username === '') throw new Error('must name the role: postgres://loci_app@…')
  if (url.pathname.length < 2) throw new Error('must name the database: postgres://…/loci_cell')
  const host = url.searchParams.get('host') ?? url.hostname
  if (host.includes(',')) throw new Error('names several hosts: name the one in front of the primary')
  if (!/^\d{0,5}$/.test(url.searchParams.get('port') ?? '')) throw new Error('has a port that is not a number')
  const local = host.startsWith('/') || host.startsWith('%2F') || isLoopback(host)
  const mode = url.searchParams.get('sslmode')
  if (!local && mode !== null && mode !== 'verify-full')
    throw new Error(`has sslmode=${mode}: off loopback only verify-full is accepted, and it is the default`)
  if (!local && (url.searchParams.get('ssl') === 'false' || url.searchParams.get('uselibpqcompat') === 'true')) {
    throw new Error('switches verified TLS off: remove ssl and uselibpqcompat from the URL')
  }
  return text
}

function pem(kind: string): (text: string) => string {
  return (text) => {
    if (!new RegExp(`-----BEGIN [A-Z ]*${kind}-----`).test(text))
      throw new Error(`must be PEM with a ${kind}; name a file with the suffix _FILE`)
    return text
  }
}

function integer(min: number, max: number): (text: string) => number {
  return (text) => {
    if (!/^\d{1,9}$/.test(text) || Number(text) < min || Number(text) > max)
      throw new Error(`must be a whole number from ${min} to ${max}`)
    return Number(text)
  }
}

function boolean(text: string): boolean {
  if (text !== 'true' && text !== 'false') throw new Error('must be true or false')
  return text === 'true'
}

function oneOf<const Value extends string>(...values: Value[]): (text: string) => Value {
  return (text) => {
    if (!values.includes(text as Value)) throw new Error(`must be one of ${values.join(', ')}`)
    return text as Value
  }
}

function list(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
}

function cidrs(text: string): string[] {
  const entries = list(text)
  addressSet(entries)
  return entries
}

function proxies(text: string): string[] {
  const entries = list(text)
  if (coversEveryone(entries))
    throw new Error('trusts everyone: name the addresses of your own proxies, such as 10.0.3.0/24')
  return cidrs(text)
}

function pathSegment(text: string): string {
  if (!/^[a-z0-9][a-z0-9-]{0,62}$/.test(text)) throw new Error('must be one path segment of a-z, 0-9 and -')
  if (RESERVED_SEGMENTS.has(text)) throw new Error(`is '${text}', which is a path of ours already`)
  return text
}

const RESERVED_SEGMENTS = new Set([
  'health',
  'lifecycle',
  'kv',
  'system',
  'conductor',
  'cognitive',
  'working-memory',
  'memory',
  'advice',
  'databases',
  'export',
  'import',
  'events',
  'audit',
])

/** Digests of what people type when they want to get on with it. A digest hides weakness from us unless we look for it. */
const WEAK_DIGESTS = new Map([
  ['e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855', 'the empty text'],
  ['8c6976e5b5410415bde908bd4dee15dfb167a9c873fc4bb8a81f6f2ab448a918', 'admin'],
  ['5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8', 'password'],
  ['2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b', 'secret'],
  ['057ba03d6c44104863dc7361fe4578965d1887360f90a0895882e58a6248fc86', 'changeme'],
  ['3c469e9d6c5875d37a43f353d4f88e61fcf812c66eee3457465a40b0da4153e0', 'token'],
  ['8d969eef6ecad3c29a3a629280e686cf0c3f5d5a86aff3ca12020c923adc6c92', '123456'],
  ['9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08', 'test'],
])

function adminTokenDigests(text: string): Buffer[] {
  const digests = list(text)
  if (digests.length < 1 || digests.length > 2) throw new Error('must hold one digest, or two while rotating')
  for (const digest of digests) {
    if (!/^[0-9a-f]{64}$/.test(digest)) throw new Error('must be SHA-256 in 64 hex digits, not the token itself')
    const weak = WEAK_DIGESTS.get(digest)
    if (weak !== undefined || /^(.)\1*$/.test(digest))
      throw new Error(
        `is the digest of a weak token (${weak ?? 'a filler'}): make one with \`node daemon/main.ts admin-token\``,
      )
  }
  return digests.map((digest) => Buffer.from(digest, 'hex'))
}
