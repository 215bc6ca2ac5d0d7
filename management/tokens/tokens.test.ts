import assert from 'node:assert/strict'
import { test } from 'node:test'
import { attenuate, CapabilityError, seal, verifyCapability } from '@loci/capability/capability.ts'
import { newKeyPair, publicKeyOf } from '@loci/capability/jws.ts'
import { isId, newId } from '@loci/contract/ids.ts'
import { OPERATION_NAMES } from '@loci/contract/operations.ts'
import type { Service } from '../services/store.ts'
import { ACTOR, PUBLIC_URL, type TestManagement, testManagement } from '../testing/management.ts'
import { type MintedToken, mintToken, revokeToken, type TokenRequest } from './tokens.ts'

function mint(management: TestManagement, service: Service, request: TokenRequest): Promise<MintedToken> {
  return management.within(service, (sql) => mintToken(sql, management.issuer, service, request, ACTOR))
}

async function verifier(management: TestManagement) {
  const { keys } = (await management.get('/.well-known/loci-capability-keys.json')).json<{
    keys: { kid: string; x: string }[]
  }>()
  const findKey = (kid: string) => {
    const found = keys.find((key) => key.kid === kid)
    return found && publicKeyOf({ kty: 'OKP', crv: 'Ed25519', x: found.x })
  }
  return (text: string) => verifyCapability(text, { now: Date.now() / 1000, findKey })
}

test('a token without depth is a bare root with exactly what was asked', async () => {
  await using management = await testManagement()
  const cell = await management.cell()
  const service = await management.instance(cell.id)
  const verify = await verifier(management)
  const sub = newId('usr')
  const ops = ['kv:read', 'kv:write', 'system:read']

  const minted = await mint(management, service, { ops, databases: ['b', 'a', 'a'], ttlSeconds: 600, sub })

  const { root, isBareRoot } = verify(minted.token)
  assert.equal(isBareRoot, true)
  assert.ok(isId('cap', minted.token_id))
  const { iat } = root
  assert.deepEqual(root, {
    iss: PUBLIC_URL,
    aud: service.id,
    org: service.organizationId,
    ten: service.tenantId,
    svc: service.id,
    ops: ['system:read', 'kv:read', 'kv:write'],
    ks: ['kv/a', 'kv/b'],
    iat,
    nbf: iat,
    exp: iat + 600,
    jti: minted.token_id,
    del_max: 0,
    sub,
  })
  const { token: _, ...rest } = minted
  assert.deepEqual(rest, {
    token_id: root.jti,
    token_type: 'loci-capability',
    header: 'x-loci-capability',
    organization_id: service.organizationId,
    tenant_id: service.tenantId,
    service_id: service.id,
    ops: root.ops,
    keyspaces: root.ks,
    issued_at: new Date(iat * 1000).toISOString(),
    expires_at: new Date((iat + 600) * 1000).toISOString(),
    expires_in: 600,
  })
})

test('by default a token has every operation but operator, on the database called default, for a day', async () => {
  await using management = await testManagement()
  const cell = await management.cell()
  const service = await management.instance(cell.id)

  const minted = await mint(management, service, {})

  assert.deepEqual(
    minted.ops,
    OPERATION_NAMES.filter((op) => op !== 'operator'),
  )
  assert.deepEqual(
    minted.keyspaces.toSorted(),
    ['advice', 'cognitive', 'kv', 'memory', 'working-memory'].map((d) => `${d}/default`),
  )
  assert.equal(minted.expires_in, 86_400)
})

test('cycles:run is given the three domains that a cycle touches, system:read none', async () => {
  await using management = await testManagement()
  const cell = await management.cell()
  const service = await management.instance(cell.id)
  const keyspaces = async (ops: string[]) => (await mint(management, service, { ops })).keyspaces.toSorted()

  assert.deepEqual(await keyspaces(['cycles:run']), ['cognitive/default', 'memory/default', 'working-memory/default'])
  assert.deepEqual(await keyspaces(['cycles:read', 'wm:read']), ['cognitive/default', 'working-memory/default'])
  assert.deepEqual(await keyspaces(['system:read']), [])
})

test('a token with depth is sealed by a leaf with the same jti, is narrowed offline, and cut off it opens nothing', async () => {
  await using management = await testManagement()
  const cell = await management.cell()
  const service = await management.instance(cell.id)
  const verify = await verifier(management)

  const { token, token_id, delegation } = await mint(management, service, { maxDelegationDepth: 2, databases: ['*'] })

  assert.ok(delegation)
  const capability = verify(token)
  assert.deepEqual(capability.jtis, [token_id, token_id])
  assert.equal(token.startsWith(`${delegation.chain}~`), true)
  assert.throws(
    () => verify(delegation.chain),
    (error) => error instanceof CapabilityError && error.code === 'CAPABILITY_UNSEALED',
  )
  const child = seal(attenuate(delegation, { ops: ['kv:read'], ks: ['kv/agent'] }))
  assert.deepEqual([...verify(child).ops], ['kv:read'])
})

test('with a key of the holder management answers what only the holder can seal', async () => {
  await using management = await testManagement()
  const cell = await management.cell()
  const service = await management.instance(cell.id)
  const verify = await verifier(management)
  const { publicJwk, privateJwk } = newKeyPair()

  const minted = await mint(management, service, { maxDelegationDepth: 1, holderKey: publicJwk })

  assert.equal(minted.delegation, undefined)
  assert.throws(() => verify(minted.token), /Seal it first/)
  assert.ok(verify(seal({ chain: minted.token, key: privateJwk })))
})

test('operator is granted for the whole instance and cannot be handed on', async () => {
  await using management = await testManagement()
  const cell = await management.cell()
  const service = await management.instance(cell.id)
  const verify = await verifier(management)

  const minted = await mint(management, service, { ops: ['operator'], databases: ['*'] })

  assert.ok(verify(minted.token).ops.has('operator'))
  assert.deepEqual(minted.keyspaces.toSorted(), ['advice/*', 'cognitive/*', 'kv/*', 'memory/*', 'working-memory/*'])
  for (const request of [
    { ops: ['operator'] },
    { ops: ['operator'], databases: ['default'] },
    { ops: ['operator', 'kv:read'], databases: ['*'], maxDelegationDepth: 1 },
  ])
    await assert.rejects(mint(management, service, request), /operator needs databases/)
})

test('what is not documented is refused, and leaves no token behind', async () => {
  await using management = await testManagement()
  const cell = await management.cell()
  const service = await management.instance(cell.id, { plan: 'free' })
  const { publicJwk, privateJwk } = newKeyPair()
  const wrong: TokenRequest[] = [
    { ops: ['kv:everything'] },
    { ops: [] },
    { databases: [] },
    { databases: ['*', 'a'] },
    { databases: ['No'] },
    { databases: Array.from({ length: 21 }, (_, i) => `d${i}`) },
    { ttlSeconds: 59 },
    { ttlSeconds: 86_401 },
    { ttlSeconds: 60.5 },
    { maxDelegationDepth: 5 },
    { maxDelegationDepth: -1 },
    { holderKey: publicJwk },
    { holderKey: privateJwk, maxDelegationDepth: 1 },
    { sub: 'root' },
  ]

  for (const request of wrong)
    await assert.rejects(mint(management, service, request), { code: 'VALIDATION_ERROR' }, JSON.stringify(request))
  assert.deepEqual(await management.sql('select * from loci.tokens'), [])
})

test('a revoked token reaches its cell, with the time after which nobody can hold it, and the audit has one entry', async () => {
  await using management = await testManagement()
  const cell = await management.cell()
  const other = await management.cell()
  const service = await management.instance(cell.id)
  const minted = await mint(management, service, { ttlSeconds: 3_600 })

  await management.within(service, (sql) => revokeToken(sql, service, minted.token_id, ACTOR))

  const item = (await cell.pull()).items.find(({ kind }) => kind === 'revocation')
  assert.equal(item?.key, `jti:${service.id}:${minted.token_id}`)
  const { expires_at } = item!.body as { expires_at: string }
  assert.equal(Date.parse(expires_at), Date.parse(minted.expires_at) + 60_000)
  assert.ok((await other.pull()).items.every(({ kind }) => kind !== 'revocation'))
  const entries = await management.sql('select chain, action from loci.audit where subject = $1 order by at', [
    minted.token_id,
  ])
  assert.deepEqual(entries, [
    { chain: service.organizationId, action: 'token.mint' },
    { chain: service.organizationId, action: 'token.revoke' },
  ])
})

// Mutants: foldOldest() never called (10,001 stay); without the minute in takeOldest (a thousand that are too young go
// as well).
test('beyond 10,000 revocations of a service the older ones become an epoch, and what was issued since goes on', async () => {
  await using management = await testManagement()
  const cell = await management.cell()
  const service = await management.instance(cell.id)
  const minted = await mint(management, service, { databases: ['*'], ttlSeconds: 600 })
  // A second apart from each other, two hours and more ago; the newest 6,000 within the last minute.
  await management.sql(
    `insert into loci.revocations (id, cell_id, kind, svc, value, expires_at, origin, created_at)
     select 'rev_' || n, '', 'jti', $1, 'jti-' || n, now() + interval '1 day', 'management',
       case when n <= 6000 then now() - interval '30 seconds' else now() - interval '2 hours' - n * interval '1 second' end
     from generate_series(1, 10000) as n`,
    [service.id],
  )
  await management.sql(
    `insert into loci.feed_items (cell_id, kind, key, seq, body, changed_at)
     select $2, 'revocation', 'jti:' || $1 || ':jti-' || n, n - 20000,
       json_build_object('svc', $1::text, 'jti', 'jti-' || n, 'expires_at', '2030-01-01T00:00:00.000Z'), now()
     from generate_series(1, 10000) as n`,
    [service.id, cell.id],
  )
  const heard = await cell.pull()

  await management.within(service, (sql) => revokeToken(sql, service, newId('cap'), ACTOR))

  const [left] = await management.sql<{ count: number; oldest: number; young: number; items: number }>(
    `select count(*)::int as count, max(substr(value, 5)::int) filter (where value like 'jti-%') as oldest,
       count(*) filter (where created_at > now() - interval '1 hour')::int as young,
       (select count(*)::int from loci.feed_items where kind = 'revocation' and key like 'jti:%') as items
     from loci.revocations where kind = 'jti' and svc = $1`,
    [service.id],
  )
  // Half would be 5,000; what is younger than a minute stays.
  assert.deepEqual(left, { count: 6_001, oldest: 6_000, young: 6_001, items: 6_001 })
  const news = (await cell.pull(heard)).items.map(({ body }) => body as { id?: string; not_before?: string })
  const epoch = news.find(({ id }) => id === service.id)
  assert.ok(epoch?.not_before, JSON.stringify(news))
  const agoS = (Date.now() - Date.parse(epoch.not_before)) / 1000
  // The newest that was folded is 7,200 + 6,001 s old, and a minute for the clocks.
  assert.ok(agoS > 13_100 && agoS < 13_300, String(agoS))
  const verify = await verifier(management)
  assert.ok(verify(minted.token).root.iat > Date.parse(epoch.not_before) / 1000)
  const [entry] = await management.sql<{ count: number }>(
    `select count(*)::int as count from loci.audit where action = 'token.revoke_epoch' and subject = $1 and actor = 'management'`,
    [service.id],
  )
  assert.equal(entry?.count, 1)
})

// Mutant: `expires_at > now()` left out of takeOldest(). Who may only read would end everybody's tokens by ending many
// short ones.
test('revocations of tokens that are over by themselves make no epoch, however many they are', async () => {
  await using management = await testManagement()
  const cell = await management.cell()
  const service = await management.instance(cell.id)
  await management.sql(
    `insert into loci.revocations (id, cell_id, kind, svc, value, expires_at, origin, created_at)
     select 'rev_' || n, '', 'jti', $1, 'jti-' || n, now() - interval '1 minute', 'management', now() - interval '12 minutes'
     from generate_series(1, 10001) as n`,
    [service.id],
  )
  await management.within(service, (sql) => revokeToken(sql, service, newId('cap'), ACTOR))
  assert.deepEqual(await management.sql(`select from loci.revocations where kind = 'svc'`), [])
})

test('a jti that we never saw is revoked for as long as any token may live, in that service alone', async () => {
  await using management = await testManagement()
  const cell = await management.cell()
  const service = await management.instance(cell.id)
  const jti = newId('cap')

  const { expiresAt } = await management.within(service, (sql) => revokeToken(sql, service, jti, ACTOR))

  assert.ok(expiresAt.getTime() > Date.now() + 364 * 86_400_000)
  assert.ok((await cell.pull()).items.some(({ key }) => key === `jti:${service.id}:${jti}`))
})

test('one organization sees no token, service or tenant of another, whatever it asks', async () => {
  await using management = await testManagement()
  const cell = await management.cell()
  const mine = await management.instance(cell.id)
  const theirs = await management.instance(cell.id, { organization: 'Other' })
  await mint(management, theirs, {})

  for (const table of ['tokens', 'services', 'tenants', 'partner_credentials', 'usage_minutes', 'token_children']) {
    const { rows } = await management.within(mine, (sql) =>
      sql.query({ text: `select * from loci.${table} where organization_id <> $1`, values: [mine.organizationId] }),
    )
    assert.deepEqual(rows, [], table)
    assert.deepEqual(
      (await management.pool.query({ text: `select * from loci.${table}` })).rows,
      [],
      `${table}, nobody in use`,
    )
  }
  await assert.rejects(
    management.within(mine, (sql) =>
      sql.query({
        text: `insert into loci.tenants (id, organization_id, name, slug, plan, status) values ('x', $1, 'x', 'x', 'free', 'active')`,
        values: [theirs.organizationId],
      }),
    ),
    { code: '42501' },
  )
})
