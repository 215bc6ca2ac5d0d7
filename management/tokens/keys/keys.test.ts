import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { verifyCapability } from '@loci/capability/capability.ts'
import { privateKeyOf, publicKeyOf } from '@loci/capability/jws.ts'
import { createSealer, SealingKeyMissing } from '@loci/chassis/sealing.ts'
import { eventually } from '@loci/chassis/testing/request.ts'
import { transaction } from '@loci/postgres/transaction.ts'
import type { Service } from '../../services/store.ts'
import { ACTOR, type TestManagement, testManagement } from '../../testing/management.ts'
import { mintToken } from '../tokens.ts'
import { keepKeys, rotateKeys } from './keys.ts'

interface KeySet {
  keys: { kid: string; x: string }[]
}

/** When it holds exactly these: what is answered may be a second old. */
async function keySet(management: TestManagement, kids?: (string | undefined)[]): Promise<KeySet['keys']> {
  return eventually(async () => {
    const { keys } = (await management.get('/.well-known/loci-capability-keys.json')).json<KeySet>()
    return (kids === undefined || keys.map(({ kid }) => kid).join() === kids.join()) && keys
  })
}

async function kidOf(management: TestManagement, service: Service): Promise<string> {
  const request = { databases: ['*'], ttlSeconds: 3_600 }
  const minted = await management.within(service, (sql) => mintToken(sql, management.issuer, service, request, ACTOR))
  return eventually(async () => {
    const keys = await keySet(management)
    const findKey = (kid: string) => {
      const found = keys.find((key) => key.kid === kid)
      return found && publicKeyOf({ kty: 'OKP', crv: 'Ed25519', x: found.x })
    }
    try {
      return verifyCapability(minted.token, { now: Date.now() / 1000, findKey }).kid
    } catch {
      return undefined
    }
  })
}

test('the key set is open, cacheable for a moment, and has the public half alone', async () => {
  await using management = await testManagement()

  const { status, headers, json } = await management.get('/.well-known/loci-capability-keys.json')

  assert.equal(status, 200)
  assert.match(String(headers['cache-control']), /^public, max-age=\d$/)
  const [key, ...more] = json<KeySet>().keys
  assert.equal(more.length, 0, 'serve has made the first key')
  assert.deepEqual(Object.keys(key ?? {}).sort(), ['alg', 'crv', 'kid', 'kty', 'use', 'x'])
})

// Mutant: no cachedFor() in routes.ts. Then the second answer has the second key.
test('the key set is asked of the database once a second, however many strangers ask for it', async () => {
  await using management = await testManagement()
  const [first] = await keySet(management)
  const startedAt = performance.now()
  await transaction(management.pool, (sql) => rotateKeys(sql, management.sealer, ACTOR))
  const answers = await Promise.all(Array.from({ length: 50 }, () => keySet(management)))
  // On a machine that took longer than the second, nothing is said about it.
  if (performance.now() - startedAt < 900) for (const keys of answers) assert.deepEqual(keys, [first])
  await eventually(async () => (await keySet(management)).length === 2)
})

test('a new key is known everywhere before it signs, and the old one verifies until its last token has ended', async () => {
  await using management = await testManagement()
  const cell = await management.cell()
  const service = await management.instance(cell.id)
  const [old] = await keySet(management)
  assert.equal(await kidOf(management, service), old?.kid)
  let heard = await cell.pull()

  const made = await transaction(management.pool, (sql) => rotateKeys(sql, management.sealer, ACTOR))
  await keepKeys(management.pool, management.sealer)

  await keySet(management, [old?.kid, made.kid])
  assert.equal(await kidOf(management, service), old?.kid, 'the cell has not heard of the new one yet')
  heard = await cell.pull(heard)
  assert.deepEqual(
    heard.items.map(({ body }) => body),
    [{ kid: made.kid, x: made.x, state: 'active', retire_at: null }],
  )

  // The cell says how far it has come, and two seconds pass.
  await cell.pull(heard)
  await management.sql(`update loci.cells set heard_seq_at = heard_seq_at - interval '3 seconds'`)
  await keepKeys(management.pool, management.sealer)

  assert.equal(await kidOf(management, service), made.kid)
  heard = await cell.pull(heard)
  const [change] = heard.items
  const { kid, state, retire_at } = change!.body as { kid: string; state: string; retire_at: string }
  assert.deepEqual({ kid, state }, { kid: old?.kid, state: 'retiring' })
  assert.ok(Date.parse(retire_at) >= Date.now() + 3_600_000, 'not before the token that it signed')
  await keySet(management, [old?.kid, made.kid])

  await management.sql(`update loci.signing_keys set retire_at = now() - interval '1 second' where kid = $1`, [
    old?.kid,
  ])
  await keepKeys(management.pool, management.sealer)

  await keySet(management, [made.kid])
  heard = await cell.pull(heard)
  assert.deepEqual(
    heard.items.map(({ body }) => (body as { state: string }).state),
    ['removed'],
  )
})

test('a cell that does not answer holds a rotation up for 30 s and no longer', async () => {
  await using management = await testManagement()
  const cell = await management.cell()
  const service = await management.instance(cell.id)
  const made = await transaction(management.pool, (sql) => rotateKeys(sql, management.sealer, ACTOR))
  await assert.rejects(
    transaction(management.pool, (sql) => rotateKeys(sql, management.sealer, ACTOR)),
    /about to take over/,
  )

  await management.sql(`update loci.signing_keys set created_at = now() - interval '29 seconds' where state = 'next'`)
  await keepKeys(management.pool, management.sealer)
  assert.notEqual(await kidOf(management, service), made.kid)
  await management.sql(`update loci.signing_keys set created_at = now() - interval '31 seconds' where state = 'next'`)
  await keepKeys(management.pool, management.sealer)

  assert.equal(await kidOf(management, service), made.kid)
})

test('replicas that start together make one first key', async () => {
  await using management = await testManagement()
  await management.sql('delete from loci.signing_keys')

  await Promise.all(Array.from({ length: 4 }, () => keepKeys(management.pool, management.sealer)))

  assert.equal((await keySet(management)).length, 1)
})

test('the private key is sealed at rest, bound to its name, and gone when it signs no more', async () => {
  await using management = await testManagement()
  const [row] = await management.sql<{ kid: string; x: string; private_sealed: string; sealed_with: string }>(
    'select kid, x, private_sealed, sealed_with from loci.signing_keys',
  )
  assert.ok(row)
  const d = management.sealer.open(row.private_sealed, row.sealed_with, row.kid)
  const jwk = privateKeyOf({ kty: 'OKP', crv: 'Ed25519', x: row.x, d }).export({ format: 'jwk' })
  assert.equal(jwk.x, row.x)

  const bytes = Buffer.from(d, 'base64url')
  const stored = await management.sql<{ text: string }>(`select t::text as text from loci.signing_keys t
    union all select t::text from loci.feed_items t union all select t::text from loci.audit t`)
  for (const { text } of stored)
    for (const form of [d, bytes.toString('base64'), bytes.toString('hex')]) assert.ok(!text.includes(form))
  assert.ok(!Buffer.from(row.private_sealed, 'base64url').includes(bytes))

  assert.throws(() => management.sealer.open(row.private_sealed, row.sealed_with, 'another kid'), SealingKeyMissing)
  const other = createSealer([{ id: 'test', key: randomBytes(32) }])
  assert.throws(() => other.open(row.private_sealed, row.sealed_with, row.kid), SealingKeyMissing)
  const renamed = createSealer([{ id: 'new', key: randomBytes(32) }])
  assert.throws(() => renamed.open(row.private_sealed, row.sealed_with, row.kid), /add that key/)

  await transaction(management.pool, (sql) => rotateKeys(sql, management.sealer, ACTOR))
  await management.sql(`update loci.signing_keys set created_at = now() - interval '1 minute' where state = 'next'`)
  await keepKeys(management.pool, management.sealer)
  const left = await management.sql(
    'select state, private_sealed is null as gone from loci.signing_keys order by state',
  )
  assert.deepEqual(left, [
    { state: 'active', gone: false },
    { state: 'retiring', gone: true },
  ])
})
