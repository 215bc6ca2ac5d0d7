// How the chassis reads a configuration, by the settings of a real program.

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { configReport, flagOf, isKubernetesLink, loadConfig, requireSettings } from '@loci/chassis/config.ts'
import { selfSigned } from '@loci/chassis/testing/certificate.ts'
import { newId } from '@loci/contract/ids.ts'
import { SETTING_NAMES } from '@loci/contract/setting-names.ts'
import { REGISTRY } from './settings.ts'

const directory = mkdtempSync(join(tmpdir(), 'loci-config-'))
after(() => rmSync(directory, { recursive: true }))

const DIGEST = '0123456789abcdef'.repeat(4)
const SEALING = `test:${randomBytes(32).toString('base64')}`
const ENV = {
  LOCI_SEALING_KEYS: SEALING,
  LOCI_DATABASE_URL: 'postgres://loci_daemon:hunter22@127.0.0.1:5432/loci_cell',
  LOCI_ADMIN_TOKEN_DIGESTS: DIGEST,
}

const OWNER_URL = 'postgres://loci_daemon_owner@127.0.0.1:5432/loci_cell'

function daemon(env: Record<string, string | undefined> = {}, argv: string[] = []) {
  return loadConfig({ ...REGISTRY, argv, env: { ...ENV, ...env } })
}

function file(name: string, text: string): string {
  const path = join(directory, name)
  writeFileSync(path, text)
  return path
}

test('a flag wins over the environment, that over the file, and that over the default', () => {
  const path = file('precedence.json', JSON.stringify({ queue_ms: 3, queue_max: 3, concurrency_max: 3 }))
  const env = { LOCI_CONFIG: path, LOCI_QUEUE_MS: '2', LOCI_QUEUE_MAX: '2' }

  const config = daemon(env, ['--queue-ms', '1'])

  assert.deepEqual(config.problems, [])
  const { queueMs, queueMax, concurrencyMax, drainMs } = config.values
  assert.deepEqual([queueMs, queueMax, concurrencyMax, drainMs], [1, 2, 3, 15_000])
  const sources = Object.fromEntries(config.shown.map(({ env: name, source }) => [name, source]))
  assert.equal(sources.LOCI_QUEUE_MS, 'flag')
  assert.equal(sources.LOCI_QUEUE_MAX, 'environment')
  assert.equal(sources.LOCI_CONCURRENCY_MAX, 'configuration file')
  assert.equal(sources.LOCI_DRAIN_MS, 'default')
  assert.equal(sources.LOCI_TLS_CERT, 'not set')
})

test('a flag may be written with = or as two words, and what is no setting is left for the command', () => {
  const config = daemon({}, ['migrate', '--listen=127.0.0.1:1', '--log-level', 'warn', '--dry'])
  assert.deepEqual(config.values.listen, { host: '127.0.0.1', port: 1 })
  assert.equal(config.values.logLevel, 'warn')
  assert.deepEqual(config.rest, ['migrate', '--dry'])
})

test('a file named by --config wins over LOCI_CONFIG, and a list in it is a list', () => {
  const one = file('one.json', JSON.stringify({ queue_ms: 1 }))
  const two = file('two.json', JSON.stringify({ admin_allowlist: ['10.0.0.1', '10.0.0.2'] }))
  const config = daemon({ LOCI_CONFIG: one }, ['--config', two])
  assert.deepEqual(config.values.adminAllowlist, ['10.0.0.1', '10.0.0.2'])
  assert.equal(config.values.queueMs, 300)
})

test('_FILE reads the value from a file, without the newline that editors leave', () => {
  const env = {
    LOCI_ADMIN_TOKEN_DIGESTS: undefined,
    LOCI_ADMIN_TOKEN_DIGESTS_FILE: file('digest', `${DIGEST}\n`),
    LOCI_QUEUE_MS_FILE: file('queue-ms', '7\n'),
  }
  const { problems, values } = daemon(env)
  assert.deepEqual(problems, [])
  assert.deepEqual([values.adminTokenDigests, values.queueMs], [[Buffer.from(DIGEST, 'hex')], 7])
})

test('_FILE that cannot be read, or stands beside the value itself, is refused once', () => {
  const missing = daemon({ LOCI_ADMIN_TOKEN_DIGESTS: undefined, LOCI_ADMIN_TOKEN_DIGESTS_FILE: join(directory, 'no') })
  assert.equal(missing.problems.length, 1)
  assert.match(missing.problems[0]!, /LOCI_ADMIN_TOKEN_DIGESTS_FILE cannot be read.*ENOENT/)

  const both = daemon({ LOCI_ADMIN_TOKEN_DIGESTS_FILE: file('both', DIGEST) })
  assert.deepEqual(both.problems, [
    'LOCI_ADMIN_TOKEN_DIGESTS and LOCI_ADMIN_TOKEN_DIGESTS_FILE are both given: keep one',
  ])
})

test('an unknown name is refused with the nearest one, in the environment and in the file', () => {
  assert.deepEqual(daemon({ LOCI_LISTNE: 'x' }).problems, ['LOCI_LISTNE is not a setting; did you mean LOCI_LISTEN?'])
  assert.deepEqual(daemon({ LOCI_ADMIN_TOKEN: 'x' }).problems, [
    'LOCI_ADMIN_TOKEN is not a setting; did you mean LOCI_ADMIN_TOKEN_DIGESTS?',
  ])
  assert.deepEqual(daemon({ LOCI_TLS_CRT_FILE: 'x' }).problems.length, 1)
  assert.deepEqual(daemon({ LOCI_DISABLE_ALL_AUTHENTICATION: '1' }).problems, [
    'LOCI_DISABLE_ALL_AUTHENTICATION is not a setting; --help lists them all',
  ])
  const path = file('unknown.json', JSON.stringify({ quee_ms: 1 }))
  assert.deepEqual(daemon({ LOCI_CONFIG: path }).problems, [
    "the configuration file has 'quee_ms', which is not a setting; did you mean queue_ms?",
  ])
})

test('a name of another program of ours is known, and ignored here', () => {
  assert.deepEqual(daemon({ LOCI_PUBLIC_URL: 'nonsense for a daemon' }).problems, [])
})

test('the link variables of Kubernetes are ignored', () => {
  const links = {
    LOCI_PORT: 'tcp://10.0.0.1:80',
    LOCI_SERVICE_HOST: '10.0.0.1',
    LOCI_SERVICE_PORT: '80',
    LOCI_SERVICE_PORT_HTTP: '80',
    LOCI_PORT_80_TCP: 'tcp://10.0.0.1:80',
    LOCI_PORT_80_TCP_PROTO: 'tcp',
    LOCI_PORT_80_TCP_PORT: '80',
    LOCI_PORT_80_TCP_ADDR: '10.0.0.1',
    LOCI_DAEMON_SERVICE_HOST: '10.0.0.1',
    LOCI_DAEMON_PORT: 'tcp://10.0.0.1:80',
    LOCI_CELL_EU_PORT_4410_TCP: 'tcp://10.0.0.1:4410',
  }
  assert.deepEqual(daemon(links).problems, [])
})

test('no setting of ours has a name that Kubernetes could set', () => {
  for (const env of SETTING_NAMES) for (const name of [env, `${env}_FILE`]) assert.ok(!isKubernetesLink(name), name)
})

test('all problems are told at once', () => {
  const { problems } = loadConfig({
    ...REGISTRY,
    argv: ['--listen', 'nowhere'],
    env: { LOCI_QUEUE_MS: '0', LOCI_REQUIRE_HTTPS: 'yes', LOCI_NOPE: '1', LOCI_DATABASE_URL: 'mysql://x' },
  })
  for (const name of [
    'LOCI_LISTEN',
    'LOCI_QUEUE_MS',
    'LOCI_REQUIRE_HTTPS',
    'LOCI_NOPE',
    'LOCI_DATABASE_URL',
    'LOCI_ADMIN_TOKEN_DIGESTS',
    'LOCI_SEALING_KEYS',
  ])
    assert.equal(problems.filter((problem) => problem.startsWith(name)).length, 1, name)
  assert.equal(problems.length, 7)
})

test('a file that is missing, no JSON or no object is a problem, and so is --config without a file', () => {
  assert.match(daemon({ LOCI_CONFIG: join(directory, 'none') }).problems[0]!, /cannot be read: ENOENT/)
  for (const text of ['{', '[]', 'null', '"x"'])
    assert.equal(daemon({ LOCI_CONFIG: file('bad.json', text) }).problems.length, 1, text)
  assert.match(daemon({}, ['--config']).problems[0]!, /--config needs/)
})

test('a report shows where each value comes from, and no secret', () => {
  const path = file('key', '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----')
  const cert = '-----BEGIN CERTIFICATE-----\nBBBB\n-----END CERTIFICATE-----'
  const config = daemon({ LOCI_TLS_KEY_FILE: path, LOCI_TLS_CERT: cert })
  const report = configReport(config)
  for (const secret of ['hunter22', DIGEST, 'AAAA', 'PRIVATE KEY', 'BBBB']) assert.ok(!report.includes(secret), secret)
  assert.match(report, /LOCI_DATABASE_URL +•+ {2}\(environment\)/)
  assert.match(report, /LOCI_TLS_KEY +•+ {2}\(environment file\)/)
  assert.match(report, /LOCI_LISTEN +127\.0\.0\.1:4410 {2}\(default\)/)
  assert.match(report, /LOCI_ADMIN_LISTEN +- {2}\(not set\)/)
})

test('a secret is refused as a flag, and its value goes nowhere', () => {
  for (const argv of [['--database-url=postgres://a:hunter22@b/c'], ['--database-url', 'postgres://a:hunter22@b/c']]) {
    const config = daemon({}, argv)
    assert.deepEqual(config.problems, [
      '--database-url would show a secret in the list of processes: use LOCI_DATABASE_URL_FILE',
    ])
    assert.deepEqual(config.rest, [])
  }
})

test('the problem with a secret does not repeat the secret', () => {
  const url = daemon({ LOCI_DATABASE_URL: 'mysql://loci_daemon:hunter22@127.0.0.1/x' })
  const key = daemon({ LOCI_TLS_KEY: 'hunter22', LOCI_TLS_CERT: 'hunter22' })
  const digest = daemon({ LOCI_ADMIN_TOKEN_DIGESTS: 'hunter22' })
  for (const { problems } of [url, key, digest]) {
    assert.ok(problems.length > 0)
    assert.ok(!problems.join().includes('hunter22'), problems.join())
  }
})

test('certificate and key go together', () => {
  const cert = '-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----'
  const together = 'LOCI_TLS_CERT, LOCI_TLS_KEY go together'
  assert.deepEqual(daemon({ LOCI_TLS_CERT: cert }).problems, [`${together}: LOCI_TLS_KEY is missing`])
  const { problems } = daemon({ LOCI_TLS_KEY: '-----BEGIN EC PRIVATE KEY-----\nx' })
  assert.deepEqual(problems, [`${together}: LOCI_TLS_CERT is missing`])
})

// Mutant: asking for the value instead of whether it was given (a bad one is then "missing" too).
test('of the three settings of a cell the missing ones are named, and one that is there but bad is not', () => {
  const cell = { LOCI_CELL_ID: newId('cell'), LOCI_MANAGEMENT_URL: 'https://management.example' }
  const together = 'LOCI_CELL_ID, LOCI_CELL_KEY, LOCI_MANAGEMENT_URL go together'
  assert.deepEqual(daemon(cell).problems, [`${together}: LOCI_CELL_KEY is missing`])
  const { LOCI_CELL_ID: _, ...url } = cell
  assert.deepEqual(daemon(url).problems, [`${together}: LOCI_CELL_ID and LOCI_CELL_KEY are missing`])
  const bad = daemon({ ...cell, LOCI_CELL_KEY: 'no key' }).problems
  assert.equal(bad.length, 1)
  assert.match(bad[0] ?? '', /^LOCI_CELL_KEY /)
})

test('a secret that is not set is shown as not set', () => {
  const report = configReport(daemon({}))
  assert.match(report, /LOCI_TLS_KEY +- {2}\(not set\)/)
})

test('a certificate and a key that do not belong together are refused at start, not at the first handshake', () => {
  const [one, other] = [selfSigned(), selfSigned()]
  assert.deepEqual(daemon({ LOCI_TLS_CERT: one.cert, LOCI_TLS_KEY: one.key }).problems, [])
  const { problems } = daemon({ LOCI_TLS_CERT: one.cert, LOCI_TLS_KEY: other.key })
  assert.equal(problems.length, 1)
  assert.match(problems[0]!, /cannot be used together/)
  assert.ok(!problems[0]!.includes(other.key.split('\n')[1]!), 'without repeating the key')
})

test('an authority that is no certificate is refused', () => {
  assert.deepEqual(daemon({ LOCI_DATABASE_CA: selfSigned().cert }).problems, [])
  const broken = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----'
  assert.match(daemon({ LOCI_DATABASE_CA: broken }).problems.join(), /^LOCI_DATABASE_CA is no certificate/)
})

test('demanding https where no request could arrive by it is refused', () => {
  assert.match(daemon({ LOCI_REQUIRE_HTTPS: 'true' }).problems[0]!, /would refuse every request/)
  assert.deepEqual(daemon({ LOCI_REQUIRE_HTTPS: 'true', LOCI_TRUSTED_PROXIES: '10.0.0.1' }).problems, [])
})

// Mutant: `isDecided` always true.
test('plain http off loopback needs TLS, a trusted proxy, or the word that the network is private', () => {
  const off = { LOCI_LISTEN: '0.0.0.0:4410' }
  assert.match(daemon(off).problems.join(), /^LOCI_LISTEN would serve plain http on 0\.0\.0\.0/)
  assert.match(daemon({ LOCI_LISTEN: '[::]:4410' }).problems.join(), /^LOCI_LISTEN would serve plain http/)
  assert.match(
    daemon({ LOCI_ADMIN_LISTEN: '10.0.0.5:4411' }).problems.join(),
    /^LOCI_ADMIN_LISTEN would serve plain http/,
  )
  const { cert, key } = selfSigned()
  for (const decision of [
    { LOCI_TLS_CERT: cert, LOCI_TLS_KEY: key },
    { LOCI_TRUSTED_PROXIES: '10.0.0.1' },
    { LOCI_REQUIRE_HTTPS: 'false' },
  ])
    assert.deepEqual(daemon({ ...off, ...decision }).problems, [], JSON.stringify(Object.keys(decision)))
  assert.deepEqual(daemon({ LOCI_LISTEN: '[::1]:4410' }).problems, [])
})

test('/admin off loopback with the loopback allow-list is warned about', () => {
  assert.equal(daemon({ LOCI_LISTEN: '0.0.0.0:4410' }).warnings.length, 1)
  assert.equal(daemon({ LOCI_LISTEN: '0.0.0.0:4410', LOCI_ADMIN_LISTEN: '127.0.0.1:4411' }).warnings.length, 0)
  assert.equal(daemon({ LOCI_LISTEN: '0.0.0.0:4410', LOCI_ADMIN_ALLOWLIST: '10.0.0.0/8' }).warnings.length, 0)
})

test('what a command needs is required for it alone', () => {
  const needs = ['databaseOwnerUrl'] as const
  const { problems } = loadConfig({ ...REGISTRY, argv: [], env: ENV, needs: [...needs] })
  assert.match(problems.join(), /^LOCI_DATABASE_OWNER_URL is required: /)
  assert.deepEqual(daemon().problems, [])
})

test('settings with a problem cannot be used', () => {
  assert.throws(() => requireSettings(daemon({ LOCI_NOPE: '1' }), REGISTRY.settings), /has problems/)
  const served = requireSettings(daemon({ LOCI_DATABASE_OWNER_URL: OWNER_URL }), REGISTRY.settings)
  assert.deepEqual([served.queueMs, served.tlsCert], [300, undefined])
  assert.ok(!('databaseOwnerUrl' in served), 'what is for a command alone is not handed to the server')
})

test('a flag is the name in words', () => {
  assert.equal(flagOf(REGISTRY.settings.databaseConnectionsMax), '--database-connections-max')
})
