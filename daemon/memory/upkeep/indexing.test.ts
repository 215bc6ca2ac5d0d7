// Builds of texts that have as many terms as a text can have.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createLog } from '@loci/chassis/log.ts'
import { eventually } from '@loci/chassis/testing/request.ts'
import { type TestDaemon, testDaemon } from '../../testing/daemon.ts'
import { memoryOf } from '../../testing/records.ts'
import { addTenant } from '../../testing/tenant.ts'
import { ITEM_TERMS_MAX, type RecordText } from '../analysis/item.ts'
import { termsOfSegment } from '../index/format.ts'
import { createRecallIndex } from '../index/recall-index.ts'
import { createThread } from '../index/thread.ts'
import { Chance } from '../testing/random-items.ts'
import { fittingSegments, fittingTexts, TERMS_MAX } from './segments.ts'

const log = createLog({ level: 'silent', program: 'test' })

let daemon: TestDaemon
before(async () => {
  daemon = await testDaemon()
})
after(() => daemon?.[Symbol.asyncDispose]())

const HAN = Array.from({ length: 20_000 }, (_, i) => String.fromCharCode(0x4e00 + i))

/** Texts of which nearly every pair of characters is new. */
function denseTexts(seed: number, from: number, count: number): RecordText[] {
  const chance = new Chance(seed)
  return Array.from({ length: count }, (_, i) => ({
    ...{ seq: from + i, context: 1, position: from + i, actor: null, occurredAt: 1.7e12 },
    content: Array.from({ length: ITEM_TERMS_MAX + 1 }, () => chance.of(HAN)).join(''),
  }))
}

// Mutant: TERMS_MAX of 4,000,000: the thread ends, out of heap.
test('what one build takes, and what one merge takes, fits into the heap of the thread', async () => {
  const patience = { tasksMax: 4, deadlineMs: 240_000, hangMs: 240_000 }
  const threads = {
    search: createThread({ name: 'search', log, ...patience }),
    build: createThread({ name: 'build', log, ...patience }),
  }
  const index = createRecallIndex({ bytesMax: 1, log, threads })
  try {
    const texts = denseTexts(1, 1, 900)
    const body = await index.build(texts.slice(0, fittingTexts(texts)), 'en')
    assert.ok(termsOfSegment(body) > TERMS_MAX / 2 && termsOfSegment(body) <= TERMS_MAX)
    const second = await index.build(denseTexts(2, 1_001, 20), 'en')
    assert.equal(fittingSegments([10, termsOfSegment(body)], termsOfSegment(second)), 0)
    assert.equal(fittingSegments([TERMS_MAX, TERMS_MAX / 2, 20], TERMS_MAX / 4), 2)
    // More than is ever merged.
    assert.ok(termsOfSegment(await index.merge([body, second], [])) > TERMS_MAX)
    assert.equal(threads.build.generation, 0)
  } finally {
    await index.close()
  }
})

// Mutant: planIndex() with `read` in the place of `taken`: what the build left out is in no segment and in no tail.
test('a tail of more terms than one build takes is built in part, and the rest is found in the tail', async () => {
  const tenant = await addTenant(daemon)
  const memory = memoryOf(tenant, 'dense')
  // Two batches are no reason to build, the third is: the build finds all of them.
  const texts = denseTexts(2, 1, 300)
  const stored = await memory.storeAll(texts.map(({ content }) => ({ content })))
  const built = () => daemon.sql<{ items: number }>(`select items from loci.segments where database = 'dense'`)
  while ((await built()).length === 0) await new Promise((resolve) => setTimeout(resolve, 50))
  assert.deepEqual(await built(), [{ items: fittingTexts(texts) }])
  assert.ok(fittingTexts(texts) < 200)
  for (const at of [0, fittingTexts(texts) - 1, fittingTexts(texts), 299]) {
    // A machine that is busy with other work may not read such a tail in time: that is told, and asked again.
    const [found] = await eventually(async () => {
      const query = { query: texts[at]!.content.slice(0, 20), limit: 1 }
      return (await memory.recall(query).catch(unlessOverloaded))?.results
    })
    assert.equal(found?.id, stored[at]?.id, `record ${at}`)
  }
})

function unlessOverloaded(error: Error): undefined {
  if (!error.message.includes('"OVERLOADED"')) throw error
}
