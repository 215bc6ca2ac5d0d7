// Every way we know to give a program a broken or weak setting. The reason must name the setting.

import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ProgramName } from '../world/process.ts'

export interface BrokenCase {
  name: string
  program: ProgramName
  /** Over the sound settings; undefined takes one away. */
  settings: Record<string, string | undefined>
  args?: string[]
  /** All of them must be in what it says. */
  reasons: RegExp[]
}

export const SOUND_DIGEST = '6d1cf1b1ff0fd2c50c2c9e3b1b5f5e1b6a3c4d5e6f708192a3b4c5d6e7f80912'
const SOUND_SEALING = `test:${randomBytes(32).toString('base64')}`
const SOUND_URL = 'postgres://loci_daemon@127.0.0.1:5432/loci'
const FILLER_CERTIFICATE = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----'
const FILLER_KEY = '-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----'

export function soundSettings(program: ProgramName): Record<string, string> {
  return {
    LOCI_LISTEN: '127.0.0.1:0',
    LOCI_DATABASE_URL: SOUND_URL,
    LOCI_SEALING_KEYS: SOUND_SEALING,
    ...(program === 'daemon' ? { LOCI_ADMIN_TOKEN_DIGESTS: SOUND_DIGEST } : {}),
  }
}

/** setting, what it is set to, what the reason says of it. Undefined = not given. */
type Row = [env: string, value: string | undefined, says: RegExp]

const OF_BOTH: Row[] = [
  ['LOCI_SEALING_KEYS', undefined, /is required/],
  ['LOCI_SEALING_KEYS', 'changeme', /base64/],
  ['LOCI_SEALING_KEYS', `a:${Buffer.alloc(32).toString('base64')}`, /not random/],
  ['LOCI_SEALING_KEYS', `a:${Buffer.alloc(16, 7).toString('base64')}`, /32 bytes/],
  ['LOCI_DATABASE_URL', undefined, /is required/],
  ['LOCI_DATABASE_URL', '', /must be a URL/],
  ['LOCI_DATABASE_URL', 'mysql://loci_daemon@127.0.0.1/loci', /must be a URL/],
  ['LOCI_DATABASE_URL', 'postgres://127.0.0.1/loci', /must name the role/],
  ['LOCI_DATABASE_URL', 'postgres://loci_daemon@127.0.0.1', /must name the database/],
  ['LOCI_DATABASE_URL', 'postgres://loci_daemon@db.example/loci?sslmode=disable', /sslmode=disable/],
  ['LOCI_DATABASE_URL', 'postgres://loci_daemon@db.example/loci?sslmode=require', /sslmode=require/],
  ['LOCI_DATABASE_URL', 'postgres://loci_daemon@db.example/loci?sslmode=prefer', /sslmode=prefer/],
  ['LOCI_DATABASE_URL', 'postgres://loci_daemon@db.example/loci?sslmode=verify-ca', /sslmode=verify-ca/],
  ['LOCI_DATABASE_URL', 'postgres://loci_daemon@db.example/loci?ssl=false', /TLS/],
  ['LOCI_DATABASE_URL', 'postgres://loci_daemon@127.0.0.1/loci?host=db.example&sslmode=disable', /sslmode=disable/],
  ['LOCI_DATABASE_URL', 'postgres://loci_daemon@10.0.0.5/loci?sslmode=disable', /sslmode=disable/],
  ['LOCI_DATABASE_URL', 'postgres://loci_daemon@127.0.0.1,db.example/loci?sslmode=disable', /sslmode=disable/],
  ['LOCI_DATABASE_URL', 'postgres://%zz@127.0.0.1/loci', /two hex digits/],
  ['LOCI_DATABASE_URL', 'postgres://loci_daemon@127.0.0.1/loci?port=many', /port/],
  ['LOCI_DATABASE_URL_FILE', '/nowhere/at/all', /cannot be read/],
  ['LOCI_DATABASE_CA', 'not PEM', /must be PEM/],
  ['LOCI_DATABASE_CA', FILLER_CERTIFICATE, /certificate/],
  ['LOCI_DATABASE_CONNECTIONS_MAX', '1', /from 2 to 200/],
  ['LOCI_DATABASE_CONNECTIONS_MAX', '201', /from 2 to 200/],
  ['LOCI_DATABASE_STATEMENT_MS', '0', /from 500 to 60000/],
  ['LOCI_LISTEN', '4410', /address and a port/],
  ['LOCI_LISTEN', 'everywhere:4410', /address and a port/],
  ['LOCI_LISTEN', '127.0.0.1:70000', /address and a port/],
  ['LOCI_TRUSTED_PROXIES', 'true', /trusts every address/],
  ['LOCI_TRUSTED_PROXIES', '*', /trusts every address/],
  ['LOCI_LISTEN', '0.0.0.0:4410', /LOCI_LISTEN would serve plain http/],
  ['LOCI_LISTEN', '[::]:4410', /LOCI_LISTEN would serve plain http/],
  ['LOCI_TRUSTED_PROXIES', '0.0.0.0/0', /trusts every address/],
  ['LOCI_TRUSTED_PROXIES', '::/0', /trusts every address/],
  ['LOCI_TRUSTED_PROXIES', '10.0.0.1, 203.0.113.7/00', /trusts every address/],
  ['LOCI_TRUSTED_PROXIES', '::ffff:0:0/96', /trusts every address/],
  ['LOCI_TRUSTED_PROXIES', '0.0.0.0/1, 128.0.0.0/1', /trusts every address/],
  ['LOCI_TRUSTED_PROXIES', '0.0.0.0/2, 64.0.0.0/2, 128.0.0.0/2, 192.0.0.0/2', /trusts every address/],
  ['LOCI_TRUSTED_PROXIES', '10.0.0.0/33', /CIDR/],
  ['LOCI_TRUSTED_PROXIES', 'proxy.example', /CIDR/],
  ['LOCI_REQUIRE_HTTPS', 'yes', /true or false/],
  ['LOCI_REQUIRE_HTTPS', 'true', /LOCI_TLS_CERT/],
  ['LOCI_TLS_CERT', FILLER_CERTIFICATE, /LOCI_TLS_KEY/],
  ['LOCI_TLS_KEY', FILLER_KEY, /LOCI_TLS_CERT/],
  ['LOCI_CONCURRENCY_MAX', '0', /from 1 to 10000/],
  ['LOCI_CONCURRENCY_MAX', '1e3', /whole number/],
  ['LOCI_QUEUE_MAX', '-1', /whole number/],
  ['LOCI_QUEUE_MS', '0', /from 1 to 5000/],
  ['LOCI_DRAIN_GRACE_MS', '60001', /from 0 to 60000/],
  ['LOCI_DRAIN_MS', '120001', /from 0 to 120000/],
  ['LOCI_LOG_LEVEL', 'verbose', /must be one of/],
  ['LOCI_CONCURENCY_MAX', '64', /did you mean LOCI_CONCURRENCY_MAX/],
  ['LOCI_AUTH', 'off', /is not a setting/],
  ['LOCI_CONFIG', '/nowhere/at/all', /configuration file .* cannot be read/],
]

const OF_THE_DAEMON: Row[] = [
  ['LOCI_ADMIN_TOKEN_DIGESTS', undefined, /is required/],
  ['LOCI_ADMIN_TOKEN_DIGESTS', '', /one digest/],
  ['LOCI_ADMIN_TOKEN_DIGESTS', 'loci_adm_plain-text-token', /64 hex digits/],
  ['LOCI_ADMIN_TOKEN_DIGESTS', SOUND_DIGEST.slice(0, 40), /64 hex digits/],
  ['LOCI_ADMIN_TOKEN_DIGESTS', '8c6976e5b5410415bde908bd4dee15dfb167a9c873fc4bb8a81f6f2ab448a918', /weak/],
  ['LOCI_ADMIN_TOKEN_DIGESTS', 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855', /weak/],
  ['LOCI_ADMIN_TOKEN_DIGESTS', '0'.repeat(64), /weak/],
  ['LOCI_ADMIN_TOKEN_DIGESTS', [SOUND_DIGEST, SOUND_DIGEST, SOUND_DIGEST].join(), /two while rotating/],
  ['LOCI_ADMIN_TOKEN_DIGESTS_FILE', '/nowhere/at/all', /cannot be read|both/],
  ['LOCI_ADMIN_ALLOWLIST', '10.0.0.0/8, office', /CIDR/],
  ['LOCI_ADMIN_ALLOWLIST', '10.0.0.0/8/8', /CIDR/],
  ['LOCI_ADMIN_ALLOWLIST', '0.0.0.0/0', /allows every address/],
  ['LOCI_ADMIN_ALLOWLIST', '::/0', /allows every address/],
  ['LOCI_ADMIN_ALLOWLIST', '127.0.0.1, 0.0.0.0/1, 128.0.0.0/1', /allows every address/],
  ['LOCI_ADMIN_LISTEN', 'nowhere', /address and a port/],
  ['LOCI_ADMIN_LISTEN', '0.0.0.0:4411', /LOCI_ADMIN_LISTEN would serve plain http/],
  ['LOCI_ADMIN_TOKEN', 'loci_adm_something', /did you mean LOCI_ADMIN_TOKEN_DIGESTS/],
  ['LOCI_MANAGEMENT_URL', 'http://loci.example', /must be https/],
  ['LOCI_MANAGEMENT_URL', 'ftp://loci.example', /origin/],
  ['LOCI_AUTHORIZATION_SERVER', 'http://loci.example', /must be https/],
  ['LOCI_ENCODER', '', /must not be empty/],
  ['LOCI_PARTNER_NAME', 'kv', /another path of this program/],
  ['LOCI_PARTNER_NAME', 'a/b', /one path segment/],
]

const OF_MANAGEMENT: Row[] = [
  ['LOCI_PUBLIC_URL', 'http://loci.example', /must be https/],
  ['LOCI_PUBLIC_URL', 'https://user:word@loci.example', /origin/],
  ['LOCI_PUBLIC_URL', 'https://loci.example/path', /origin/],
  ['LOCI_STAFF_EMAILS', 'ada@example.com, ada', /is not an e-mail address/],
  ['LOCI_STAFF_EMAILS', '\u212aate@example.com', /is not an e-mail address/],
  ['LOCI_TRUSTED_GATEWAY_CIDRS', '0.0.0.0/0', /trusts every address/],
  ['LOCI_GATEWAY_SECRETS', 'changeme', /can be guessed/],
  ['LOCI_BILLING_WEBHOOK_SECRETS', 'x'.repeat(40), /can be guessed/],
  ['LOCI_BILLING_WEBHOOK_SECRETS', ['a', 'b', 'c'].join(), /at most two/],
  ['LOCI_BILLING_SIGNING_SECRETS', 'whsec_short', /whsec_/],
  ['LOCI_BILLING_PROVIDER', '', /empty|required/],
  ['LOCI_REGIONS', 'no\u0007where', /region/],
  [
    'LOCI_OIDC_ISSUER',
    'https://id.example',
    /LOCI_OIDC_CLIENT_ID and LOCI_OIDC_CLIENT_SECRET and LOCI_OIDC_REDIRECT_URIS are missing/,
  ],
  ['LOCI_OIDC_ISSUER', 'http://id.example', /must be https/],
  ['LOCI_OIDC_ISSUER', 'https://id.example/?realm=a', /must be a URL/],
  ['LOCI_OIDC_CLIENT_ID', 'loci', /LOCI_OIDC_ISSUER and .* are missing/],
  ['LOCI_OIDC_CLIENT_SECRET', 'changeme', /can be guessed/],
  ['LOCI_OIDC_REDIRECT_URIS', 'http://loci.example/signed-in', /must be https/],
  ['LOCI_OIDC_REDIRECT_URIS', 'https://loci.example/signed-in, /signed-in', /no URL/],
  ['LOCI_OIDC_REDIRECT_URIS', 'https://loci.example/signed-in#x', /no URL/],
  ['LOCI_OIDC_AUDIENCE', 'https://api.loci.example', /means nothing without LOCI_OIDC_ISSUER/],
  ['LOCI_OIDC_SCOPES', 'profile email', /openid/],
]

export function brokenCases(): BrokenCase[] {
  const directory = mkdtempSync(join(tmpdir(), 'loci-boot-'))
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }))
  const file = (name: string, text: string) => {
    writeFileSync(join(directory, name), text)
    return join(directory, name)
  }
  const programs: ProgramName[] = ['daemon', 'management']
  const fromRow = (program: ProgramName, [env, value, says]: Row): BrokenCase => ({
    name: `${env}=${value === undefined ? '(not given)' : value.slice(0, 60).replaceAll('\n', '…')}`,
    program,
    settings: env.endsWith('_FILE') ? { [env.slice(0, -5)]: undefined, [env]: value } : { [env]: value },
    reasons: [new RegExp(env === 'LOCI_CONFIG' ? 'configuration file' : env), says],
  })
  const ofBoth = programs.flatMap((program): BrokenCase[] => [
    // The parsers are shared: every value for the one, one value of each setting for the other.
    ...OF_BOTH.filter(([env], i) => program === 'daemon' || OF_BOTH.findIndex(([other]) => other === env) === i).map(
      (row) => fromRow(program, row),
    ),
    {
      name: 'LOCI_DATABASE_URL and its _FILE',
      program,
      settings: { LOCI_DATABASE_URL_FILE: file('url', SOUND_URL) },
      reasons: [/LOCI_DATABASE_URL and LOCI_DATABASE_URL_FILE are both given/],
    },
    {
      name: 'LOCI_DATABASE_URL_FILE is a directory',
      program,
      settings: { LOCI_DATABASE_URL: undefined, LOCI_DATABASE_URL_FILE: directory },
      reasons: [/LOCI_DATABASE_URL_FILE cannot be read/],
    },
    {
      name: 'a secret as a flag',
      program,
      settings: {},
      args: [`--database-url=${SOUND_URL}`],
      reasons: [/--database-url would show a secret/, /LOCI_DATABASE_URL_FILE/],
    },
    {
      name: 'a certificate and a key that are none',
      program,
      settings: { LOCI_TLS_CERT: FILLER_CERTIFICATE, LOCI_TLS_KEY: FILLER_KEY },
      reasons: [/LOCI_TLS_(CERT|KEY)/],
    },
    {
      name: 'a configuration file that is no JSON',
      program,
      settings: { LOCI_CONFIG: file('broken.json', '{"listen": ') },
      reasons: [/configuration file .*broken\.json cannot be read/],
    },
    {
      name: 'a configuration file that is a list',
      program,
      settings: { LOCI_CONFIG: file('list.json', '[]') },
      reasons: [/configuration file .*list\.json cannot be read/],
    },
    {
      name: 'an unknown key in the configuration file',
      program,
      settings: { LOCI_CONFIG: file('unknown.json', '{"drain_msec": 5}') },
      reasons: [/'drain_msec', which is not a setting; did you mean drain_ms/],
    },
    {
      name: 'a value that is an object in the configuration file',
      program,
      settings: { LOCI_LISTEN: undefined, LOCI_CONFIG: file('object.json', '{"listen": {"port": 1}}') },
      reasons: [/LOCI_LISTEN/],
    },
    {
      name: 'three at once',
      program,
      settings: { LOCI_LISTEN: 'x', LOCI_LOG_LEVEL: 'loud', LOCI_DRAIN_MS: '-1' },
      reasons: [/^ {2}- LOCI_LISTEN /m, /^ {2}- LOCI_LOG_LEVEL /m, /^ {2}- LOCI_DRAIN_MS /m],
    },
  ])
  return [
    ...ofBoth,
    ...OF_THE_DAEMON.map((row) => fromRow('daemon', row)),
    ...OF_MANAGEMENT.map((row) => fromRow('management', row)),
    {
      name: 'the admin token digest as a flag',
      program: 'daemon',
      settings: {},
      args: ['--admin-token-digests', SOUND_DIGEST],
      reasons: [/--admin-token-digests would show a secret/],
    },
  ]
}
