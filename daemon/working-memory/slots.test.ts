import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { eventually } from '@loci/chassis/testing/request.ts'
import { type TestDaemon, testDaemon } from '../testing/daemon.ts'
import { SLOT_RIGHTS, slotPath, slotsOf, sumOf, type TestSlots } from '../testing/slots.ts'
import { addTenant, type TestTenant } from '../testing/tenant.ts'

let daemon: TestDaemon
let tenant: TestTenant
before(async () => {
  daemon = await testDaemon()
  tenant = await addTenant(daemon)
})
after(() => daemon?.[Symbol.asyncDispose]())

let last = 0
function fresh(): TestSlots & { db: string } {
  last += 1
  return { ...slotsOf(tenant, `db-${last}`), db: `db-${last}` }
}

// specification 9 46 47 138
test('a slot is listed as it was written, and the list counts the slots it has', async () => {
  const slots = fresh()
  assert.deepEqual(await slots.list(), { slots: [], count: 0, capacity: 25, asOfSeq: 0 })
  const first = await slots.put('ä/€ 1', { value: { a: [1, 'ä'] }, tags: ['t'], salience: 0.5, ttlMs: 60_000 })
  const { evicted, ...slot } = first
  const listed = await slots.list()
  assert.deepEqual([listed.slots, listed.count, evicted], [[slot], 1, []])
  assert.deepEqual((await slots.get('ä/€ 1')).json(), slot)
  assert.ok(Math.abs(sumOf(slot.explain) - slot.activation) < 1e-6)
  assert.deepEqual([slot.source.type, slot.source.trust], ['api', 'holder'])
  // specification 136 137
  const other = await tenant.call('GET /v1/working-memory/slots', undefined, {
    db: 'other',
    token: tenant.mint({ ...SLOT_RIGHTS, ks: [`working-memory/${slots.db}`] }),
  })
  assert.deepEqual([other.status, other.error.code], [403, 'DATABASE_MISMATCH'])
  const writer = tenant.mint({ ...SLOT_RIGHTS, ops: ['wm:write', 'wm:delete'] })
  const refused = await tenant.call('GET /v1/working-memory/slots', undefined, { db: slots.db, token: writer })
  assert.deepEqual([refused.status, refused.error.code], [403, 'OPERATION_NOT_ALLOWED'])
})

// Mutant: wm_write without its comparison of versions: fewer than 1 + 40 writes of the counter are seen.
test('of simultaneous writes with one If-Match one wins, and none of many read-modify-writes is lost', async () => {
  const slots = fresh()
  const replica = await testDaemon({ replicaOf: daemon })
  try {
    const { version } = await slots.put('k', { value: 0 })
    const answers = await Promise.all(
      Array.from({ length: 20 }, async (_, n) => {
        for (;;) {
          const answer = await slots.call(`PUT ${slotPath('k')}`, { value: n }, { 'if-match': `"${version}"` })
          // On a busy machine one may wait longer than it may, and asks again as it is told to.
          if (answer.status !== 503) return answer
        }
      }),
    )
    const winners = answers.filter(({ status }) => status === 200)
    assert.equal(winners.length, 1)
    const current = winners[0]?.json<{ version: number }>().version
    for (const { status, error } of answers.filter((answer) => !winners.includes(answer)))
      assert.deepEqual([status, error.code, error.details], [412, 'VERSION_CONFLICT', { currentVersion: current }])

    const token = tenant.mint(SLOT_RIGHTS)
    const headers = { 'x-loci-capability': token, 'x-loci-database': slots.db }
    const add = async (at: TestDaemon) => {
      for (;;) {
        const read = await slots.get('k')
        if (read.status === 503) continue
        const { value, etag } = read.json<{ value: number; etag: string }>()
        const body = { value: value + 1 }
        const { status } = await at.ask(`PUT ${slotPath('k')}`, { body, headers: { ...headers, 'if-match': etag } })
        if (status === 200) return
        assert.ok(status === 412 || status === 503, String(status))
      }
    }
    const { value: before } = (await slots.get('k')).json<{ value: number }>()
    await Promise.all(Array.from({ length: 40 }, (_, n) => add(n % 2 === 0 ? daemon : replica)))
    assert.equal((await slots.get('k')).json<{ value: number }>().value, before + 40)
  } finally {
    await replica[Symbol.asyncDispose]()
  }
})

test('If-Match, merge patch, delete: what they refuse changes nothing', async () => {
  const slots = fresh()
  const none = await slots.call(`PUT ${slotPath('k')}`, { value: 1 }, { 'if-match': '*' })
  assert.deepEqual([none.status, none.error.details], [412, { currentVersion: null }])
  assert.equal((await slots.call(`PATCH ${slotPath('k')}`, { value: 1 })).status, 404)
  const first = await slots.put('k', { value: { a: 1, b: 2 }, tags: ['t'], pinned: true })
  const patched = (await slots.call(`PATCH ${slotPath('k')}`, { value: { a: null, c: 3 } })).json<typeof first>()
  assert.deepEqual([patched.value, patched.id, patched.version > first.version], [{ b: 2, c: 3 }, first.id, true])
  const both = await Promise.all(
    ['x', 'y'].map((name) => slots.call(`PATCH ${slotPath('k')}`, { value: { [name]: 1 } })),
  )
  assert.deepEqual(
    both.map(({ status }) => status),
    [200, 200],
  )
  assert.deepEqual((await slots.get('k')).json<{ value: object }>().value, { b: 2, c: 3, x: 1, y: 1 })
  assert.equal((await slots.call(`DELETE ${slotPath('k')}`, undefined, { 'if-match': first.etag })).status, 412)
  assert.equal((await slots.call(`DELETE ${slotPath('k')}`)).status, 200)
  assert.equal((await slots.call(`DELETE ${slotPath('k')}`)).status, 404)
  const large = await slots.call(`PUT ${slotPath('k')}`, { value: 'x'.repeat(16 * 1024) })
  assert.deepEqual([large.status, large.error.code], [413, 'PAYLOAD_TOO_LARGE'])
  assert.equal((await slots.list()).count, 0)
})

// specification 48 49 50 141 142
test('statistics tell count, capacity and utilization; 0 when capacity is 0', async () => {
  const slots = fresh()
  await slots.configure({ capacity: 3 })
  await slots.put('a', { value: 1, pinned: true })
  await slots.put('b', { value: 'xy' })
  assert.deepEqual(await slots.stats(), {
    ...{ slotCount: 2, capacity: 3, utilizationPct: 67, pinned: 1, bytes: 5, evictions: 0 },
  })
  const ask = (rights: Partial<typeof SLOT_RIGHTS>) =>
    tenant.call('GET /v1/working-memory/stats', undefined, {
      db: slots.db,
      token: tenant.mint({ ...SLOT_RIGHTS, ...rights }),
    })
  assert.equal((await ask({ ops: ['wm:write'] })).error.code, 'OPERATION_NOT_ALLOWED')
  assert.equal((await ask({ ks: ['working-memory/other'] })).error.code, 'DATABASE_MISMATCH')
  await slots.configure({ capacity: 0 })
  const { capacity, utilizationPct } = await slots.stats()
  assert.deepEqual([capacity, utilizationPct], [0, 0])
  const refused = await slots.call(`PUT ${slotPath('c')}`, { value: 1 })
  assert.deepEqual([refused.status, refused.error.code], [409, 'WORKING_MEMORY_FULL'])
})

test('over capacity a slot leaves: the answer, the list of evictions and the statistics agree', async () => {
  const slots = fresh()
  await slots.configure({ capacity: 2, policy: 'fifo' })
  for (const key of ['one', 'two']) await slots.put(key)
  const { evicted } = await slots.put('three')
  assert.deepEqual(
    evicted.map(({ key, displacedBy }) => [key, displacedBy]),
    [['one', 'three']],
  )
  for (const key of ['four', 'five']) await slots.put(key)
  const page = (await slots.call('GET /v1/working-memory/evictions?limit=2')).json<{
    evictions: { key: string; displacedBy: string; policy: string; explain: Parameters<typeof sumOf>[0] }[]
    nextCursor: string
  }>()
  assert.deepEqual(
    page.evictions.map(({ key, displacedBy, policy }) => [key, displacedBy, policy]),
    [
      ['three', 'five', 'fifo'],
      ['two', 'four', 'fifo'],
    ],
  )
  for (const { explain } of page.evictions) assert.ok(Math.abs(sumOf(explain) - explain.score) < 1e-6)
  const rest = await slots.call(`GET /v1/working-memory/evictions?limit=2&cursor=${page.nextCursor}`)
  assert.deepEqual(
    [rest.json<typeof page>().evictions.map(({ key }) => key), rest.json<typeof page>().nextCursor],
    [['one'], null],
  )
  assert.equal((await slots.stats()).evictions, 3)
  assert.deepEqual(await slots.keys(), ['four', 'five'])
  assert.equal((await slots.call('GET /v1/working-memory/evictions?cursor=x')).status, 400)
})

test('a slot is gone when its time is over, and the worker of due rows removes it and says why', async () => {
  const slots = fresh()
  await slots.put('brief', { value: 1, ttlMs: 200 })
  await slots.put('stays')
  await eventually(async () => (await slots.get('brief')).status === 404)
  assert.deepEqual(await slots.keys(), ['stays'])
  assert.equal((await slots.stats()).slotCount, 1)
  await eventually(async () => (await slots.stats()).evictions === 1)
  const [row] = await daemon.sql<{ keys: string[] }>('select keys from loci.working_memory where database = $1', [
    slots.db,
  ])
  assert.deepEqual(row?.keys, ['stays'])
  const { evictions } = (await slots.call('GET /v1/working-memory/evictions')).json<{
    evictions: { reasonCode: string }[]
  }>()
  assert.deepEqual(
    evictions.map(({ reasonCode }) => reasonCode),
    ['expired'],
  )
})

test('a batch is done whole or not at all, once for its key', async () => {
  const slots = fresh()
  await slots.put('gone')
  const operations = [
    { op: 'put', key: 'a', value: 1, ttlMs: 60_000 },
    { op: 'delete', key: 'gone' },
    { op: 'delete', key: 'nobody' },
    { op: 'put', key: 'a', value: 2 },
  ]
  const headers = { 'idempotency-key': 'k' }
  const first = await slots.call('POST /v1/working-memory/slots/batch', { operations }, headers)
  assert.equal(first.status, 200, first.text)
  await slots.put('a', { value: 3 })
  const again = await slots.call('POST /v1/working-memory/slots/batch', { operations }, headers)
  assert.deepEqual([again.text, again.headers['idempotent-replayed']], [first.text, 'true'])
  assert.equal((await slots.get('a')).json<{ value: number }>().value, 3)
  await slots.configure({ capacity: 1, policy: 'reject' })
  const full = [...operations, { op: 'put', key: 'b', value: 1 }]
  const refused = await slots.call('POST /v1/working-memory/slots/batch', { operations: full })
  assert.deepEqual([refused.status, refused.error.code], [409, 'WORKING_MEMORY_FULL'])
  assert.equal((await slots.get('a')).json<{ value: number }>().value, 3)
})

test('every version of a slot is kept, in pages, and can be written again', async () => {
  const slots = fresh()
  const written = []
  for (let value = 1; value <= 5; value += 1) written.push(await slots.put('k', { value }))
  await slots.call(`DELETE ${slotPath('k')}`)
  const page = (await slots.call(`GET ${slotPath('k')}/history?limit=3`)).json<{
    versions: { value: number }[]
    nextCursor: string
  }>()
  assert.deepEqual(
    page.versions.map(({ value }) => value),
    [5, 4, 3],
  )
  const rest = await slots.call(`GET ${slotPath('k')}/history?limit=3&cursor=${page.nextCursor}`)
  assert.deepEqual(
    rest.json<typeof page>().versions.map(({ value }) => value),
    [2, 1],
  )
  const restore = { key: 'k', version: written[1]?.version }
  const restored = await slots.call('POST /v1/working-memory/slots/restore', restore, { 'idempotency-key': 'r' })
  assert.deepEqual(
    restored.json<{ slots: { value: number }[] }>().slots.map(({ value }) => value),
    [2],
    restored.text,
  )
  await slots.put('k', { value: 'newer' })
  const again = await slots.call('POST /v1/working-memory/slots/restore', restore, { 'idempotency-key': 'r' })
  assert.deepEqual([again.text, again.headers['idempotent-replayed']], [restored.text, 'true'])
  assert.equal((await slots.get('k')).json<{ value: string }>().value, 'newer')
  const unknown = await slots.call('POST /v1/working-memory/slots/restore', { key: 'k', version: 999 })
  assert.equal(unknown.status, 404)
})

// Mutant: wm_expire without its add_totals(): what was dropped is counted for ever.
test('everything that slots store counts as bytes of the instance, and history leaves the count with its week', async () => {
  const own = await addTenant(daemon)
  const slots = slotsOf(own, 'bytes')
  const total = async () => {
    const [row] = await daemon.sql<{ bytes: number }>(
      'select coalesce(sum(bytes), 0)::int as bytes from loci.instance_totals where instance_id = $1',
      [own.instanceId],
    )
    return row?.bytes ?? 0
  }
  await slots.put('a', { value: 'x'.repeat(1_000) })
  const once = await total()
  assert.ok(once > 2_000 && once < 6_000, `${once} for a slot and its version`)
  await slots.put('a', { value: 'x'.repeat(1_000) })
  await slots.call(`DELETE ${slotPath('a')}`)
  const history = await total()
  assert.ok(history > 2_000, `${history} for two versions`)
  const old = `weeks = array[(now() - interval '45 days')::date]`
  await daemon.sql(`update loci.working_memory w set ${old} where instance_id = $1`, [own.instanceId])
  await daemon.sql('update loci.working_memory w set digest = loci.wm_digest(w) where instance_id = $1', [
    own.instanceId,
  ])
  await daemon.sql(`update loci.due set at = now() where instance_id = $1 and kind = 'slots'`, [own.instanceId])
  await eventually(async () => (await total()) === 0)
  assert.deepEqual(
    await daemon.sql(`select 1 from loci.due where instance_id = $1 and kind = 'slots'`, [own.instanceId]),
    [],
  )
})

test('an instance without room is refused new slots, and deletes go on', async () => {
  const own = await addTenant(daemon, { bytes: 12_000 })
  const slots = slotsOf(own, 'full')
  const statuses: number[] = []
  for (let n = 0; n < 12; n += 1)
    statuses.push((await slots.call(`PUT ${slotPath(`k${n}`)}`, { value: 'x'.repeat(900) })).status)
  assert.deepEqual([...new Set(statuses)], [200, 403])
  assert.equal((await slots.call(`DELETE ${slotPath('k0')}`)).status, 200)
})
