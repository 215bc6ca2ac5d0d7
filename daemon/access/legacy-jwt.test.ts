import assert from 'node:assert/strict'
import { createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { test } from 'node:test'
import { testAuthority } from '../testing/authority.ts'
import { testDaemon } from '../testing/daemon.ts'
import { legacyJwt } from './legacy-jwt.ts'

const ISSUER = 'https://issuer.example'
const AUDIENCE = 'loci'
const NOW = 1_800_000_000
const KEYS = {
  EdDSA: generateKeyPairSync('ed25519'),
  RS256: generateKeyPairSync('rsa', { modulusLength: 2048 }),
  ES256: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
}
type Algorithm = keyof typeof KEYS

const pem = (key: KeyObject) => key.export({ type: 'spki', format: 'pem' }) as string
const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

function signed(alg: Algorithm, input: string, { privateKey }: { privateKey: KeyObject } = KEYS[alg]): string {
  const key = alg === 'ES256' ? { key: privateKey, dsaEncoding: 'ieee-p1363' as const } : privateKey
  return sign(alg === 'EdDSA' ? null : 'sha256', Buffer.from(input), key).toString('base64url')
}

function jwt(alg: Algorithm, claims: object = {}, now = NOW): string {
  const input = `${encode({ alg, typ: 'JWT' })}.${encode({ iss: ISSUER, aud: AUDIENCE, exp: now + 60, ...claims })}`
  return `${input}.${signed(alg, input)}`
}

async function accepts(alg: Algorithm, authorization: string | undefined): Promise<boolean> {
  const verifier = legacyJwt({ publicKey: pem(KEYS[alg].publicKey), issuer: ISSUER, audience: AUDIENCE })
  try {
    await verifier.requireValid(authorization, NOW * 1000)
    return true
  } catch (error) {
    assert.equal((error as { code?: string }).code, 'UNAUTHENTICATED')
    return false
  }
}

for (const alg of Object.keys(KEYS) as Algorithm[]) {
  test(`${alg}: a JWT of the configured key, issuer and audience is taken, in its time`, async () => {
    for (const claims of [{}, { aud: ['x', AUDIENCE] }, { nbf: NOW }, { nbf: NOW + 29 }, { exp: NOW - 29 }])
      assert.ok(await accepts(alg, `Bearer ${jwt(alg, claims)}`), JSON.stringify(claims))
  })

  test(`${alg}: another issuer, audience or time is refused`, async () => {
    for (const claims of [
      { iss: 'https://other.example' },
      { iss: undefined },
      { iss: [ISSUER] },
      { aud: 'other' },
      { aud: undefined },
      { aud: [] },
      { aud: { [AUDIENCE]: true } },
      { exp: NOW - 31 },
      { exp: undefined },
      { exp: String(NOW + 60) },
      { nbf: NOW + 31 },
      { nbf: 'soon' },
      { nbf: {} },
    ])
      assert.ok(!(await accepts(alg, `Bearer ${jwt(alg, claims)}`)), JSON.stringify(claims))
  })

  test(`${alg}: no other algorithm, key or form is taken`, async () => {
    const [header, claims, signature] = jwt(alg).split('.') as [string, string, string]
    const publicPem = pem(KEYS[alg].publicKey)
    const hs256 = `${encode({ alg: 'HS256', typ: 'JWT' })}.${claims}`
    const mac = createHmac('sha256', publicPem).update(hs256).digest('base64url')
    const stranger =
      alg === 'EdDSA'
        ? generateKeyPairSync('ed25519')
        : alg === 'RS256'
          ? generateKeyPairSync('rsa', { modulusLength: 2048 })
          : generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const others = (Object.keys(KEYS) as Algorithm[]).filter((one) => one !== alg)
    for (const text of [
      '',
      'x',
      `${header}.${claims}.`,
      `${header}.${claims}`,
      `${header}.${claims}.${signature}.x`,
      `${encode({ alg: 'none' })}.${claims}.x`,
      `${hs256}.${mac}`,
      `${encode({})}.${claims}.${signature}`,
      `${encode({ alg: [alg] })}.${claims}.${signature}`,
      `${header}.${encode({ iss: ISSUER, aud: AUDIENCE, exp: NOW + 9_999 })}.${signature}`,
      `${header}.${claims}.${signed(alg, `${header}.${claims}`, stranger)}`,
      ...others.map((other) => jwt(other)),
      // "crit" names what a reader must understand to believe the token (RFC 7515, 4.1.11); we understand none of it.
      ...[['x'], ['exp'], [], 'x'].map((crit) => {
        const input = `${encode({ alg, typ: 'JWT', crit, x: 1 })}.${claims}`
        return `${input}.${signed(alg, input)}`
      }),
      // Signed rightly, under the name of another algorithm.
      ...others.map((other) => {
        const input = `${encode({ alg: other, typ: 'JWT' })}.${claims}`
        return `${input}.${signed(alg, input)}`
      }),
    ])
      assert.ok(!(await accepts(alg, `Bearer ${text}`)), text)
    assert.ok(!(await accepts(alg, undefined)))
    assert.ok(!(await accepts(alg, jwt(alg))), 'without Bearer')
    assert.ok(!(await accepts(alg, `Basic ${jwt(alg)}`)))
  })
}

// Mutants: the check that stood here before jose took both of these keys, and a `crit` that it had not heard of.
for (const modulusLength of [512, 1024]) {
  test(`no token is good under an RSA key of ${modulusLength} bits`, async () => {
    const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength })
    const [header, claims] = jwt('RS256').split('.') as [string, string]
    const signature = signed('RS256', `${header}.${claims}`, { privateKey })
    const verifier = legacyJwt({ publicKey: pem(publicKey), issuer: ISSUER, audience: AUDIENCE })
    await assert.rejects(verifier.requireValid(`Bearer ${header}.${claims}.${signature}`, NOW * 1000), /2048 bits/)
  })
}

// specification 200
test('where it is configured a JWT is needed as well as the capability, and instead of nothing', async () => {
  await using daemon = await testDaemon({
    settings: {
      legacyJwtPublicKey: pem(KEYS.ES256.publicKey),
      legacyJwtIssuer: ISSUER,
      legacyJwtAudience: AUDIENCE,
    },
  })
  await using authority = await testAuthority(daemon)
  const { root } = await authority.addInstance()
  const authorization = `Bearer ${jwt('ES256', {}, Math.floor(Date.now() / 1000))}`
  const outcome = async (headers: Record<string, string>) => (await daemon.get('/v1/kv/entries', headers)).status
  assert.equal(await outcome({ 'x-loci-capability': root(), authorization }), 200)
  assert.equal(await outcome({ 'x-loci-capability': root() }), 401)
  assert.equal(await outcome({ authorization }), 401)
  assert.equal(await outcome({ 'x-loci-capability': root(), authorization: `Bearer ${jwt('ES256', {}, 1_000)}` }), 401)
  assert.equal(await outcome({ 'x-loci-capability': root(), authorization: `Bearer ${root()}` }), 401)
  assert.equal((await daemon.get('/health/live')).status, 200)
  assert.equal((await daemon.admin('GET /admin/services/status')).status, 200)
  const { security } = (await daemon.get('/openapi.json')).json<{
    paths: Record<string, Record<string, { security: object[] }>>
  }>().paths['/v1/kv/entries']!.get!
  assert.deepEqual(security, [{ capability: [], legacyJwt: [] }])
})
