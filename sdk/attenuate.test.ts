import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mintRoot, verifyCapability } from '@loci/capability/capability.ts'
import { newKeyPair, privateKeyOf, publicKeyOf } from '@loci/capability/jws.ts'
import { newId } from '@loci/contract/ids.ts'
import { attenuate, type Delegation, delegate, type Narrowing } from './attenuate.ts'
import { LociError } from './error.ts'

const platform = newKeyPair()
const now = Math.floor(Date.now() / 1_000)
const verify = (text: string) => verifyCapability(text, { now, findKey: () => publicKeyOf(platform.publicJwk) })

/** As management answers a request for a token with `max_delegation_depth`. */
function delegation(depth = 2): Delegation {
  const holder = newKeyPair()
  const svc = newId('svc')
  const claims = {
    ...{ iss: 'http://m', aud: svc, svc, org: newId('org'), ten: newId('ten'), jti: newId('cap') },
    ...{ ops: ['memory:read', 'memory:write', 'kv:read'], ks: ['memory/*', 'kv/notes'] },
    ...{ iat: now, nbf: now, exp: now + 600, del_max: depth, cnf: { jwk: holder.publicJwk } },
  }
  return {
    chain: mintRoot(claims, { kid: 'k', privateKey: privateKeyOf(platform.privateJwk) }),
    key: holder.privateJwk,
  }
}

// Mutant: the signature over the claims alone.
test('a token that was narrowed offline verifies, with the rights, databases and time that it was given', async () => {
  const parent = delegation()
  const whole = verify(await attenuate(parent))
  const narrow = verify(await attenuate(parent, { ops: ['memory:read'], databases: ['ada'], ttlSeconds: 60 }))
  assert.deepEqual([[...whole.ops], whole.ks, whole.expiresAt], [parentOps, ['memory/*', 'kv/notes'], now + 600])
  assert.deepEqual([[...narrow.ops], narrow.ks], [['memory:read'], ['memory/ada']])
  assert.ok(narrow.expiresAt <= now + 120, String(narrow.expiresAt - now))
})
const parentOps = ['memory:read', 'memory:write', 'kv:read']

// Mutant: `par` of the whole chain.
test('what was narrowed with a key of its own is narrowed again, within the depth of the token', async () => {
  const child = await delegate(delegation(2), { databases: ['ada', 'notes'] })
  assert.throws(() => verify(child.chain), /Seal it first/)
  const grandchild = verify(await attenuate(child, { databases: ['notes'] }))
  assert.deepEqual(grandchild.ks, ['memory/notes', 'kv/notes'])
  const last = await delegate(child)
  await assert.rejects(attenuate(last), /made for fewer links/)
})

const widening: [string, Narrowing][] = [
  ['rights', { ops: ['operator'] }],
  ['a keyspace', { keyspaces: ['kv/ada'] }],
  ['all databases', { ops: ['kv:read'], keyspaces: ['kv/*'] }],
]
for (const [what, narrowing] of widening)
  test(`nothing is made that would widen ${what}`, async () => {
    await assert.rejects(attenuate(delegation(), narrowing), (error: unknown) => {
      return error instanceof LociError && error.code === 'INVALID_REQUEST'
    })
  })

test('a token that ends sooner than asked ends as it did', async () => {
  assert.equal(verify(await attenuate(delegation(), { ttlSeconds: 86_400 })).expiresAt, now + 600)
})
