// A search by words and meaning, as recall asks for it, with a real encoder.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createLog } from '@loci/chassis/log.ts'
import type { RecordText } from '../analysis/item.ts'
import { createEncoder, type Encoder } from '../encoder/encoder.ts'
import { ENCODER_FOLDER, NO_ENCODER } from '../encoder/testing/folder.ts'
import { Chance } from '../testing/random-items.ts'
import { randomVectors } from '../testing/random-vectors.ts'
import { buildFrom } from './engine.ts'
import { createRecallIndex, type RecallIndex } from './recall-index.ts'

const log = createLog({ level: 'fatal', program: 'test' })
let encoder: Encoder
let index: RecallIndex
before(async () => {
  encoder = createEncoder({ folder: ENCODER_FOLDER, log })
  await encoder.start()
  index = createRecallIndex({ bytesMax: 64 * 1024 ** 2, log, encoder })
})
after(async () => {
  await index.close()
  await encoder.close()
})

const recordOf = (seq: number, content: string, more: Partial<RecordText> = {}): RecordText => ({
  ...{ seq, context: 1 + (seq >> 3), position: seq & 7, actor: null, occurredAt: 0, content },
  ...more,
})

const FACT = 'Mara drinks green tea every morning'
const QUESTION = 'Which beverage does she prefer?'

const asked = (parts: { segments?: Uint8Array[]; tail?: RecordText[]; masked?: number[] }, query = QUESTION) =>
  index.search({
    ...{ instanceId: 'i', database: `d${parts.segments?.length ?? 0}`, language: 'en', query, options: { limit: 20 } },
    ...{ segments: (parts.segments ?? []).map((body, n) => ({ id: `${n}`, load: async () => body })) },
    ...{ tail: parts.tail ?? [], masked: parts.masked ?? [] },
  })

// Mutants: searchIn() without addNearest(); nearest() that answers the farthest.
test('a question in other words finds its record among thousands', { skip: NO_ENCODER }, async () => {
  const chance = new Chance(5)
  const next = randomVectors(chance, 30)
  const [vector] = await encoder.texts([FACT], performance.now() + 60_000)
  // Words of the question in all of them but the one that answers it.
  const records = Array.from({ length: 6_000 }, (_, n) =>
    recordOf(n + 1, `They prefer beverage number ${n}`, { vector: next() }),
  )
  records[4_321] = recordOf(4_322, FACT, { vector })
  const segments = [records.slice(0, 4_000), records.slice(4_000)].map((part) => buildFrom(part, 'en', encoder.facts))
  const ranked = await asked({ segments })
  const found = ranked.find(({ seq }) => seq === 4_322)
  assert.ok(found?.cosine && found.cosine > 0.6, 'among the candidates, with its cosine')
  assert.ok(ranked.every(({ seq, cosine }) => seq === 4_322 || (cosine ?? 0) < 0.4))
  assert.equal(
    (await asked({ segments, masked: [4_322] })).some(({ seq }) => seq === 4_322),
    false,
  )
})

// Mutants: tailVectors() that waits for nothing; messageFor() that sends no row again.
test('a record that was stored a moment ago has its vector when it is asked for', { skip: NO_ENCODER }, async () => {
  const tail = [recordOf(1, FACT), recordOf(2, 'The heating was repaired in March')]
  const [first] = (await asked({ tail })).sort((one, other) => (other.cosine ?? 0) - (one.cosine ?? 0))
  assert.deepEqual([first?.seq, (first?.cosine ?? 0) > 0.6], [1, true])
  // A cycle does not wait: what it brings to the engine has no vector yet.
  const later = recordOf(3, 'Her sister would rather have coffee with milk')
  const request = { instanceId: 'i', database: 'd0', language: 'en', segments: [], masked: [] } as const
  await index.find({
    ...{ ...request, tail: [...tail, later], query: null, words: ['tea'], fresh: [], options: { limit: 5 } },
  })
  const again = await asked({ tail: [...tail, later] })
  assert.ok((again.find(({ seq }) => seq === 3)?.cosine ?? 0) > 0.5)
})

test('questions in another script have no cosines', { skip: NO_ENCODER }, async () => {
  const tail = [recordOf(1, `${FACT} 茶`)]
  assert.deepEqual(
    (await asked({ tail }, '她早上喝什么茶')).map(({ cosine, smoothed }) => [cosine, smoothed]),
    [[null, null]],
  )
})
