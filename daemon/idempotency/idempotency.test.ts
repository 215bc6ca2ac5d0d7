import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { anotherSealingKey, idempotencySuite } from '@loci/acts/testing/idempotency-suite.ts'
import { ask } from '@loci/chassis/testing/request.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import { testPool } from '@loci/postgres/testing/database.ts'
import { type TestDaemon, testDaemon, testSettings } from '../testing/daemon.ts'
import { addTenant, type TestTenant } from '../testing/tenant.ts'
import { inClaimOrder, sweepAnswers } from './store.ts'

idempotencySuite(async () => {
  const daemon = await testDaemon({ settings: { databaseStatementMs: 1_750 } })
  const [own, other] = [await addTenant(daemon), await addTenant(daemon)]
  const { sealingKeys } = testSettings(daemon.database.appUrl, daemon.adminToken)
  const settings = { sealingKeys: [anotherSealingKey(), ...sealingKeys] }
  const rotated = await testDaemon({ replicaOf: daemon, settings })
  return {
    adminUrl: daemon.database.adminUrl,
    table: 'loci.entries',
    // A database for each subject: its number is how often it was written.
    send({ subject, headers, isOther = false, as, atRotated }) {
      const token = as === 'another caller' ? own.mint({ sub: 'usr_other' }) : (as ? other : own).mint()
      return ask(atRotated ? rotated.url : daemon.url, 'POST /v1/kv/entries/batch', {
        body: { operations: [{ op: 'put', key: 'k', value: isOther }] },
        headers: { ...headers, 'x-loci-capability': token, 'x-loci-database': subject },
      })
    },
    async effects(subject) {
      const rows = await daemon.sql<{ seq: number }>('select seq::int from loci.databases where name = $1', [subject])
      return rows.reduce((sum, { seq }) => sum + seq, 0)
    },
    async [Symbol.asyncDispose]() {
      await rotated[Symbol.asyncDispose]()
      await daemon[Symbol.asyncDispose]()
    },
  }
})

// Attack review, H7: answers kept for repeats were outside every quota, 37 KB each, and swept by nobody.

let daemon: TestDaemon
let pool: Pool
before(async () => {
  daemon = await testDaemon()
  pool = testPool(daemon.database.appUrl, 2)
})
after(async () => {
  await pool?.close()
  await daemon?.[Symbol.asyncDispose]()
})

type Operation = { op: 'put'; key: string; value: unknown; ttlMs?: number } | { op: 'delete'; key: string }

const batch = (tenant: TestTenant, operations: Operation[], key?: string) =>
  tenant.call('POST /v1/kv/entries/batch', { operations }, { headers: key ? { 'idempotency-key': key } : {} })

interface Kept {
  answers: number
  bytes: number
  since: Date | null
}
async function keptBy({ instanceId }: TestTenant): Promise<Kept> {
  const [row] = await daemon.sql<Kept>(
    'select keyed_answers as answers, keyed_bytes as bytes, keyed_since as since from loci.instances where id = $1',
    [instanceId],
  )
  return row as Kept
}
const rowsOf = async ({ instanceId }: TestTenant) =>
  daemon.sql<{ answer: object; bytes: number }>('select answer, bytes from loci.idempotency where instance_id = $1', [
    instanceId,
  ])

// Mutant: `createdAt` of the kept batch left out of the digests: a repeat over an older entry differs.
test('a repeat is the first answer byte for byte, although the entries were written over since', async () => {
  const tenant = await addTenant(daemon)
  await batch(tenant, [
    { op: 'put', key: 'old', value: 0 },
    { op: 'put', key: 'gone', value: 0 },
  ])
  const operations: Operation[] = [
    { op: 'put', key: 'old', value: { a: [1, 'ä'] } },
    { op: 'put', key: 'new', value: 1, ttlMs: 3_600_000 },
    { op: 'delete', key: 'gone' },
    { op: 'delete', key: 'nobody' },
    { op: 'put', key: 'new', value: 2 },
  ]
  const first = await batch(tenant, operations, 'k')
  await batch(tenant, [
    { op: 'put', key: 'old', value: 'other' },
    { op: 'delete', key: 'new' },
  ])
  const again = await batch(tenant, operations, 'k')
  assert.equal(first.status, 200, first.text)
  assert.deepEqual(
    [again.status, again.text, again.headers['idempotent-replayed']],
    [200, first.text, 'true'],
    'the stored answer',
  )
  assert.equal((await tenant.call('GET /v1/kv/entries/old')).json().value, 'other')
  const empty = await batch(tenant, [], 'empty')
  assert.equal((await batch(tenant, [], 'empty')).text, empty.text)
  assert.ok(!JSON.stringify(await rowsOf(tenant)).includes('nobody'), 'no key of an entry is kept')
})

// Mutant: `kept` not handed to keepAnswer(): 100 keys of 246 characters are 36 KB.
test('what is kept of a large batch is small, and counts for what it takes on the disk', async () => {
  const tenant = await addTenant(daemon)
  const keys = Array.from({ length: 100 }, () => randomBytes(123).toString('hex'))
  const operations = keys.map((key): Operation => ({ op: 'put', key, value: 1 }))
  await batch(tenant, operations)
  const size = async () => {
    const [row] = await daemon.sql<{ size: number }>(`select pg_total_relation_size('loci.idempotency')::int as size`)
    return row?.size ?? 0
  }
  const before = { size: await size(), ...(await keptBy(tenant)) }
  for (let at = 0; at < 60; at += 1)
    assert.equal((await batch(tenant, operations, `${randomUUID()}${'x'.repeat(200)}`)).status, 200)
  const now = await keptBy(tenant)
  assert.equal(now.answers - before.answers, 60)
  const [onDisk, counted] = [(await size()) - before.size, now.bytes - before.bytes]
  assert.ok(counted / 60 < 2_000, `${Math.round(counted / 60)} bytes counted for each`)
  // Pages are 8 KiB, and the first ones of two indexes are not full yet.
  assert.ok(onDisk <= counted * 1.3 + 6 * 8_192, `${onDisk} on the disk, ${counted} counted`)
})

test('what is kept counts into the bytes of the plan, and deletions go on beyond them', async () => {
  const tenant = await addTenant(daemon, { bytes: 20_000 })
  const put: Operation[] = [{ op: 'put', key: 'k', value: 1 }]
  const statuses = new Set<number>()
  let refused = 0
  for (let at = 0; at < 40 && refused === 0; at += 1) {
    const answer = await batch(tenant, put, `${randomUUID()}${'x'.repeat(200)}`)
    statuses.add(answer.status)
    if (answer.status === 403) {
      assert.equal(answer.error.code, 'QUOTA_EXCEEDED')
      refused += 1
    }
  }
  assert.deepEqual([...statuses].sort(), [200, 403], 'the same small entry again and again uses up the plan')
  assert.equal((await batch(tenant, [{ op: 'delete', key: 'k' }], 'deletion')).status, 200)
})

// Mutants: the check before the claim: the repeat of a known key is 429 too; 10000 in claim_keys.
test('an instance keeps as many answers as its plan has records: then a new key is 429, a known one is answered, and none is needed to write', async () => {
  const tenant = await addTenant(daemon, { records: 20_000 })
  const put: Operation[] = [{ op: 'put', key: 'k', value: 1 }]
  const known = await batch(tenant, put, 'known')
  await daemon.sql('update loci.instances set keyed_answers = 20000 where id = $1', [tenant.instanceId])
  const refused = await batch(tenant, put, 'new')
  assert.deepEqual([refused.status, refused.error.code, refused.headers['retry-after']], [429, 'RATE_LIMITED', '60'])
  assert.match(refused.error.message, /20000 Idempotency-Keys, as many as its plan has records/)
  assert.equal((await batch(tenant, put, 'known')).text, known.text)
  assert.equal((await batch(tenant, put)).status, 200)
  await daemon.sql('update loci.instances set keyed_answers = 19999 where id = $1', [tenant.instanceId])
  assert.equal((await batch(tenant, put, 'new')).status, 200, 'the refused claim left nothing behind')
})

// Mutant: `keyed_since = null` in sweep_answers(): what is left is never swept.
test('answers older than a day go by themselves, a bounded number at a time, and are counted no longer', async () => {
  const [tenant, other] = [await addTenant(daemon), await addTenant(daemon)]
  const put: Operation[] = [{ op: 'put', key: 'k', value: 1 }]
  for (let at = 0; at < 5; at += 1) await batch(tenant, put, `old-${at}`)
  await batch(other, put, 'other')
  await daemon.sql(`update loci.idempotency set created_at = now() - interval '25 hours' where instance_id = $1`, [
    tenant.instanceId,
  ])
  await daemon.sql(`update loci.instances set keyed_since = now() - interval '25 hours' where id = $1`, [
    tenant.instanceId,
  ])
  await batch(tenant, put, 'fresh')
  assert.equal((await keptBy(tenant)).answers, 6)

  assert.equal(await sweepAnswers(pool, 3), 3)
  assert.equal((await keptBy(tenant)).answers, 3)
  assert.equal(await sweepAnswers(pool, 100), 2)
  assert.equal(await sweepAnswers(pool, 100), 0)

  const [left] = await rowsOf(tenant)
  assert.deepEqual([(await keptBy(tenant)).answers, (await keptBy(tenant)).bytes], [1, left?.bytes])
  assert.equal((await keptBy(other)).answers, 1)
  assert.equal((await batch(tenant, put, 'fresh')).headers['idempotent-replayed'], 'true')
  await daemon.sql(`update loci.idempotency set created_at = now() - interval '25 hours' where instance_id = $1`, [
    tenant.instanceId,
  ])
  await daemon.sql(`update loci.instances set keyed_since = now() - interval '25 hours' where id = $1`, [
    tenant.instanceId,
  ])
  await sweepAnswers(pool, 100)
  assert.deepEqual(await keptBy(tenant), { answers: 0, bytes: 0, since: null })
})

test('an expired answer whose key comes back is taken over and counted once', async () => {
  const tenant = await addTenant(daemon)
  const put: Operation[] = [{ op: 'put', key: 'k', value: 1 }]
  await batch(tenant, put, 'key')
  await daemon.sql(`update loci.idempotency set created_at = now() - interval '25 hours' where instance_id = $1`, [
    tenant.instanceId,
  ])
  const again = await batch(tenant, put, 'key')
  assert.deepEqual([again.status, again.headers['idempotent-replayed']], [200, undefined])
  const [row] = await rowsOf(tenant)
  const { answers, bytes } = await keptBy(tenant)
  assert.deepEqual([answers, bytes], [1, row?.bytes])
})

// Its claim is a statement in the transaction of the work: what is too old goes before that, because it locks the row
// of the instance. Mutant: dropExpired() taken out of createInstanceActs().
test('an expired answer of an act that is several statements is taken over and counted once', async () => {
  const tenant = await addTenant(daemon)
  const token = tenant.mint({ ops: ['wm:delete'], ks: ['working-memory/*'] })
  const clear = () =>
    tenant.call('POST /v1/working-memory/slots/clear', undefined, { token, headers: { 'idempotency-key': 'clear' } })
  assert.equal((await clear()).status, 200)
  assert.equal((await clear()).headers['idempotent-replayed'], 'true')
  await daemon.sql(`update loci.idempotency set created_at = now() - interval '25 hours' where instance_id = $1`, [
    tenant.instanceId,
  ])
  const again = await clear()
  assert.deepEqual([again.status, again.headers['idempotent-replayed']], [200, undefined])
  const [row] = await rowsOf(tenant)
  const { answers, bytes } = await keptBy(tenant)
  assert.deepEqual([answers, bytes], [1, row?.bytes])
})

// Mutant: sorted by the key alone: both orders come out as they went in.
test('claims are made in one order by their whole scope, so that two calls never take their locks crosswise', () => {
  const claim = (database: string, holder: string) => ({
    claim: {
      scope: ['svc', database, 'POST /x', holder, 'key'],
      fingerprint: Buffer.alloc(0),
      sealedWith: '',
      request: 0,
    },
  })
  const [first, second, third] = [claim('a', 'x'), claim('a', 'y'), claim('b', 'x')] as const
  for (const given of [
    [first, second, third],
    [third, { claim: undefined }, second, first],
  ])
    assert.deepEqual(inClaimOrder(given), [first, second, third])
})
