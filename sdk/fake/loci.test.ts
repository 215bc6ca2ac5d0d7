import assert from 'node:assert/strict'
import { test } from 'node:test'
import { conformanceSuite } from '../testing/conformance.ts'
import { fakeLoci } from './loci.ts'

// Mutants: forget() that keeps no tombstone; together() that restores nothing; RELEVANT 0; forgetUser() that keeps the
// database.
conformanceSuite('the fake', () => fakeLoci().services.create({ name: 'Support agent' }).ready())

test('services of the fake are made, found and deleted, and two fakes share nothing', async () => {
  const [one, other] = [fakeLoci(), fakeLoci()]
  const service = await one.services.create({ name: 'Support agent' }).ready()
  assert.equal((await one.services.get(String(service.info?.slug))).id, service.id)
  assert.equal((await one.service().describe()).id, service.id)
  assert.deepEqual(await other.services.list().all(), [])
  await one.services.delete(service)
  await assert.rejects(service.describe(), { code: 'NOT_FOUND' })
})

test('the one that was written longest ago leaves a full mind, unless it is pinned', async () => {
  const ada = (await fakeLoci().services.create({ name: 'A' })).user('ada')
  await ada.slots.put('kept', 1, { pinned: true })
  for (let n = 1; n < 25; n += 1) await ada.slots.put(`k${n}`, n)
  const { evicted } = await ada.slots.put('last', 1)
  assert.deepEqual(
    evicted.map(({ key, displacedBy }) => [key, displacedBy]),
    [['k1', 'last']],
  )
  assert.deepEqual([(await ada.slots.list()).count, await ada.slots.get('k1')], [25, undefined])
})

test('what lives for a while ends, and what the fake has not says so', async () => {
  const ada = (await fakeLoci().services.create({ name: 'A' })).user('ada')
  await ada.kv.put('short', 1, { ttlMs: 1 })
  while ((await ada.kv.get('short')) !== undefined) await new Promise((resolve) => setTimeout(resolve, 2))
  await assert.rejects(ada.cycle(), { code: 'NOT_IN_FAKE', status: 501 })
})
