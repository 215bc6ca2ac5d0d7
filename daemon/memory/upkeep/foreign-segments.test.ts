// Segments of another language, or of another release, are not used: they are built again, and meanwhile recall does
// not build them for each write.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createLog } from '@loci/chassis/log.ts'
import { eventually } from '@loci/chassis/testing/request.ts'
import { testPool } from '@loci/postgres/testing/database.ts'
import { createInstanceKeys } from '../../databases/instance-keys.ts'
import { type TestDaemon, testDaemon, testSettings } from '../../testing/daemon.ts'
import { memoryOf, type TestMemory } from '../../testing/records.ts'
import { addTenant, type TestTenant } from '../../testing/tenant.ts'
import { createRecallIndex } from '../index/recall-index.ts'
import { createParts } from '../parts/parts.ts'
import { putIndexDue } from '../parts/store.ts'
import { readIndex } from './store.ts'

let daemon: TestDaemon
let tenant: TestTenant
before(async () => {
  daemon = await testDaemon()
  tenant = await addTenant(daemon)
})
after(() => daemon?.[Symbol.asyncDispose]())

/** As one release after this one, or before it, would have written them. */
const RELEASE = 256
const LATE_MS = 120_000

const facts = (from: number, count: number) =>
  Array.from({ length: count }, (_, n) => ({ content: `Room ${from + n} is green`, contextId: 'a' }))

const segmentsOf = (db: string) =>
  daemon.sql<{ id: string; format: number; items: number }>(
    'select id, format, items from loci.segments where database = $1 order by from_seq',
    [db],
  )

/** 300 records in one segment, and nothing due. */
async function indexed(db: string) {
  const memory = memoryOf(tenant, db)
  await memory.storeAll(facts(1, 300))
  await daemon.sql(`update loci.due set at = now() where database = $1 and kind = 'index'`, [db])
  const tail = () => daemon.sql(`select from loci.databases where name = $1 and mem_tail > 0`, [db])
  await eventually(async () => (await tail()).length === 0, LATE_MS)
  const [segment] = await segmentsOf(db)
  return { memory, format: segment?.format ?? 0 }
}

/** Records of the first and of the last segment are found. */
async function finds({ recall }: Pick<TestMemory, 'recall'>, ...rooms: number[]): Promise<void> {
  for (const room of rooms) {
    const { results } = await recall({ query: `green room ${room}`, limit: 1 })
    assert.equal(results[0]?.content, `Room ${room} is green`)
  }
}

// Before, they were built from the records for every recall, until 16 or 256 new records came. Mutant: cycle_schedule()
// without `index`.
test('segments are built again when the configuration has another language', async () => {
  const { memory, format } = await indexed('language')
  const token = tenant.mint({ ops: ['operator'], ks: ['*/*'] })
  const put = await tenant.call('PUT /v1/cognitive/config', { language: 'nl' }, { db: 'language', token })
  assert.equal(put.status, 200)
  await eventually(async () => (await segmentsOf('language')).every((one) => one.format === format + 2), LATE_MS)
  await finds(memory, 7, 299)
})

// Mutant: parts.of() without requestBuild().
test('segments of an older release are built again when a recall meets them', async () => {
  const { memory, format } = await indexed('older')
  await daemon.sql(`update loci.segments set format = format - $1 where database = 'older'`, [RELEASE])
  await finds(memory, 7, 299)
  await eventually(async () => (await segmentsOf('older')).every((one) => one.format === format), LATE_MS)
  await finds(memory, 7, 299)
})

// Mutants: planIndex() that does not leave them (mem_index_commit refuses it); without that refusal too (replaced).
test('segments of a newer release are left as they are, and what comes behind them is indexed', async () => {
  const { memory, format } = await indexed('newer')
  await daemon.sql(`update loci.segments set format = format + $1 where database = 'newer'`, [RELEASE])
  const planted = await segmentsOf('newer')
  await finds(memory, 7, 299)
  await memory.storeAll(facts(301, 300))
  await eventually(async () => (await segmentsOf('newer')).length > planted.length, LATE_MS)
  const after = await segmentsOf('newer')
  assert.deepEqual(after.slice(0, planted.length), planted)
  assert.equal(after.at(-1)?.format, format)
  await finds(memory, 7, 299, 555)
  const refused = daemon.sql(
    `select loci.mem_index_commit($1, 'newer', array(select id from loci.segments where database = 'newer' order by from_seq),
      (select mem_erased_at from loci.databases where name = 'newer'), 1, 1, $2, '{1}', '{1}', '{0}', $3, '{""}', '{""}')`,
    [tenant.instanceId, [planted[0]?.id], [format]],
  )
  await assert.rejects(refused, /newer release/)
})

// Before, each write of the database, of any kind, made it anew. Mutants: an id with the database's number; one without
// the marks.
test('what is built in the place of a segment is known by its records: a write elsewhere does not make it anew', async () => {
  const { memory } = await indexed('built')
  await daemon.sql(`update loci.segments set format = format + $1 where database = 'built'`, [RELEASE])
  const pool = testPool(daemon.database.appUrl, 2)
  const log = createLog({ level: 'silent', program: 'test' })
  const index = createRecallIndex({ bytesMax: 1e6, log })
  try {
    const parts = createParts(pool, index, createInstanceKeys(pool, testSettings('', '').sealingKeys), log)
    const place = { instanceId: tenant.instanceId, database: 'built' }
    const ids = async (language: 'auto' | 'en' = 'auto') => {
      const state = await readIndex(pool, place.instanceId, place.database, {})
      return (await parts.of(place, state, language)).map(({ id }) => id)
    }
    const before = await ids()
    assert.equal(before.length, 1)
    const put = await tenant.call('PUT /v1/kv/entries/a', { value: 1 }, { db: 'built' })
    assert.equal(put.status, 200)
    await memory.store('The garden is large')
    assert.deepEqual(await ids(), before)
    assert.notDeepEqual(await ids('en'), before)
    // As a restored database has another record under the number of one that was there.
    await daemon.sql(
      `update loci.records set id = id || 'x' where database = 'built' and seq = (select min(seq) from loci.records where database = 'built')`,
    )
    assert.notDeepEqual(await ids(), before)
  } finally {
    await index.close()
    await pool.close()
  }
})

// Mutant: putIndexDue() that enters no database.
test('no index is made due of an instance that is gone', async () => {
  const pool = testPool(daemon.database.appUrl)
  try {
    const gone = await addTenant(daemon)
    await memoryOf(gone, 'gone').storeAll(facts(1, 1))
    await daemon.sql('delete from loci.due where instance_id = $1', [gone.instanceId])
    await daemon.sql(`update loci.instances set state = 'deleted' where id = $1`, [gone.instanceId])
    for (const instanceId of [gone.instanceId, 'svc_never']) await putIndexDue(pool, { instanceId, database: 'gone' })
    assert.deepEqual(await daemon.sql(`select from loci.due where database = 'gone'`), [])
  } finally {
    await pool.close()
  }
})
