import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type TestDaemon, testDaemon } from '../testing/daemon.ts'
import { addTenant, type ListAnswer, listAll, putAll, type TestTenant } from '../testing/tenant.ts'

let daemon: TestDaemon
let tenant: TestTenant
before(async () => {
  daemon = await testDaemon()
  tenant = await addTenant(daemon)
})
after(() => daemon?.[Symbol.asyncDispose]())

const KEYS = ['a', 'k0', 'k1', 'k2', 'k3', 'z', 'ä', '\u{10ffff}']
const keysOf = ({ entries }: Pick<ListAnswer, 'entries'>) => entries.map(({ key }) => key)
const list = async (db: string, query: string) => {
  const answer = await tenant.call(`GET /v1/kv/entries?${query}`, undefined, { db })
  assert.equal(answer.status, 200, answer.text)
  return answer.json<ListAnswer>()
}

// Mutants: `order by e.key desc` without `desc`; `e.key < v_after` left out: a second page would be the first.
test('order=desc lists from the last key to the first, in pages and under a prefix, with expired and damaged ones left out', async () => {
  await putAll(tenant, 'back', Object.fromEntries(KEYS.map((key) => [key, key])))
  const backwards = KEYS.toReversed()
  assert.deepEqual(keysOf(await list('back', 'order=desc')), backwards)
  assert.deepEqual(keysOf(await list('back', 'order=asc')), KEYS)
  assert.deepEqual(keysOf(await list('back', 'order=desc&prefix=k')), ['k3', 'k2', 'k1', 'k0'])
  const { pages, ...all } = await listAll(tenant, 'back', 'order=desc&limit=3')
  assert.deepEqual([keysOf(all), pages], [backwards, 3])
  const { nextCursor } = await list('back', 'order=desc&limit=3')
  // A cursor goes on in its own direction alone.
  assert.equal((await tenant.call(`GET /v1/kv/entries?cursor=${nextCursor}`, undefined, { db: 'back' })).status, 400)
  await daemon.sql(`update loci.entries set value = '"x"' where database = 'back' and key = 'k2'`)
  await daemon.sql(
    `update loci.entries set expires_at = now() - interval '1 s', digest = loci.entry_digest(instance_id, database, key, value, version,
       created_at, updated_at, now() - interval '1 s') where database = 'back' and key = 'z'`,
  )
  const left = await listAll(tenant, 'back', 'order=desc&limit=2')
  assert.deepEqual(
    keysOf(left),
    backwards.filter((key) => key !== 'k2' && key !== 'z'),
  )
  assert.deepEqual(left.damaged, [{ ref: 'k2', reason: 'digest_mismatch' }])
})

// Mutant: `not p_is_bare` left out.
test('keysOnly lists entries without their values: a page is not cut by them, and nothing of them is in the answer', async () => {
  const large = 'v'.repeat(200 * 1024)
  await putAll(tenant, 'bare', Object.fromEntries(['a', 'b', 'c', 'd'].map((key) => [key, large])))
  await putAll(tenant, 'bare', Object.fromEntries(['e', 'f', 'g'].map((key) => [key, large])))
  const whole = await list('bare', '')
  assert.ok(whole.nextCursor !== null && whole.entries.length < 7)
  for (const [query, keys] of [
    ['keysOnly=true', [...'abcdefg']],
    ['keysOnly=true&order=desc', [...'gfedcba']],
  ] as const) {
    const bare = await list('bare', query)
    assert.deepEqual([keysOf(bare), bare.nextCursor], [keys, null])
    assert.ok(bare.entries.every((entry) => !('value' in entry) && 'version' in entry && 'digest' in entry))
    assert.ok(!JSON.stringify(bare).includes('vvv'))
  }
  for (const wrong of ['keysOnly=perhaps', 'keysOnly=', 'order=up'])
    assert.equal((await tenant.call(`GET /v1/kv/entries?${wrong}`, undefined, { db: 'bare' })).status, 400, wrong)
})
