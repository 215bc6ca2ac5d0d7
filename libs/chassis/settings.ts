// How a program declares its settings, and those that every program has because the chassis serves for it.
// docs/configuration.md is generated from the tables of the programs.

import { boolean, databaseUrl, integer, listenAddress, oneOf, pem, proxies, sealingKeys } from './setting-values.ts'

export interface Setting<Value> {
  env: string
  doc: string
  /** Masked wherever the configuration is shown. */
  secret?: boolean
  /** As text, as a person would write it; undefined = must be given (or `optional`). */
  fallback?: string
  optional?: boolean
  /** Needed by some commands only; the program says which it requires. */
  forCommand?: string
  /** Throws an Error whose message ends the sentence "LOCI_X …". */
  parse(text: string): Value
}

export function setting<Value>(definition: Setting<Value>): Setting<Value> {
  return definition
}

export function optionalSetting<Value>(definition: Setting<Value>): Setting<Value> & { optional: true } {
  return { ...definition, optional: true }
}

/** Never among the settings that a server is handed. */
function commandSetting<Value>(definition: Setting<Value> & { forCommand: string }) {
  return { ...definition, optional: true as const }
}

/** The settings of a program, by name. */
export type SettingsTable = Readonly<Record<string, Setting<unknown>>>

/** What is known of a program's settings beside the table. */
export interface Registry<Table extends SettingsTable = SettingsTable> {
  program: string
  settings: Table
  /** Variables that are given together or not at all. */
  together?: readonly (readonly string[])[]
  /** Variables that mean nothing without another one. */
  onlyWith?: Readonly<Record<string, string>>
  /** About more than one of its own settings. */
  warningsOf?(values: Partial<ValuesOf<Table>>): string[]
}

type ValueOf<One> = One extends Setting<infer Value> ? Value : never
export type ValuesOf<Table extends SettingsTable> = {
  [Name in keyof Table]: Table[Name] extends { optional: true }
    ? ValueOf<Table[Name]> | undefined
    : ValueOf<Table[Name]>
}

/** What a program's program.ts hands to its server: values, typed, checked. */
export type ServerSettings<Table extends SettingsTable> = {
  [Name in keyof Table as Table[Name] extends { forCommand: string } ? never : Name]: ValuesOf<Table>[Name]
}

/** `own`: where the programs differ. */
export function sharedSettings(own: { listen: string; concurrencyMax: string }) {
  return {
    listen: setting({
      env: 'LOCI_LISTEN',
      doc: 'Address and port to serve on; port 0 takes a free one.',
      fallback: own.listen,
      parse: listenAddress,
    }),
    databaseUrl: setting({
      env: 'LOCI_DATABASE_URL',
      doc: 'PostgreSQL as loci_daemon or loci_management; of several servers (…@one:5432,two:5432/…) the primary is found. Off loopback and unix sockets the connection is TLS with a verified certificate.',
      secret: true,
      parse: databaseUrl,
    }),
    databaseOwnerUrl: commandSetting({
      env: 'LOCI_DATABASE_OWNER_URL',
      doc: 'PostgreSQL as loci_daemon_owner or loci_management_owner; only the command migrate reads it.',
      secret: true,
      forCommand: 'migrate',
      parse: databaseUrl,
    }),
    databaseCa: optionalSetting({
      env: 'LOCI_DATABASE_CA',
      doc: 'PEM of the certificate authority of PostgreSQL, where the system does not know it.',
      parse: pem('CERTIFICATE'),
    }),
    databaseConnectionsMax: setting({
      env: 'LOCI_DATABASE_CONNECTIONS_MAX',
      doc: 'Connections for requests; background work has a few of its own (daemon four, management ten).',
      fallback: '16',
      parse: integer(2, 200),
    }),
    databaseStatementMs: setting({
      env: 'LOCI_DATABASE_STATEMENT_MS',
      doc: 'How long PostgreSQL may take for one statement, in milliseconds; then the request is answered 503. More, where its disk is slow or its machine stands still at times; a PostgreSQL that is away is told as much later.',
      fallback: '1750',
      parse: integer(500, 60_000),
    }),
    trustedProxies: setting({
      env: 'LOCI_TRUSTED_PROXIES',
      doc: 'Addresses or CIDRs of proxies whose X-Forwarded-* headers are trusted.',
      fallback: '',
      parse: proxies,
    }),
    requireHttps: setting({
      env: 'LOCI_REQUIRE_HTTPS',
      doc: 'Refuse requests that did not arrive by TLS (own listener, or X-Forwarded-Proto of a trusted proxy), probes included.',
      fallback: 'false',
      parse: boolean,
    }),
    tlsCert: optionalSetting({
      env: 'LOCI_TLS_CERT',
      doc: 'PEM of the certificate chain of our own listener.',
      parse: pem('CERTIFICATE'),
    }),
    tlsKey: optionalSetting({
      env: 'LOCI_TLS_KEY',
      doc: 'PEM of its private key.',
      secret: true,
      parse: pem('PRIVATE KEY'),
    }),
    sealingKeys: setting({
      env: 'LOCI_SEALING_KEYS',
      doc: 'Keys for secrets at rest, as `<id>:<base64 of 32 random bytes>`, comma between: the first encrypts, every one decrypts. To rotate see docs/operations/rotate-and-revoke.md.',
      secret: true,
      parse: sealingKeys,
    }),
    unauthenticatedPerMinute: setting({
      env: 'LOCI_UNAUTHENTICATED_PER_MINUTE',
      doc: 'Requests with a failing credential, per address and minute, before further ones get 429.',
      fallback: '1000',
      parse: integer(1, 1_000_000),
    }),
    concurrencyMax: setting({
      env: 'LOCI_CONCURRENCY_MAX',
      doc: 'Requests processed at once; one organization gets at most a quarter of them.',
      fallback: own.concurrencyMax,
      parse: integer(1, 10_000),
    }),
    queueMax: setting({
      env: 'LOCI_QUEUE_MAX',
      doc: 'Requests that may wait for a slot; further ones get 503 OVERLOADED.',
      fallback: '256',
      parse: integer(0, 100_000),
    }),
    queueMs: setting({
      env: 'LOCI_QUEUE_MS',
      doc: 'How long a request waits for a slot at most, in milliseconds.',
      fallback: '300',
      parse: integer(1, 5_000),
    }),
    drainGraceMs: setting({
      env: 'LOCI_DRAIN_GRACE_MS',
      doc: 'After SIGTERM: how long requests are still accepted while readiness answers draining. At least two intervals of your load balancer’s health check.',
      fallback: '3000',
      parse: integer(0, 60_000),
    }),
    drainMs: setting({
      env: 'LOCI_DRAIN_MS',
      doc: 'After the grace: how long running requests may still take before their connections are closed. Both together must stay below the supervisor’s kill timeout.',
      fallback: '15000',
      parse: integer(0, 120_000),
    }),
    logLevel: setting({
      env: 'LOCI_LOG_LEVEL',
      doc: 'debug, info, warn, error, fatal or silent.',
      fallback: 'info',
      parse: oneOf('debug', 'info', 'warn', 'error', 'fatal', 'silent'),
    }),
  }
}
