import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Statement } from '@loci/postgres/pool.ts'
import { serverError } from '@loci/postgres/testing/server-error.ts'
import { createReads } from './together.ts'

const ROW = {
  ...{ segments: null, keys: [], versions: [], expires: [], metas: null, slotTexts: null, intact: null },
  ...{ recordSeqs: [], known: '[]', due: '[]', now: new Date(0) },
}
const ASK = { have: 0, lookups: [], due: { leadMs: 0, graceMs: 0, max: 1 } }

/** Answers when it is told to; `slow`: a database that takes too long. */
function testPool({ slow }: { slow?: string } = {}) {
  const calls: string[][] = []
  const held = Promise.withResolvers<void>()
  return {
    calls,
    answer: held.resolve,
    afterCommit() {},
    async query<Row>({ values = [] }: Statement) {
      const asked = (JSON.parse(values[1] as string) as { database: string }[]).map(({ database }) => database)
      calls.push(asked)
      await held.promise
      if (slow && asked.includes(slow)) throw serverError('57014')
      return { rows: asked.map((database) => ({ ...ROW, number: Number(database.slice(1)) })) as Row[], rowCount: 0 }
    },
  }
}

// Mutants: CALLS_MAX = 100 with OBSERVATIONS_MAX = 1; readTogether() that answers in the reverse order.
test('cycles of an instance that begin together are read for by few calls, each gets its own state', async () => {
  const pool = testPool()
  const read = createReads(pool)
  const names = Array.from({ length: 12 }, (_, n) => `d${n}`)
  const states = Promise.all(names.map((database) => read({ instanceId: 'svc', database }, ASK)))
  setImmediate(pool.answer)
  assert.deepEqual(
    (await states).map(({ number }) => number),
    names.map((_, n) => n),
  )
  assert.ok(pool.calls.length <= 3, JSON.stringify(pool.calls))
  assert.deepEqual(pool.calls.flat().sort(), [...names].sort())
})

// Mutant: readTogether() without its catch.
test('a database that takes too long to read fails its own cycle and no other that was read with it', async () => {
  const pool = testPool({ slow: 'd3' })
  const read = createReads(pool)
  pool.answer()
  const settled = await Promise.allSettled(
    Array.from({ length: 8 }, (_, n) => read({ instanceId: 'svc', database: `d${n}` }, ASK)),
  )
  assert.deepEqual(
    settled.flatMap(({ status }, n) => (status === 'rejected' ? [n] : [])),
    [3],
  )
})
