// Vectors in the segments of a database, over HTTP, with a real encoder.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { eventually } from '@loci/chassis/testing/request.ts'
import { type TestDaemon, testDaemon } from '../../testing/daemon.ts'
import { memoryOf } from '../../testing/records.ts'
import { addTenant, type TestTenant } from '../../testing/tenant.ts'
import { createEncoder, type Encoder } from '../encoder/encoder.ts'
import { ENCODER_FOLDER, NO_ENCODER } from '../encoder/testing/folder.ts'
import { mergeSegments } from '../index/build.ts'
import { openSegment, type Segment } from '../index/format.ts'
import { vectorAt } from '../index/vectors.ts'
import { segmentDigest } from '../upkeep/segments.ts'

let daemon: TestDaemon
let tenant: TestTenant
let encoder: Encoder
before(async () => {
  if (!ENCODER_FOLDER) return
  daemon = await testDaemon({ settings: { encoder: ENCODER_FOLDER } })
  tenant = await addTenant(daemon)
  encoder = createEncoder({ folder: ENCODER_FOLDER, log: { warn() {}, error() {} } as never })
  await encoder.start()
})
after(async () => {
  await daemon?.[Symbol.asyncDispose]()
  await encoder?.close()
})

const LATE_MS = 120_000
const facts = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ content: `Room ${n + 1} is painted ${n % 2 ? 'green' : 'blue'}` }))

interface SegmentRow {
  encoded: string
  items: number
  from_seq: string
  through_seq: string
  body: Buffer
}
const segmentsOf = (db: string) =>
  daemon.sql<SegmentRow>(
    'select encoded, items, from_seq, through_seq, body from loci.segments where database = $1 order by from_seq',
    [db],
  )
const isEncoded = async (db: string) => {
  const rows = await segmentsOf(db)
  return rows.length > 0 && rows.every(({ encoded }) => Number(encoded) === encoder.facts?.mark)
}
const buildNow = (db: string) =>
  daemon.sql(
    `insert into loci.due (instance_id, database, kind, at) select instance_id, name, 'index', now() from loci.databases where name = $1
      on conflict (instance_id, database, kind) do update set at = excluded.at`,
    [db],
  )

async function indexed(db: string, count: number) {
  const memory = memoryOf(tenant, db)
  const records = await memory.storeAll(facts(count))
  await buildNow(db)
  await eventually(() => isEncoded(db), LATE_MS)
  const due = () => daemon.sql(`select from loci.due where database = $1 and kind = 'vectors'`, [db])
  await eventually(async () => (await due()).length === 0, LATE_MS)
  return { memory, records }
}

const vectorsIn = (segment: Segment) => Array.from({ length: segment.items }, (_, i) => vectorAt(segment, i))

// Mutant: an item's vector stored with half of the one before it in packVectors().
test('records that were stored have their vectors in the segments soon', { skip: NO_ENCODER }, async () => {
  await indexed('stored', 40)
  const [row] = await segmentsOf('stored')
  const vectors = vectorsIn(openSegment(row!.body))
  const expected = await encoder.texts(
    facts(40).map(({ content }) => content),
    performance.now() + LATE_MS,
  )
  assert.deepEqual(vectors, expected)
})

// Mutant: an item's vector stored with half of the one before it in packVectors().
test('after DELETE no segment has the vector, or a part of it', { skip: NO_ENCODER }, async () => {
  const { memory, records } = await indexed('erased', 30)
  const gone = records[9]!
  const [vector] = await encoder.texts([gone.content], performance.now() + LATE_MS)
  const bytes = Buffer.from((vector as Int8Array).buffer)
  const has = async () => (await segmentsOf('erased')).some(({ body }) => body.includes(bytes.subarray(0, 24)))
  assert.equal(await has(), true)
  assert.equal((await memory.call(`DELETE /v1/memory/records/${gone.id}`)).status, 200)
  assert.equal(await has(), false)
  const left = (await segmentsOf('erased')).flatMap(({ body }) => vectorsIn(openSegment(body)))
  const texts = records.filter(({ id }) => id !== gone.id).map(({ content }) => content)
  assert.deepEqual(left, await encoder.texts(texts, performance.now() + LATE_MS))
  assert.equal(await isEncoded('erased'), true, 'and nothing has to be encoded again')
})

// Mutants: parts.of() without request(); isToBeEncoded() that compares with 0; encodeSegments() that ends at once.
test('vectors of another encoder are made anew when a recall meets them', { skip: NO_ENCODER }, async () => {
  const { memory } = await indexed('changed', 25)
  const [row] = await segmentsOf('changed')
  const foreign = { name: 'other', digest: '0'.repeat(64), dimensions: 384, mark: 4_242 }
  const vectors = new Map(Array.from(openSegment(row!.body).seq, (seq) => [seq, new Int8Array(384).fill(1)]))
  const body = mergeSegments([row!.body], new Set(), { encoder: foreign, vectors })
  const place = { instanceId: tenant.instanceId, database: 'changed' }
  const range = { from: Number(row!.from_seq), through: Number(row!.through_seq), items: row!.items }
  await daemon.sql(`update loci.segments set body = $2, digest = $3, encoded = 4242 where database = $1`, [
    ...['changed', Buffer.from(body), segmentDigest(place, range, body)],
  ])
  await memory.recall({ query: 'which colour has room 7?' })
  await eventually(() => isEncoded('changed'), LATE_MS)
  const [again] = await segmentsOf('changed')
  assert.deepEqual(vectorsIn(openSegment(again!.body)), vectorsIn(openSegment(row!.body)))
})
