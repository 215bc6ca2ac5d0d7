import assert from 'node:assert/strict'
import { createHash, generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import type { Setting } from '@loci/chassis/settings.ts'
import { SETTING_NAMES } from '@loci/contract/setting-names.ts'
import { REGISTRY } from './settings.ts'

const SETTINGS = REGISTRY.settings
const all = Object.values<Setting<unknown>>(SETTINGS)

function refuses(setting: Setting<unknown>, texts: string[], reason: RegExp): void {
  for (const text of texts) assert.throws(() => setting.parse(text), reason, `${setting.env}=${text}`)
}

test('every setting has a name of its own, begins with LOCI_, and its default passes its own check', () => {
  assert.equal(new Set(all.map(({ env }) => env)).size, all.length)
  for (const { env, doc, fallback, parse } of all) {
    assert.match(env, /^LOCI_[A-Z]+(_[A-Z]+)*$/)
    assert.ok(doc.length > 10, env)
    if (fallback !== undefined) parse(fallback)
    assert.ok((SETTING_NAMES as readonly string[]).includes(env), `${env} is in libs/contract/setting-names.ts`)
  }
})

test('a listen address is an address and a port', () => {
  assert.deepEqual(SETTINGS.listen.parse('[::1]:4410'), { host: '::1', port: 4410 })
  assert.deepEqual(SETTINGS.listen.parse('localhost:0'), { host: 'localhost', port: 0 })
  refuses(
    SETTINGS.listen,
    ['', '4410', ':4410', '127.0.0.1', 'host:80', '127.0.0.1:65536', '::1:80', '1.2.3:80'],
    /must be/,
  )
})

test('the key of legacy JWT is one that nobody can break: RSA has 2048 bits or more, EC is P-256', () => {
  const rsa = (modulusLength: number) => pem(generateKeyPairSync('rsa', { modulusLength }).publicKey)
  const ec = (namedCurve: string) => pem(generateKeyPairSync('ec', { namedCurve }).publicKey)
  for (const key of [rsa(2048), ec('P-256'), pem(generateKeyPairSync('ed25519').publicKey)])
    assert.equal(SETTINGS.legacyJwtPublicKey.parse(key), key)
  refuses(SETTINGS.legacyJwtPublicKey, [rsa(512), rsa(1024)], /^Error: is an RSA key of (?:512|1024) bits/)
  refuses(SETTINGS.legacyJwtPublicKey, [ec('P-384'), 'x', ''], /must be PEM/)
})

function pem(key: KeyObject): string {
  return key.export({ type: 'spki', format: 'pem' }) as string
}

test('PostgreSQL on this machine needs no TLS, by loopback or by socket', () => {
  for (const url of [
    'postgres://loci_daemon@127.0.0.1:5432/loci_cell',
    'postgresql://loci_daemon:p%40ss@localhost/loci_cell?sslmode=disable',
    'postgres://loci_daemon@[::1]/loci_cell',
    'postgres://loci_daemon@/loci_cell?host=/var/run/postgresql',
    'postgres://loci_daemon@/loci_cell?host=%2Fvar%2Frun%2Fpostgresql&port=5433',
    'postgres://loci_daemon@%2Fvar%2Frun%2Fpostgresql/loci_cell',
  ])
    assert.equal(SETTINGS.databaseUrl.parse(url), url)
})

test('PostgreSQL elsewhere is reached by verified TLS only', () => {
  const url = 'postgres://loci_daemon:x@db.example/loci_cell'
  assert.equal(SETTINGS.databaseUrl.parse(url), url)
  assert.equal(SETTINGS.databaseUrl.parse(`${url}?sslmode=verify-full`), `${url}?sslmode=verify-full`)
  for (const mode of ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'no-verify', ''])
    refuses(SETTINGS.databaseUrl, [`${url}?sslmode=${mode}`], /only verify-full/)
  refuses(SETTINGS.databaseUrl, [`${url}?ssl=false`, `${url}?uselibpqcompat=true`], /verified TLS/)
  refuses(SETTINGS.databaseUrl, ['postgres://loci_daemon@/x?host=db.example&sslmode=require'], /only verify-full/)
})

test('a database URL may name several servers, and each is held to the same rules', () => {
  const url = 'postgres://loci_daemon:p%2C@one.example:6432,two.example,10.0.0.3:5432/loci_cell?sslmode=verify-full'
  assert.equal(SETTINGS.databaseUrl.parse(url), url)
  const local = 'postgres://loci_daemon@127.0.0.1:5432,127.0.0.1:5433/loci_cell?sslmode=disable'
  assert.equal(SETTINGS.databaseUrl.parse(local), local)
  refuses(SETTINGS.databaseUrl, ['postgres://loci_daemon@127.0.0.1,two.example/x?sslmode=disable'], /only verify-full/)
  refuses(
    SETTINGS.databaseUrl,
    ['postgres://loci_daemon@one.example,,two.example/x', 'postgres://a@b,c:x/d'],
    /must be a URL/,
  )
})

test('a database URL that could be read in two ways is refused', () => {
  refuses(SETTINGS.databaseUrl, ['postgres://loci_daemon@/x?host=one.example,two.example'], /several hosts/)
  refuses(SETTINGS.databaseUrl, ['postgres://loci_daemon@/x?host=/tmp&port=five'], /port/)
  refuses(SETTINGS.databaseUrl, ['postgres://loci_daemon:50%@127.0.0.1/x'], /%25/)
})

test('a database URL names its role and its database', () => {
  refuses(SETTINGS.databaseUrl, ['', 'mysql://a@b/c', '127.0.0.1'], /must be a URL/)
  refuses(SETTINGS.databaseUrl, ['postgres://127.0.0.1/x'], /role/)
  refuses(SETTINGS.databaseUrl, ['postgres://loci_daemon@127.0.0.1', 'postgres://loci_daemon@127.0.0.1/'], /database/)
})

test('management is reached by https, or by http on loopback, and its URL is an origin', () => {
  for (const url of ['https://loci.example', 'http://127.0.0.1:4400', 'http://localhost:4400', 'http://[::1]:4400'])
    assert.equal(SETTINGS.managementUrl.parse(url), url)
  refuses(SETTINGS.managementUrl, ['http://loci.example', 'http://10.0.0.1', 'http://127.0.0.1.example'], /https/)
})

test('a proxy list that trusts everyone is refused, however it is written', () => {
  refuses(
    SETTINGS.trustedProxies,
    ['true', '*', '0.0.0.0/0', '::/0', '10.0.0.0/0', '0.0.0.0/1, 128.0.0.0/1', '::ffff:0:0/96', '::/64', '10.0.0.1, *'],
    /trusts every address/,
  )
  refuses(SETTINGS.trustedProxies, ['proxy.example', '10.0.0.0/33', '10.0.0.0/8/8', '10.0.0'], /not an address/)
  assert.deepEqual(SETTINGS.trustedProxies.parse(' 10.0.0.0/8, ,fd00::/8 '), ['10.0.0.0/8', 'fd00::/8'])
  assert.deepEqual(SETTINGS.trustedProxies.parse(''), [])
})

test('an allow-list that lets everybody in is refused', () => {
  refuses(
    SETTINGS.adminAllowlist,
    ['0.0.0.0/0', '::/0', '*', '127.0.0.1, 0.0.0.0/1, 128.0.0.0/1'],
    /allows every address/,
  )
})

test('an allow-list may be empty, and a wrong entry is named', () => {
  assert.deepEqual(SETTINGS.adminAllowlist.parse(''), [])
  refuses(SETTINGS.adminAllowlist, ['127.0.0.1, office'], /'office' is not an address/)
})

test('an admin token is given as one digest, or two while rotating, and never as a weak one', () => {
  const strong = '0123456789abcdef'.repeat(4)
  const other = 'fedcba9876543210'.repeat(4)
  assert.deepEqual(SETTINGS.adminTokenDigests.parse(`${strong}, ${other}`), [
    Buffer.from(strong, 'hex'),
    Buffer.from(other, 'hex'),
  ])
  refuses(SETTINGS.adminTokenDigests, ['', `${strong},${other},${strong}`], /one digest, or two/)
  refuses(SETTINGS.adminTokenDigests, ['loci_adm_clear', strong.slice(1), strong.toUpperCase()], /not the token itself/)
  const weak = ['', 'admin', 'password', 'secret', 'changeme', 'token', '123456', 'test']
  refuses(
    SETTINGS.adminTokenDigests,
    [...weak.map((text) => createHash('sha256').update(text).digest('hex')), '0'.repeat(64), 'a'.repeat(64)],
    /weak token/,
  )
})

test('a partner’s name is one path segment that is not ours', () => {
  assert.equal(SETTINGS.partnerName.parse('acme-2'), 'acme-2')
  refuses(SETTINGS.partnerName, ['', 'a/b', 'Acme', '-a', 'a_b', 'x'.repeat(64), '..'], /path segment/)
  refuses(SETTINGS.partnerName, ['kv', 'memory', 'health'], /another path of this program/)
})

test('numbers are whole and within their bounds, switches are true or false, levels are known', () => {
  assert.equal(SETTINGS.databaseConnectionsMax.parse('200'), 200)
  refuses(
    SETTINGS.databaseConnectionsMax,
    ['', '1', '201', '-2', '1e2', '0x10', ' 16', '16.0'],
    /whole number from 2 to 200/,
  )
  refuses(SETTINGS.requireHttps, ['', '1', 'yes', 'TRUE'], /true or false/)
  refuses(SETTINGS.logLevel, ['', 'trace', 'INFO'], /must be one of/)
})

test('PEM is PEM of the right kind', () => {
  assert.ok(SETTINGS.tlsKey.parse('-----BEGIN RSA PRIVATE KEY-----\nx'))
  refuses(SETTINGS.tlsKey, ['', '/etc/key.pem', '-----BEGIN CERTIFICATE-----'], /_FILE/)
  refuses(SETTINGS.tlsCert, ['-----BEGIN PRIVATE KEY-----'], /CERTIFICATE/)
})

const base64 = (bytes: Buffer) => bytes.toString('base64')

test('sealing keys are read in order, at most four, each 32 random bytes under a name of its own', () => {
  const { parse } = SETTINGS.sealingKeys
  const [a, b] = [randomBytes(32), randomBytes(32)]
  assert.deepEqual(parse(`new:${base64(a)}, old:${base64(b)}`), [
    { id: 'new', key: a },
    { id: 'old', key: b },
  ])

  const five = Array.from({ length: 5 }, (_, i) => `k${i}:${base64(randomBytes(32))}`).join(',')
  const wrong = [
    '',
    base64(a),
    `:${base64(a)}`,
    `a:${base64(randomBytes(16))}`,
    `a:${base64(randomBytes(33))}`,
    `a:${base64(Buffer.alloc(32))}`,
    `a:${base64(Buffer.from('0123456789abcdef'.repeat(2)))}`,
    `a:${base64(Buffer.from('correct horse battery staple 123'))}`,
    `a:${base64(a)},a:${base64(b)}`,
    five,
  ]
  for (const text of wrong) assert.throws(() => parse(text), /must|has/, text)
})

test('the key of a cell is a private Ed25519 key whose halves belong together, and a refusal does not repeat it', () => {
  const { parse } = SETTINGS.cellKey
  const make = () => generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' }) as Record<string, string>
  const jwk = make()
  assert.deepEqual(parse(JSON.stringify(jwk)), jwk)

  const { d, ...open } = jwk
  for (const wrong of [open, { ...jwk, x: make().x }, { ...jwk, crv: 'X25519' }, { ...jwk, d: 'short' }, [jwk], 'text'])
    assert.throws(
      () => parse(JSON.stringify(wrong)),
      (error: Error) => /private Ed25519/.test(error.message) && !error.message.includes(d as string),
    )
})
