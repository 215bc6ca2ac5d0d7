import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { testLog } from '@loci/chassis/testing/server.ts'
import { testPool } from '@loci/postgres/testing/database.ts'
import { createDaemon } from '../app.ts'
import { testDaemon, testSettings } from '../testing/daemon.ts'
import { addTenant, type TestTenant } from '../testing/tenant.ts'
import { createInstanceKeys, resealKeys } from './instance-keys.ts'

const batch = (tenant: TestTenant, key: string) =>
  tenant.call(
    'POST /v1/kv/entries/batch',
    { operations: [{ op: 'put', key: 'k', value: 1 }] },
    { headers: { 'idempotency-key': key } },
  )

// Mutants: `first_seen_at` not looked at; the key derived from the newest sealing key; resealKeys() that does nothing
// (the start is refused).
test('a repeat is answered after a change of sealing keys, also when the old one is gone', async () => {
  const next = { id: 'next', key: randomBytes(32) }
  await using first = await testDaemon()
  const tenant = await addTenant(first)
  const answer = await batch(tenant, 'kept')
  const { sealingKeys: own } = testSettings(first.database.appUrl, first.adminToken)
  const pool = testPool(first.database.appUrl, 2)

  const startWith = async (sealingKeys: typeof own) => {
    const settings = { ...testSettings(first.database.appUrl, first.adminToken), sealingKeys }
    const daemon = await createDaemon({ settings, log: testLog().log, version: '0.0.0-test' })
    try {
      await daemon.start()
    } finally {
      await Promise.all(daemon.servers.map((server) => server.close(0)))
      await daemon.close()
    }
  }
  await startWith([next, ...own])
  await assert.rejects(startWith([next]), (error: Error & { reasons?: string[] }) =>
    /instance keys are sealed with 'test' \(1\), which LOCI_SEALING_KEYS does not have/.test(
      `${error.message} ${error.reasons?.join()}`,
    ),
  )

  const seals = () => first.sql('select sealed_with from loci.instance_keys')
  await resealKeys(pool, [next, ...own])
  assert.deepEqual(await seals(), [{ sealed_with: 'test' }], 'not before every replica can know the new key')
  await first.sql(`update loci.sealing_checks set first_seen_at = now() - interval '11 minutes' where id = 'next'`)
  await resealKeys(pool, [next, ...own])
  assert.deepEqual(await seals(), [{ sealed_with: 'next' }])

  const second = await testDaemon({ replicaOf: first, settings: { sealingKeys: [next] } })
  const again = await second.ask('POST /v1/kv/entries/batch', {
    body: { operations: [{ op: 'put', key: 'k', value: 1 }] },
    headers: { 'x-loci-capability': tenant.mint(), 'idempotency-key': 'kept' },
  })
  assert.deepEqual([again.status, again.text, again.headers['idempotent-replayed']], [200, answer.text, 'true'])
  await second[Symbol.asyncDispose]()
  await pool.close()
})

// Mutant: `createSealer(sealing)` for the maker (carol's key is not opened).
test('replicas that need a key at once get the same one, an instance has its own, and a deleted one gets none', async () => {
  await using daemon = await testDaemon()
  const [ada, bob] = [await addTenant(daemon), await addTenant(daemon)]
  const { sealingKeys } = testSettings(daemon.database.appUrl, daemon.adminToken)
  const pool = testPool(daemon.database.appUrl, 4)
  const replicas = [1, 2, 3, 4].map(() => createInstanceKeys(pool, sealingKeys))
  const keys = await Promise.all(replicas.map((replica) => replica.of(ada.instanceId)))
  const texts = new Set(keys.map(({ key }) => key.toString('hex')))
  assert.equal(texts.size, 1)
  assert.ok(!texts.has((await replicas[0]?.of(bob.instanceId))?.key.toString('hex') ?? ''))
  const [{ sealed } = { sealed: '' }] = await daemon.sql<{ sealed: string }>('select sealed from loci.instance_keys')
  assert.ok(!sealed.includes(keys[0]?.key.toString('base64url') ?? ''), 'not readable in the table')

  const carol = await addTenant(daemon)
  await createInstanceKeys(pool, [{ id: 'next', key: randomBytes(32) }, ...sealingKeys]).of(carol.instanceId)
  await replicas[0]?.of(carol.instanceId) // A replica that does not know the new sealing key yet opens it too.

  // Bound to its instance: exchanged rows open nothing.
  await daemon.sql(
    `update loci.instance_keys k set sealed = o.sealed from loci.instance_keys o where o.instance_id = $1 and k.instance_id = $2`,
    [bob.instanceId, ada.instanceId],
  )
  await assert.rejects(createInstanceKeys(pool, sealingKeys).of(ada.instanceId), /LOCI_SEALING_KEYS does not open/)
  await daemon.sql('delete from loci.instance_keys')
  await daemon.sql(`update loci.instances set state = 'deleted' where id = $1`, [ada.instanceId])
  await assert.rejects(createInstanceKeys(pool, sealingKeys).of(ada.instanceId), { code: 'UNAUTHENTICATED' })
  assert.deepEqual(await daemon.sql('select 1 from loci.instance_keys'), [])
  await pool.close()
})

// Mutant: of() that does not compare the life.
test('a key that was read in another database is read again', async () => {
  await using daemon = await testDaemon()
  const tenant = await addTenant(daemon)
  const pool = testPool(daemon.database.appUrl, 2)
  try {
    const { sealingKeys } = testSettings(daemon.database.appUrl, daemon.adminToken)
    let life = 'before'
    const keys = createInstanceKeys(pool, sealingKeys, () => life)
    const first = await keys.of(tenant.instanceId)
    assert.equal(await keys.of(tenant.instanceId), first)
    // As a restore to before it was made leaves it.
    await daemon.sql('delete from loci.instance_keys where instance_id = $1', [tenant.instanceId])
    life = 'restored'
    const second = await keys.of(tenant.instanceId)
    assert.notDeepEqual(second.key, first.key)
  } finally {
    await pool.close()
  }
})
