// Every setting of every loci program, in one registry: a name that is unknown here is refused at start, whichever
// program it was meant for, because a misspelt setting that is silently ignored is how defaults end up in production.
// docs/configuration.md is generated from it.

import {
  adminTokenDigests,
  allowlist,
  boolean,
  cellId,
  databaseUrl,
  emails,
  integer,
  jwtPublicKey,
  listenAddress,
  nonEmpty,
  oneOf,
  pathSegment,
  pem,
  privateJwk,
  proxies,
  regions,
  sealingKeys,
  secrets,
  secureUrl,
  signingSecrets,
} from './setting-values.ts'

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
    doc: 'A separate listener for /admin; the main listener then does not serve it.',
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
    doc: 'Management’s URL, from which the cell pulls its desired state: https, or http on loopback.',
    parse: secureUrl,
  }),
  databaseUrl: setting({
    env: 'LOCI_DATABASE_URL',
    programs: BOTH,
    doc: 'PostgreSQL as loci_daemon or loci_management. Off loopback and unix sockets the connection is TLS with a verified certificate.',
    secret: true,
    parse: databaseUrl,
  }),
  databaseOwnerUrl: optionalSetting({
    env: 'LOCI_DATABASE_OWNER_URL',
    programs: BOTH,
    doc: 'PostgreSQL as loci_daemon_owner or loci_management_owner; only the command migrate reads it.',
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
    doc: 'Connections for requests; background work has a few of its own (daemon four, management ten).',
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
    doc: 'Addresses or CIDRs that may call /admin; empty = none.',
    fallback: '127.0.0.0/8, ::1',
    parse: allowlist,
  }),
  trustedProxies: setting({
    env: 'LOCI_TRUSTED_PROXIES',
    programs: BOTH,
    doc: 'Addresses or CIDRs of proxies whose X-Forwarded-* headers are trusted.',
    fallback: '',
    parse: proxies,
  }),
  requireHttps: setting({
    env: 'LOCI_REQUIRE_HTTPS',
    programs: BOTH,
    doc: 'Refuse requests that did not arrive by TLS (own listener, or X-Forwarded-Proto of a trusted proxy), probes included.',
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
    doc: 'Keys for secrets at rest, as `<id>:<base64 of 32 random bytes>`, comma between: the first encrypts, every one decrypts. Put a new one in front to rotate.',
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
    doc: 'After this long without contact to management, writes and operator operations are refused (503 AUTHORITY_STALE).',
    fallback: '86400',
    parse: integer(60, 30 * 86_400),
  }),
  unauthenticatedPerMinute: setting({
    env: 'LOCI_UNAUTHENTICATED_PER_MINUTE',
    programs: BOTH,
    doc: 'Requests with a failing credential, per address and minute, before further ones get 429.',
    fallback: '1000',
    parse: integer(1, 1_000_000),
  }),
  legacyJwtPublicKey: optionalSetting({
    env: 'LOCI_LEGACY_JWT_PUBLIC_KEY',
    programs: ['daemon'],
    doc: 'PEM of a public key (Ed25519, P-256, or RSA of 2048 bits or more): every capability route then also needs a JWT signed with it in Authorization.',
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
  staffEmails: setting({
    env: 'LOCI_STAFF_EMAILS',
    programs: ['management'],
    doc: 'E-mail addresses of platform staff, separated by commas. Only staff sees cells, moves services and reads parked events.',
    fallback: '',
    parse: emails,
  }),
  trustedGateways: setting({
    env: 'LOCI_TRUSTED_GATEWAY_CIDRS',
    programs: ['management'],
    doc: 'Addresses or CIDRs of gateways whose x-consumer-* headers are accepted, with a proof by LOCI_GATEWAY_SECRETS. From other addresses they are dropped.',
    fallback: '',
    parse: proxies,
  }),
  gatewaySecrets: setting({
    env: 'LOCI_GATEWAY_SECRETS',
    programs: ['management'],
    doc: 'The secret with which a trusted gateway signs the x-consumer-* headers (x-consumer-proof); at most two (comma) while rotating.',
    secret: true,
    fallback: '',
    parse: secrets,
  }),
  billingWebhookSecrets: setting({
    env: 'LOCI_BILLING_WEBHOOK_SECRETS',
    programs: ['management'],
    doc: 'The secret that the payment provider sends as Authorization: Bearer; at most two (comma) while rotating. None: the webhook answers 503 and no plan is enforced.',
    secret: true,
    fallback: '',
    parse: secrets,
  }),
  billingSigningSecrets: setting({
    env: 'LOCI_BILLING_SIGNING_SECRETS',
    programs: ['management'],
    doc: 'Secrets of Standard Webhooks signatures, `whsec_<base64>`, at most two (comma). Given, every delivery must be signed as well.',
    secret: true,
    fallback: '',
    parse: signingSecrets,
  }),
  billingProvider: setting({
    env: 'LOCI_BILLING_PROVIDER',
    programs: ['management'],
    doc: 'The name of the payment provider, as GET /api/webhooks/billing shows it.',
    fallback: 'stripe',
    parse: nonEmpty,
  }),
  regions: setting({
    env: 'LOCI_REGIONS',
    programs: ['management'],
    doc: 'The regions in which services can be created, separated by commas. Empty: any; a service is placed only in a cell of its region.',
    fallback: '',
    parse: regions,
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
    doc: 'Requests processed at once; one instance or organization gets at most a quarter of them.',
    fallback: { daemon: '128', management: '64' },
    parse: integer(1, 10_000),
  }),
  queueMax: setting({
    env: 'LOCI_QUEUE_MAX',
    programs: BOTH,
    doc: 'Requests that may wait for a slot; further ones get 503 OVERLOADED.',
    fallback: '256',
    parse: integer(0, 100_000),
  }),
  queueMs: setting({
    env: 'LOCI_QUEUE_MS',
    programs: BOTH,
    doc: 'How long a request waits for a slot at most, in milliseconds.',
    fallback: '300',
    parse: integer(1, 5_000),
  }),
  drainGraceMs: setting({
    env: 'LOCI_DRAIN_GRACE_MS',
    programs: BOTH,
    doc: 'After SIGTERM: how long requests are still accepted while readiness answers draining. At least two intervals of your load balancer’s health check.',
    fallback: '3000',
    parse: integer(0, 60_000),
  }),
  drainMs: setting({
    env: 'LOCI_DRAIN_MS',
    programs: BOTH,
    doc: 'After the grace: how long running requests may still take before their connections are closed. Both together must stay below the supervisor’s kill timeout.',
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
