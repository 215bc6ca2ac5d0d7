import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import {
  attenuate,
  attenuateFor,
  BYTES_MAX,
  CapabilityError,
  inspectCapability,
  LINKS_MAX,
  mintRoot,
  type RootClaims,
  seal,
  verifyCapability,
} from './capability.ts'
import { newKeyPair, privateKeyOf, publicKeyOf } from './jws.ts'
import { covers, coversKeyspace, onlyDatabase } from './keyspaces.ts'
import { vectors } from './testing/make-vectors.ts'

const findKey = (kid: string) => publicKeyOf((vectors.keys as Record<string, unknown>)[kid])
const now = vectors.now

test('every vector that verifies allows exactly what it says', () => {
  for (const { name, token, ops, ks, expires_at, jtis } of vectors.accepted) {
    const capability = verifyCapability(token, { now, findKey })
    assert.deepEqual(
      [[...capability.ops], capability.ks, capability.expiresAt, capability.jtis],
      [ops, ks, expires_at, jtis],
      name,
    )
  }
})

// Mutant: countColons() not compared (a claim named twice), or decodeCanonical() without its comparison (another
// spelling).
test('every hostile vector is refused with its code', () => {
  for (const { name, token, code } of vectors.refused) {
    assert.throws(
      () => verifyCapability(token, { now, findKey }),
      (error) => error instanceof CapabilityError && error.code === code,
      name,
    )
  }
})

test('the published vectors are those that this code makes', () => {
  assert.deepEqual(
    JSON.parse(readFileSync(new URL('vectors.json', import.meta.url), 'utf8')),
    JSON.parse(JSON.stringify(vectors)),
  )
})

const issuer = newKeyPair()
const known = { now, findKey: (kid: string) => (kid === 'mine' ? publicKeyOf(issuer.publicJwk) : undefined) }

function delegation(changes: Partial<RootClaims> = {}) {
  const { publicJwk, privateJwk } = newKeyPair()
  const claims: RootClaims = {
    iss: 'i',
    aud: 'svc_1',
    org: 'org_1',
    ten: 'ten_1',
    svc: 'svc_1',
    ops: ['system:read', 'kv:read'],
    ks: ['kv/*'],
    iat: now,
    nbf: now,
    exp: now + 600,
    jti: 'cap_root',
    del_max: 4,
    cnf: { jwk: publicJwk },
    ...changes,
  }
  return { chain: mintRoot(claims, { kid: 'mine', privateKey: privateKeyOf(issuer.privateJwk) }), key: privateJwk }
}

test('a holder narrows offline, seals, and the sealed chain is what it was narrowed to', () => {
  const agent = attenuate(delegation(), { ops: ['kv:read'], ks: ['kv/notes'] })
  const sealed = seal(agent, { exp: now + 60 })
  const capability = verifyCapability(sealed, known)
  assert.deepEqual(
    [[...capability.ops], capability.ks, capability.expiresAt, capability.isBareRoot],
    [['kv:read'], ['kv/notes'], now + 60, false],
  )
  assert.equal(inspectCapability(sealed).length, 3)
})

test('a chain can be delegated to the key of another party, who alone can continue it', () => {
  const other = newKeyPair()
  const chain = attenuateFor(delegation(), other.publicJwk, { ops: ['kv:read'] })
  assert.deepEqual([...verifyCapability(seal({ chain, key: other.privateJwk }), known).ops], ['kv:read'])
  assert.throws(() => seal({ chain, key: newKeyPair().privateJwk }), /does not belong/)
})

test('widening is refused where a link is made, not only where it is used', () => {
  const parent = delegation()
  for (const narrowing of [{ ops: ['kv:write'] }, { ks: ['memory/x'] }, { ks: ['*/x'] }, { exp: now + 601 }])
    assert.throws(() => seal(parent, narrowing), /widens|outlives/)
  assert.throws(() => seal({ chain: seal(parent), key: parent.key }), /sealed/)
  assert.throws(() => attenuate(delegation({ del_max: 0 })), /no further link/)
})

test('a chain has at most five links and 8 KiB', () => {
  let link = delegation()
  for (let depth = 1; depth < LINKS_MAX - 1; depth += 1) link = attenuate(link)
  assert.equal(verifyCapability(seal(link), known).jtis.length, LINKS_MAX)
  assert.throws(() => attenuate(attenuate(link)), /no further link|more than five/)
  assert.throws(() => verifyCapability('a'.repeat(BYTES_MAX + 1), known), /8 KiB/)
})

test('a flipped character of any link does not verify', () => {
  const sealed = seal(attenuate(delegation(), { ops: ['kv:read'] }))
  for (let at = 0; at < sealed.length; at += 7) {
    const flipped = sealed.slice(0, at) + (sealed[at] === 'A' ? 'B' : 'A') + sealed.slice(at + 1)
    assert.throws(() => verifyCapability(flipped, known), CapabilityError, `position ${at}`)
  }
})

test('keyspaces match whole segments', () => {
  assert.ok(covers(['kv/acme'], 'kv', 'acme') && covers(['kv/*'], 'kv', 'acme') && covers(['*/acme'], 'kv', 'acme'))
  assert.ok(
    !covers(['kv/acme'], 'kv', 'acme-corp') &&
      !covers(['kv/acme-corp'], 'kv', 'acme') &&
      !covers(['memory/acme'], 'kv', 'acme') &&
      !covers([], 'kv', 'acme'),
  )
  assert.ok(
    !coversKeyspace(['kv/acme'], 'kv/*') && coversKeyspace(['kv/*'], 'kv/*') && !coversKeyspace(['kv/*'], '*/*'),
  )
  assert.deepEqual(
    [
      onlyDatabase(['kv/a', 'memory/b'], 'kv'),
      onlyDatabase(['kv/a', 'kv/b'], 'kv'),
      onlyDatabase(['kv/*'], 'kv'),
      onlyDatabase([], 'kv'),
    ],
    ['a', undefined, undefined, undefined],
  )
})
